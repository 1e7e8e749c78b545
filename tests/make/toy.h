/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_TOY_H
#define TESTS_MAKE_TOY_H

#include "base/buf.h"
#include "base/vec.h"
#include "flow/flow_code.h"

/*
 * A machine that was never built, with instructions of 1 to 15 bytes, and a trace of it that says
 * "taken", "not taken" and "target": what src/flow knows of Arm and ETM shows where it is used for
 * another.
 *
 * An instruction: kind << 4 | bytes; of a direct branch the offset of its target follows, 16 bits.
 * A packet: 1 then branches, oldest lowest, below a bit that ends them (0x83 to 0xff); TOY_ADDRESS,
 * TOY_SYNC after TOY_PADS of TOY_PAD, TOY_EXCEPTION, each with 8 bytes of address; TOY_PAD.
 * An indirect branch, not a far one, to the top of a stack of 16 that calls push and syncs empty
 * has no address.
 *
 * Silent (as Intel PT): only a conditional branch has a bit, and a return to the top of a stack of
 * 64; each return pops. Any other indirect branch has an address and no bit.
 */

enum { TOY_BASE = 0x1000, TOY_MAX_INSN = 15, TOY_PADS = 15, TOY_MAX_BRANCHES = 6 };

enum toy_kind {
	TOY_PLAIN,
	TOY_BRANCH,
	TOY_COND,
	TOY_CALL,
	TOY_JUMP,
	TOY_CALL_INDIRECT,
	TOY_RETURN,
	TOY_FAR,
	NR_TOY_KINDS
};

enum toy_packet { TOY_ADDRESS = 1, TOY_PAD, TOY_SYNC, TOY_EXCEPTION, TOY_BRANCHES = 0x80 };

struct toy_program {
	uint8_t code[32 << 10];
	size_t code_bytes;
	struct code_source source;
	struct buf trace;
	/* What ran. */
	uint64_t nr_insns, nr_exceptions;
	uint64_t insns;    /* digest of addresses, in order */
	uint64_t branches; /* sum of toy_branch_digest() */
};

/** enum insn_kind and flags of each kind. */
static const struct {
	uint8_t kind, flags;
} toy_waypoints[NR_TOY_KINDS] = {
	[TOY_BRANCH] = {INSN_BRANCH,   0        },
	[TOY_COND] = {INSN_COND,     0        },
	[TOY_CALL] = {INSN_BRANCH,   INSN_LINK},
	[TOY_JUMP] = {INSN_INDIRECT, 0        },
	[TOY_CALL_INDIRECT] = {INSN_INDIRECT, INSN_LINK},
	[TOY_RETURN] = {INSN_INDIRECT, INSN_RET },
	[TOY_FAR] = {INSN_FAR,      0        },
};

static inline uint8_t toy_bytes(uint8_t first)
{
	return first & 15;
}

uint64_t toy_insn_digest(uint64_t before, uint64_t address);
/** Of the waypoint at @p address, which went to @p to, @p nr times. */
uint64_t toy_branch_digest(uint64_t address, uint64_t to, bool is_taken, uint64_t nr);

/** @p p zeroed. A program of @p nr_code instructions that runs @p nr_branches waypoints. @return
 * false: no memory. */
bool toy_program_make(struct toy_program *p, bool has_silent, uint64_t seed, unsigned int nr_code,
		      unsigned int nr_branches);
void toy_program_done(struct toy_program *p);

struct toy_opts {
	struct flow_opts flow;
	const struct flow_insns *insns; /* NULL: this machine's; at any rate, all code is of isa */
	enum isa isa;
	struct code_context context; /* of all that runs */
	bool has_paths;              /* else branch by branch */
	bool is_silent;
};
struct flow *toy_flow_new(const struct toy_opts *opts);

#endif
