/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_LIVE_DEFER_RUN_H
#define TESTS_LIVE_DEFER_RUN_H

#include "base/map_u64.h"
#include "base/vec.h"
#include "live/event_open.h"
#include "record/stacks/bpf/defer_bpf.h"

/** One recording of a child through record/stacks/bpf/defer_bpf.h: requests, and stacks by cookie.
 */
struct run_stack {
	uint64_t time, cookie;
	uint32_t tid, nr;
	uint8_t stop, why;
	bool has_copy;
	size_t first; /* in ips */
	size_t copy_bytes;
};

struct run {
	struct defer_bpf *defer;
	struct unw_store *store;
	int fds[256];
	int nr_fds, pid;
	bool no_tables; /* never answer a want */
	uint64_t nr_wants, want_ns;
	uint64_t nr_wanted_again; /* files that were asked for before */
	struct {
		VEC(struct defer_file_key);
	} wanted;
	struct {
		VEC(struct defer_request);
	} requests;
	struct {
		VEC(struct run_stack);
	} stacks;
	struct {
		VEC(uint64_t);
	} ips;
	struct {
		VEC(uint8_t);
	} methods;
	struct map_u64 by_cookie; /* index of the first stack + 1 */
	uint64_t nr_twice;        /* stacks of a cookie that had one */
	size_t nr_left;
	struct defer_counts counts;
};

/** @return 0; else *error says why not. */
int run_open(struct run *r, const struct defer_bpf_opts *o, struct rec_error *error);
/** Sample @p pid and what it starts, @p freq times a second (0: each one). pid -1: everything. */
int run_add(struct run *r, int pid, enum run_event e, uint64_t freq);
/** Load the tables of what @p pid has mapped. */
void run_scan(struct run *r, int pid);
void run_for(struct run *r, unsigned int ms);
/** Until @p pid has ended; it is waited for. */
int run_until_end(struct run *r, int pid);
void run_stop(struct run *r);
void run_done(struct run *r);

/** Fork; the child runs @p body(arg) and exits when asked to. */
int run_child(void (*body)(long), long arg, int *ret_go);
void run_go(int go);

const struct run_stack *run_stack_of(const struct run *r, uint64_t cookie);

#endif
