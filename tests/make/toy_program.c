/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/hash.h"
#include "make/toy_encode.h"

enum { MAX_CODE = sizeof(((struct toy_program *)NULL)->code) / TOY_MAX_INSN };

struct run {
	struct toy_program *p;
	struct etm_random random;
	uint16_t starts[MAX_CODE]; /* of instructions, offsets */
	unsigned int nr_code;
	uint16_t deep;           /* a function that calls itself, offset */
	unsigned int nr_to_call; /* times until it returns, all the way */
	uint64_t pc;
	struct toy_encoder encoder;
	/* When it last ran: between two things that are in the trace no instruction runs twice, as
	 * an address in between would not say which time it means. By offset. */
	uint32_t seen[sizeof(((struct toy_program *)NULL)->code)], now;
};

uint64_t toy_insn_digest(uint64_t before, uint64_t address)
{
	return hash_two(before ^ address, 1);
}

uint64_t toy_branch_digest(uint64_t address, uint64_t to, bool is_taken, uint64_t nr)
{
	return nr * hash_two(hash_two(address, to), is_taken);
}

/* --- code --- */

static bool is_direct(enum toy_kind kind)
{
	return kind == TOY_BRANCH || kind == TOY_COND || kind == TOY_CALL;
}

static bool is_silent(enum toy_kind kind)
{
	return kind == TOY_BRANCH || kind == TOY_CALL;
}

static uint16_t any_start(struct run *r)
{
	return r->starts[etm_random_below(&r->random, r->nr_code)];
}

static enum toy_kind any_kind(struct run *r)
{
	if (etm_random_below(&r->random, 8) < 5)
		return TOY_PLAIN;
	return etm_random_one_in(&r->random, 2)
		     ? TOY_COND
		     : (enum toy_kind)(1 + etm_random_below(&r->random, NR_TOY_KINDS - 1));
}

/** deep: if (condition) deep(); return. */
static void make_deep(struct run *r)
{
	struct toy_program *p = r->p;
	uint16_t at = (uint16_t)p->code_bytes, end = (uint16_t)(at + 6);
	const uint8_t code[] = {TOY_COND << 4 | 3,  (uint8_t)end, (uint8_t)(end >> 8),
				TOY_CALL << 4 | 3,  (uint8_t)at,  (uint8_t)(at >> 8),
				TOY_RETURN << 4 | 1};

	r->deep = at;
	memcpy(p->code + at, code, sizeof(code));
	p->code_bytes += sizeof(code);
}

static void make_code(struct run *r)
{
	struct toy_program *p = r->p;

	for (unsigned int i = 0; i < r->nr_code; i++) {
		enum toy_kind kind = i + 1 < r->nr_code ? any_kind(r) : TOY_BRANCH;
		unsigned int least = is_direct(kind) ? 3 : 1;
		unsigned int bytes = least + etm_random_below(&r->random, TOY_MAX_INSN + 1 - least);

		r->starts[i] = (uint16_t)p->code_bytes;
		p->code[p->code_bytes] = (uint8_t)((unsigned int)kind << 4 | bytes);
		p->code_bytes += bytes;
	}
	make_deep(r);
	for (unsigned int i = 0; i < r->nr_code; i++) {
		uint8_t *at = p->code + r->starts[i];
		uint16_t to = etm_random_one_in(&r->random, 50) ? r->deep : any_start(r);

		if (!is_direct((enum toy_kind)(*at >> 4)))
			continue;
		at[1] = (uint8_t)to;
		at[2] = (uint8_t)(to >> 8);
	}
}

/* --- the run --- */

static uint64_t deep_of(const struct run *r)
{
	return TOY_BASE + (uint64_t)r->deep;
}

/** Mostly one of two places for each. */
static uint64_t any_target(struct run *r, enum toy_kind kind)
{
	if (kind == TOY_RETURN && r->encoder.nr_stack &&
	    (r->pc >= deep_of(r) || !etm_random_one_in(&r->random, 20)))
		return r->encoder.stack[r->encoder.top];
	if (etm_random_one_in(&r->random, 10))
		return TOY_BASE + any_start(r);
	return TOY_BASE + r->starts[hash_two(r->pc, etm_random_below(&r->random, 2)) % r->nr_code];
}

static uint64_t target_of(const uint8_t *insn)
{
	return TOY_BASE + (uint64_t)(insn[1] | insn[2] << 8);
}

static bool is_taken_now(struct run *r, enum toy_kind kind)
{
	if (kind != TOY_COND)
		return true;
	if (r->pc != deep_of(r))
		return etm_random_one_in(&r->random, 2);
	if (!r->nr_to_call)
		r->nr_to_call = 1 + etm_random_below(&r->random, 100);
	return !--r->nr_to_call;
}

static void waypoint(struct run *r, const uint8_t *insn)
{
	enum toy_kind kind = (enum toy_kind)(*insn >> 4);
	const struct insn i = {.kind = toy_waypoints[kind].kind,
			       .flags = toy_waypoints[kind].flags};
	uint64_t from = r->pc, next = from + toy_bytes(*insn), to = next;
	bool is_taken = is_taken_now(r, kind);

	if (!is_direct(kind))
		to = any_target(r, kind);
	else if (is_taken)
		to = target_of(insn);
	toy_put_waypoint(&r->encoder, &i, is_taken, next, to);
	r->now += !is_silent(kind);
	r->p->branches += toy_branch_digest(from, to, is_taken, 1);
	r->pc = to;
}

static void except(struct run *r)
{
	uint64_t at = r->pc;

	r->pc = TOY_BASE + any_start(r);
	r->now++;
	toy_put_exception(&r->encoder, at, r->pc);
	r->p->nr_exceptions++;
}

/** The trace would not show that it ran again. */
static bool is_second(struct run *r, const uint8_t *insn)
{
	enum toy_kind kind = (enum toy_kind)(*insn >> 4);
	uint64_t to = kind == TOY_PLAIN ? r->pc + toy_bytes(*insn) : target_of(insn);

	r->seen[r->pc - TOY_BASE] = r->now;
	return r->encoder.is_silent && (kind == TOY_PLAIN || is_silent(kind)) &&
	       r->seen[to - TOY_BASE] == r->now;
}

/** @return whether it was a waypoint. */
static bool run_insn(struct run *r)
{
	const uint8_t *insn = r->p->code + (r->pc - TOY_BASE);

	if (is_second(r, insn)) {
		except(r);
		return false;
	}
	r->p->nr_insns++;
	r->p->insns = toy_insn_digest(r->p->insns, r->pc);
	if (*insn >> 4 != TOY_PLAIN) {
		waypoint(r, insn);
		return true;
	}
	r->pc += toy_bytes(*insn);
	if (etm_random_one_in(&r->random, 300))
		except(r);
	return false;
}

static bool find(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret)
{
	const struct toy_program *p = ctx;

	(void)space;
	*ret = (struct code_region){TOY_BASE, TOY_BASE + p->code_bytes, p->code};
	return addr >= ret->start && addr < ret->end;
}

static uint32_t only_space(void *ctx, const struct code_key *key)
{
	(void)ctx, (void)key;
	return 0;
}

bool toy_program_make(struct toy_program *p, bool has_silent, uint64_t seed, unsigned int nr_code,
		      unsigned int nr_branches)
{
	struct run r = {
		.p = p, .random = {seed   },
                     .pc = TOY_BASE, .encoder = { &p->trace, {seed}}
        };

	r.now = 1;
	r.encoder.is_silent = has_silent;
	r.nr_code = nr_code < MAX_CODE ? nr_code : MAX_CODE;
	p->source = (struct code_source){.space = only_space, .find = find, .ctx = p};
	make_code(&r);
	toy_put_sync(&r.encoder, r.pc);
	for (unsigned int i = 0; i < nr_branches;) {
		if (!run_insn(&r))
			continue;
		i++;
		/* Now and then so rarely that the stack is full. */
		if (etm_random_one_in(&r.random, seed % 4 ? 100 : 3000))
			toy_put_sync(&r.encoder, r.pc);
	}
	toy_put_sync(&r.encoder, r.pc);
	return !p->trace.is_failed;
}

void toy_program_done(struct toy_program *p)
{
	buf_done(&p->trace);
}
