/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "annotate/ann_counts.h"

#include "annotate/annotation.h"
#include "unit/report_events.h"

/* clang-format off */
static const struct made_event events[] = {
	{"sh",   1, 1, 0, 10, "ma", 0},
	{"sh",   1, 1, 0, 10, "a",  0},
	{"sh",   1, 1, 0, 50, "mb", 0},
	{"sh",   1, 1, 0, 3,  "ma", 1},
	{"sh",   1, 1, 0, 7,  "m?", 0},
	{"sh",   1, 1, 0, 7,  NULL, 0},
};
/* clang-format on */
enum { NR_EVENTS = sizeof(events) / sizeof(events[0]) };

static void feed(struct ann_counts *c, struct made *m, size_t step)
{
	for (size_t i = 0; i < m->nr; i += step) {
		struct ana_batch b = {m->events + i, m->nr - i < step ? m->nr - i : step, 1};

		ann_counts_batch(c, &b);
	}
	ann_counts_finish(c);
}

static void all(struct made *m, size_t step)
{
	struct ann_counts c = {0};
	const struct ann_symbol *a;

	feed(&c, m, step);
	CHECK_EQ(c.events.data[0].weight.nr, 5, "samples without a symbol count in their event");
	CHECK_EQ(c.symbols.nr, 2, "functions that were sampled themselves");
	CHECK_STR(c.symbols.data[0].sym->name, "fn_b", "by period");
	a = &c.symbols.data[1];
	CHECK_EQ(a->nr_cells, 2, "one address, two events");
	CHECK_EQ(c.cells.data[a->first_cell].weight.period, 20, "sum of the first");
	CHECK_EQ(c.cells.data[a->first_cell + 1].weight.period, 3, "and of the second");
	ann_counts_done(&c);
}

static void one(struct made *m)
{
	struct ann_counts c = {.opts = {.symbol = "fn_a"}}, other = {.opts = {.dso = "libc.so"}};

	feed(&c, m, 2);
	CHECK_EQ(c.cells.nr, 2, "addresses of one function");
	CHECK_EQ(c.symbols.nr, 2, "but the others are known by name");
	feed(&other, m, 2);
	CHECK_EQ(other.cells.nr, 0, "none of another file");
	ann_counts_done(&c);
	ann_counts_done(&other);
}

static void limited(struct made *m)
{
	struct budget budget = {.limit = 500};
	struct ann_counts c = {.opts = {.budget = &budget}};

	feed(&c, m, NR_EVENTS);
	CHECK_EQ(c.no_room.nr, 1, "beyond the budget: counted as that");
	ann_counts_done(&c);
	CHECK_EQ(budget.used, 0, "all was given back");
}

static void no_memory(struct made *m)
{
	uint64_t n = 0;

	do {
		struct ann_counts c = {0};
		struct ana_batch b = {m->events, m->nr, 1};

		mem_fail_after(n++);
		ann_counts_batch(&c, &b);
		ann_counts_done(&c);
	} while (mem_has_failed());
	mem_fail_after(UINT64_MAX);
	CHECK(n > 3, "each allocation may fail");
}

/* Runs [100,108] 5 times and [104,108] 20 times; the branch at 108 went to 104 20 times. */
static void flow(void)
{
	struct code_counts c = {0};
	struct annotation a = {0};

	for (uint64_t i = 0; i < 4; i++)
		vec_push(&a.insns, (struct ann_insn){.address = 0x100 + 4 * i, .rel = 4 * i});
	code_counts_add_run(&c, &(struct code_count){0x100, 0x108, 5, 0});
	code_counts_add_run(&c, &(struct code_count){0x104, 0x108, 20, 0});
	code_counts_add_run(&c, &(struct code_count){0x10c, 0x200, 5, 0});
	code_counts_add_branch(&c, &(struct code_count){0x108, 0x104, 20, 2});
	code_counts_sort(&c);
	CHECK(annotation_add_flow(&a, &c, true, ANN_FLOW_EXACT), "added");
	CHECK_EQ(a.insns.data[0].executed, 5, "before the loop");
	CHECK_EQ(a.insns.data[1].executed, 25, "in the loop");
	CHECK_EQ(a.insns.data[2].executed, 25, "its branch");
	CHECK_EQ(a.insns.data[2].taken, 20, "taken");
	CHECK_EQ(a.insns.data[2].mispredicted, 2, "mispredicted");
	CHECK_EQ(a.insns.data[3].executed, 5, "after it, a run that leads out of the function");
	CHECK(annotation_weigh_executed(&a) && a.columns.data[0].weight.nr == 60,
	      "weights of what ran");
	annotation_done(&a);
	code_counts_done(&c);
}

int main(void)
{
	struct made m;

	made_init(&m, events, NR_EVENTS, 0);
	all(&m, 1);
	all(&m, NR_EVENTS);
	one(&m);
	limited(&m);
	no_memory(&m);
	flow();
	made_done(&m);
	return tap_done();
}
