/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_disasm.h"

bool script_disasm_add(struct insn_text *d, struct buf *b, const struct ana_synth *y, uint64_t ip)
{
	return insn_text_add(d, (enum isa)y->isa, y->insn, y->insn_bytes, ip, b) != 0;
}
