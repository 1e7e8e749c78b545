/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/sframe_check.h"

#include "base/buf.h"
#include "unit/tap.h"

/* Two lists of rows compared: one character a finding, with its extent. */

static struct unw_rule sp(int32_t off)
{
	return (struct unw_rule){
		.cfa = UNW_CFA_REG, .cfa_reg = 7, .cfa_off = off, .ra = UNW_AT_CFA, .ra_off = -8};
}

static void add(struct unw_list *l, uint64_t rel, struct unw_rule r)
{
	unw_list_row(l, rel, &r);
}

static void report(void *ctx, const struct sframe_finding *f)
{
	static const char letters[] = {[SFRAME_DIFFERS] = 'D',
				       [SFRAME_LOST_MARK] = 'L',
				       [SFRAME_DROPPED] = '-',
				       [SFRAME_EXTRA] = '+'};

	buf_printf(ctx, "%c%llx-%llx ", letters[f->verdict], (unsigned long long)f->start,
		   (unsigned long long)f->end);
}

struct pair {
	struct unw_list *sframe, *eh;
};

static struct pair make_pair(void)
{
	struct pair p = {unw_list_new(), unw_list_new()};

	return p;
}

static const char *compare(struct pair *p, uint8_t version, struct sframe_verdicts *ret)
{
	static struct buf b;

	buf_clear(&b);
	if (sframe_check(p->sframe, p->eh, version, report, &b, ret))
		buf_str(&b, "failed");
	unw_list_free(p->sframe);
	unw_list_free(p->eh);
	return buf_cstr(&b);
}

static void test_boundaries(void)
{
	struct pair p = make_pair();
	struct sframe_verdicts n;

	unw_list_begin(p.sframe, 0x100, 0x140);
	add(p.sframe, 0x100, sp(8));
	add(p.sframe, 0x110, sp(16));
	unw_list_begin(p.eh, 0x100, 0x140);
	add(p.eh, 0x100, sp(8));
	add(p.eh, 0x10c, sp(16));
	add(p.eh, 0x120, sp(24));
	CHECK_STR(compare(&p, 3, &n), "D10c-110 D120-140 ", "at the rows of either");
	CHECK(n.nr_compared == 4 && n.compared_bytes == 0x40 && n.bytes[SFRAME_DIFFERS] == 0x24,
	      "counted");
}

static void test_dropped(void)
{
	struct pair p = make_pair();
	struct sframe_verdicts n;

	unw_list_begin(p.eh, 0x100, 0x120);
	add(p.eh, 0x100, sp(8));
	add(p.eh, 0x101, sp(16));
	unw_list_begin(p.eh, 0x120, 0x130);
	add(p.eh, 0x120, sp(8));
	unw_list_begin(p.sframe, 0x120, 0x130); /* there, without rows */
	unw_list_begin(p.eh, 0x140, 0x150);
	add(p.eh, 0x140, (struct unw_rule){.why = UNW_WHY_EXPRESSION});
	unw_list_begin(p.sframe, 0x140, 0x160);
	add(p.sframe, 0x140, sp(8));
	CHECK_STR(compare(&p, 3, &n), "-100-120 -120-130 +140-150 +150-160 ",
		  "one finding a function; what cannot be compared");
	CHECK_EQ(n.nr_compared, 0, "nothing compared");
	p = make_pair();
	unw_list_begin(p.eh, 0x100, 0x120);
	add(p.eh, 0x100, sp(8));
	unw_list_begin(p.sframe, 0x100, 0x120);
	add(p.sframe, 0x100, (struct unw_rule){.why = UNW_WHY_BAD});
	CHECK_STR(compare(&p, 3, &n), "D100-120 ", "damage is a difference");
}

static const char *compare_rules(uint8_t version, struct unw_rule a, struct unw_rule b)
{
	struct pair p = make_pair();
	struct sframe_verdicts n;

	unw_list_begin(p.eh, 0x100, 0x120);
	add(p.eh, 0x100, b);
	unw_list_begin(p.sframe, 0x100, 0x120);
	add(p.sframe, 0x100, a);
	return compare(&p, version, &n);
}

static void test_marks(void)
{
	struct unw_rule outermost = sp(8), signal = sp(8), key_b = sp(8), elsewhere = sp(0);

	outermost.ra = UNW_UNDEFINED;
	signal.flags = UNW_SIGNAL;
	key_b.flags = UNW_KEY_B;
	elsewhere.ra = UNW_UNDEFINED;
	CHECK_STR(compare_rules(2, sp(8), outermost), "L100-120 ", "V2: outermost is lost");
	CHECK_STR(compare_rules(1, sp(8), signal), "L100-120 ", "V1: signal is lost");
	CHECK_STR(compare_rules(2, sp(16), signal), "D100-120 ", "and a difference is one");
	CHECK_STR(compare_rules(3, sp(8), outermost), "D100-120 ", "V3 can say outermost");
	CHECK_STR(compare_rules(3, sp(8), signal), "D100-120 ", "V3 can say signal");
	CHECK_STR(compare_rules(2, signal, sp(8)), "D100-120 ", "not the other way round");
	CHECK_STR(compare_rules(3, elsewhere, outermost), "",
		  "of an outermost frame no more counts");
	CHECK_STR(compare_rules(3, sp(8), key_b), "", "a key without a signature does not count");
}

int main(void)
{
	test_boundaries();
	test_dropped();
	test_marks();
	return tap_done();
}
