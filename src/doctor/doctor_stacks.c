/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "doctor/doctor_rows.h"
#include "record/stacks/stack_choice.h"

/* Each way of reading user stacks, in the order in which -g takes them. */
static const enum rec_stacks ways[] = {REC_STACKS_BPF_DEFERRED, REC_STACKS_KERNEL_DEFERRED,
				       REC_STACKS_BPF_IMMEDIATE, REC_STACKS_COPY};

static void add_way(struct doctor *d, enum rec_stacks kind)
{
	const char *id = doctor_text(d, "stacks-%s", rec_stacks_name(kind));
	const char *title = doctor_text(d, "user stacks: %s", rec_stacks_name(kind));
	struct rec_error why = {0};

	if (rec_stacks_probe(kind, &why) == CLEW_OK)
		doctor_yes(d, id, title, "--call-graph %s: %s", rec_stacks_spelling(kind),
			   rec_stacks_what(kind));
	else if (rec_stacks_is_bpf(kind) && !os_caps_may_load_bpf(&d->world.caps))
		doctor_no_bpf(d, id, title);
	else
		doctor_no(d, id, title, doctor_text(d, "%s", why.hint), "%s", why.text);
}

void doctor_stacks(struct doctor *d)
{
	d->section = "Call graphs";
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		add_way(d, ways[i]);
}
