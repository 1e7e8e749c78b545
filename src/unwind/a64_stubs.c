/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/a64_stubs.h"

#include "elf/sigreturn_code.h"
#include "unwind/sigreturn_rows.h"
#include "unwind/unw_insn_a64.h"
#include "unwind/unw_list.h"

enum { MAX_STUBS = 1 << 20 };

/* What stands where, in rel; one segment. */
struct code {
	const uint8_t *bytes;
	size_t size;
	uint64_t rel;
};

static uint32_t insn_at(const struct code *c, size_t at)
{
	return at <= c->size && c->size - at >= 4 ? load_le32(c->bytes + at) : 0;
}

static const struct unw_rule in_link = {.cfa = UNW_CFA_REG,
					.cfa_reg = A64_SP,
					.ra = UNW_SAME,
					.fp = UNW_SAME,
					.origin = UNW_DERIVED};

/* stp x16, x30, [sp, #-16]! has run: the first entry of a lazy PLT. */
static const struct unw_rule pushed_link = {.cfa = UNW_CFA_REG,
					    .cfa_reg = A64_SP,
					    .cfa_off = 16,
					    .ra = UNW_AT_CFA,
					    .ra_off = -8,
					    .fp = UNW_SAME,
					    .origin = UNW_DERIVED};

/* Spec: ELF for the Arm 64-bit Architecture, "Procedure Linkage Table": ADRP x16; LDR x17, [x16,
 * #N]; ADD x16, x16, #N; BR x17; before BR perhaps AUTIA1716. @return bytes; 0: it is none. */
static size_t plt_bytes(const struct code *c, size_t at)
{
	enum { AUTIA1716 = 0xd503219f };
	size_t br = at + 12;

	if ((insn_at(c, at) & 0x9f00001f) != 0x90000010 ||
	    (insn_at(c, at + 4) & 0xffc003ff) != 0xf9400211 ||
	    (insn_at(c, at + 8) & 0xff8003ff) != 0x91000210)
		return 0;
	if (insn_at(c, br) == AUTIA1716)
		br += 4;
	return insn_at(c, br) == 0xd61f0220 ? br + 4 - at : 0;
}

static void put_plt(const struct code *c, size_t at, size_t size, struct unw_list *ret)
{
	enum { PUSH = 0xa9bf7bf0, BTI_C = 0xd503245f };
	uint64_t rel = c->rel + at, end = rel + size;
	bool is_first = at >= 4 && insn_at(c, at - 4) == PUSH;

	if (is_first)
		at -= 4;
	if (at >= 4 && insn_at(c, at - 4) == BTI_C)
		at -= 4;
	unw_list_begin(ret, c->rel + at, end);
	unw_list_row(ret, c->rel + at, &in_link);
	if (is_first)
		unw_list_row(ret, rel, &pushed_link);
}

/* mov x8, #139; svc #0 */
static bool is_sigreturn(const struct code *c, size_t at)
{
	return insn_at(c, at) == A64_MOV_SIGRETURN && insn_at(c, at + 4) == A64_SVC;
}

static void put_sigreturn(const struct code *c, size_t at, struct unw_list *ret)
{
	unw_list_begin(ret, c->rel + at, c->rel + at + 12); /* what follows the svc is its pc */
	unw_list_row(ret, c->rel + at, &a64_sigreturn_rule);
}

static bool is_covered(struct unw_list *const lists[], size_t nr, uint64_t rel)
{
	for (size_t i = 0; i < nr; i++) {
		if (unw_list_covers(lists[i], rel))
			return true;
	}
	return false;
}

static void rows_of(const struct code *c, struct unw_list *const lists[], size_t nr,
		    struct unw_list *ret)
{
	for (size_t at = 0; at + 4 <= c->size && unw_list_nr_rows(ret) < MAX_STUBS; at += 4) {
		size_t bytes = plt_bytes(c, at);
		bool is_found = bytes || is_sigreturn(c, at);

		if (!is_found || is_covered(lists, nr, c->rel + at))
			continue;
		if (bytes)
			put_plt(c, at, bytes, ret);
		else
			put_sigreturn(c, at, ret);
	}
}

enum clew_err a64_stub_rows(const struct unw_image *image, struct unw_list *const lists[],
			    size_t nr, struct unw_list *ret)
{
	if (image->arch != UNW_AARCH64)
		return CLEW_NOT_FOUND;
	for (size_t i = 0; i < nr; i++)
		unw_list_sort(lists[i]);
	for (size_t i = 0; i < image->nr_segments; i++) {
		const struct unw_segment *s = &image->segments[i];
		struct code c = {.bytes = s->bytes, .size = (size_t)s->size};

		if (c.bytes && !(s->vaddr & 3) && unw_image_rel(image, s->vaddr, &c.rel))
			rows_of(&c, lists, nr, ret);
	}
	return CLEW_OK;
}
