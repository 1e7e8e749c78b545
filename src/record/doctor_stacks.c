/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/doctor_rows.h"
#include "record/stack_choice.h"

/* Each way of reading user stacks, in the order in which -g takes them. */
static const struct {
	enum rec_stacks kind;
	const char *id, *title, *how;
	bool needs_bpf;
} ways[] = {
	{REC_STACKS_BPF_DEFERRED,    "stacks-bpf-deferred",    "user stacks: bpf-deferred",    "sframe",
	 true												 },
	{REC_STACKS_KERNEL_DEFERRED, "stacks-kernel-deferred", "user stacks: kernel-deferred",
	 "defer",											false},
	{REC_STACKS_BPF_IMMEDIATE,   "stacks-bpf-immediate",   "user stacks: bpf-immediate",
	 "sframe,immediate",									     true },
	{REC_STACKS_COPY,            "stacks-copy",            "user stacks: copy",            "dwarf",  false},
};

void doctor_stacks(struct doctor *d)
{
	const struct os_caps *c = &d->world.caps;
	bool may_bpf = os_caps_has(c, OS_CAP_SYS_ADMIN) ||
		       (os_caps_has(c, OS_CAP_BPF) && os_caps_has(c, OS_CAP_PERFMON));

	d->section = "Call graphs";
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct rec_error why;
		const char *fix = NULL;

		if (rec_stacks_probe(ways[i].kind, &why) == CLEW_OK) {
			doctor_yes(d, ways[i].id, ways[i].title, "--call-graph %s: %s", ways[i].how,
				   rec_stacks_what(ways[i].kind));
			continue;
		}
		if (ways[i].needs_bpf && !may_bpf)
			fix = doctor_text(
				d, "run as root, or: sudo setcap cap_bpf,cap_perfmon=ep %s",
				*d->world.program ? d->world.program : "$(command -v clew)");
		doctor_no(d, ways[i].id, ways[i].title, fix, "%s",
			  ways[i].needs_bpf && !may_bpf ? "needs CAP_BPF and CAP_PERFMON"
							: why.text);
	}
}
