/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_disasm.h"

#include "base/mem.h"

#ifdef CLEW_HAS_CAPSTONE
# include <capstone/capstone.h>

struct script_disasm {
	csh of_isa[ANA_NR_ISAS];
	bool is_open[ANA_NR_ISAS];
	cs_insn *insn;
};

static bool open_isa(struct script_disasm *d, enum ana_isa isa)
{
	static const struct {
		cs_arch arch;
		cs_mode mode;
	} sets[ANA_NR_ISAS] = {
		[ANA_A64] = {CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN                },
		[ANA_A32] = {CS_ARCH_ARM,   (cs_mode)(CS_MODE_ARM | CS_MODE_V8)  },
		[ANA_T32] = {CS_ARCH_ARM,   (cs_mode)(CS_MODE_THUMB | CS_MODE_V8)},
		[ANA_X86_64] = {CS_ARCH_X86,   CS_MODE_64                           },
		[ANA_X86_32] = {CS_ARCH_X86,   CS_MODE_32                           },
		[ANA_X86_16] = {CS_ARCH_X86,   CS_MODE_16                           },
	};

	d->is_open[isa] = cs_open(sets[isa].arch, sets[isa].mode, &d->of_isa[isa]) == CS_ERR_OK;
	if (d->is_open[isa] && !d->insn)
		d->insn = cs_malloc(d->of_isa[isa]);
	return d->is_open[isa] && d->insn;
}

struct script_disasm *script_disasm_new(void)
{
	return mem_zalloc(sizeof(struct script_disasm));
}

void script_disasm_free(struct script_disasm *d)
{
	if (!d)
		return;
	if (d->insn)
		cs_free(d->insn, 1);
	for (int i = 0; i < ANA_NR_ISAS; i++) {
		if (d->is_open[i])
			cs_close(&d->of_isa[i]);
	}
	mem_free(d);
}

bool script_disasm_add(struct script_disasm *d, struct buf *b, const struct ana_synth *y,
		       uint64_t ip)
{
	const uint8_t *code = y->insn;
	size_t left = y->insn_bytes;

	if (y->isa >= ANA_NR_ISAS || (!d->is_open[y->isa] && !open_isa(d, (enum ana_isa)y->isa)))
		return false;
	if (!cs_disasm_iter(d->of_isa[y->isa], &code, &left, &ip, d->insn))
		return false;
	buf_str(b, d->insn->mnemonic);
	if (d->insn->op_str[0]) {
		buf_char(b, ' ');
		buf_str(b, d->insn->op_str);
	}
	return true;
}

bool script_disasm_is_there(void)
{
	return true;
}
#else
struct script_disasm *script_disasm_new(void)
{
	return NULL;
}

void script_disasm_free(struct script_disasm *d)
{
	(void)d;
}

bool script_disasm_add(struct script_disasm *d, struct buf *b, const struct ana_synth *y,
		       uint64_t ip)
{
	(void)d, (void)b, (void)y, (void)ip;
	return false;
}

bool script_disasm_is_there(void)
{
	return false;
}
#endif
