/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISA_TEXT_INSN_TEXT_H
#define ISA_TEXT_INSN_TEXT_H

#include "base/buf.h"
#include "isa/insn.h"

/* Instructions as assembler text, by the library capstone, loaded when it is first needed
 * (os/library.h). */
struct insn_text;

/** NULL: capstone is not installed, or it was built without, or no memory. */
struct insn_text *insn_text_new(void);
void insn_text_free(struct insn_text *t);

/** Append "b #0x1000" for the instruction at @p ip, of which [@p code, @p code + @p size) are
 * readable. @return its bytes; 0: it is none, or of no instruction set that is known here, and
 * nothing was appended. */
size_t insn_text_add(struct insn_text *t, enum isa isa, const uint8_t *code, size_t size,
		     uint64_t ip, struct buf *out);

bool insn_text_is_there(void);

#endif
