/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_insns.h"

#include <string.h>

#include "base/bytes.h"
#include "isa/a32/a32_branch.h"
#include "isa/a64/a64_branch.h"

enum { MAX_QUICK_INSNS = 1024 };

/** It may stand in two regions. */
static uint8_t read_insn(struct flow_code *c, uint32_t space, enum isa isa, uint64_t addr,
			 uint8_t ret[FLOW_MAX_INSN_BYTES])
{
	unsigned int step = isa == ISA_T32 ? 2 : 4, nr = 0;
	const uint8_t *p;

	for (unsigned int want = step; nr < want; nr += step) {
		size_t left = flow_code_at(c, space, addr + nr, &p);

		if (left < step)
			return 0;
		memcpy(ret + nr, p, step);
		if (isa == ISA_T32 && !nr && t32_is_wide(p[1]))
			want = 4;
	}
	return (uint8_t)nr;
}

/** One instruction. @return its bytes; 0: not readable. */
static unsigned int insn_at(struct flow_code *c, uint32_t space, enum isa isa, uint64_t addr,
			    uint32_t *ret)
{
	uint8_t bytes[FLOW_MAX_INSN_BYTES] = {0};
	unsigned int nr = read_insn(c, space, isa, addr, bytes);

	if (!nr)
		return 0;
	*ret = load_le32(bytes);
	if (isa == ISA_T32)
		*ret = *ret << 16 | *ret >> 16;
	return nr;
}

static struct insn decode(enum isa isa, uint32_t word, uint64_t pc)
{
	return isa == ISA_A64 ? a64_decode(word, pc)
	     : isa == ISA_A32 ? a32_decode(word, pc)
			      : t32_decode(word, pc);
}

/** Skip what is no waypoint in one region. *ret_nr: instructions. */
static size_t skip_plain(const struct flow_code *c, enum isa isa, const uint8_t *code, size_t bytes,
			 uint32_t *ret_nr)
{
	size_t off;

	if (isa == ISA_T32)
		return t32_find_waypoint(code, bytes, c->has_wfx, ret_nr);
	off = isa == ISA_A64 ? a64_find_waypoint(code, bytes, c->has_wfx)
			     : a32_find_waypoint(code, bytes, c->has_wfx);
	*ret_nr = (uint32_t)(off / 4);
	return off;
}

static void end_block(struct flow_block *ret, const struct insn *i, unsigned int bytes)
{
	ret->kind = i->kind;
	ret->flags = i->flags;
	ret->target = i->target;
	ret->last_bytes = (uint8_t)bytes;
}

/** Most blocks are A64 and stand in one region. @return false: this one may not. */
static bool build_a64(struct flow_code *c, struct flow_block *ret)
{
	const uint8_t *code;
	size_t left = flow_code_at(c, ret->space, ret->start, &code);
	size_t nr = left / 4 < MAX_QUICK_INSNS ? left / 4 : MAX_QUICK_INSNS;

	for (size_t at = 0; at < nr; at++) {
		uint32_t word = load_le32(code + 4 * at);
		struct insn i;

		if (!a64_may_be_waypoint(word))
			continue;
		i = a64_decode(word, ret->start + 4 * at);
		if (!insn_is_waypoint(&i, c->has_wfx))
			continue;
		ret->nr_insns = (uint16_t)(at + 1);
		ret->bytes = 4 * (uint32_t)(at + 1);
		end_block(ret, &i, 4);
		return true;
	}
	return false;
}

static void build_any(struct flow_code *c, struct flow_block *ret)
{
	enum isa isa = (enum isa)ret->isa;
	uint64_t at = ret->start;
	const uint8_t *code;
	struct insn i;
	uint32_t word, nr;
	unsigned int n;

	while (ret->nr_insns < FLOW_MAX_BLOCK_INSNS) {
		size_t left = flow_code_at(c, ret->space, at, &code);
		size_t most = 2 * (size_t)(FLOW_MAX_BLOCK_INSNS - ret->nr_insns);

		at += skip_plain(c, isa, code, left < most ? left : most, &nr);
		ret->nr_insns = (uint16_t)(ret->nr_insns + nr);
		if (ret->nr_insns == FLOW_MAX_BLOCK_INSNS)
			break;
		n = insn_at(c, ret->space, isa, at, &word);
		if (!n) {
			ret->flags = FLOW_BLOCK_NO_CODE;
			break;
		}
		i = decode(isa, word, at);
		at += n;
		ret->nr_insns++;
		if (!insn_is_waypoint(&i, c->has_wfx))
			continue;
		end_block(ret, &i, n);
		break;
	}
	if (ret->kind == INSN_PLAIN && !ret->flags)
		ret->flags = FLOW_BLOCK_LONG;
	ret->bytes = (uint32_t)(at - ret->start);
}

static void build(struct flow_code *c, struct flow_block *ret)
{
	if (ret->isa != ISA_A64 || !build_a64(c, ret))
		build_any(c, ret);
}

/** Instructions that begin in the first @p bytes of a region's last @p left and end in it. */
static uint32_t count_in(enum isa isa, const uint8_t *code, size_t left, uint64_t bytes,
			 uint32_t most, size_t *ret_bytes)
{
	size_t at = 0;
	uint32_t nr = 0;

	if (isa != ISA_T32) {
		uint64_t whole = bytes / 4 + (bytes % 4 != 0);

		whole = whole < left / 4 ? whole : left / 4;
		nr = whole < most ? (uint32_t)whole : most;
		*ret_bytes = (size_t)nr * 4;
		return nr;
	}
	for (; nr < most && at < bytes && left - at >= 2; nr++) {
		unsigned int n = t32_is_wide(code[at + 1]) ? 4 : 2;

		if (left - at < n)
			break;
		at += n;
	}
	*ret_bytes = at;
	return nr;
}

static uint32_t count(struct flow_code *c, const struct flow_span *s, uint64_t *ret_readable)
{
	const uint64_t to = s->to;
	const uint32_t space = s->space;
	const enum isa isa = s->isa;
	uint64_t at = s->from;
	uint32_t nr = 0, word;

	while (at < to && nr < FLOW_MAX_RUN_INSNS) {
		const uint8_t *code = NULL;
		size_t left = flow_code_at(c, space, at, &code), bytes;
		uint32_t n = count_in(isa, code, left, to - at, FLOW_MAX_RUN_INSNS - nr, &bytes);

		if (!n) { /* none, or one in two regions */
			bytes = insn_at(c, space, isa, at, &word);
			n = 1;
		}
		if (!bytes || bytes > UINT64_MAX - at)
			break;
		at += bytes;
		nr += n;
	}
	*ret_readable = at;
	return nr;
}

static struct flow_insn_bytes insn_bytes(enum isa isa)
{
	return isa == ISA_T32 ? (struct flow_insn_bytes){2, 4} : (struct flow_insn_bytes){4, 4};
}

/** SVC */
static bool is_syscall(struct flow_code *c, uint32_t space, enum isa isa, uint64_t end)
{
	uint8_t b[FLOW_MAX_INSN_BYTES];
	uint32_t word;

	if (!read_insn(c, space, isa, end - (isa == ISA_T32 ? 2 : 4), b))
		return false;
	if (isa == ISA_T32)
		return b[1] == 0xdf;
	word = load_le32(b);
	if (isa == ISA_A32)
		return (word & 0x0f000000) == 0x0f000000 && word >> 28 != 0xf;
	return (word & 0xffe0001f) == 0xd4000001;
}

const struct flow_insns etm_insns = {.build = build,
				     .count = count,
				     .bytes = insn_bytes,
				     .read = read_insn,
				     .is_syscall = is_syscall};
