/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISA_ANY_INSN_DECODE_H
#define ISA_ANY_INSN_DECODE_H

#include <stddef.h>

#include "isa/insn.h"

/** Of a file's EM_; @p is_thumb: of an Arm one. NR_ISAS: it is unknown here. */
enum isa isa_of_machine(uint16_t machine, bool is_thumb);

/** false: of an unknown instruction set, and where clew was built without its decoder. */
bool insn_can_decode(enum isa isa);

/** The instruction at @p p, of @p left bytes, which lies at @p pc. *ret is INSN_PLAIN where it is
 * unknown. @return its bytes; 0: unknown. */
size_t insn_decode(enum isa isa, const uint8_t *p, size_t left, uint64_t pc, struct insn *ret);

#endif
