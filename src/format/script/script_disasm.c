/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_disasm.h"

#include "base/mem.h"
#include "os/library.h"

#ifdef CLEW_HAS_CAPSTONE
# include <capstone/capstone.h>

# define TEXT_OF(word)    # word
# define LIBRARY(version) "libcapstone.so." TEXT_OF(version)

struct functions {
	__typeof__(cs_open) *open;
	__typeof__(cs_close) *close;
	__typeof__(cs_malloc) *malloc;
	__typeof__(cs_free) *free;
	__typeof__(cs_disasm_iter) *disasm_iter;
};

struct script_disasm {
	struct functions capstone;
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

	d->is_open[isa] =
		d->capstone.open(sets[isa].arch, sets[isa].mode, &d->of_isa[isa]) == CS_ERR_OK;
	if (d->is_open[isa] && !d->insn)
		d->insn = d->capstone.malloc(d->of_isa[isa]);
	return d->is_open[isa] && d->insn;
}

static bool load(struct functions *f)
{
	struct os_library *l = os_library_load(LIBRARY(CS_API_MAJOR));

	return l && os_library_function(l, "cs_open", &f->open) &&
	       os_library_function(l, "cs_close", &f->close) &&
	       os_library_function(l, "cs_malloc", &f->malloc) &&
	       os_library_function(l, "cs_free", &f->free) &&
	       os_library_function(l, "cs_disasm_iter", &f->disasm_iter);
}

struct script_disasm *script_disasm_new(void)
{
	struct script_disasm *d = mem_zalloc(sizeof(*d));

	if (d && load(&d->capstone))
		return d;
	mem_free(d);
	return NULL;
}

void script_disasm_free(struct script_disasm *d)
{
	if (!d)
		return;
	if (d->insn)
		d->capstone.free(d->insn, 1);
	for (int i = 0; i < ANA_NR_ISAS; i++) {
		if (d->is_open[i])
			d->capstone.close(&d->of_isa[i]);
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
	if (!d->capstone.disasm_iter(d->of_isa[y->isa], &code, &left, &ip, d->insn))
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
	struct functions f;

	return load(&f);
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
