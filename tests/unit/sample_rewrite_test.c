/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a rewritten sample says is what the encoder writes of the changed values. */
#include "perfdata/sample_rewrite.h"

#include "make/perf_random.h"
#include "unit/tap.h"

enum { MAX_CHAIN = 8192, MAX_RECORD = 65528 };

static uint64_t chain[MAX_CHAIN];

/* The sample as it is to be, through the encoder. */
static void encode_wanted(struct perf_put *want, const struct perf_attr *attr,
			  const struct perf_sample *s, const struct sample_edit *e)
{
	struct perf_attr a = *attr;
	struct perf_sample w = *s;

	uint32_t nr = e->replaces_chain ? 0 : s->callchain.nr;

	for (uint32_t i = 0; i < nr; i++)
		chain[i] = perf_words_get(&s->callchain, i);
	memcpy(chain + nr, e->words, 8 * (size_t)e->nr_words);
	w.callchain = (struct perf_words){(const uint8_t *)chain, nr + e->nr_words, false};
	if (e->drops_regs)
		a.sample_type &= ~PERF_SAMPLE_REGS_USER;
	if (e->drops_stack)
		a.sample_type &= ~PERF_SAMPLE_STACK_USER;
	perf_encode_sample(want, &a, &w);
}

static bool is_right(struct perf_random *r)
{
	const uint64_t words[3] = {PERF_CONTEXT_USER_DEFERRED, perf_random_u64(r), 7};
	const struct sample_edit e = {.words = words,
				      .nr_words = (uint32_t)perf_random_below(r, 4),
				      .replaces_chain = perf_random_below(r, 2),
				      .drops_regs = perf_random_below(r, 2),
				      .drops_stack = perf_random_below(r, 2)};
	struct perf_put from = {0}, want = {0};
	struct perf_attr attr = {0};
	struct perf_sample s, parsed;
	struct perf_record record;
	struct buf out = {0};
	uint32_t added;
	bool ok;

	perf_random_attr(r, &attr);
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	perf_random_sample(r, &attr, &s);
	perf_encode_sample(&from, &attr, &s);
	record = perf_record_of(put_result(&from), false);
	ok = perf_sample_parse(perf_record_body(&record), record.misc, false, &attr, &parsed) ==
	     CLEW_OK;
	added = ok ? sample_rewrite(&out, record.data, record.size, &attr, &parsed, &e) : 0;
	encode_wanted(&want, &attr, &s, &e);
	ok = ok && added == e.nr_words && out.nr == want.buf.nr &&
	     !memcmp(out.data, want.buf.data, out.nr);
	buf_done(&from.buf);
	buf_done(&want.buf);
	buf_done(&out);
	return ok;
}

static void test_random(void)
{
	struct perf_random r = {.state = 11};
	int wrong = 0;

	for (int i = 0; i < 5000; i++)
		wrong += !is_right(&r);
	perf_random_done(&r);
	CHECK_EQ(wrong, 0, "5,000 samples of any sample_type");
}

/* IP and a chain of @nr; as large as asked for. */
static struct perf_record long_sample(struct perf_put *p, uint32_t nr, struct perf_attr *attr)
{
	struct perf_sample s = {.ip = 1};

	*attr = (struct perf_attr){.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN};
	for (uint32_t i = 0; i < nr; i++)
		chain[i] = i;
	s.callchain = (struct perf_words){(const uint8_t *)chain, nr, false};
	perf_encode_sample(p, attr, &s);
	return perf_record_of(put_result(p), false);
}

static void check_full(uint32_t nr, uint32_t nr_words, uint32_t want_words, uint32_t want_chain)
{
	static uint64_t words[64];
	const struct sample_edit e = {.words = words, .nr_words = nr_words};
	struct perf_put p = {0};
	struct perf_attr attr;
	struct perf_record r = long_sample(&p, nr, &attr);
	struct perf_sample s, got;
	struct buf out = {0};
	uint32_t added;

	words[0] = 77;
	perf_sample_parse(perf_record_body(&r), 0, false, &attr, &s);
	added = sample_rewrite(&out, r.data, r.size, &attr, &s, &e);
	CHECK_EQ(added, want_words, "%u words after %u: added", nr_words, nr);
	CHECK_EQ(out.nr, load_u16(out.data + 6, false), "the header's size");
	CHECK(out.nr <= MAX_RECORD && out.nr % 8 == 0, "a size a header can hold");
	perf_sample_parse(bytes_of(out.data + 8, out.nr - 8), 0, false, &attr, &got);
	CHECK_EQ(got.callchain.nr, want_chain, "frames in all");
	if (added && added != UINT32_MAX)
		CHECK_EQ(perf_words_get(&got.callchain, want_chain - added), 77,
			 "the first of the words");
	buf_done(&out);
	buf_done(&p.buf);
}

static void test_full(void)
{
	const uint32_t most = (MAX_RECORD - 8 - 8 - 8) / 8; /* frames of a full record */

	check_full(most - 2, 2, 2, most);
	check_full(most - 1, 2, 2, most);
	check_full(most, 2, 2, most);
}

static void test_memory(void)
{
	const uint64_t words[2] = {1, 2};
	const struct sample_edit e = {.words = words, .nr_words = 2};
	struct perf_put p = {0};
	struct perf_attr attr;
	struct perf_record r = long_sample(&p, 9, &attr);
	struct perf_sample s;
	struct buf out = {0};

	perf_sample_parse(perf_record_body(&r), 0, false, &attr, &s);
	mem_fail_after(0);
	sample_rewrite(&out, r.data, r.size, &attr, &s, &e);
	mem_fail_after(UINT64_MAX);
	CHECK(out.is_failed && !out.nr, "no memory: said by the buffer");
	buf_done(&out);
	buf_done(&p.buf);
}

int main(void)
{
	test_random();
	test_full();
	test_memory();
	return tap_done();
}
