/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which stacks are written, which wait for a sample, and which are given up. */
#include "record/stacks/user_stacks_impl.h"
#include "unit/tap.h"

static struct rec_counter tracker;

static void begin(struct user_stacks *u)
{
	tracker.attr.sample_type = PERF_SAMPLE_TID;
	tracker.attr.flags = PERF_ATTR_SAMPLE_ID_ALL;
	*u = (struct user_stacks){.tracker = &tracker};
	defer_join_init(&u->join, 1, 1);
}

/* A stack of one frame, followed by its task's number. */
static void stack(struct user_stacks *u, uint32_t tid, uint64_t cookie)
{
	const struct perf_event_header h = {.type = PERF_RECORD_CALLCHAIN_DEFERRED, .size = 40};
	const uint64_t words[] = {cookie, 1, 0x1000, (uint64_t)tid << 32 | tid};

	buf_add(&u->stacks, &h, sizeof(h));
	buf_add(&u->stacks, words, sizeof(words));
}

static void sample(struct user_stacks *u, uint32_t tid, uint64_t cookie)
{
	const struct defer_request r = {.time = cookie, .cookie = cookie, .tid = tid};

	defer_join_request(&u->join, &r);
	defer_join_sample(&u->join, 0, 0, tid, cookie);
}

/* A pass ends. @return the cookie of the one stack that went out; 0: none. */
static uint64_t pass(struct user_stacks *u)
{
	uint64_t cookie = 0;

	user_stacks_settle(u);
	if (u->out.nr == 40)
		cookie = load_u64(u->out.data + 8, false);
	else if (u->out.nr)
		cookie = UINT64_MAX;
	buf_clear(&u->out);
	return cookie;
}

static void done(struct user_stacks *u)
{
	defer_join_done(&u->join);
	map_u64_done(&u->newest);
	buf_done(&u->stacks);
	buf_done(&u->unasked);
	buf_done(&u->spare);
	buf_done(&u->out);
}

static void test_order(void)
{
	struct user_stacks u;

	begin(&u);
	stack(&u, 7, 0x10001);
	sample(&u, 7, 0x10001);
	CHECK_EQ(pass(&u), 0x10001, "a stack and its sample in one pass");
	sample(&u, 7, 0x20001);
	CHECK_EQ(pass(&u), 0, "a sample alone");
	stack(&u, 7, 0x20001);
	CHECK_EQ(pass(&u), 0x20001, "and its stack");
	stack(&u, 7, 0x30001);
	CHECK_EQ(pass(&u), 0, "a stack alone");
	sample(&u, 7, 0x30001);
	CHECK_EQ(pass(&u), 0x30001, "and its sample");
	CHECK_EQ(user_stacks_nr_unasked(&u), 0, "none is left");
	done(&u);
}

/* The task lost its CPU between its stack and its sample. */
static void test_held_up(void)
{
	struct user_stacks u;
	bool is_quiet = true;

	begin(&u);
	stack(&u, 7, 0x10001);
	stack(&u, 7, 0x20001);
	stack(&u, 8, 0x30001);
	for (int i = 0; i < 5; i++)
		is_quiet &= !pass(&u);
	CHECK(is_quiet && user_stacks_nr_unasked(&u) == 3, "no sample yet");
	sample(&u, 7, 0x10001);
	CHECK_EQ(pass(&u), 0, "too late: the task has a newer one");
	stack(&u, 7, 0x40001);
	CHECK_EQ(pass(&u), 0, "the task continues");
	sample(&u, 7, 0x20001);
	CHECK_EQ(pass(&u), 0x20001, "its sample may come a pass later than its next stack");
	stack(&u, 7, 0x50001);
	is_quiet = !pass(&u) && !pass(&u);
	sample(&u, 7, 0x40001);
	CHECK(is_quiet && !pass(&u), "but no later");
	sample(&u, 8, 0x30001);
	CHECK_EQ(pass(&u), 0x30001, "another task's stays");
	CHECK_EQ(user_stacks_nr_unasked(&u), 3, "two were given up, one waits");
	done(&u);
}

/* A uprobe's stack, then those of a clock that interrupts the task, then the uprobe's sample. */
static void test_own(void)
{
	const uint64_t own = PERF_COOKIE_OWN | 0x10001;
	struct user_stacks u;
	bool is_quiet = true;

	begin(&u);
	stack(&u, 7, own);
	for (uint64_t i = 2; i < 6; i++) {
		is_quiet &= !pass(&u);
		stack(&u, 7, i << 16 | 1);
	}
	is_quiet &= !pass(&u);
	sample(&u, 7, own);
	CHECK_EQ(pass(&u), own, "of one sample alone: stays, whatever else comes of the task");
	CHECK(is_quiet, "only then");
	stack(&u, 7, PERF_COOKIE_OWN | 0x60001);
	pass(&u);
	stack(&u, 7, PERF_COOKIE_OWN | 0x70001);
	pass(&u);
	pass(&u);
	sample(&u, 7, PERF_COOKIE_OWN | 0x60001);
	CHECK_EQ(pass(&u), 0, "but for the next of its kind");
	done(&u);
}

static void test_limit(void)
{
	enum { NR = 20000 };
	struct user_stacks u;

	begin(&u);
	for (uint32_t i = 1; i <= NR; i++)
		stack(&u, i, (uint64_t)i << 16 | 1);
	for (int i = 0; i < 3; i++)
		pass(&u);
	CHECK(u.unasked.nr > 200 << 10 && u.unasked.nr < 300 << 10, "what waits has a limit: %zu",
	      u.unasked.nr);
	CHECK_EQ(user_stacks_nr_unasked(&u), NR, "and all are counted");
	done(&u);
}

int main(void)
{
	test_order();
	test_held_up();
	test_own();
	test_limit();
	return tap_done();
}
