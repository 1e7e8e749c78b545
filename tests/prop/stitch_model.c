/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <time.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "stitch/stitch.h"
#include "unit/tap.h"

/*
 * The stitcher against an oracle that looks at the whole story for each sample, and against the
 * truth of a made-up kernel with records dropped, doubled and swapped.
 */
enum kind { SAMPLE, STACK, EXIT, FORK, EXEC, LOST, OTHER };

struct happening {
	enum kind kind;
	uint32_t tid, cpu;
	uint64_t cookie, time;
	uint32_t entry;    /* of the truth; a stack's content */
	bool is_short;     /* the stack has one frame, as after an exec */
	uint32_t position; /* before it was changed */
};

struct outcome {
	enum stitch_reason reason;
	uint32_t entry; /* of the stack; UINT32_MAX: none */
};

static uint64_t random_state = 1;

static uint32_t below(uint32_t n)
{
	random_state += 0x9e3779b97f4a7c15u;
	return (uint32_t)(hash_u64(random_state) >> 32) % n;
}

/* --- the stitcher --- */

static bool is_in_order;

static void take_out(struct stitch *s, const struct happening *h, struct outcome *ret,
		     size_t *nr_out)
{
	struct stitch_item item;

	while (stitch_next(s, &item)) {
		size_t at = (size_t)((const struct happening *)item.item - h);

		is_in_order &= at >= *nr_out;
		*nr_out = at + 1;
		ret[at].reason = item.reason;
		ret[at].entry = UINT32_MAX;
		if (item.stack)
			ret[at].entry = (uint32_t)load_u64(item.stack->ips, false);
	}
}

static struct clew_perf_ns at_ns(uint64_t ns)
{
	return (struct clew_perf_ns){ns};
}

static void play(const struct happening *h, size_t nr, struct outcome *ret,
		 struct stitch_counts *counts)
{
	struct stitch *s = stitch_new(&(struct stitch_opts){0});
	uint64_t *ips = mem_calloc(2 * nr + 2, sizeof(*ips));
	size_t nr_out = 0;

	is_in_order = true;
	for (size_t i = 0; i < nr; i++) {
		struct stitch_stack stack = {.ips = (const uint8_t *)&ips[2 * i],
					     .nr = h[i].is_short ? 1 : 2};

		ips[2 * i] = h[i].entry;
		ret[i] = (struct outcome){NR_STITCH_REASONS, UINT32_MAX};
		switch (h[i].kind) {
		case SAMPLE:
			stitch_sample(s, h[i].tid, h[i].cookie, at_ns(h[i].time),
				      (void *)(uintptr_t)&h[i], 0);
			break;
		case STACK:
			stitch_stack_record(s, h[i].tid, h[i].cookie, at_ns(h[i].time), &stack);
			break;
		case EXIT:
			stitch_task_exit(s, h[i].tid);
			break;
		case FORK:
			stitch_task_fork(s, h[i].tid);
			break;
		case EXEC:
			stitch_task_exec(s, h[i].tid);
			break;
		case LOST:
			stitch_lost(s);
			break;
		case OTHER:
			break;
		}
		take_out(s, h, ret, &nr_out);
	}
	stitch_end(s);
	take_out(s, h, ret, &nr_out);
	stitch_counts(s, counts);
	stitch_free(s);
	mem_free(ips);
}

/* --- the oracle: what docs/decisions/stitching.md says, word for word --- */

static bool ends_task(const struct happening *h, uint32_t tid)
{
	return h->tid == tid && (h->kind == EXIT || h->kind == FORK || h->kind == EXEC);
}

/* Is stack @p at (the first of its life) still good at @p now? Ended by the second next stack. */
static bool is_good(const struct happening *h, const bool *is_first, size_t at, size_t now)
{
	unsigned int nr_next = 0;

	for (size_t i = at + 1; i < now; i++) {
		if (ends_task(&h[i], h[at].tid))
			return false;
		nr_next += h[i].kind == STACK && h[i].tid == h[at].tid && is_first[i];
	}
	return nr_next < 2 && h[now].time - h[at].time <= STITCH_STACK_LIFE_NS;
}

/* The good stack of happening @p now's key before it; nr: none. */
static size_t stack_before(const struct happening *h, const bool *is_first, size_t now, size_t nr)
{
	for (size_t i = now; i-- > 0;) {
		if (h[i].kind == STACK && h[i].tid == h[now].tid && h[i].cookie == h[now].cookie &&
		    is_first[i])
			return is_good(h, is_first, i, now) ? i : nr;
	}
	return nr;
}

/* What ends the wait of the sample at @p now; nr: nothing. */
static size_t end_of_wait(const struct happening *h, const bool *is_first, size_t now, size_t nr)
{
	uint64_t newest = h[now].time;

	for (size_t i = now + 1; i < nr; i++) {
		if (ends_task(&h[i], h[now].tid))
			return i;
		if (h[i].kind == SAMPLE && h[i].tid == h[now].tid && h[i].cookie == h[now].cookie)
			newest = h[i].time;
		if (h[i].kind == STACK && h[i].tid == h[now].tid && is_first[i] &&
		    (h[i].cookie == h[now].cookie || h[i].time > newest))
			return i;
	}
	return nr;
}

/* Did the task, which ended at @p end, ask for another stack after that of the sample at @p now? */
static bool went_on(const struct happening *h, const bool *is_first, size_t now, size_t end,
		    size_t nr)
{
	bool is_other = false;

	for (size_t i = 0; i < end; i++) {
		if (h[i].kind == SAMPLE && h[i].tid == h[now].tid &&
		    stack_before(h, is_first, i, nr) == nr &&
		    end_of_wait(h, is_first, i, nr) == end)
			is_other = h[i].cookie != h[now].cookie;
	}
	return is_other;
}

static struct outcome expect(const struct happening *h, const bool *is_first, size_t now, size_t nr)
{
	size_t before = stack_before(h, is_first, now, nr), end, oldest = now;
	struct outcome o = {STITCH_END, UINT32_MAX};
	bool is_lost = false;

	if (before < nr)
		return (struct outcome){STITCH_NO_REASON, h[before].entry};
	end = end_of_wait(h, is_first, now, nr);
	if (end < nr && h[end].kind == STACK && h[end].cookie == h[now].cookie)
		o = (struct outcome){STITCH_NO_REASON, h[end].entry};
	else if (end < nr)
		o.reason = h[end].kind == STACK || went_on(h, is_first, now, end, nr)
				 ? STITCH_NO_RECORD
			 : h[end].kind == EXEC ? STITCH_EXEC
					       : STITCH_EXIT;
	/* Records lost since the oldest sample of the same wait. */
	for (size_t i = now; i-- > 0;) {
		if (h[i].kind == SAMPLE && h[i].tid == h[now].tid && h[i].cookie == h[now].cookie &&
		    stack_before(h, is_first, i, nr) == nr &&
		    end_of_wait(h, is_first, i, nr) == end)
			oldest = i;
	}
	for (size_t i = oldest; i < end; i++)
		is_lost |= h[i].kind == LOST;
	if (is_lost && o.reason != STITCH_EXEC && (o.reason || h[end].is_short))
		o = (struct outcome){STITCH_BUFFER, UINT32_MAX};
	return o;
}

enum { MAX_STORY = 64 };

static void make_story(struct happening *h, size_t nr)
{
	static const uint8_t kinds[] = {SAMPLE, SAMPLE, SAMPLE, SAMPLE, STACK, STACK,
					STACK,  EXIT,   FORK,   EXEC,   LOST,  OTHER};
	uint32_t nr_tids = 1 + below(3), nr_cookies = 1 + below(4);
	uint64_t time = 0;

	for (size_t i = 0; i < nr; i++) {
		time += below(4) ? below(3) : below(8) ? 1000 : STITCH_STACK_LIFE_NS / 2;
		h[i] = (struct happening){
			.kind = (enum kind)kinds[below(below(3) ? 7 : sizeof(kinds))],
			.tid = below(nr_tids),
			.cookie = below(nr_cookies),
			.time = time,
			.entry = (uint32_t)i,
			.is_short = below(2),
		};
	}
}

static void test_oracle(void)
{
	struct happening h[MAX_STORY];
	struct outcome got[MAX_STORY];
	bool is_first[MAX_STORY];
	struct stitch_counts counts;
	unsigned int nr_wrong = 0, nr_samples = 0, nr_complete = 0;
	bool all_in_order = true;

	for (int round = 0; round < 30000; round++) {
		size_t nr = 1 + below(MAX_STORY - 1);

		make_story(h, nr);
		play(h, nr, got, &counts);
		all_in_order &= is_in_order;
		for (size_t i = 0; i < nr; i++)
			is_first[i] = h[i].kind == STACK && stack_before(h, is_first, i, nr) == nr;
		for (size_t i = 0; i < nr; i++) {
			struct outcome want;

			if (h[i].kind != SAMPLE)
				continue;
			want = expect(h, is_first, i, nr);
			nr_samples++;
			nr_complete += want.reason == STITCH_NO_REASON;
			nr_wrong += want.reason != got[i].reason || want.entry != got[i].entry;
		}
	}
	CHECK_EQ(nr_wrong, 0, "30000 stories: the oracle agrees on %u samples, %u complete",
		 nr_samples, nr_complete);
	CHECK(all_in_order, "what comes out is in the order in which it went in");
}

/* --- the truth --- */

struct story {
	struct happening *data;
	size_t nr, cap;
};

static void tell(struct story *s, const struct happening *h)
{
	if (s->nr < s->cap) {
		s->data[s->nr] = *h;
		s->data[s->nr].position = (uint32_t)s->nr;
		s->nr++;
	}
}

enum { NR_TASKS = 4, NR_CPUS = 3, TRUE_RECORDS = 300 };

/* A kernel: tasks enter, are sampled, leave with one stack an entry, sometimes are sampled again
 * before user mode, exec, exit, and their numbers are taken again. */
static void make_truth(struct story *s)
{
	struct {
		uint64_t cookie;
		uint32_t entry, cpu;
		bool is_asked, is_done, is_new;
	} tasks[NR_TASKS] = {0};
	uint32_t nr_entries = 0;
	uint64_t counter[NR_CPUS] = {0}, time = 0;

	s->nr = 0;
	while (s->nr + 2 < TRUE_RECORDS) {
		uint32_t tid = below(NR_TASKS), what = below(20);
		struct happening h = {.tid = tid, .time = time += 1 + below(1000)};

		if (!tasks[tid].is_asked || what < 2) { /* back to user mode; a new entry */
			tasks[tid].is_asked = tasks[tid].is_done = false;
			if (!below(3))
				tasks[tid].cpu = below(NR_CPUS);
		}
		h.cpu = tasks[tid].cpu;
		if (!tasks[tid].is_asked) {
			tasks[tid].is_asked = true;
			tasks[tid].is_new = false;
			tasks[tid].entry = nr_entries++;
			tasks[tid].cookie = ++counter[h.cpu] << 16 | (h.cpu + 1);
		}
		h.cookie = tasks[tid].cookie;
		h.entry = tasks[tid].entry;
		h.kind = SAMPLE;
		if (what == 19 || (what == 18 && !tasks[tid].is_done)) {
			/* An exec is in the middle of an entry, which then has another stack. */
			h.kind = what == 19 ? EXIT : EXEC;
			if (h.kind == EXEC) {
				tasks[tid].entry = nr_entries++;
				tasks[tid].is_new = true;
			} else {
				tasks[tid].is_asked = false;
			}
			tell(s, &h);
			if (h.kind == EXIT) {
				h.kind = FORK;
				h.time = ++time;
				tell(s, &h);
			}
			continue;
		}
		if (what > 12 && !tasks[tid].is_done) {
			h.kind = STACK;
			h.is_short = tasks[tid].is_new;
			tasks[tid].is_done = true;
		}
		tell(s, &h);
	}
}

/* No sample has another entry's stack; each has one outcome. */
static bool holds(const struct story *s, struct outcome *got)
{
	struct stitch_counts counts;
	uint64_t sum = 0, nr = 0;

	play(s->data, s->nr, got, &counts);
	for (size_t i = 0; i < s->nr; i++) {
		if (s->data[i].kind != SAMPLE)
			continue;
		nr++;
		if (got[i].reason == NR_STITCH_REASONS ||
		    (got[i].entry != UINT32_MAX && got[i].entry != s->data[i].entry) ||
		    (got[i].entry == UINT32_MAX) != (got[i].reason != STITCH_NO_REASON))
			return false;
	}
	for (int i = 0; i < NR_STITCH_REASONS; i++)
		sum += counts.by_reason[i];
	return is_in_order && sum == nr && counts.nr_samples == nr;
}

static void copy_story(const struct story *from, struct story *to)
{
	memcpy(to->data, from->data, from->nr * sizeof(*from->data));
	to->nr = from->nr;
}

static void insert(struct story *s, size_t at, struct happening h)
{
	memmove(s->data + at + 1, s->data + at, (s->nr - at) * sizeof(h));
	s->data[at] = h;
	s->nr++;
}

static void swap_at(struct story *s, size_t at)
{
	struct happening h = s->data[at];

	s->data[at] = s->data[at + 1];
	s->data[at + 1] = h;
}

static void test_truth(void)
{
	static struct happening data[2][TRUE_RECORDS + 2];
	static struct outcome got[TRUE_RECORDS + 2];
	struct story truth = {data[0], 0, TRUE_RECORDS}, s = {data[1], 0, TRUE_RECORDS + 2};
	unsigned int nr_complete = 0, nr_whole = 0, bad[4] = {0}, done[4] = {0};

	for (int round = 0; round < 40; round++) {
		make_truth(&truth);
		bad[0] += !holds(&truth, got);
		done[0]++;
		for (size_t i = 0; i < truth.nr; i++) {
			nr_whole += truth.data[i].kind == SAMPLE;
			nr_complete +=
				truth.data[i].kind == SAMPLE && got[i].reason == STITCH_NO_REASON;
		}
		for (size_t i = 0; i < truth.nr; i++) {
			copy_story(&truth, &s);
			s.data[i].kind = LOST; /* as the kernel says in its place */
			bad[1] += !holds(&s, got);
			done[1]++;
			copy_story(&truth, &s);
			insert(&s, i, truth.data[i]);
			bad[2] += !holds(&s, got);
			done[2]++;
			if (i + 1 == truth.nr || truth.data[i].cpu == truth.data[i + 1].cpu ||
			    truth.data[i].tid == truth.data[i + 1].tid)
				continue;
			copy_story(&truth, &s);
			swap_at(&s, i);
			bad[3] += !holds(&s, got);
			done[3]++;
		}
	}
	CHECK_EQ(bad[0], 0, "%u true stories (%u of %u samples complete): no wrong stack", done[0],
		 nr_complete, nr_whole);
	CHECK_EQ(bad[1], 0, "%u times one record lost (an exit, a fork, an exec among them)",
		 done[1]);
	CHECK_EQ(bad[2], 0, "%u times with one record twice", done[2]);
	CHECK_EQ(bad[3], 0, "%u times with neighbours of two CPUs swapped", done[3]);
}

/* --- size --- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t take_all(struct stitch *s)
{
	struct stitch_item item;
	uint64_t nr = 0;

	while (stitch_next(s, &item))
		nr += item.stack != NULL;
	return nr;
}

static void test_idle_tasks(void)
{
	const struct stitch_stack stack = {.nr = 0};
	struct stitch *s = stitch_new(&(struct stitch_opts){.budget_bytes = 1 << 30});
	struct stitch_counts counts;
	uint64_t nr = 0;
	double start = now();

	for (uint32_t i = 0; i < 100000; i++)
		stitch_sample(s, i, i, at_ns(i), NULL, 0);
	for (uint32_t i = 0; i < 300000; i++) { /* others continue meanwhile */
		stitch_sample(s, 200000 + i % 100, 1000000 + i, at_ns(100000 + i), NULL, 0);
		stitch_stack_record(s, 200000 + i % 100, 1000000 + i, at_ns(100000 + i), &stack);
	}
	for (uint32_t i = 100000; i-- > 0;)
		stitch_stack_record(s, i, i, at_ns(500000), &stack);
	nr = take_all(s);
	stitch_counts(s, &counts);
	CHECK_EQ(nr, 400000, "100000 sleeping tasks, 300000 samples after them");
	printf("# %.0f ms for 800000 records, %.1f MB\n", (now() - start) * 1e3,
	       (double)counts.peak_bytes / 1e6);
	stitch_free(s);
}

static void test_one_key(void)
{
	const struct stitch_stack stack = {.nr = 0};
	struct stitch *s = stitch_new(&(struct stitch_opts){0});
	uint64_t nr;

	for (uint32_t i = 0; i < 100000; i++)
		stitch_sample(s, 1, 1, at_ns(i), NULL, 0);
	stitch_stack_record(s, 1, 1, at_ns(100000), &stack);
	for (uint32_t i = 0; i < 100000; i++)
		stitch_sample(s, 1, 1, at_ns(100000 + i), NULL, 0);
	nr = take_all(s);
	CHECK_EQ(nr, 200000, "200000 samples of one key, half of them after its stack");
	stitch_free(s);
}

/* The budget holds while tasks that never come back pile up. */
static void test_budget(void)
{
	struct stitch *s = stitch_new(&(struct stitch_opts){.budget_bytes = 1 << 20});
	const struct stitch_stack stack = {.nr = 0, .bytes = 100};
	struct stitch_counts counts;
	double start = now();

	for (uint32_t i = 0; i < 500000; i++) {
		stitch_sample(s, 2 * i, i, at_ns(i), NULL, 100);
		stitch_stack_record(s, 2 * i + 1, i, at_ns(i), &stack);
		take_all(s);
	}
	stitch_counts(s, &counts);
	CHECK(counts.peak_bytes < (1 << 20) + 1000 && counts.by_reason[STITCH_TIMEOUT] > 490000,
	      "500000 tasks that never come back and as many stacks without a sample: 1 MiB holds");
	printf("# %.0f ns a record\n", (now() - start) * 1e9 / 1e6);
	stitch_free(s);
}

static void test_speed(void)
{
	const struct stitch_stack stack = {.nr = 0};
	struct stitch *s = stitch_new(&(struct stitch_opts){0});
	uint64_t nr = 0;
	double start = now();

	for (uint32_t i = 0; i < 500000; i++) {
		stitch_sample(s, i % 1000, i, at_ns(i), NULL, 0);
		if (i >= 10)
			stitch_stack_record(s, (i - 10) % 1000, i - 10, at_ns(i), &stack);
		nr += take_all(s);
	}
	CHECK_EQ(nr, 500000 - 10, "a million records, ten samples in flight");
	printf("# %.0f ns a record\n", (now() - start) * 1e9 / 1e6);
	stitch_free(s);
}

int main(void)
{
	test_oracle();
	test_truth();
	test_idle_tasks();
	test_one_key();
	test_budget();
	test_speed();
	return tap_done();
}
