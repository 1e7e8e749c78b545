/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SCRIPT_SCRIPT_DISASM_H
#define FORMAT_SCRIPT_SCRIPT_DISASM_H

#include "analyze/analyze.h"
#include "base/buf.h"

/* An instruction's bytes as assembler text, by the library capstone. */
struct script_disasm;

/** NULL: capstone is not installed, or it was built without, or no memory. */
struct script_disasm *script_disasm_new(void);
void script_disasm_free(struct script_disasm *d);

/** Append "b\t#0x1000" for the instruction at @p ip. @return false: it is none, or of no
 * instruction set that is known here. */
bool script_disasm_add(struct script_disasm *d, struct buf *b, const struct ana_synth *y,
		       uint64_t ip);

bool script_disasm_is_there(void);

#endif
