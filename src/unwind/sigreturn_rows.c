/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/sigreturn_rows.h"

#include <elf.h>

#include "elf/sigreturn_code.h"
#include "unwind/unw_insn.h"

enum { MAX_FOUND = 1024 };

static const struct unw_rule x86_rule = {.cfa = UNW_CFA_REG,
					 .cfa_reg = 7,
					 .ra = UNW_AT_REG,
					 .ra_reg = 7,
					 .ra_off = X86_SIGRETURN_PC,
					 .fp = UNW_UNDEFINED,
					 .flags = UNW_SIGNAL,
					 .origin = UNW_TRAMPOLINE};

const struct unw_rule a64_sigreturn_rule = {.cfa = UNW_CFA_REG,
					    .cfa_reg = A64_SP,
					    .ra = UNW_AT_REG,
					    .ra_reg = A64_SP,
					    .ra_off = A64_SIGRETURN_PC,
					    .fp = UNW_UNDEFINED,
					    .flags = UNW_SIGNAL,
					    .origin = UNW_TRAMPOLINE};

/* Does no instruction begin at the byte before @p at? One that would run on into the trampoline is
 * none that runs, but RET and HLT end functions, and may be sampled. */
static bool is_free_before(const uint8_t *code, size_t at, enum unw_arch arch)
{
	if (!at || arch == UNW_AARCH64)
		return at;
	return code[at - 1] != 0xc3 && code[at - 1] != 0xf4;
}

static uint32_t rows_of(const struct unw_image *image, const struct unw_segment *s,
			struct unw_list *ret)
{
	bool is_x86 = image->arch == UNW_X86_64;
	const uint8_t *code = s->bytes;
	uint32_t nr = 0;
	size_t at = 0, bytes;
	uint64_t rel;

	if (!code || (!is_x86 && s->vaddr & 3) || !unw_image_rel(image, s->vaddr, &rel))
		return 0;
	for (; nr < MAX_FOUND; nr++, at += bytes) {
		uint64_t start;

		bytes = sigreturn_code_next(is_x86 ? EM_X86_64 : EM_AARCH64, code, (size_t)s->size,
					    &at);
		if (!bytes)
			break;
		start = rel + at - is_free_before(code, at, image->arch);
		unw_list_begin(ret, start, rel + at + bytes);
		unw_list_row(ret, start, is_x86 ? &x86_rule : &a64_sigreturn_rule);
	}
	return nr;
}

enum clew_err sigreturn_rows(const struct unw_image *image, struct unw_list *ret)
{
	uint32_t nr = 0;

	if (image->arch != UNW_X86_64 && image->arch != UNW_AARCH64)
		return CLEW_NOT_FOUND;
	for (size_t i = 0; i < image->nr_segments; i++)
		nr += rows_of(image, &image->segments[i], ret);
	return nr ? CLEW_OK : CLEW_NOT_FOUND;
}
