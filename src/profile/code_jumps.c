/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/code_jumps.h"

#include <elf.h>

#include "image/dso_source.h"
#include "isa/any/insn_decode.h"

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
	struct code_levels levels = {0};
	bool ok = b->dso && !b->is_not_found && code_levels_make(&levels, &b->counts.runs);
	struct insn i = {0};
	uint64_t at = CODE_ELSEWHERE;
	bool is_known = false;

	if (!b->dso || b->is_not_found)
		return true;
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
		j.nr_run = code_levels_at(&levels, at);
		/* Of branch stacks the oldest branch has no run that leads to it. */
		if (j.nr_run < j.nr)
			j.nr_run = j.nr;
		ok = take(ctx, &j);
	}
	code_levels_done(&levels);
	return ok;
}
