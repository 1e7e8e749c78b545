/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_STACK_CHOICE_H
#define RECORD_STACKS_STACK_CHOICE_H

#include "record/open/target.h"
#include "record/stacks/bpf/defer_bpf.h"

/** What a choice goes by. */
struct rec_stack_choice {
	const struct rec_options *options; /* options->stacks: what is asked for */
	const struct rec_event_list *events;
	const struct rec_target *target;
	const struct rec_ui *ui;
	uint32_t refused;      /* 1 << enum rec_stacks: not to be tried (again) */
	struct defer_bpf *bpf; /* open, of the kinds that need it, else NULL */
};

/**
 * Choose the method of --call-graph. auto takes the first that works of
 *
 *   bpf-deferred     complete on binaries without frame pointers
 *   kernel-deferred  where the command's binary has frame pointers, or BPF may not be used
 *   bpf-immediate    the same tables, on kernels without task work; nothing is paged in
 *   copy             unwound while recording; needs no privilege
 *   fp               always works
 *
 * and says which and why; with o->is_verbose, a line for each that was skipped. A method that was
 * asked for by name and cannot work is an error that says why and what to do.
 * @p c->refused is respected and added to. @p c->bpf is opened as needed: user_stacks_open() takes
 * it over.
 */
enum clew_err rec_stacks_choose(struct rec_stack_choice *c, struct rec_stack_plan *ret,
				struct rec_error *error);

/** Close what choosing opened, unless it was taken over. */
void rec_stack_choice_done(struct rec_stack_choice *c);

/** Can this way be taken here at all? @return CLEW_OK, or why not in @p error. For doctor. */
enum clew_err rec_stacks_probe(enum rec_stacks kind, struct rec_error *error);

/** What --call-graph calls it: "sframe,immediate". */
const char *rec_stacks_spelling(enum rec_stacks kind);

/** How a backend is described to users: "unwind tables in the kernel, ...". */
const char *rec_stacks_what(enum rec_stacks kind);

/** Do most functions of the program @p path set up a frame pointer? False also where that is
 * unknown. */
bool rec_has_frame_pointers(const char *path);

#endif
