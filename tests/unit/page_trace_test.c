/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/page/page_impl.h"
#include "os/file.h"
#include "unit/tap.h"

/* Levels and calls of traced threads, and what ends them. */

enum { START = 1000, MAIN = 1, WORK, KERNEL, GUEST, NR_NODES };

/* main - work - (kernel), main - (guest kernel) */
static const uint8_t levels[NR_NODES] = {[MAIN] = 1, [WORK] = 1, [KERNEL] = 2, [GUEST] = 4};
static const uint32_t same_node[NR_NODES] = {0, MAIN, WORK, KERNEL, GUEST};

static struct page_feed *new_feed(struct page_tree *t, uint32_t nr_threads)
{
	struct page_feed *p;
	uint32_t node;
	int err;

	*t = (struct page_tree){.node_of = (uint32_t *)(uintptr_t)same_node,
				.levels = (uint8_t *)(uintptr_t)levels};
	report_tree_init(&t->tree, 0);
	report_tree_child(&t->tree, REPORT_ROOT, MAIN, &node);
	report_tree_child(&t->tree, MAIN, WORK, &node);
	report_tree_child(&t->tree, WORK, KERNEL, &node);
	report_tree_child(&t->tree, MAIN, GUEST, &node);
	p = page_feed_new(&err);
	for (uint32_t i = 0; p && i < nr_threads; i++) {
		vec_push(&p->threads, (struct page_thread){.pid = 7, .tid = 10 + i});
		map_u64_put(&p->thread_of, (uint64_t)7 << 32 | (10 + i), i);
	}
	if (p) {
		p->first = START;
		p->is_traced[0] = true;
	}
	return p;
}

static void add(struct page_feed *p, uint64_t time, uint32_t thread, uint32_t cpu, uint32_t node)
{
	p->rows[p->nr_waiting++] = (struct page_row){
		.time = START + time, .thread = thread, .cpu = cpu, .node = node, .nr = 1};
	p->last = START + time;
	p->nr_of[0]++;
	p->nr++;
}

static void append(void *ctx, const struct page_interval *i)
{
	char *to = ctx;

	snprintf(to + strlen(to), 400 - strlen(to), "%u:%u@%u %u-%u ", i->thread, i->kind, i->place,
		 (unsigned int)(i->end - i->length - START), (unsigned int)(i->end - START));
}

/* Walks, and compares both with texts: THREAD:KIND@PLACE FROM-TO each. */
static void check(struct page_feed *p, struct page_tree *t, const char *want_levels,
		  const char *want_calls, const char *what)
{
	char got[400] = "";

	CHECK(page_rows_flush(p) == CLEW_OK && page_trace_walk(p, t) == CLEW_OK, "%s", what);
	page_intervals_each(&p->levels, NULL, append, got);
	CHECK_STR(got, want_levels, "%s: levels", what);
	got[0] = 0;
	page_intervals_each(&p->calls, NULL, append, got);
	CHECK_STR(got, want_calls, "%s: calls", what);
	report_tree_done(&t->tree);
	page_feed_free(p);
}

static void test_one(void)
{
	struct page_tree t;
	struct page_feed *p = new_feed(&t, 1);

	add(p, 0, 0, 0, MAIN);
	add(p, 10, 0, 0, WORK);
	add(p, 20, 0, 0, KERNEL);
	add(p, 20, 0, 0, WORK);
	add(p, 30, 0, 0, KERNEL);
	add(p, 35, 0, 0, GUEST);
	add(p, 50, 0, 1, GUEST);
	add(p, 60, 0, 1, MAIN);
	CHECK(p, "rows");
	check(p, &t, "0:1@0 0-20 0:1@0 20-30 0:2@0 30-35 0:4@0 35-50 0:4@1 50-60 ",
	      "0:0@3 30-35 0:0@2 10-35 0:0@4 35-60 0:0@1 0-60 ", "a thread that moves to a guest");
}

static void test_cuts(void)
{
	struct page_tree t;
	struct page_feed *p = new_feed(&t, 3);

	vec_push(&p->pauses, (struct ana_pause){{START + 25}, {START + 35}, 0, PAGE_NONE, "x"});
	vec_push(&p->pauses, (struct ana_pause){{START + 55}, {START + 58}, PAGE_NONE, 11, "x"});
	vec_push(&p->records, (struct page_record){.time = START + 70,
						   .who = (uint64_t)7 << 32 | 12,
						   .kind = PAGE_EXIT});
	add(p, 0, 0, 0, MAIN);
	add(p, 10, 1, 1, MAIN);
	add(p, 20, 0, 0, WORK);
	add(p, 40, 0, 0, WORK);
	add(p, 50, 2, 0, MAIN);
	add(p, 90, 1, 1, MAIN);
	add(p, 100, 1, 1, MAIN);
	check(p, &t, "0:1@0 0-25 0:1@0 40-50 1:1@1 10-55 2:1@0 50-70 1:1@1 90-100 ",
	      "0:0@2 20-25 0:0@1 0-25 1:0@1 10-55 2:0@1 50-70 0:0@2 40-100 0:0@1 40-100 1:0@1 90-100 ",
	      "pauses of a CPU and a thread, another thread on its CPU, an exit");
}

static void test_switches(void)
{
	struct page_tree t;
	struct page_feed *p = new_feed(&t, 1);
	struct page_interval i = {.end = START + 15,
				  .length = 15,
				  .who = (uint64_t)7 << 32 | 10,
				  .kind = PAGE_RUNNING};

	page_intervals_put(&p->intervals, &i);
	i.end = START + 30;
	i.kind = PAGE_SLEEPING;
	page_intervals_put(&p->intervals, &i);
	add(p, 0, 0, 0, MAIN);
	add(p, 30, 0, 0, MAIN);
	add(p, 40, 0, 0, MAIN);
	CHECK(page_intervals_choose(&p->intervals, START, &p->thread_of, 10) == CLEW_OK,
	      "switches");
	check(p, &t, "0:1@0 0-15 0:1@0 30-40 ", "0:0@1 0-40 ",
	      "off its CPU it runs at no level, and stays in its calls");
}

/* What has no level or no thread, and ends of trace. */
static void test_unknown(void)
{
	struct page_tree t;
	struct page_feed *p = new_feed(&t, 2);

	p->threads.data[1].tid = PAGE_NONE;
	add(p, 0, 0, 0, MAIN);
	add(p, 5, 1, 0, MAIN);
	add(p, 10, 0, 0, WORK);
	p->rows[p->nr_waiting - 1].ends_trace = true;
	add(p, 20, 0, 0, MAIN);
	add(p, 30, 0, 0, REPORT_ROOT);
	add(p, 40, 0, PAGE_NONE, MAIN);
	add(p, 50, 0, PAGE_NONE, MAIN);
	check(p, &t, "0:1@0 0-10 0:1@0 20-30 0:1@4294967295 40-50 ",
	      "0:0@2 10-20 0:0@1 0-30 0:0@1 40-50 ", "unknown threads, levels and CPUs");
	p = new_feed(&t, 1);
	p->is_traced[0] = false;
	add(p, 0, 0, 0, MAIN);
	add(p, 10, 0, 0, MAIN);
	check(p, &t, "", "", "samples that were not traced");
}

static void test_error(void)
{
	static const struct ana_synth synth = {.error = "no code", .error_code = 5};
	const struct ana_event e = {
		.synth = &synth, .time = {START + 20}, .cpu = 3, .pid = 7, .tid = 10};
	const struct ana_batch b = {.events = &e, .nr = 1};
	struct page_tree t;
	struct page_feed *p = new_feed(&t, 1);

	add(p, 0, 0, 3, MAIN);
	CHECK(page_feed_batch(p, &b) == CLEW_OK && p->pauses.nr == 1 &&
		      p->pauses.data[0].from.ns == START + 20 && p->pauses.data[0].tid == 10,
	      "an error of the trace is a moment");
	add(p, 30, 0, 3, MAIN);
	add(p, 40, 0, 3, MAIN);
	check(p, &t, "0:1@3 0-20 0:1@3 30-40 ", "0:0@1 0-20 0:0@1 30-40 ", "it ends all");
}

int main(void)
{
	test_one();
	test_cuts();
	test_switches();
	test_unknown();
	test_error();
	return tap_done();
}
