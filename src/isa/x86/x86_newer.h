/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISA_X86_X86_NEWER_H
#define ISA_X86_X86_NEWER_H

#include <stddef.h>

#include <clew/err.h>

#include "isa/insn.h"

/**
 * What Zydis 4.0 does not know: APX (REX2, JMPABS, promoted instructions), FRED's returns, and
 * extensions that came later, by the form of their maps alone. As x86_decode(), for bytes that are
 * no instruction to Zydis.
 * Spec: Intel APX architecture specification; FRED specification; SDM volume 2, "Instruction
 * Format".
 */
enum clew_err x86_newer(enum isa mode, const uint8_t *code, size_t bytes, uint64_t pc,
			struct insn *ret);

#endif
