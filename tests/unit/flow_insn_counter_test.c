/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_insn_counter.h"

#include "flow/etm/etm_insns.h"
#include "make/etm_code.h"
#include "tap.h"

/* T32 code of both lengths in two regions with a hole between them, at addresses that have 0x400 in
 * them at both sides: what is remembered is what a walk finds. */
enum { BASE = 0x10300, NR = 400 << 10, SECOND = BASE + NR + 0x1002, NR_TRIALS = 20000 };

static uint8_t code[2][NR];
static struct etm_random rng = {5};

static uint32_t space_of(void *ctx, const struct code_key *key)
{
	(void)ctx, (void)key;
	return 0;
}

static bool find_code(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret)
{
	uint64_t start = addr >= SECOND ? SECOND : BASE;

	(void)ctx;
	*ret = (struct code_region){start, start + NR, code[(start == SECOND) ^ (space & 1)]};
	return addr >= start && addr < start + NR;
}

static const struct code_source source = {.space = space_of, .find = find_code};

static void fill(uint8_t *to)
{
	for (size_t i = 0; i < NR; i++)
		to[i] = (uint8_t)etm_random_u64(&rng);
	for (size_t i = NR / 4; i < NR / 2; i++)
		to[i] = 0xf3; /* all of it wide, the other way from every second halfword */
}

static void check(struct flow_insn_counter *r, struct flow_code *c, uint32_t space, uint64_t from,
		  uint64_t to, uint64_t *nr_wrong)
{
	const struct flow_span s = {from, to, space, ISA_T32};
	uint64_t got_end = 0, want_end = 0;
	uint32_t got = flow_insn_counter_count(r, c, &s, &got_end);
	uint32_t want = flow_code_count(c, &s, &want_end);

	if ((got == want && got_end == want_end) || ++*nr_wrong > 5)
		return;
	printf("# %llx to %llx: %u to %llx, want %u to %llx\n", (unsigned long long)from,
	       (unsigned long long)to, got, (unsigned long long)got_end, want,
	       (unsigned long long)want_end);
}

int main(void)
{
	struct flow_insn_counter r = {0};
	struct flow_code c;
	uint64_t nr_wrong = 0;

	fill(code[0]);
	fill(code[1]);
	flow_code_init(&c, &source, &etm_insns, false);
	for (unsigned int i = 0; i < NR_TRIALS; i++) {
		uint64_t from = BASE + 2 * etm_random_below(&rng, NR + 0x2000);

		check(&r, &c, etm_random_below(&rng, 3), from,
		      from + 2 * etm_random_below(&rng, i % 4 ? 3000 : NR), &nr_wrong);
	}
	check(&r, &c, 0, UINT64_MAX - 0x500, UINT64_MAX, &nr_wrong);
	check(&r, &c, 0, BASE, UINT64_MAX, &nr_wrong);
	check(&r, &c, 0, BASE, BASE, &nr_wrong);
	CHECK(!nr_wrong, "%u ways: %llu wrong", NR_TRIALS + 3, (unsigned long long)nr_wrong);
	flow_insn_counter_done(&r);
	return tap_done();
}
