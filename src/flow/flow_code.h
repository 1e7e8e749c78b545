/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_CODE_H
#define FLOW_FLOW_CODE_H

#include "flow/flow.h"

enum {
	FLOW_MAX_BLOCK_INSNS = UINT16_MAX,
	FLOW_MAX_LONG = 16, /* blocks of so many without a waypoint, in a row */
	/** No code runs longer than this without a waypoint: zero-filled pages would. */
	FLOW_MAX_RUN_INSNS = FLOW_MAX_LONG * FLOW_MAX_BLOCK_INSNS,
};

/** Where a block ends without a waypoint, why; enum insn flags end below. */
enum {
	FLOW_BLOCK_NO_CODE = 1 << 6, /* nothing readable at start + bytes */
	FLOW_BLOCK_LONG = 1 << 7,    /* FLOW_MAX_BLOCK_INSNS without a waypoint: it continues */
	/* And of any block: it begins with CODE_SWITCHES. */
	FLOW_BLOCK_SWITCHES = 1 << 5,
};

enum { FLOW_MAX_INSN_BYTES = 15 };

struct flow_code;

/** Code [from, to) of one instruction set in one space. */
struct flow_span {
	uint64_t from, to;
	uint32_t space;
	enum isa isa;
};

/** Bytes of the shortest and the longest instruction; the shortest divides all. */
struct flow_insn_bytes {
	uint8_t least, most;
};

/** The instructions of an architecture, for the engine: once for each block, not for each time it
 * runs. */
struct flow_insns {
	/** @p ret has start, space and isa: all the rest. Where there is no waypoint, kind is
	 * INSN_PLAIN and flags has one of FLOW_BLOCK_. */
	void (*build)(struct flow_code *c, struct flow_block *ret);
	/** Instructions that begin in @p s, at most FLOW_MAX_RUN_INSNS, as far as
	 * code is readable. *ret_readable: the address after the last of them. */
	uint32_t (*count)(struct flow_code *c, const struct flow_span *s, uint64_t *ret_readable);
	struct flow_insn_bytes (*bytes)(enum isa isa);

	/* For consumers (trace/events). */

	/** The instruction at @p addr. @return its bytes; 0: not readable. */
	uint8_t (*read)(struct flow_code *c, uint32_t space, enum isa isa, uint64_t addr,
			uint8_t ret[FLOW_MAX_INSN_BYTES]);
	/** Is the instruction that ends at @p end a system call? */
	bool (*is_syscall)(struct flow_code *c, uint32_t space, enum isa isa, uint64_t end);
};

/** Code bytes, and the region that the last ones were in. */
struct flow_code {
	const struct code_source *source;
	const struct flow_insns *insns;
	bool has_wfx; /* INSN_WFX is a waypoint */
	struct code_region region;
	uint32_t region_space;
};

void flow_code_init(struct flow_code *c, const struct code_source *source,
		    const struct flow_insns *insns, bool has_wfx);
void flow_code_forget(struct flow_code *c);

/** Set FLOW_BLOCK_SWITCHES where it is due. */
static inline void flow_code_mark(const struct flow_code *c, struct flow_block *b)
{
	const struct code_source *s = c->source;

	if (s->counts_switches && b->kind != INSN_PLAIN &&
	    s->landmark(s->ctx, b->space, b->start) == CODE_SWITCHES)
		b->flags |= FLOW_BLOCK_SWITCHES;
}

/** Readable bytes from @p addr on; 0: none. */
size_t flow_code_at(struct flow_code *c, uint32_t space, uint64_t addr, const uint8_t **ret);

/** flow_insns.count */
static inline uint32_t flow_code_count(struct flow_code *c, const struct flow_span *s,
				       uint64_t *ret_readable)
{
	return c->insns->count(c, s, ret_readable);
}

#endif
