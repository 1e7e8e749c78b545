/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/call_start.h"

#include <elf.h>

#include "image/dso_source.h"
#include "isa/any/insn_decode.h"

enum { MAX_INSN = 15, MAX_WALK = 4096 };

/* @return the instruction's bytes; 0: unknown. Of EM_ARM it is unknown which of two instruction
 * sets the bytes are of. */
static size_t decode(const struct dso *d, uint64_t address, struct insn *ret)
{
	const uint8_t *p;
	uint16_t machine;
	size_t left = dso_linked_bytes(d, address, &p, &machine);

	if (!left || machine == EM_ARM)
		return 0;
	return insn_decode(isa_of_machine(machine, false), p, left, address, ret);
}

static bool is_call(const struct dso *d, uint64_t at, uint64_t after)
{
	struct insn i = {0};

	return decode(d, at, &i) == after - at && i.flags & INSN_LINK;
}

/* The instruction that ends at @p after, on the way from @p at. 0: the way does not lead there. */
static uint64_t walk(const struct dso *d, uint64_t at, uint64_t after)
{
	struct insn i;
	size_t size;

	if (at >= after || after - at > MAX_WALK)
		return 0;
	while (at < after) {
		size = decode(d, at, &i);
		if (!size || after - at < size)
			return 0;
		if (after - at == size)
			return at;
		at += size;
	}
	return 0;
}

uint64_t call_start(const struct dso *d, uint64_t start, uint64_t after)
{
	uint64_t longest = 0, at;
	unsigned int nr = 0;

	for (uint64_t size = 1; size <= MAX_INSN && size <= after; size++) {
		if (!is_call(d, after - size, after))
			continue;
		longest = after - size;
		nr++;
	}
	at = nr > 1 ? walk(d, start, after) : 0;
	return at && is_call(d, at, after) ? at : longest;
}
