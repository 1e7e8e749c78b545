/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISA_A32_A32_BRANCH_H
#define ISA_A32_A32_BRANCH_H

#include <stdbool.h>
#include <stddef.h>

#include "isa/insn.h"

/** AArch32: A32 word. Spec: Arm ARM (DDI 0487), "F4.1 A32 instruction set encoding". */
struct insn a32_decode(uint32_t word, uint64_t pc);

/** T32: @p word = first halfword << 16 | second (0 where there is none). insn.bytes is 2 or 4.
 * Spec: Arm ARM, "F3.1 T32 instruction set encoding"; v8-M ARM (DDI 0553) for LE, WLS and kin. */
struct insn t32_decode(uint32_t word, uint64_t pc);

/** Has a T32 instruction four bytes? @p upper: of its first halfword, the second byte in memory. */
static inline bool t32_is_wide(uint8_t upper)
{
	return upper >= 0xe8;
}

/** Instructions after this one that an IT instruction makes conditional: 1 to 4; 0: @p first is no
 * IT. */
unsigned int t32_it_length(uint16_t first);

/** The first waypoint in [@p code, @p code + @p bytes), as a64_find_waypoint(). T32 is stepped
 * through from the start; an instruction cut by the end is none. *ret_nr: instructions before it.
 */
size_t a32_find_waypoint(const uint8_t *code, size_t bytes, bool has_wfx);
size_t t32_find_waypoint(const uint8_t *code, size_t bytes, bool has_wfx, uint32_t *ret_nr);

#endif
