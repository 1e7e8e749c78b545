/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SCRIPT_SCRIPT_DISASM_H
#define FORMAT_SCRIPT_SCRIPT_DISASM_H

#include "analyze/analyze.h"
#include "base/buf.h"
#include "isa/text/insn_text.h"

/** Append "b #0x1000" for the instruction at @p ip. @return false: it is none, or of no
 * instruction set that is known here. */
bool script_disasm_add(struct insn_text *d, struct buf *b, const struct ana_synth *y, uint64_t ip);

#endif
