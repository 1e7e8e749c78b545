/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_stack_info.h"

#include "base/mem.h"
#include "make/perf_random.h"
#include "perfdata/perf_deferred.h"
#include "unit/tap.h"

enum { NR_SAMPLES = 200000, NR_CUT = 3000 };

static uint8_t methods_of[510];

/* What is reported of sample @p i; false: nothing. The same for the same number. */
static bool info_of(uint32_t i, struct perf_stack_info *ret)
{
	uint32_t kind = i * 2654435761u >> 20;

	if (kind % 11 == 0)
		return false;
	*ret = (struct perf_stack_info){.state = (uint8_t)(kind % 3),
					.reason = (uint8_t)(kind % 13),
					.stop = (uint8_t)(kind % 16),
					.why = (uint8_t)(kind % 5),
					.method = (uint8_t)(kind % 6),
					.nr = kind % 511,
					.after = kind % 3};
	if (kind % 7 == 0) {
		ret->method = PERF_DEFERRED_MIXED;
		ret->methods = methods_of;
	}
	return true;
}

static bool is_same(const struct perf_stack_info *a, const struct perf_stack_info *b)
{
	return a->state == b->state && a->reason == b->reason && a->stop == b->stop &&
	       a->why == b->why && a->method == b->method && a->nr == b->nr &&
	       a->after == b->after && !a->methods == !b->methods &&
	       (!a->methods || !memcmp(a->methods, b->methods, a->nr));
}

static bool write_all(uint32_t nr, struct buf *out)
{
	const struct perf_stack_totals totals = {.nr_stacks = 1,
						 .nr_unclaimed = 2,
						 .nr_duplicates = 3,
						 .nr_differing = 1ull << 40,
						 .nr_late = 5};
	struct perf_stack_infos *w = perf_stack_infos_new();
	struct perf_stack_info info;
	enum clew_err err = w ? CLEW_OK : CLEW_NO_MEMORY;

	for (uint32_t i = 0; i < nr && err == CLEW_OK; i++)
		err = perf_stack_infos_add(w, info_of(i, &info) ? &info : NULL);
	if (err == CLEW_OK)
		perf_stack_infos_finish(w, &totals, out);
	perf_stack_infos_free(w);
	return err == CLEW_OK && !out->is_failed;
}

/* How many of the first @p nr samples are reported as they were written. */
static uint32_t read_all(struct bytes section, uint32_t nr, bool *ret_is_broken)
{
	struct perf_stack_reader *r;
	struct perf_stack_info got, want;
	uint32_t same = 0;

	*ret_is_broken = true;
	if (perf_stack_reader_new(&r, section) != CLEW_OK)
		return 0;
	for (uint32_t i = 0; i < nr; i++) {
		bool has = info_of(i, &want);

		if (perf_stack_reader_next(r, &got))
			same += has && is_same(&got, &want);
		else
			same += !has && !perf_stack_reader_is_broken(r);
	}
	*ret_is_broken = perf_stack_reader_is_broken(r) || perf_stack_reader_next(r, &got);
	perf_stack_reader_free(r);
	return same;
}

static void test_round_trip(void)
{
	struct perf_stack_reader *r = NULL;
	struct buf out = {0};
	bool is_broken;

	CHECK(write_all(NR_SAMPLES, &out), "%d samples are written", NR_SAMPLES);
	CHECK_EQ(read_all(bytes_of(out.data, out.nr), NR_SAMPLES, &is_broken), NR_SAMPLES,
		 "each comes back as it was, in order");
	CHECK(!is_broken, "and nothing after the last");
	CHECK(out.nr < 4 * NR_SAMPLES, "in %zu bytes", out.nr);
	CHECK_EQ(perf_stack_reader_new(&r, bytes_of(out.data, out.nr)), CLEW_OK, "opens again");
	CHECK(perf_stack_reader_totals(r)->nr_samples == NR_SAMPLES &&
		      perf_stack_reader_totals(r)->nr_differing == 1ull << 40 &&
		      perf_stack_reader_totals(r)->nr_late == 5,
	      "the totals come back");
	perf_stack_reader_free(r);
	out.data[7]++;
	CHECK_EQ(perf_stack_reader_new(&r, bytes_of(out.data, out.nr)), CLEW_UNSUPPORTED,
		 "another version is refused");
	out.data[0]++;
	CHECK_EQ(perf_stack_reader_new(&r, bytes_of(out.data, out.nr)), CLEW_BAD_FILE,
		 "what is no such section is damage");
	CHECK_EQ(perf_stack_reader_new(&r, bytes_of(out.data, 11)), CLEW_BAD_FILE, "and a cut one");
	buf_done(&out);
}

/* How many of @p nr samples the section does not describe, once its byte @p at changed by @p by. */
static uint64_t nr_unknown(struct buf *section, size_t at, uint8_t by, uint32_t nr)
{
	struct perf_stack_reader *r;
	struct perf_stack_info got;
	uint64_t unknown;

	section->data[at] = (char)(section->data[at] + by);
	if (perf_stack_reader_new(&r, bytes_of(section->data, section->nr)) != CLEW_OK)
		return UINT64_MAX;
	while (nr--)
		perf_stack_reader_next(r, &got);
	unknown = perf_stack_reader_nr_unknown(r);
	CHECK_EQ(perf_stack_reader_is_broken(r), by && unknown, "damage is known from a short one");
	perf_stack_reader_free(r);
	section->data[at] = (char)(section->data[at] - by);
	return unknown;
}

static void test_unknown(void)
{
	enum { TOTALS = 12, BLOCK = TOTALS + 48 };
	struct buf out = {0};

	write_all(300, &out);
	CHECK_EQ(nr_unknown(&out, 0, 0, 300), 0, "a whole section knows all");
	CHECK_EQ(nr_unknown(&out, 0, 0, 310), 0, "and of none that came after it was made");
	CHECK_EQ(nr_unknown(&out, BLOCK + 8, 1, 300), 300, "a block of another size");
	CHECK_EQ(nr_unknown(&out, BLOCK + 16, 1, 300), 300, "one that cannot be unpacked");
	out.data[TOTALS] = (char)(out.data[TOTALS] + 5);
	CHECK_EQ(nr_unknown(&out, 0, 0, 310), 5, "it counts more samples than it knows");
	buf_done(&out);
}

static void test_empty(void)
{
	struct buf out = {0};
	bool is_broken;

	CHECK(write_all(0, &out), "a file without samples");
	CHECK_EQ(read_all(bytes_of(out.data, out.nr), 0, &is_broken), 0, "describes none");
	CHECK(!is_broken, "and that is no damage");
	buf_done(&out);
}

/* A copy of exactly the cut's size, so that a byte read too far is seen by ASan. */
static void test_cuts(void)
{
	struct buf out = {0};
	uint32_t wrong = 0;
	bool is_broken;

	write_all(NR_CUT, &out);
	for (size_t cut = 0; cut < out.nr; cut += cut < 100 ? 1 : 37) {
		uint8_t *copy = mem_alloc(cut ? cut : 1);

		memcpy(copy, out.data, cut);
		wrong += read_all(bytes_of(copy, cut), NR_CUT, &is_broken) == NR_CUT;
		mem_free(copy);
	}
	CHECK_EQ(wrong, 0, "no cut reads as the whole");
	buf_done(&out);
}

static void test_damage(void)
{
	struct perf_random rnd = {.state = 12345};
	struct buf out = {0};
	uint32_t nr_read = 0;
	bool is_broken;

	write_all(NR_CUT, &out);
	for (int i = 0; i < 3000; i++) {
		size_t at = perf_random_below(&rnd, out.nr);
		char was = out.data[at];

		out.data[at] = (char)perf_random_u64(&rnd);
		read_all(bytes_of(out.data, out.nr), 20, &is_broken);
		out.data[at] = was;
		nr_read++;
	}
	CHECK_EQ(nr_read, 3000, "%u sections with a damaged byte are read without harm", nr_read);
	buf_done(&out);
}

static void test_memory(void)
{
	struct buf out = {0};
	uint32_t nr_said = 0;
	bool is_broken, is_whole = false;

	for (uint64_t n = 0; n < 200 && !is_whole; n++) {
		mem_fail_after(n);
		is_whole = write_all(300, &out);
		mem_fail_after(UINT64_MAX);
		nr_said += !is_whole;
		if (is_whole)
			is_whole = read_all(bytes_of(out.data, out.nr), 300, &is_broken) == 300;
		buf_done(&out);
		out = (struct buf){0};
	}
	CHECK(is_whole && nr_said > 3, "each allocation failing in turn (%u) is said", nr_said);
	write_all(300, &out);
	for (uint64_t n = 0; n < 20; n++) {
		mem_fail_after(n);
		read_all(bytes_of(out.data, out.nr), 300, &is_broken);
		mem_fail_after(UINT64_MAX);
	}
	buf_done(&out);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(methods_of); i++)
		methods_of[i] = (uint8_t)(i % 7);
	test_round_trip();
	test_unknown();
	test_empty();
	test_cuts();
	test_damage();
	test_memory();
	return tap_done();
}
