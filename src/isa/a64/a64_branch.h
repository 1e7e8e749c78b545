/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISA_A64_A64_BRANCH_H
#define ISA_A64_A64_BRANCH_H

#include <stdbool.h>
#include <stddef.h>

#include "isa/insn.h"

/** Bits 31:24 of no waypoint: three in four instructions need no more. */
static inline bool a64_may_be_waypoint(uint32_t word)
{
	uint32_t top = word >> 24;

	return (top & 0x1c) == 0x14; /* op0 x101: branches, system; 74, 75, f4 too */
}

/**
 * The instruction @p word at @p pc. Every word has an answer; what is unallocated is INSN_PLAIN.
 * Spec: Arm ARM (DDI 0487), "C4.1 A64 instruction set encoding", Branches, Exception Generating and
 * System instructions; waypoints: "D5 The Embedded Trace Extension", P0 elements.
 */
struct insn a64_decode(uint32_t word, uint64_t pc);

/**
 * The first waypoint in [@p code, @p code + @p bytes): its offset; @p bytes rounded down to 4 where
 * there is none. WFx count with @p has_wfx. No instruction is looked at twice: some ns a word.
 */
size_t a64_find_waypoint(const uint8_t *code, size_t bytes, bool has_wfx);

#endif
