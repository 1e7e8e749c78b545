/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_evlist.h"

#include "base/mem.h"
#include "make/perf_encode.h"
#include "unit/tap.h"

static struct perf_evsel *add(struct perf_evlist *l, uint64_t sample_type, uint64_t flags,
			      uint64_t id)
{
	const struct perf_attr attr = {.sample_type = sample_type, .flags = flags};

	return perf_evlist_add(l, &attr, "x", (const uint8_t *)&id, 1, false);
}

/* Which event a record with these words as its body belongs to. */
static struct perf_evsel *find(const struct perf_evlist *l, uint32_t type, const uint64_t *words,
			       size_t nr)
{
	return perf_evlist_of_record(l, type, bytes_of(words, 8 * nr), false);
}

static void test_by_identifier(void)
{
	struct perf_evlist l = {0};
	const uint64_t type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP;
	struct perf_evsel *a = add(&l, type, PERF_ATTR_SAMPLE_ID_ALL, 10);
	struct perf_evsel *b = add(&l, type | PERF_SAMPLE_TIME, PERF_ATTR_SAMPLE_ID_ALL, 20);

	CHECK(find(&l, PERF_RECORD_SAMPLE, (uint64_t[]){20, 1}, 2) == b,
	      "a sample, by its first word");
	CHECK(find(&l, PERF_RECORD_COMM, (uint64_t[]){0, 0, 20}, 3) == b,
	      "another record, by its last word");
	CHECK(find(&l, PERF_RECORD_COMM, (uint64_t[]){0, 0, 0}, 3) == a,
	      "id 0: a tool made it; the first event stands for it");
	CHECK(!find(&l, PERF_RECORD_SAMPLE, (uint64_t[]){30, 1}, 2), "an unknown id");
	CHECK(!find(&l, PERF_RECORD_SAMPLE, NULL, 0), "a sample without a word");
	perf_evlist_done(&l);
}

static void test_by_id(void)
{
	struct perf_evlist l = {0};
	const uint64_t type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			      PERF_SAMPLE_CPU;
	struct perf_evsel *a = add(&l, type, PERF_ATTR_SAMPLE_ID_ALL, 10);
	struct perf_evsel *b = add(&l, type, PERF_ATTR_SAMPLE_ID_ALL, 20);

	CHECK(find(&l, PERF_RECORD_SAMPLE, (uint64_t[]){1, 2, 3, 20, 4}, 5) == b,
	      "PERF_SAMPLE_ID after ip, tid and time");
	CHECK(find(&l, PERF_RECORD_EXIT, (uint64_t[]){0, 0, 0, 10, 4}, 5) == a,
	      "and before the cpu in a trailer");
	perf_evlist_done(&l);
}

static void test_uncommon_place(void)
{
	struct perf_evlist l = {0};
	struct perf_evsel *a = add(&l, PERF_SAMPLE_IP | PERF_SAMPLE_ID, 0, 10);

	add(&l, PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_ID, 0, 20);
	CHECK(find(&l, PERF_RECORD_SAMPLE, (uint64_t[]){1, 10, 20}, 3) == a &&
		      !find(&l, PERF_RECORD_SAMPLE, (uint64_t[]){1, 20, 20}, 3),
	      "another event's id is none at the place where only the first has it");
	perf_evlist_done(&l);
}

static void test_one_event(void)
{
	struct perf_evlist l = {0};
	struct perf_evsel *a = add(&l, PERF_SAMPLE_IP, 0, 10);

	CHECK(find(&l, PERF_RECORD_SAMPLE, (uint64_t[]){1}, 1) == a &&
		      find(&l, PERF_RECORD_MMAP, NULL, 0) == a,
	      "one event needs no ids");
	perf_evlist_done(&l);
	CHECK(!find(&l, PERF_RECORD_SAMPLE, NULL, 0), "no event at all");
}

static void test_out_of_memory(void)
{
	bool failed = true;
	unsigned int n = 0;

	for (; failed && n < 100; n++) {
		struct perf_evlist l = {0};

		mem_fail_after(n);
		for (uint64_t id = 1; id < 40; id++)
			add(&l, PERF_SAMPLE_ID, 0, id);
		failed = mem_has_failed();
		mem_fail_after(UINT64_MAX);
		perf_evlist_done(&l);
	}
	CHECK(n > 3 && n < 100, "each of %u allocations fails once: nothing breaks", n - 1);
}

int main(void)
{
	test_by_identifier();
	test_by_id();
	test_uncommon_place();
	test_one_event();
	test_out_of_memory();
	return tap_done();
}
