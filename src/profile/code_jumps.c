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

bool code_jumps_walk(const struct counted_binary *b,
		     bool (*take)(void *ctx, const struct code_jump *j), void *ctx)
{
	struct code_outcomes outcomes = {0};
	bool ok;
	struct insn i = {0};
	uint64_t at = CODE_ELSEWHERE;
	uint64_t nr_taken;
	bool is_known = false;

	if (!b->dso || b->is_not_found)
		return true;
	ok = code_outcomes_make(&outcomes, &b->counts);
	for (const struct code_count *e = b->counts.branches.data;
	     ok && e < b->counts.branches.data + b->counts.branches.nr; e++) {
		struct code_jump j = {e->a, e->b, e->nr, 0, false};

		if (e->a == CODE_ELSEWHERE || e->b == CODE_ELSEWHERE)
			continue;
		if (e->a != at)
			is_known = decode(b->dso, e->a, &i);
		at = e->a;
		if (!is_known || !is_jump(&i))
			continue;
		j.is_conditional = i.kind == INSN_COND;
		j.nr_run = code_outcomes_at(&outcomes, at, &nr_taken);
		ok = take(ctx, &j);
	}
	code_outcomes_done(&outcomes);
	return ok;
}
