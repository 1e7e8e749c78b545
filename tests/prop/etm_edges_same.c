/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>

#include "report/code_counts.h"
#include "trace/snapshot/cs_snapshot.h"
#include "trace/trace_decode.h"
#include "unit/tap.h"

/*
 * Counts equal batches: each snapshot below the folder that is named is decoded both ways, and
 * every run and branch must be there as often.
 */

struct both {
	struct code_counts batches, counts;
	struct code_count branch; /* indirect: its target comes next, */
	bool is_waiting;          /* if it does */
};

static uint64_t last_of(const struct flow_block *b)
{
	return b->start + b->bytes - b->last_bytes;
}

static bool is_branch(const struct flow_block *b)
{
	return b->kind == INSN_BRANCH || b->kind == INSN_COND || b->kind == INSN_INDIRECT;
}

static void add_run(struct code_counts *c, const struct flow_block *b, bool is_taken, uint64_t nr)
{
	bool is_passed = is_branch(b) ? !is_taken : b->kind != INSN_PLAIN;
	struct code_count run = {.a = b->start, .b = b->start + b->bytes, .nr = nr};

	run.nr_part = is_passed ? nr : 0;
	code_counts_add_run(c, &run);
}

static void arrive(struct both *x, uint64_t to)
{
	if (!x->is_waiting)
		return;
	x->branch.b = to;
	code_counts_add_branch(&x->batches, &x->branch);
	x->is_waiting = false;
}

static void take_block(struct both *x, const struct flow_block *b, bool is_taken)
{
	arrive(x, b->start);
	add_run(&x->batches, b, is_taken, 1);
	if (!is_taken || !is_branch(b))
		return;
	x->branch = (struct code_count){.a = last_of(b), .b = b->target, .nr = 1};
	x->is_waiting = b->kind == INSN_INDIRECT;
	if (!x->is_waiting)
		code_counts_add_branch(&x->batches, &x->branch);
}

static void take_event(struct both *x, const struct flow_event *e)
{
	const struct flow_block piece = {.start = e->address,
					 .bytes = (uint32_t)(e->end - e->address)};

	switch (e->kind) {
	case FLOW_EV_RANGE:
		arrive(x, e->address);
		add_run(&x->batches, &piece, false, 1);
		break;
	case FLOW_EV_NACC:
	case FLOW_EV_NO_PATH:
	case FLOW_EV_EXCEPTION:
		arrive(x, e->address);
		break;
	case FLOW_EV_NO_TARGET:
	case FLOW_EV_DROPPED:
	case FLOW_EV_NO_SYNC:
	case FLOW_EV_TRACE_ON:
	case FLOW_EV_TRACE_OFF:
	case FLOW_EV_END:
		arrive(x, CODE_ELSEWHERE);
		break;
	default:
		break;
	}
}

static enum clew_err take_batch(void *ctx, size_t unit, const struct flow_batch *b)
{
	(void)unit;
	for (size_t i = 0; i < b->nr; i++) {
		uint32_t item = b->items[i];

		if (item & FLOW_ITEM_EVENT)
			take_event(ctx, &b->events[item & ~(uint32_t)FLOW_ITEM_EVENT]);
		else
			take_block(ctx, &b->blocks[item >> 1], item & 1);
	}
	return CLEW_OK;
}

static bool take_edge(void *ctx, const struct flow_edge *e)
{
	struct both *x = ctx;
	struct code_count branch = {.a = last_of(e->from), .nr = e->nr};

	add_run(&x->counts, e->from, e->is_taken, e->nr);
	branch.b = e->has_to ? e->to : CODE_ELSEWHERE;
	if (e->is_taken && is_branch(e->from))
		code_counts_add_branch(&x->counts, &branch);
	return true;
}

static enum clew_err end_counting(void *ctx, size_t unit, struct flow *flow)
{
	(void)unit;
	return flow_edges(flow, take_edge, ctx) ? CLEW_OK : CLEW_NO_MEMORY;
}

static bool is_equal(const struct code_count *a, const struct code_count *b)
{
	return a->a == b->a && a->b == b->b && a->nr == b->nr && a->nr_part == b->nr_part;
}

static void report(const char *what, const struct code_count *e)
{
	printf("# %s %llx %llx: %llu, %llu passed\n", what, (unsigned long long)e->a,
	       (unsigned long long)e->b, (unsigned long long)e->nr, (unsigned long long)e->nr_part);
}

static bool same_runs(const struct code_table *a, const struct code_table *b)
{
	size_t i = 0;

	while (i < a->nr && i < b->nr && is_equal(&a->data[i], &b->data[i]))
		i++;
	if (i < a->nr)
		report("in batches", &a->data[i]);
	if (i < b->nr)
		report("counted", &b->data[i]);
	return i == a->nr && i == b->nr;
}

static uint64_t nr_of(const struct code_table *t, uint64_t from, uint64_t to)
{
	size_t low = 0, high = t->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct code_count *e = &t->data[mid];

		if (e->a < from || (e->a == from && e->b < to))
			low = mid + 1;
		else
			high = mid;
	}
	return low < t->nr && t->data[low].a == from && t->data[low].b == to ? t->data[low].nr : 0;
}

/* A target that was traced, but not executed any more, is not an item of a batch. */
static bool same_branches(const struct code_table *batches, const struct code_table *counts)
{
	uint64_t in_batches = 0, in_counts = 0, from = 0, nr_known = 0;
	bool is_ok = true;

	vec_for_each (batches, e) {
		in_batches += e->nr;
		if (e->b == CODE_ELSEWHERE || nr_of(counts, e->a, e->b) >= e->nr)
			continue;
		is_ok = false;
		report("in batches", e);
	}
	vec_for_each (counts, e) {
		uint64_t nr = nr_of(batches, e->a, e->b);

		in_counts += e->nr;
		nr_known = e->a == from ? nr_known : 0;
		from = e->a;
		if (e->b != CODE_ELSEWHERE)
			nr_known += e->nr - nr;
		if (e->nr > nr && nr_known > nr_of(batches, e->a, CODE_ELSEWHERE)) {
			is_ok = false;
			report("counted", e);
		}
	}
	return is_ok && in_batches == in_counts;
}

static void check(const char *dir, const char *name)
{
	struct trace_decode_opts batches = {.batch = take_batch},
				 counting = {.unit_end = end_counting};
	struct trace_input *t;
	struct clew_diag diag;
	struct both x = {0};

	if (cs_snapshot_open(&t, dir, &diag))
		return;
	batches.splits_source_ranges = true;
	batches.ctx = counting.ctx = &x;
	if (trace_decode(t, &batches, &diag) || trace_decode(t, &counting, &diag))
		CHECK(false, "%s is decoded", name);
	code_counts_sort(&x.batches);
	code_counts_sort(&x.counts);
	CHECK(same_runs(&x.batches.runs, &x.counts.runs), "%s: %zu runs", name, x.counts.runs.nr);
	CHECK(same_branches(&x.batches.branches, &x.counts.branches), "%s: %zu branches", name,
	      x.counts.branches.nr);
	code_counts_done(&x.batches);
	code_counts_done(&x.counts);
	trace_input_free(t);
}

int main(int argc, char **argv)
{
	struct dirent *e;
	char path[4096];
	DIR *d;

	for (int i = 1; i < argc; i++) {
		d = opendir(argv[i]);
		while (d && (e = readdir(d)) != NULL) {
			if (e->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s", argv[i], e->d_name);
			check(path, e->d_name);
		}
		if (d)
			closedir(d);
	}
	if (!tap_count)
		SKIP_ALL("no snapshots");
	return tap_done();
}
