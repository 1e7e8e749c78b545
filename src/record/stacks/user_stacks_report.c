/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/stacks/user_stacks_impl.h"

/* The outcomes of user stacks, in words. */

static void add(struct buf *b, uint64_t nr, const char *what)
{
	if (nr)
		buf_printf(b, "%s%llu %s", b->nr ? ", " : "", (unsigned long long)nr, what);
}

static void add_stops(struct buf *b, const uint64_t by_stop[NR_UNW_STOPS])
{
	for (unsigned int i = 0; i < NR_UNW_STOPS; i++)
		add(b, by_stop[i], unw_stop_name((enum unw_stop)i));
}

static void report_copy(struct user_stacks *u, bool is_verbose)
{
	const struct copy_counts *c = &u->copy.counts;
	uint64_t complete = c->by_stop[UNW_STOP_OUTERMOST];
	uint64_t unproven = c->by_stop[UNW_STOP_FP_END];
	uint64_t cut = c->by_stop[UNW_STOP_TRUNCATED];
	struct buf b = {0};

	add(&b, c->nr_no_user, "without user part");
	add(&b, c->nr_compat, "of 32-bit tasks");
	add(&b, cut, "cut by the copy's size");
	add(&b, c->nr_walked - complete - cut - unproven, "ended early");
	add(&b, unproven, "ended at a frame pointer of 0");
	rec_say(u->ui, REC_NOTE, "user stacks: %llu of %llu samples complete%s%s",
		(unsigned long long)complete, (unsigned long long)c->nr_samples, b.nr ? ", " : "",
		buf_cstr(&b));
	buf_clear(&b);
	add_stops(&b, c->by_stop);
	if (is_verbose)
		rec_say(u->ui, REC_NOTE,
			"user stacks by why they end: %s; %llu frames; %zu binaries, tables of %zu KiB",
			buf_cstr(&b), (unsigned long long)c->nr_frames,
			live_space_nr_files(u->copy.live),
			live_space_table_bytes(u->copy.live) / 1024);
	buf_done(&b);
}

static void report_bpf(struct user_stacks *u, bool is_verbose)
{
	const struct defer_join *j = &u->join;
	uint64_t nr = j->nr_matched + j->nr_unmatched;
	struct defer_counts c;
	struct buf b = {0};

	defer_bpf_counts(u->bpf, &c);
	for (int i = 0; i < 8; i++)
		nr += j->nr_reasons[i];
	add(&b, j->nr_reasons[PERF_NO_STACK_KERNEL_THREAD], "of kernel threads");
	add(&b, j->nr_reasons[PERF_NO_STACK_IDLE], "idle");
	add(&b, j->nr_reasons[PERF_NO_STACK_EXITING], "exiting");
	add(&b, j->nr_reasons[PERF_NO_STACK_MAP_FULL], "lost to a full map");
	add(&b, j->nr_reasons[PERF_NO_STACK_RING_FULL], "lost to a full ring");
	add(&b, j->nr_reasons[PERF_NO_STACK_REFUSED], "refused by the kernel");
	add(&b, j->nr_unmatched, "without their request");
	add(&b, u->nr_left, "tasks still in the kernel");
	rec_say(u->ui, REC_NOTE,
		"user stacks: %llu for %llu samples%s%s; tables of %llu binaries, %llu KiB in the "
		"kernel",
		(unsigned long long)(u->counts.nr_stacks - user_stacks_nr_unasked(u)),
		(unsigned long long)nr, b.nr ? ", " : "", buf_cstr(&b),
		(unsigned long long)c.nr_tables, (unsigned long long)c.table_bytes / 1024);
	buf_clear(&b);
	add_stops(&b, u->counts.by_stop);
	if (is_verbose) {
		rec_say(u->ui, REC_NOTE, "user stacks by why they end: %s; %llu frames",
			buf_cstr(&b), (unsigned long long)u->counts.nr_frames);
		rec_say(u->ui, REC_NOTE,
			"user stacks: %llu without a sample, %llu ended in user space, %llu not as maps "
			"changed; binaries: "
			"%llu compiled, %llu without tables, %llu over the budget, %llu evicted; BPF: "
			"%llu requests, %llu entries, %llu stacks, %llu walked at once, %llu refused, "
			"%llu found the map full, %llu the ring, %llu came too late, %llu had no memory, "
			"%llu no room for a copy",
			(unsigned long long)user_stacks_nr_unasked(u),
			(unsigned long long)u->counts.nr_finished,
			(unsigned long long)u->counts.nr_discarded,
			(unsigned long long)u->counts.nr_tables,
			(unsigned long long)u->counts.nr_no_tables,
			(unsigned long long)u->counts.nr_over_budget,
			(unsigned long long)c.nr_evicted, (unsigned long long)c.nr_requests,
			(unsigned long long)c.nr_entries, (unsigned long long)c.nr_stacks,
			(unsigned long long)c.nr_at_once, (unsigned long long)c.nr_refused,
			(unsigned long long)c.nr_map_full, (unsigned long long)c.nr_ring_full,
			(unsigned long long)c.nr_late, (unsigned long long)c.nr_no_scratch,
			(unsigned long long)c.nr_no_copy);
	}
	buf_done(&b);
}

void user_stacks_report(void *ctx, bool is_verbose)
{
	struct user_stacks *u = ctx;

	if (u->copy.live)
		report_copy(u, is_verbose);
	if (u->bpf)
		report_bpf(u, is_verbose);
}
