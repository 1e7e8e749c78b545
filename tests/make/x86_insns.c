/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/x86_insns.h"

#include <string.h>

#include "isa/x86/x86_branch.h"

/** Up to X86_MAX_BYTES from @p addr on, which may stand in two regions. */
static size_t bytes_at(struct flow_code *c, uint32_t space, uint64_t addr, uint8_t *ret)
{
	size_t nr = 0;

	while (nr < X86_MAX_BYTES) {
		const uint8_t *p;
		size_t left = flow_code_at(c, space, addr + nr, &p), want = X86_MAX_BYTES - nr;

		if (!left)
			break;
		memcpy(ret + nr, p, left < want ? left : want);
		nr += left < want ? left : want;
	}
	return nr;
}

unsigned int x86_insn_at(struct flow_code *c, uint32_t space, uint64_t addr, struct insn *ret)
{
	uint8_t bytes[X86_MAX_BYTES];
	size_t nr = bytes_at(c, space, addr, bytes);

	if (x86_decode(ISA_X86_64, bytes, nr, addr, ret))
		return 0;
	if (ret->kind == INSN_SPECIAL || ret->kind == INSN_TSTART)
		ret->kind = INSN_PLAIN;
	return ret->bytes;
}

static void build(struct flow_code *c, struct flow_block *ret)
{
	uint64_t at = ret->start;
	struct insn i;

	while (ret->nr_insns < FLOW_MAX_BLOCK_INSNS && x86_insn_at(c, ret->space, at, &i)) {
		at += i.bytes;
		ret->nr_insns++;
		if (i.kind == INSN_PLAIN)
			continue;
		ret->kind = i.kind;
		ret->flags = i.flags;
		ret->target = i.target;
		ret->last_bytes = i.bytes;
		break;
	}
	if (ret->kind == INSN_PLAIN)
		ret->flags =
			ret->nr_insns < FLOW_MAX_BLOCK_INSNS ? FLOW_BLOCK_NO_CODE : FLOW_BLOCK_LONG;
	ret->bytes = (uint32_t)(at - ret->start);
}

static uint32_t count(struct flow_code *c, const struct flow_span *s, uint64_t *ret_readable)
{
	uint64_t at = s->from;
	uint32_t nr = 0;
	struct insn i;

	for (; at < s->to && nr < FLOW_MAX_RUN_INSNS && x86_insn_at(c, s->space, at, &i); nr++)
		at += i.bytes;
	*ret_readable = at;
	return nr;
}

static struct flow_insn_bytes insn_bytes(enum isa isa)
{
	(void)isa;
	return (struct flow_insn_bytes){1, X86_MAX_BYTES};
}

const struct flow_insns x86_insns = {.build = build, .count = count, .bytes = insn_bytes};
