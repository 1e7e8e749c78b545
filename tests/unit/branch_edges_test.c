/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/branch_edges.h"

#include "make/perf_build.h"
#include "profile/branch_filter.h"
#include "unit/tap.h"

enum { USER = 0x1000, OTHER = 0x100000, MISPREDICTED = 1, PREDICTED = 2, WRONG_PATH = 1 << 24 };
#define KERNEL 0xffffffff81000000u

static void map(struct perf_build *b, uint64_t start, const char *name)
{
	union perf_view v = {
		.mmap = {.pid = 1,
			 .tid = 1,
			 .start = start,
			 .len = 0x10000,
			 .pgoff = 0,
			 .filename = name,
			 .is_mmap2 = true,
			 .prot = 5}
        };

	perf_build_view(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &v, NULL);
}

static void map_kernel(struct perf_build *b)
{
	union perf_view v = {
		.mmap = {.pid = UINT32_MAX,
			 .start = KERNEL,
			 .len = 0x10000,
			 .pgoff = KERNEL,
			 .filename = "[kernel.kallsyms]_text"}
        };

	perf_build_view(b, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, &v, NULL);
}

/** @p words: from, to, flags of each entry, newest first; @p type: attr.branch_sample_type. */
static void gather_of(struct counted_code *c, struct branch_edges_totals *t, uint64_t type,
		      const uint64_t *words, uint64_t nr)
{
	struct perf_build b = {0};
	struct perf_attr attr = {.type = PERF_TYPE_HARDWARE,
				 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						PERF_SAMPLE_TIME | PERF_SAMPLE_BRANCH_STACK,
				 .branch_sample_type = type};
	struct perf_sample s = {
		.misc = PERF_RECORD_MISC_USER, .ip = USER + 0x40, .time = 9, .pid = 1, .tid = 1};
	struct ana_opts opts = {.symbols.no_host_kernel = true};
	struct perf_input in;
	struct analyze *a;
	struct bytes file;

	s.branches.nr = nr;
	s.branches.words =
		(struct perf_words){.data = (const uint8_t *)words, .nr = (uint32_t)(nr * 3)};
	perf_build_event(&b, &attr, "cycles", (uint64_t[]){7}, 1);
	map(&b, USER, "/no/such/app");
	map(&b, OTHER, "/no/such/lib");
	map_kernel(&b);
	perf_build_sample(&b, 0, &s);
	file = perf_build_finish(&b);
	in = (struct perf_input){.data = file.pos, .size = bytes_left(&file)};
	branch_edges_wish(&opts, NULL);
	*t = (struct branch_edges_totals){0};
	CHECK(!analyze_open(&a, &in, &opts, NULL) && !branch_edges(c, a, NULL, t, NULL), "read");
	/* The paths are the analysis's. */
	vec_for_each (&c->binaries, i)
		i->path = strstr(i->path, "app") ? "app" : strstr(i->path, "lib") ? "lib" : "other";
	branch_edges_totals_done(t);
	analyze_free(a);
	perf_build_done(&b);
}

static void gather(struct counted_code *c, struct branch_edges_totals *t, const uint64_t *words,
		   uint64_t nr)
{
	gather_of(c, t, PERF_SAMPLE_BRANCH_ANY, words, nr);
}

static const struct code_counts *counts_of(const struct counted_code *c, const char *name)
{
	static const struct code_counts none;

	vec_for_each (&c->binaries, b) {
		if (!strcmp(b->path, name))
			return &b->counts;
	}
	return &none;
}

static uint64_t nr_of(const struct code_table *t, uint64_t a, uint64_t b)
{
	vec_for_each (t, e) {
		if (e->a == a && e->b == b)
			return e->nr;
	}
	return 0;
}

static void ordinary(void)
{
	static const uint64_t words[] = {
		USER + 0x40, USER + 0x10, PREDICTED,    /* a loop, */
		USER + 0x40, USER + 0x10, MISPREDICTED, /* twice, */
		OTHER + 8,   USER + 0x20, PREDICTED,    /* back from */
		USER + 0x1c, OTHER,       PREDICTED,    /* a library */
	};
	struct counted_code c = {0};
	struct branch_edges_totals t;
	const struct code_counts *app, *lib;

	gather(&c, &t, words, 4);
	app = counts_of(&c, "app");
	lib = counts_of(&c, "lib");
	CHECK_EQ(t.nr_stacks, 1, "a stack");
	CHECK_EQ(t.nr_branches, 4, "of four branches");
	CHECK_EQ(nr_of(&app->branches, 0x40, 0x10), 2, "two inside the program");
	CHECK_EQ(app->branches.data[0].nr_part + app->branches.data[1].nr_part +
			 app->branches.data[2].nr_part,
		 1, "one was mispredicted");
	CHECK_EQ(nr_of(&app->branches, 0x1c, CODE_ELSEWHERE), 1, "a call that leaves it");
	CHECK_EQ(nr_of(&app->branches, CODE_ELSEWHERE, 0x20), 1, "and its return");
	CHECK_EQ(nr_of(&app->runs, 0x20, 0x40), 1, "what ran after the call");
	CHECK_EQ(nr_of(&app->runs, 0x10, 0x40), 1, "and in the loop");
	CHECK_EQ(app->runs.nr, 2, "no more: where the oldest came from is unknown");
	CHECK_EQ(nr_of(&lib->runs, 0, 8), 1, "the library's run");
	CHECK_EQ(lib->branches.nr, 2, "in and out");
	CHECK_EQ(nr_of(&app->samples, 0x40, 0), 1, "the sample's own address");
	counted_code_done(&c);
}

/* Of an entry: since the one before it. */
static void timed(void)
{
	static const uint64_t words[] = {
		USER + 0x40, USER + 0x10, PREDICTED | 9 << 4, /* a loop, */
		USER + 0x40, USER + 0x10, PREDICTED | 5 << 4, /* */
		USER + 0x40, USER + 0x10, PREDICTED,          /* not counted */
		USER + 0x40, USER + 0x10, PREDICTED | 7 << 4, /* after an interrupt, */
		KERNEL + 8,  USER + 0x34, PREDICTED | 3 << 4, /* back from it */
		USER + 0x34, KERNEL,      PREDICTED | 3 << 4, /* */
		USER + 0x8,  USER + 0x10, PREDICTED | 2 << 4, /* the oldest ends no run */
	};
	struct counted_code c = {0};
	struct branch_edges_totals t;
	const struct code_table *runs;

	gather(&c, &t, words, 7);
	runs = &counts_of(&c, "app")->runs;
	CHECK(runs->nr == 1 && runs->data[0].nr == 4, "four runs of a loop");
	CHECK_EQ(runs->data[0].nr_timed, 2, "of two it is known how long they took:");
	CHECK_EQ(runs->data[0].cycles, 14 * CODE_CYCLE, "14 cycles");
	counted_code_done(&c);
}

static void left_out(void)
{
	static const uint64_t interrupt[] = {
		USER + 0x80, USER + 0x100, PREDICTED,              /**/
		KERNEL + 8,  USER + 0x44,  PREDICTED,              /* back */
		USER + 0x44, KERNEL,       PREDICTED,              /* and forth */
		USER + 0x70, USER + 0x74,  PREDICTED | WRONG_PATH, /* never ran */
		USER + 0x20, USER + 0x40,  PREDICTED,              /**/
	};
	static const uint64_t backwards[] = {
		USER + 0x10, USER + 0x100, PREDICTED, /**/
		USER + 0x20, USER + 0x40,  PREDICTED, /**/
	};
	static const uint64_t twice[] = {
		USER + 0x4000, USER + 0x10, PREDICTED, /**/
		USER + 0x4000, USER + 0x10, PREDICTED, /**/
		USER + 0x8,    USER + 0x10, PREDICTED, /**/
	};
	struct counted_code c = {0};
	struct branch_edges_totals t;

	gather(&c, &t, interrupt, 5);
	CHECK_EQ(nr_of(&counts_of(&c, "app")->runs, 0x40, 0x80), 1, "an interrupt is no branch");
	CHECK_EQ(t.nr_branches, 2, "neither is what was only guessed");
	counted_code_done(&c);
	gather(&c, &t, backwards, 2);
	CHECK_EQ(t.nr_bad_runs, 1, "a run backwards is counted, and left out");
	CHECK_EQ(counts_of(&c, "app")->runs.nr, 0, "so there is none");
	counted_code_done(&c);
	gather(&c, &t, twice, 3);
	CHECK_EQ(t.nr_branches, 2, "the newest entry twice, of a long loop: once");
	counted_code_done(&c);
}

/* The kernel has branches of its own between two of a user's. */
static void kernel_between(void)
{
	static const uint64_t both[] = {
		USER + 0x80,   USER + 0x100,  PREDICTED, /**/
		KERNEL + 0x48, USER + 0x46,   PREDICTED, /* back, after a system call */
		KERNEL + 0x30, KERNEL + 0x40, PREDICTED, /**/
		KERNEL + 0x18, KERNEL + 0x20, PREDICTED, /**/
		USER + 0x44,   KERNEL + 0x10, PREDICTED, /* into it */
		USER + 0x20,   USER + 0x40,   PREDICTED, /**/
	};
	static const uint64_t signal[] = {
		USER + 0x1080, USER + 0x1100, PREDICTED, /* of the handler */
		KERNEL + 0x48, USER + 0x1000, PREDICTED, /* not where it was left */
		USER + 0x44,   KERNEL + 0x10, PREDICTED, /**/
		USER + 0x20,   USER + 0x40,   PREDICTED, /**/
	};
	static const uint64_t hidden[] = {
		USER + 0x80, USER + 0x100,
		PREDICTED, /**/
		0,           USER + 0x48,
		PREDICTED, /* from where was not recorded */
		USER + 0x44, 0,
		PREDICTED, /* and where to */
		USER + 0x20, USER + 0x40,
		PREDICTED, /**/
	};
	static const uint64_t unknown[] = {
		USER + 0x80,   USER + 0x100, PREDICTED, /**/
		KERNEL + 0x48, USER + 0x50,  PREDICTED, /* where it was left was not recorded */
		USER + 0x20,   USER + 0x40,  PREDICTED, /**/
	};
	struct counted_code c = {0};
	struct branch_edges_totals t;
	const struct code_counts *app, *kernel;

	gather(&c, &t, both, 6);
	app = counts_of(&c, "app");
	kernel = counts_of(&c, "other");
	CHECK(app->runs.nr == 1 && nr_of(&app->runs, 0x40, 0x80) == 1, "the user's run continues");
	CHECK_EQ(nr_of(&kernel->runs, KERNEL + 0x10, KERNEL + 0x18), 1, "the kernel's own begin");
	CHECK_EQ(nr_of(&kernel->runs, KERNEL + 0x20, KERNEL + 0x30), 1, "and go on");
	CHECK_EQ(nr_of(&kernel->runs, KERNEL + 0x40, KERNEL + 0x48), 1, "and end");
	CHECK_EQ(t.nr_branches, 4, "what leads into the kernel and back is no branch");
	counted_code_done(&c);
	gather(&c, &t, signal, 4);
	app = counts_of(&c, "app");
	CHECK_EQ(app->runs.nr, 2, "a signal handler interrupts a run:");
	CHECK_EQ(nr_of(&app->runs, 0x40, 0x44), 1, "up to where it was left,");
	CHECK_EQ(nr_of(&app->runs, 0x1000, 0x1080), 1, "and what ran of the handler");
	counted_code_done(&c);
	gather(&c, &t, hidden, 4);
	app = counts_of(&c, "app");
	CHECK(app->runs.nr == 1 && nr_of(&app->runs, 0x40, 0x80) == 1,
	      "the same where the kernel's addresses are hidden");
	CHECK_EQ(t.nr_branches, 2, "which is no branch either");
	counted_code_done(&c);
	gather(&c, &t, unknown, 3);
	app = counts_of(&c, "app");
	CHECK(app->runs.nr == 1 && nr_of(&app->runs, 0x50, 0x80) == 1,
	      "left at an unknown place: only what ran after it");
	counted_code_done(&c);
}

/* Entries that are no branches. */
static void no_branches(void)
{
	static const uint64_t abort[] = {
		USER + 0x120, USER + 0x10,  PREDICTED,                     /**/
		USER + 0x44,  USER + 0x100, PREDICTED | PERF_BRANCH_ABORT, /* undone */
		USER + 0x20,  USER + 0x40,  PREDICTED | PERF_BRANCH_IN_TX, /**/
	};
	static const uint64_t irq[] = {
		USER + 0x120,  USER + 0x10,   PREDICTED,            /**/
		KERNEL + 0x34, KERNEL + 0x80, PREDICTED | 12 << 20, /* an interrupt in the kernel */
		KERNEL + 0x20, KERNEL + 0x30, PREDICTED,            /**/
	};
	static const uint64_t not_taken[] = {
		USER + 0x80, USER + 0x10,  PREDICTED,                         /**/
		USER + 0x60, USER + 0x200, PREDICTED | PERF_BRANCH_NOT_TAKEN, /**/
		USER + 0x20, USER + 0x40,  PREDICTED,                         /**/
	};
	static const uint64_t empty[] = {
		USER + 0x80, USER + 0x10, PREDICTED, /**/
		0,           0,           0,         /**/
		USER + 0x20, USER + 0x40, PREDICTED, /**/
	};
	struct counted_code c = {0};
	struct branch_edges_totals t;
	const struct code_counts *app;

	gather(&c, &t, abort, 3);
	app = counts_of(&c, "app");
	CHECK_EQ(t.nr_branches, 2, "the abort of a transaction is none");
	CHECK(app->runs.nr == 1 && nr_of(&app->runs, 0x100, 0x120) == 1,
	      "and only what followed it ran");
	counted_code_done(&c);
	gather(&c, &t, irq, 3);
	CHECK_EQ(t.nr_branches, 2, "an interrupt is none, by its type");
	CHECK_EQ(counts_of(&c, "other")->runs.nr, 0, "nor does a branch end the run before it");
	counted_code_done(&c);
	gather(&c, &t, not_taken, 3);
	app = counts_of(&c, "app");
	CHECK_EQ(t.nr_branches, 2, "nor is one that was not taken");
	CHECK_EQ(nr_of(&app->runs, 0x40, 0x80), 1, "the run goes through it");
	counted_code_done(&c);
	gather(&c, &t, empty, 3);
	CHECK_EQ(t.nr_branches, 2, "nor an empty entry");
	CHECK_EQ(counts_of(&c, "app")->runs.nr, 0, "after which all is unknown");
	counted_code_done(&c);
}

static void filtered(void)
{
	static const uint64_t words[] = {
		USER + 0x80, USER + 0x100, PREDICTED, /**/
		USER + 0x20, USER + 0x40,  PREDICTED, /**/
	};
	static const struct {
		uint64_t type;
		const char *name;
		bool has_all;
	} rows[] = {
		{PERF_SAMPLE_BRANCH_ANY,                                      "any",              true },
		{PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER,            "any",              true },
		{PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_KERNEL,          "any",              true },
		{PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_COND,            "any,cond",         true },
		{PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_TYPE_SAVE,       "any",              true },
		{PERF_SAMPLE_BRANCH_HW_INDEX,                                 "",                 true },
		{PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_IN_TX,           "any,in_tx",        false},
		{PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_NO_TX,           "any,no_tx",        false},
		{PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_USER,       "any_call",         false},
		{PERF_SAMPLE_BRANCH_ANY_RETURN,                               "any_ret",          false},
		{PERF_SAMPLE_BRANCH_IND_CALL,                                 "ind_call",         false},
		{PERF_SAMPLE_BRANCH_IND_JUMP,                                 "ind_jmp",          false},
		{PERF_SAMPLE_BRANCH_CALL,                                     "call",             false},
		{PERF_SAMPLE_BRANCH_COND,                                     "cond",             false},
		{PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_USER,     "stack",            false},
		{PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_CALL_STACK,      "any,stack",        false},
		{PERF_SAMPLE_BRANCH_ABORT_TX,                                 "abort_tx",         false},
		{PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_ANY_RETURN, "any_call,any_ret",
		 false										 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct perf_attr attr = {.branch_sample_type = rows[i].type};
		struct counted_code c = {0};
		struct branch_edges_totals t;
		struct buf name = {0};

		branch_filter_name(&attr, &name);
		CHECK_STR(buf_cstr(&name), rows[i].name, "the name of a filter");
		gather_of(&c, &t, rows[i].type, words, 2);
		CHECK(t.nr_branches == 2 && t.nr_filtered == !rows[i].has_all &&
			      counts_of(&c, "app")->runs.nr == rows[i].has_all,
		      "%s: runs only of all branches", rows[i].name);
		buf_done(&name);
		counted_code_done(&c);
	}
}

int main(void)
{
	ordinary();
	timed();
	left_out();
	kernel_between();
	no_branches();
	filtered();
	return tap_done();
}
