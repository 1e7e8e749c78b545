/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/code_jumps.h"

#include <elf.h>

#include "image/dso_source.h"
#include "isa/any/insn_decode.h"
#include "report/code_outcomes.h"

/** Of EM_ARM it is unknown which of two instruction sets the bytes are of. */
static bool decode(const struct dso *d, uint64_t address, struct insn *ret)
{
	const uint8_t *p;
	uint16_t machine;
	size_t left = dso_linked_bytes(d, address, &p, &machine);

	return left && machine != EM_ARM &&
	       insn_decode(isa_of_machine(machine, false), p, left, address, ret);
}

static bool is_jump(const struct insn *i)
{
	return i->kind == INSN_COND || ((i->kind == INSN_BRANCH || i->kind == INSN_INDIRECT) &&
					!(i->flags & (INSN_LINK | INSN_RET | INSN_ERET)));
}

/** Where jumps come from: those of one place follow each other, and may be any number. */
struct source {
	uint64_t address, nr_run;
	bool is_jump, is_conditional;
};

static void look_at(struct source *s, const struct dso *d, const struct code_outcomes *o,
		    uint64_t address)
{
	struct insn i = {0};
	uint64_t nr_taken;

	*s = (struct source){.address = address};
	s->is_jump = decode(d, address, &i) && is_jump(&i);
	if (!s->is_jump)
		return;
	s->is_conditional = i.kind == INSN_COND;
	s->nr_run = code_outcomes_at(o, address, &nr_taken);
}

bool code_jumps_walk(const struct counted_binary *b,
		     bool (*take)(void *ctx, const struct code_jump *j), void *ctx)
{
	struct code_outcomes outcomes = {0};
	struct source s = {.address = CODE_ELSEWHERE};
	bool ok;

	if (!b->dso || b->is_not_found)
		return true;
	ok = code_outcomes_make(&outcomes, &b->counts);
	vec_for_each (&b->counts.branches, e) {
		struct code_jump j = {e->a, e->b, e->nr, 0, false};

		if (!ok || e->a == CODE_ELSEWHERE || e->b == CODE_ELSEWHERE)
			continue;
		if (e->a != s.address)
			look_at(&s, b->dso, &outcomes, e->a);
		j.nr_run = s.nr_run;
		j.is_conditional = s.is_conditional && b->counts.runs.nr;
		ok = !s.is_jump || take(ctx, &j);
	}
	code_outcomes_done(&outcomes);
	return ok;
}
