/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/pt/ipt_insns.h"

#include <string.h>

#include "isa/x86/x86_branch.h"

_Static_assert((int)FLOW_MAX_INSN_BYTES == (int)X86_MAX_BYTES, "the longest instruction");

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

/** @return its bytes; 0: not readable, or none. */
static unsigned int insn_at(struct flow_code *c, uint32_t space, enum isa isa, uint64_t addr,
			    struct insn *ret)
{
	uint8_t bytes[X86_MAX_BYTES];
	size_t nr = bytes_at(c, space, addr, bytes);

	return x86_decode(isa, bytes, nr, addr, ret) ? 0 : ret->bytes;
}

static void end_block(struct flow_block *ret, const struct insn *i, uint64_t next)
{
	ret->kind = i->kind;
	ret->flags = i->flags;
	ret->detail = i->detail;
	ret->target = i->target;
	ret->last_bytes = i->bytes;
	if (i->kind == INSN_BRANCH && i->flags & INSN_LINK && i->target == next) {
		ret->flags &= (uint8_t)~INSN_LINK;
		ret->detail = X86_CALL_TO_NEXT;
	}
}

/** What is plain in one region. *ret_nr: instructions. *ret: the one after them, if it is in that
 * region; else its bytes is 0. @return bytes */
static size_t skip_plain(struct flow_code *c, const struct flow_block *b, uint64_t at,
			 uint32_t *ret_nr, struct insn *ret)
{
	const uint8_t *code;
	size_t left = flow_code_at(c, b->space, at, &code);
	/* An instruction has a byte at least. */
	size_t most = (size_t)(FLOW_MAX_BLOCK_INSNS - b->nr_insns);

	*ret_nr = 0;
	*ret = (struct insn){0};
	return left ? x86_find_branch((enum isa)b->isa, code, left < most ? left : most, at, ret_nr,
				      ret)
		    : 0;
}

static void build(struct flow_code *c, struct flow_block *ret)
{
	uint64_t at = ret->start;
	struct insn i;
	uint32_t nr;

	while (ret->nr_insns < FLOW_MAX_BLOCK_INSNS) {
		at += skip_plain(c, ret, at, &nr, &i);
		ret->nr_insns = (uint16_t)(ret->nr_insns + nr);
		if (ret->nr_insns == FLOW_MAX_BLOCK_INSNS)
			break;
		if (!i.bytes && !insn_at(c, ret->space, (enum isa)ret->isa, at, &i)) {
			ret->flags = FLOW_BLOCK_NO_CODE;
			break;
		}
		at += i.bytes;
		ret->nr_insns++;
		if (i.kind == INSN_PLAIN)
			continue;
		end_block(ret, &i, at);
		break;
	}
	if (ret->kind == INSN_PLAIN && !ret->flags)
		ret->flags = FLOW_BLOCK_LONG;
	ret->bytes = (uint32_t)(at - ret->start);
}

static uint32_t count(struct flow_code *c, const struct flow_span *s, uint64_t *ret_readable)
{
	uint64_t at = s->from;
	uint32_t nr = 0;
	struct insn i;

	for (; at < s->to && nr < FLOW_MAX_RUN_INSNS && insn_at(c, s->space, s->isa, at, &i); nr++)
		at += i.bytes;
	*ret_readable = at;
	return nr;
}

static struct flow_insn_bytes insn_bytes(enum isa isa)
{
	(void)isa;
	return (struct flow_insn_bytes){1, X86_MAX_BYTES};
}

static uint8_t read_insn(struct flow_code *c, uint32_t space, enum isa isa, uint64_t addr,
			 uint8_t ret[FLOW_MAX_INSN_BYTES])
{
	size_t nr = bytes_at(c, space, addr, ret);
	struct insn i;

	return x86_decode(isa, ret, nr, addr, &i) ? 0 : i.bytes;
}

/** SYSCALL, SYSENTER, INT 80h: of two bytes each. */
static bool is_syscall(struct flow_code *c, uint32_t space, enum isa isa, uint64_t end)
{
	uint8_t b[FLOW_MAX_INSN_BYTES];
	size_t nr = bytes_at(c, space, end - 2, b);

	(void)isa;
	return nr >= 2 &&
	       ((b[0] == 0x0f && (b[1] == 0x05 || b[1] == 0x34)) || (b[0] == 0xcd && b[1] == 0x80));
}

const struct flow_insns ipt_insns = {.build = build,
				     .count = count,
				     .bytes = insn_bytes,
				     .read = read_insn,
				     .is_syscall = is_syscall};
