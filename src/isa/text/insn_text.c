/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa/text/insn_text.h"

#include "base/mem.h"
#include "os/library.h"

#ifdef CLEW_HAS_CAPSTONE
# include <capstone/capstone.h>

struct functions {
	__typeof__(cs_open) *open;
	__typeof__(cs_close) *close;
	__typeof__(cs_malloc) *malloc;
	__typeof__(cs_free) *free;
	__typeof__(cs_disasm_iter) *disasm_iter;
};

struct insn_text {
	struct functions capstone;
	csh of_isa[NR_ISAS];
	bool is_open[NR_ISAS];
	cs_insn *insn;
};

static bool open_isa(struct insn_text *t, enum isa isa)
{
	static const struct {
		cs_arch arch;
		cs_mode mode;
	} sets[NR_ISAS] = {
		[ISA_A64] = {CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN                },
		[ISA_A32] = {CS_ARCH_ARM,   (cs_mode)(CS_MODE_ARM | CS_MODE_V8)  },
		[ISA_T32] = {CS_ARCH_ARM,   (cs_mode)(CS_MODE_THUMB | CS_MODE_V8)},
		[ISA_X86_64] = {CS_ARCH_X86,   CS_MODE_64                           },
		[ISA_X86_32] = {CS_ARCH_X86,   CS_MODE_32                           },
		[ISA_X86_16] = {CS_ARCH_X86,   CS_MODE_16                           },
	};

	t->is_open[isa] =
		t->capstone.open(sets[isa].arch, sets[isa].mode, &t->of_isa[isa]) == CS_ERR_OK;
	if (t->is_open[isa] && !t->insn)
		t->insn = t->capstone.malloc(t->of_isa[isa]);
	return t->is_open[isa] && t->insn;
}

static bool load(struct functions *f)
{
	struct os_library *l = os_library_load(OS_LIBRARY_NAME("libcapstone", CS_API_MAJOR));

	return l && os_library_function(l, "cs_open", &f->open) &&
	       os_library_function(l, "cs_close", &f->close) &&
	       os_library_function(l, "cs_malloc", &f->malloc) &&
	       os_library_function(l, "cs_free", &f->free) &&
	       os_library_function(l, "cs_disasm_iter", &f->disasm_iter);
}

struct insn_text *insn_text_new(void)
{
	struct insn_text *t = mem_zalloc(sizeof(*t));

	if (t && load(&t->capstone))
		return t;
	mem_free(t);
	return NULL;
}

void insn_text_free(struct insn_text *t)
{
	if (!t)
		return;
	if (t->insn)
		t->capstone.free(t->insn, 1);
	for (int i = 0; i < NR_ISAS; i++) {
		if (t->is_open[i])
			t->capstone.close(&t->of_isa[i]);
	}
	mem_free(t);
}

size_t insn_text_add(struct insn_text *t, enum isa isa, const uint8_t *code, size_t size,
		     uint64_t ip, struct buf *out)
{
	const uint8_t *at = code;

	if (isa >= NR_ISAS || (!t->is_open[isa] && !open_isa(t, isa)))
		return 0;
	if (!t->capstone.disasm_iter(t->of_isa[isa], &at, &size, &ip, t->insn))
		return 0;
	buf_str(out, t->insn->mnemonic);
	if (t->insn->op_str[0]) {
		buf_char(out, ' ');
		buf_str(out, t->insn->op_str);
	}
	return t->insn->size;
}

bool insn_text_is_there(void)
{
	struct functions f;

	return load(&f);
}
#else
struct insn_text *insn_text_new(void)
{
	return NULL;
}

void insn_text_free(struct insn_text *t)
{
	(void)t;
}

size_t insn_text_add(struct insn_text *t, enum isa isa, const uint8_t *code, size_t size,
		     uint64_t ip, struct buf *out)
{
	(void)t, (void)isa, (void)code, (void)size, (void)ip, (void)out;
	return 0;
}

bool insn_text_is_there(void)
{
	return false;
}
#endif
