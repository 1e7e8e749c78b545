/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/fp_rows.h"

#include <elf.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "unwind/unw_insn.h"
#include "unwind/unw_list.h"

enum {
	MAX_UNSIZED = 1 << 16, /* bytes of a function with a symbol without size */
	MAX_EPILOGUES = 64,    /* further ones keep the rule of the body */
	MAX_PROLOGUE = 12,     /* instructions, aarch64 */
};

struct function {
	uint64_t start, end; /* link-time addresses */
};

struct functions {
	VEC(struct function);
};

/* --- functions that nothing covers --- */

static bool is_covered(struct unw_list *const lists[], size_t nr, uint64_t rel)
{
	for (size_t i = 0; i < nr; i++) {
		if (unw_list_covers(lists[i], rel))
			return true;
	}
	return false;
}

static bool is_function(const uint8_t *sym, bool is_swapped)
{
	uint8_t type = ELF64_ST_TYPE(sym[offsetof(Elf64_Sym, st_info)]);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       load_u16(sym + offsetof(Elf64_Sym, st_shndx), is_swapped) != SHN_UNDEF;
}

/* Not past the code that is mapped together. */
static bool clamp(const struct unw_image *image, struct function *f)
{
	for (size_t i = 0; i < image->nr_segments; i++) {
		const struct unw_segment *s = &image->segments[i];

		if (f->start < s->vaddr || f->start - s->vaddr >= s->size)
			continue;
		if (f->end < f->start || f->end - s->vaddr > s->size)
			f->end = s->vaddr + s->size;
		return f->end - f->start <= UINT32_MAX;
	}
	return false;
}

static enum clew_err collect(const struct unw_image *image, struct unw_list *const lists[],
			     size_t nr, struct functions *ret)
{
	const uint8_t *sym = image->symbols.bytes;
	uint64_t rel;

	for (size_t n = image->symbols.size / sizeof(Elf64_Sym); n; n--, sym += sizeof(Elf64_Sym)) {
		struct function f;

		f.start = load_u64(sym + offsetof(Elf64_Sym, st_value), image->is_swapped);
		if (!is_function(sym, image->is_swapped) || ret->nr >= FP_MAX_FUNCTIONS ||
		    !unw_image_rel(image, f.start, &rel) || is_covered(lists, nr, rel))
			continue;
		f.end = f.start + load_u64(sym + offsetof(Elf64_Sym, st_size), image->is_swapped);
		if (clamp(image, &f) && !vec_push(ret, f))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

/* Of several with one start the longest comes first. */
static int by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

/* Each start once, and every function with an end. */
static void settle(const struct unw_image *image, struct functions *l)
{
	size_t nr = 0;

	if (l->nr)
		qsort(l->data, l->nr, sizeof(*l->data), by_start);
	for (size_t i = 0; i < l->nr; i++) {
		if (!nr || l->data[nr - 1].start != l->data[i].start)
			l->data[nr++] = l->data[i];
	}
	l->nr = nr;
	for (size_t i = 0; i < nr; i++) {
		struct function *f = &l->data[i];
		bool is_unsized = f->end == f->start;

		if (is_unsized)
			f->end += MAX_UNSIZED;
		if (is_unsized && i + 1 < nr && l->data[i + 1].start < f->end)
			f->end = l->data[i + 1].start;
		clamp(image, f);
	}
}

/* --- amd64 --- */

static const struct unw_rule x86_entry = {.cfa = UNW_CFA_REG,
					  .cfa_reg = 7,
					  .cfa_off = 8,
					  .ra = UNW_AT_CFA,
					  .ra_off = -8,
					  .fp = UNW_SAME,
					  .flags = UNW_RBX_LOST,
					  .origin = UNW_FP_PROLOGUE};

static struct unw_rule x86_rule(uint8_t cfa_reg)
{
	struct unw_rule r = x86_entry;

	r.cfa_reg = cfa_reg;
	r.cfa_off = 16;
	r.fp = UNW_AT_CFA;
	r.fp_off = -16;
	return r;
}

/* What stands at @p at, after an instruction that takes the frame down, ends the function: how
 * many bytes has it? 0: it does not. RA is on top of the stack then. */
static size_t x86_end_bytes(const uint8_t *p, size_t at, size_t nr)
{
	size_t left = nr - at;

	if (p[at] == 0xc3)
		return 1;
	if (p[at] == 0xc2 && left >= 3)
		return 3;
	if (p[at] == 0xe9 && left >= 5) { /* a tail call, unless it stays inside */
		int64_t to = (int64_t)at + 5 + (int32_t)load_le32(p + at + 1);

		return to < 0 || to >= (int64_t)nr ? 5 : 0;
	}
	return p[at] == 0xff && left >= 2 && p[at + 1] >> 3 == 0x1c ? 2 : 0; /* jmp *reg */
}

static bool x86_rows(struct unw_list *l, uint64_t rel, const uint8_t *p, size_t nr)
{
	const struct unw_rule pushed = x86_rule(7), body = x86_rule(6);
	size_t at = x86_is_endbr(p, nr) ? X86_ENDBR_BYTES : 0, bytes;
	unsigned int nr_epilogues = 0;

	if (!x86_is_push_mov(p + at, nr - at))
		return false;
	unw_list_row(l, rel, &x86_entry);
	unw_list_row(l, rel + at + 1, &pushed);
	at += X86_PUSH_MOV_BYTES;
	unw_list_row(l, rel + at, &body);
	for (at++; at < nr && nr_epilogues < MAX_EPILOGUES; at++) {
		bytes = x86_takes_frame_down(p[at - 1]) ? x86_end_bytes(p, at, nr) : 0;
		if (!bytes)
			continue;
		unw_list_row(l, rel + at, &x86_entry);
		unw_list_row(l, rel + at + bytes, &body);
		nr_epilogues++;
	}
	return true;
}

/* --- aarch64 --- */

/* The frame so far; distances from the CFA. */
struct a64_frame {
	uint32_t sp, fp; /* below the CFA */
	uint32_t saved;  /* of x29 and x30; 0: in their registers */
	bool has_fp;     /* x29 is CFA - fp */
};

static struct unw_rule a64_rule(const struct a64_frame *f)
{
	struct unw_rule r = {.cfa = UNW_CFA_REG, .origin = UNW_FP_PROLOGUE};

	r.cfa_reg = f->has_fp ? 29 : 31;
	r.cfa_off = (int32_t)(f->has_fp ? f->fp : f->sp);
	if (f->saved) {
		r.ra = r.fp = UNW_AT_CFA;
		r.fp_off = -(int32_t)f->saved;
		r.ra_off = r.fp_off + 8;
	}
	return r;
}

/* One instruction of a prologue. @return false: it is none of those that we follow. */
static bool a64_step(struct a64_frame *f, uint32_t insn)
{
	enum { MAX_FRAME = 1 << 26 };
	uint32_t off = (uint32_t)a64_pair_off(insn);

	if (a64_is_push_pair(insn)) {
		f->sp -= off; /* it is negative */
		if (a64_is_push_fp_lr(insn))
			f->saved = f->sp;
	} else if (a64_is_sub_sp(insn)) {
		f->sp += a64_imm12(insn);
	} else if (a64_is_store_fp_lr(insn)) {
		f->saved = f->sp - off;
	} else if (a64_is_set_fp(insn)) {
		f->fp = f->sp - a64_imm12(insn);
		f->has_fp = f->saved;
	} else if ((insn & 0x1c000000) == 0x14000000) { /* branches, system */
		return a64_is_landing(insn);
	}
	return f->sp < MAX_FRAME && f->saved <= f->sp && f->fp <= f->sp;
}

/* Rows of the way back, from the state @p f after the prologue. */
static void a64_epilogues(struct unw_list *l, uint64_t rel, const uint8_t *p, size_t at, size_t nr,
			  const struct a64_frame *f)
{
	struct a64_frame now = *f;
	struct unw_rule rule;
	unsigned int nr_epilogues = 0;

	for (; at + 4 <= nr && nr_epilogues < MAX_EPILOGUES; at += 4) {
		uint32_t insn = load_le32(p + at);
		bool is_end = a64_is_ret(insn) || insn >> 26 == 5; /* B */

		if (a64_is_pop_fp_lr(insn) || a64_is_load_fp_lr(insn)) {
			now.has_fp = false;
			now.saved = 0;
		}
		if (now.has_fp)
			continue;
		if (a64_is_pop_fp_lr(insn))
			now.sp -= (uint32_t)a64_pair_off(insn);
		else if (a64_is_add_sp(insn))
			now.sp -= a64_imm12(insn);
		if (is_end || now.sp > f->sp) {
			now = *f;
			nr_epilogues++;
		}
		rule = a64_rule(&now);
		unw_list_row(l, rel + at + 4, &rule);
	}
}

static bool a64_rows(struct unw_list *l, uint64_t rel, const uint8_t *p, size_t nr)
{
	struct unw_rule rules[MAX_PROLOGUE + 1];
	struct a64_frame f = {0};
	size_t n = 0;

	rules[0] = a64_rule(&f);
	while (!f.has_fp) {
		if (n == MAX_PROLOGUE || 4 * (n + 1) > nr || !a64_step(&f, load_le32(p + 4 * n)))
			return false;
		rules[++n] = a64_rule(&f);
	}
	for (size_t i = 0; i <= n; i++)
		unw_list_row(l, rel + 4 * i, &rules[i]);
	a64_epilogues(l, rel, p, 4 * n, nr, &f);
	return true;
}

/* --- all --- */

/* Functions without a rule, beside each other: their rules differ, so that a row starts with each.
 */
static void mark(struct unw_list *l, uint64_t rel, bool is_odd)
{
	unw_list_row(l, rel,
		     &(struct unw_rule){.cfa = UNW_CFA_NONE,
					.why = UNW_WHY_GAP,
					.origin = is_odd ? UNW_DERIVED : UNW_FP});
}

static void rows_of(const struct unw_image *image, const struct function *f, bool is_odd,
		    size_t *left, struct unw_list *ret)
{
	const uint8_t *code = unw_image_code(image, f->start, f->end - f->start);
	size_t nr = (size_t)(f->end - f->start);
	uint64_t rel;

	if (!unw_image_rel(image, f->start, &rel))
		return;
	unw_list_begin(ret, rel, rel + nr);
	if (code && nr <= *left && unw_list_nr_rows(ret) < FP_MAX_ROWS) {
		*left -= nr;
		if (image->arch == UNW_X86_64 ? x86_rows(ret, rel, code, nr)
					      : a64_rows(ret, rel, code, nr))
			return;
	}
	mark(ret, rel, is_odd);
}

enum clew_err fp_rows(const struct unw_image *image, struct unw_list *const lists[], size_t nr,
		      struct unw_list *ret)
{
	struct functions functions = {0};
	size_t left = FP_MAX_CODE;
	enum clew_err err;

	if (!image->symbols.bytes || (image->arch != UNW_X86_64 && image->arch != UNW_AARCH64))
		return CLEW_NOT_FOUND;
	for (size_t i = 0; i < nr; i++)
		unw_list_sort(lists[i]);
	err = collect(image, lists, nr, &functions);
	settle(image, &functions);
	for (size_t i = 0; !err && i < functions.nr; i++)
		rows_of(image, &functions.data[i], i & 1, &left, ret);
	vec_done(&functions);
	return err;
}
