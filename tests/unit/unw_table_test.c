/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/unw_table.h"

#include "base/mem.h"
#include "make/splitmix.h"
#include "unit/tap.h"
#include "unwind/unw_list.h"

enum { SPACE = 3000, MAX_FUNCTIONS = 40 };

/** The plain way: what rule holds at each address of a small space. */
struct naive {
	struct unw_rule rule[SPACE];
	uint64_t start[SPACE]; /* of the function that counts */
	bool is_covered[SPACE];
};

static uint64_t seed = 1;

static uint32_t below(uint32_t n)
{
	return (uint32_t)splitmix64(&seed) % n;
}

static struct unw_rule random_rule(uint8_t origin)
{
	struct unw_rule r = {.cfa = UNW_CFA_REG, .cfa_reg = 7, .ra = UNW_AT_CFA, .ra_off = -8};

	r.cfa_off = (int32_t)below(5) * 8;
	r.origin = origin & 15u;
	if (!below(6))
		r = (struct unw_rule){.origin = origin & 15u, .why = below(3) & 15u};
	else if (!below(8))
		r.flags = UNW_SIGNAL;
	else if (!below(8))
		r.ra = UNW_UNDEFINED, r.ra_off = 0;
	return r;
}

static bool counts_more(const struct naive *n, uint32_t at, uint64_t start)
{
	return !n->is_covered[at] || start > n->start[at];
}

/** Functions of random extent in random order, into both. */
static void random_list(struct unw_list *l, struct naive *n, uint64_t base, uint8_t origin)
{
	uint32_t nr = below(MAX_FUNCTIONS);

	memset(n, 0, sizeof(*n));
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t start = below(SPACE - 1), end = start + below(300), at = start;
		struct unw_rule now = {0};

		if (end > SPACE)
			end = SPACE;
		unw_list_begin(l, base + start, base + end);
		at += below(3) ? 0 : below(20);
		for (uint32_t covered = start; covered < end;) {
			uint32_t until = at < end ? at : end;

			for (; covered < until; covered++) {
				if (!counts_more(n, covered, start))
					continue;
				n->rule[covered] = now;
			}
			if (at >= end)
				break;
			now = random_rule(origin);
			unw_list_row(l, base + at, &now);
			at += below(4) ? 1 + below(40) : 0;
		}
		for (uint32_t k = start; k < end; k++) {
			if (counts_more(n, k, start)) {
				n->is_covered[k] = true;
				n->start[k] = start;
			}
		}
	}
}

static bool same(const struct unw_rule *a, const struct unw_rule *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static const struct unw_rule *naive_choice(const struct unw_rule *a, const struct unw_rule *b)
{
	bool has_mark = b->cfa && (b->flags & UNW_SIGNAL || b->ra == UNW_UNDEFINED);

	if (a->cfa)
		return a->origin == UNW_SFRAME && has_mark ? b : a;
	if (b->cfa)
		return b;
	/* Neither knows: a reason other than a gap is worth more; of gaps the source's own. */
	if (a->why)
		return a;
	return b->why || b->origin ? b : a;
}

static void test_random(void)
{
	static struct naive first, second;
	uint32_t wrong = 0, nr_checked = 0, wrong_gap = 0;

	for (uint32_t round = 0; round < 400; round++) {
		struct unw_list *a = unw_list_new(), *b = unw_list_new();
		uint64_t base = (uint64_t)below(200000) * 17;
		struct unw_table t;
		void *block = NULL;
		size_t size;
		enum clew_err err;

		random_list(a, &first, base, round & 1 ? UNW_SFRAME : UNW_EH_FRAME);
		random_list(b, &second, base, UNW_DEBUG_FRAME);
		err = unw_table_build(a, b, UNW_X86_64, &block, &size);
		if (err) {
			wrong += err != CLEW_NOT_FOUND;
		} else if (unw_table_of_block(&t, block, size)) {
			wrong++;
		} else {
			for (uint32_t i = 0; i < SPACE; i++, nr_checked++)
				wrong += !same(unw_table_find(&t, base + i),
					       naive_choice(&first.rule[i], &second.rule[i]));
			wrong_gap += unw_table_find(&t, base - 1)->cfa != UNW_CFA_NONE;
			wrong_gap += unw_table_find(&t, base + SPACE)->cfa != UNW_CFA_NONE;
			wrong_gap += unw_table_find(&t, UINT64_MAX)->cfa != UNW_CFA_NONE;
		}
		mem_free(block);
		unw_list_free(a);
		unw_list_free(b);
	}
	CHECK_EQ(wrong, 0, "400 random pairs of lists: as the plain look-up at %u addresses",
		 nr_checked);
	CHECK_EQ(wrong_gap, 0, "nothing is known outside of them");
}

static struct unw_rule rule_of(int32_t off)
{
	return (struct unw_rule){
		.cfa = UNW_CFA_REG, .cfa_reg = 7, .cfa_off = off, .origin = UNW_EH_FRAME};
}

static void add(struct unw_list *l, uint64_t start, uint64_t end, int32_t off)
{
	struct unw_rule r = rule_of(off);

	unw_list_begin(l, start, end);
	unw_list_row(l, start, &r);
}

/** cfa_off at @p rel; -1: none. */
static int32_t at(const struct unw_table *t, uint64_t rel)
{
	const struct unw_rule *r = unw_table_find(t, rel);

	return r->cfa == UNW_CFA_NONE ? -1 : r->cfa_off;
}

static void test_overlap(void)
{
	struct unw_list *l = unw_list_new();
	struct unw_rule no = {.cfa = UNW_CFA_REG, .cfa_reg = UNW_MAX_REGS};
	struct unw_rule r = rule_of(9);
	struct unw_table t;
	void *block = NULL;
	size_t size;

	add(l, 0x1000, 0x1100, 1);
	add(l, 0x1040, 0x1060, 2); /* inside */
	add(l, 0x10f0, 0x1180, 3); /* across the end */
	add(l, 0x2000, 0x2010, 4);
	add(l, 0x2000, 0x2020, 5); /* same start, longer */
	unw_list_begin(l, 0x3000, 0x3000);
	unw_list_row(l, 0x3000, &r); /* of an empty function */
	unw_list_begin(l, 0x4000, 0x4010);
	unw_list_row(l, 0x3fff, &r); /* outside */
	unw_list_row(l, 0x4010, &r);
	unw_list_row(l, 0x4008, &no);
	unw_list_row(l, 0x4004, &r); /* backwards */
	CHECK_EQ(unw_table_build(l, NULL, UNW_AARCH64, &block, &size), CLEW_OK, "builds");
	CHECK_EQ(unw_table_of_block(&t, block, size), CLEW_OK, "its own block is right");
	CHECK_EQ(t.head->arch, UNW_AARCH64, "of this machine");
	CHECK(at(&t, 0xfff) == -1 && at(&t, 0x1000) == 1 && at(&t, 0x103f) == 1, "the first");
	CHECK(at(&t, 0x1040) == 2 && at(&t, 0x105f) == 2, "a function inside another counts");
	CHECK(at(&t, 0x1060) == 1 && at(&t, 0x10ef) == 1, "after it the outer one again");
	CHECK(at(&t, 0x10f0) == 3 && at(&t, 0x1100) == 3 && at(&t, 0x117f) == 3,
	      "the later start counts from there");
	CHECK(at(&t, 0x1180) == -1 && at(&t, 0x1fff) == -1, "a gap is none");
	CHECK(at(&t, 0x2000) == 4 && at(&t, 0x200f) == 4 && at(&t, 0x2010) == 5,
	      "of one start the one given first");
	CHECK(at(&t, 0x3000) == -1, "an empty function has no rows");
	CHECK(at(&t, 0x3fff) == -1 && at(&t, 0x4004) == -1 && at(&t, 0x4010) == -1,
	      "rows outside of the function or backwards are left out");
	CHECK(unw_table_find(&t, 0x4008)->why == UNW_WHY_REGISTER, "no register of ours: none");
	mem_free(block);
	unw_list_free(l);
}

/** One function with @p nr rules that are all different. */
static enum clew_err build_rules(uint32_t nr, struct unw_table *ret, void **block)
{
	struct unw_list *l = unw_list_new();
	enum clew_err err;
	size_t size;

	unw_list_begin(l, 0x10000, 0x10000 + (uint64_t)nr);
	for (uint32_t i = 0; i < nr; i++) {
		struct unw_rule r = rule_of((int32_t)i);

		unw_list_row(l, 0x10000 + i, &r);
	}
	err = unw_table_build(l, NULL, UNW_X86_64, block, &size);
	if (!err)
		err = unw_table_of_block(ret, *block, size);
	unw_list_free(l);
	return err;
}

static void test_limits(void)
{
	struct unw_list *l = unw_list_new();
	struct unw_table t;
	void *block = NULL;
	uint32_t wrong = 0;
	size_t size;

	CHECK_EQ(unw_table_build(l, NULL, UNW_X86_64, &block, &size), CLEW_NOT_FOUND,
		 "no function, no table");
	CHECK_EQ(build_rules(65534, &t, &block), CLEW_OK, "65534 rules and the gap fit");
	for (uint32_t i = 0; i < 65534; i++)
		wrong += at(&t, 0x10000 + i) != (int32_t)i;
	CHECK_EQ(wrong, 0, "and each is found");
	mem_free(block);
	CHECK_EQ(build_rules(65535, &t, &block), CLEW_LIMIT, "one more is refused, not wrapped");
	add(l, 0x1000, 0x2000, 8);
	add(l, 0x100000000, 0x100000010, 16);
	CHECK_EQ(unw_table_build(l, NULL, UNW_X86_64, &block, &size), CLEW_UNSUPPORTED,
		 "a span of more than 4 GiB is refused");
	unw_list_free(l);
	l = unw_list_new();
	add(l, 0x600000000, 0x600000010, 8);
	add(l, 0x6ffff0000, 0x6ffff0123, 16);
	CHECK(!unw_table_build(l, NULL, UNW_X86_64, &block, &size) &&
		      !unw_table_of_block(&t, block, size) && at(&t, 0x60000000f) == 8 &&
		      at(&t, 0x6ffff0122) == 16 && at(&t, 0x6fffeffff) == -1,
	      "nearly 4 GiB, far up: both ends found");
	CHECK(size < 400000, "in %zu bytes", size);
	mem_free(block);
	unw_list_free(l);
	l = unw_list_new();
	unw_list_begin(l, 0, (uint64_t)1 << 33);
	CHECK_EQ(unw_table_build(l, NULL, UNW_X86_64, &block, &size), CLEW_LIMIT,
		 "a function of 8 GiB is refused");
	unw_list_free(l);
}

static void *small_block(size_t *ret_size)
{
	struct unw_list *l = unw_list_new();
	void *block = NULL;

	add(l, 0x1010, 0x1100, 1);
	add(l, 0x1300, 0x1310, 2);
	if (unw_table_build(l, NULL, UNW_X86_64, &block, ret_size))
		abort();
	unw_list_free(l);
	return block;
}

/** Look everywhere; what is found lies in the block. */
static bool is_inside(const struct unw_table *t, const uint8_t *block, size_t size)
{
	for (uint64_t rel = 0xf00; rel < 0x1500; rel++) {
		const uint8_t *r = (const uint8_t *)unw_table_find(t, rel);

		if (r < block || (size_t)(r - block) > size - sizeof(struct unw_rule))
			return false;
	}
	return true;
}

static void test_hostile(void)
{
	uint32_t nr_accepted = 0, nr_outside = 0;
	struct unw_table t;
	size_t size;
	uint8_t *block = small_block(&size);
	struct unw_table_head *h = (struct unw_table_head *)(void *)block;

	CHECK(unw_table_of_block(&t, block, size) == CLEW_OK, "whole: accepted");
	for (size_t i = 0; i < size; i++) {
		for (unsigned int bit = 0; bit < 8; bit++) {
			block[i] ^= (uint8_t)(1u << bit);
			if (!unw_table_of_block(&t, block, size)) {
				nr_accepted++;
				nr_outside += !is_inside(&t, block, size);
			}
			block[i] ^= (uint8_t)(1u << bit);
		}
		nr_accepted += !unw_table_of_block(&t, block, i);
	}
	CHECK_EQ(nr_accepted, 0, "every bit turned, every cut: refused");
	h->nr_buckets = UINT32_MAX;
	CHECK_EQ(unw_table_of_block(&t, block, size), CLEW_BAD_FILE, "absurd counts");
	CHECK_EQ(nr_outside, 0, "no look-up leaves the block");
	mem_free(block);
}

static void test_oom(void)
{
	enum clew_err err = CLEW_NO_MEMORY;
	uint64_t n = 0;
	bool has_failed = true;

	for (; has_failed && n < 1000; n++) {
		struct unw_list *l, *second;
		void *block = NULL;
		size_t size;

		mem_fail_after(n);
		l = unw_list_new();
		second = unw_list_new();
		err = CLEW_NO_MEMORY;
		if (l && second) {
			add(l, 0x1000, 0x1100, 1);
			add(l, 0x1040, 0x1060, 2);
			add(second, 0x1000, 0x1200, 3);
			err = unw_table_build(l, second, UNW_X86_64, &block, &size);
		}
		has_failed = mem_has_failed();
		mem_fail_after(UINT64_MAX);
		if (has_failed != (err == CLEW_NO_MEMORY))
			break;
		mem_free(block);
		unw_list_free(l);
		unw_list_free(second);
	}
	CHECK(!has_failed && err == CLEW_OK, "every allocation failed once: said so (%u)",
	      (unsigned int)n);
}

int main(void)
{
	test_random();
	test_overlap();
	test_limits();
	test_hostile();
	test_oom();
	return tap_done();
}
