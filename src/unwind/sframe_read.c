/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/err.h"
#include "unwind/sframe_impl.h"

enum { MAX_REG = UINT8_MAX };

const struct sframe_version sframe_versions[] = {
	[1] = {17, SFRAME_F_FDE_SORTED | SFRAME_F_FRAME_POINTER                                },
	[2] = {20, SFRAME_F_FDE_SORTED | SFRAME_F_FRAME_POINTER | SFRAME_F_FDE_FUNC_START_PCREL},
	[3] = {16, SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL                         },
};

const struct sframe_machine sframe_machines[] = {
	[SFRAME_ABI_AARCH64_ENDIAN_BIG] = {UNW_AARCH64, true },
	[SFRAME_ABI_AARCH64_ENDIAN_LITTLE] = {UNW_AARCH64, false},
	[SFRAME_ABI_AMD64_ENDIAN_LITTLE] = {UNW_X86_64,  false},
	[SFRAME_ABI_S390X_ENDIAN_BIG] = {UNW_S390X,   true },
};

uint8_t sframe_sp(enum unw_arch arch)
{
	return arch == UNW_X86_64 ? 7 : arch == UNW_AARCH64 ? 31 : 15;
}

uint8_t sframe_fp(enum unw_arch arch)
{
	return arch == UNW_X86_64 ? 6 : arch == UNW_AARCH64 ? 29 : 11;
}

static bool is_big_endian(const struct sframe *s)
{
	return s->is_swapped == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
}

/* The four bytes that say how to read the others. */
static enum clew_err read_preamble(struct sframe *s, size_t size, struct clew_diag *diag)
{
	const uint8_t *p = s->bytes;

	if (size < SFRAME_HEADER_BYTES)
		return clew_fail(diag, CLEW_BAD_FILE, 0, "shorter than a header");
	s->is_swapped = load_u16(p, false) != SFRAME_MAGIC;
	if (load_u16(p, s->is_swapped) != SFRAME_MAGIC)
		return clew_fail(diag, CLEW_BAD_FILE, 0, "no SFrame magic");
	s->version = p[2];
	s->flags = p[3];
	if (s->version > 3)
		return clew_fail(diag, CLEW_UNSUPPORTED, 2, "a version above 3");
	if (s->version < 1)
		return clew_fail(diag, CLEW_BAD_FILE, 2, "version 0");
	if (s->flags & ~sframe_versions[s->version].flags)
		return clew_fail(diag, CLEW_BAD_FILE, 3, "flags that its version does not have");
	if (p[4] < SFRAME_ABI_AARCH64_ENDIAN_BIG || p[4] > SFRAME_ABI_S390X_ENDIAN_BIG)
		return clew_fail(diag, CLEW_BAD_FILE, 4, "an unknown architecture");
	s->abi = p[4];
	s->arch = sframe_machines[s->abi].arch;
	if (sframe_machines[s->abi].is_big != is_big_endian(s))
		return clew_fail(diag, CLEW_BAD_FILE, 4,
				 "byte order and architecture contradict each other");
	if (s->arch == UNW_S390X && s->version < 2)
		return clew_fail(diag, CLEW_BAD_FILE, 4, "s390x, which version 1 does not have");
	return CLEW_OK;
}

enum clew_err sframe_open(struct sframe *ret, const struct unw_section *section,
			  struct clew_diag *diag)
{
	struct sframe s = {.bytes = section->bytes, .addr = section->addr};
	enum clew_err err = read_preamble(&s, section->bytes ? section->size : 0, diag);
	uint64_t functions_off, rows_off, left;
	const uint8_t *p = s.bytes;

	if (err)
		return err;
	s.fixed_fp = (int8_t)p[5];
	s.fixed_ra = (int8_t)p[6];
	s.aux_bytes = p[7];
	s.nr_functions = load_u32(p + 8, s.is_swapped);
	s.nr_rows = load_u32(p + 12, s.is_swapped);
	s.row_bytes = load_u32(p + 16, s.is_swapped);
	functions_off = load_u32(p + 20, s.is_swapped);
	rows_off = load_u32(p + 24, s.is_swapped);
	left = section->size - SFRAME_HEADER_BYTES;
	if (s.aux_bytes > left)
		return clew_fail(diag, CLEW_BAD_FILE, 7, "the auxiliary header passes the end");
	left -= s.aux_bytes;
	if (!range_fits(functions_off,
			(uint64_t)s.nr_functions * sframe_versions[s.version].fde_bytes, left))
		return clew_fail(diag, CLEW_BAD_FILE, 20, "the functions pass the end");
	if (!range_fits(rows_off, s.row_bytes, left))
		return clew_fail(diag, CLEW_BAD_FILE, 24, "the rows pass the end");
	s.functions_at = (size_t)(SFRAME_HEADER_BYTES + s.aux_bytes + functions_off);
	s.rows_at = (size_t)(SFRAME_HEADER_BYTES + s.aux_bytes + rows_off);
	*ret = s;
	return CLEW_OK;
}

/* The parts of a function that all versions have in some place. */
struct fde {
	size_t at;
	uint8_t info, info2;
};

static void read_start(const struct sframe *s, struct sframe_function *f, size_t at)
{
	const uint8_t *p = s->bytes + at;
	uint64_t start = s->version == 3 ? load_u64(p, s->is_swapped)
					 : (uint64_t)(int64_t)(int32_t)load_u32(p, s->is_swapped);

	f->start = start + s->addr;
	if (s->flags & SFRAME_F_FDE_FUNC_START_PCREL)
		f->start += at;
}

static enum clew_err read_fde_v1_v2(const struct sframe *s, struct fde *d,
				    struct sframe_function *f, struct clew_diag *diag)
{
	const uint8_t *p = s->bytes + d->at;

	f->size = load_u32(p + 4, s->is_swapped);
	f->rows_at = load_u32(p + 8, s->is_swapped);
	f->nr_rows = load_u32(p + 12, s->is_swapped);
	d->info = p[16];
	f->rep_size = s->version == 2 ? p[17] : s->arch == UNW_X86_64 ? 16 : 0;
	if (f->nr_rows && f->rows_at >= s->row_bytes)
		return clew_fail(diag, CLEW_BAD_FILE, d->at + 8, "a function's rows lie outside");
	return CLEW_OK;
}

static enum clew_err read_fde_v3(const struct sframe *s, struct fde *d, struct sframe_function *f,
				 struct clew_diag *diag)
{
	const uint8_t *p = s->bytes + d->at;
	uint32_t at = load_u32(p + 12, s->is_swapped);

	f->size = load_u32(p + 8, s->is_swapped);
	if (!range_fits(at, SFRAME_ATTR_BYTES, s->row_bytes))
		return clew_fail(diag, CLEW_BAD_FILE, d->at + 12,
				 "a function's attributes lie outside");
	p = s->bytes + s->rows_at + at;
	f->nr_rows = load_u16(p, s->is_swapped);
	d->info = p[2];
	d->info2 = p[3];
	f->rep_size = p[4];
	f->rows_at = at + SFRAME_ATTR_BYTES;
	return CLEW_OK;
}

enum clew_err sframe_function(const struct sframe *s, uint32_t i, struct sframe_function *ret,
			      struct clew_diag *diag)
{
	struct fde d = {.at = s->functions_at + (size_t)i * sframe_versions[s->version].fde_bytes};
	struct sframe_function f = {0};
	enum clew_err err;

	read_start(s, &f, d.at);
	err = s->version == 3 ? read_fde_v3(s, &d, &f, diag) : read_fde_v1_v2(s, &d, &f, diag);
	f.start_bytes = (uint8_t)(1 << (d.info & 3));
	f.is_mask = d.info & SFRAME_INFO_MASK;
	f.is_key_b = d.info & SFRAME_INFO_KEY_B;
	f.is_signal = s->version == 3 && (d.info & SFRAME_INFO_SIGNAL);
	f.is_flex = (d.info2 & SFRAME_INFO2_TYPE) == SFRAME_TYPE_FLEX;
	*ret = f;
	if (err)
		return err;
	if ((d.info & SFRAME_INFO_START) > 2)
		return clew_fail(diag, CLEW_BAD_FILE, d.at, "an unknown size of row starts");
	if ((d.info2 & SFRAME_INFO2_TYPE) > SFRAME_TYPE_FLEX)
		return clew_fail(diag, CLEW_BAD_FILE, d.at, "an unknown type of function");
	if (f.is_mask && !f.rep_size)
		return clew_fail(diag, CLEW_BAD_FILE, d.at, "a repeat block of 0 bytes");
	return CLEW_OK;
}

/* The words of a row. */
struct words {
	const uint8_t *p;
	unsigned int nr, bytes; /* of each: 1, 2, 4 */
	bool swap;
};

static uint32_t unsigned_word(const struct words *w, unsigned int i)
{
	const uint8_t *p = w->p + (size_t)i * w->bytes;

	return w->bytes == 1 ? *p : w->bytes == 2 ? load_u16(p, w->swap) : load_u32(p, w->swap);
}

static int32_t signed_word(const struct words *w, unsigned int i)
{
	uint32_t v = unsigned_word(w, i);

	return w->bytes == 1 ? (int8_t)v : w->bytes == 2 ? (int16_t)v : (int32_t)v;
}

/* Either returns NULL, or what is wrong with the words. */

static const char *read_cfa_offset(const struct sframe *s, int32_t word, struct sframe_loc *cfa)
{
	int64_t off = word;

	if (s->arch == UNW_S390X)
		off = off * SFRAME_S390X_CFA_SCALE + SFRAME_S390X_CFA_BIAS;
	if (off != (int32_t)off)
		return "an offset of the CFA above 31 bits";
	cfa->off = (int32_t)off;
	return NULL;
}

/* Version 2 of s390x: an odd word is a register, as saved words lie at even offsets. */
static const char *read_saved(const struct sframe *s, int32_t word, struct sframe_loc *l)
{
	if (s->arch != UNW_S390X || s->version != 2 || !(word & 1)) {
		*l = (struct sframe_loc){.where = SFRAME_AT_CFA, .off = word};
		return NULL;
	}
	if (word < 0 || word >> 1 > MAX_REG)
		return "a register number above 255";
	*l = (struct sframe_loc){.where = SFRAME_IN_REG, .reg = (uint8_t)(word >> 1)};
	return NULL;
}

static const char *read_default(const struct sframe *s, const struct words *w, uint8_t info,
				struct sframe_row *r)
{
	bool has_ra = !s->fixed_ra, has_fp = !s->fixed_fp;
	unsigned int at = 1;
	const char *bad;

	if (w->nr > 1u + has_ra + has_fp)
		return "more words than a row of its architecture has";
	r->cfa.where = SFRAME_IN_REG;
	r->cfa.reg = info & SFRAME_ROW_BASE_SP ? sframe_sp(s->arch) : sframe_fp(s->arch);
	bad = read_cfa_offset(s, signed_word(w, 0), &r->cfa);
	if (!bad && has_ra && at < w->nr) {
		int32_t word = signed_word(w, at++);

		if (s->arch == UNW_S390X && !word)
			r->ra.where = SFRAME_PADDING;
		else
			bad = read_saved(s, word, &r->ra);
	}
	if (!bad && at < w->nr)
		bad = read_saved(s, signed_word(w, at), &r->fp);
	return bad;
}

/* GNU as writes deref without reg_p for *(CFA + off); the specification has neither bit. */
static const char *read_pair(const struct words *w, unsigned int *at, bool is_cfa,
			     struct sframe_loc *l)
{
	uint32_t control = unsigned_word(w, *at), reg = control >> SFRAME_CONTROL_REG;

	if (*at + 2 > w->nr)
		return "a control word without its offset";
	if (reg > MAX_REG)
		return "a register number above 255";
	if (control & SFRAME_CONTROL_REG_P)
		l->where = control & SFRAME_CONTROL_DEREF ? SFRAME_AT_REG : SFRAME_IN_REG;
	else if (is_cfa)
		return "a CFA that counts from the CFA";
	else if (reg)
		return "a register that its control word does not use";
	else
		l->where = SFRAME_AT_CFA;
	l->reg = (uint8_t)reg;
	l->off = signed_word(w, *at + 1);
	*at += 2;
	return NULL;
}

static const char *read_flex(const struct sframe *s, const struct words *w, struct sframe_row *r)
{
	unsigned int at = 0;
	const char *bad = read_pair(w, &at, true, &r->cfa);

	if (!bad)
		bad = read_cfa_offset(s, r->cfa.off, &r->cfa);
	if (!bad && at < w->nr && !unsigned_word(w, at)) {
		r->ra.where = SFRAME_PADDING;
		if (++at == w->nr)
			bad = "padding with nothing after it";
	} else if (!bad && at < w->nr) {
		bad = read_pair(w, &at, false, &r->ra);
	}
	if (!bad && at < w->nr)
		bad = read_pair(w, &at, false, &r->fp);
	return bad ? bad : at < w->nr ? "more words than a row has" : NULL;
}

struct sframe_cursor sframe_first_row(const struct sframe_function *f)
{
	return (struct sframe_cursor){.at = f->rows_at, .left = f->nr_rows};
}

static const char *check_start(const struct sframe_function *f, const struct sframe_cursor *c,
			       struct sframe_row *r)
{
	uint32_t limit = f->is_mask ? f->rep_size : f->size;

	/* next is one above the start before: equal ones are let through and marked. */
	r->is_again = c->next && r->start == c->next - 1;
	if (r->start < c->next && !r->is_again)
		return "rows out of order";
	return r->start >= limit && (r->start || f->size) ? "a row after its function's end" : NULL;
}

static const char *read_words(const struct sframe *s, const struct sframe_function *f,
			      const struct words *w, uint8_t info, struct sframe_row *r)
{
	r->is_signed = s->arch == UNW_AARCH64 && (info & SFRAME_ROW_SIGNED);
	r->ra.where = s->fixed_ra ? SFRAME_FIXED : SFRAME_UNTRACKED;
	r->fp.where = s->fixed_fp ? SFRAME_FIXED : SFRAME_UNTRACKED;
	if (!w->nr && s->version == 1)
		return "a row without words, which version 1 does not have";
	r->is_outermost = !w->nr;
	if (!w->nr)
		return NULL;
	return f->is_flex ? read_flex(s, w, r) : read_default(s, w, info, r);
}

enum clew_err sframe_next_row(const struct sframe *s, const struct sframe_function *f,
			      struct sframe_cursor *c, struct sframe_row *ret,
			      struct clew_diag *diag)
{
	uint32_t left, head = f->start_bytes + 1u;
	struct words w = {.swap = s->is_swapped};
	struct sframe_row r = {0};
	const char *bad;
	const uint8_t *p;
	uint8_t info;

	if (!c->left)
		return CLEW_END;
	p = s->bytes + s->rows_at + c->at;
	left = s->row_bytes - c->at;
	if (left < head)
		return clew_fail(diag, CLEW_BAD_FILE, s->rows_at + c->at, "a row passes the end");
	w.p = p;
	w.bytes = f->start_bytes;
	r.start = unsigned_word(&w, 0);
	info = p[f->start_bytes];
	w = (struct words){p + head, info >> 1 & 0xf, 1u << (info >> 5 & 3), s->is_swapped};
	if (w.bytes > 4)
		bad = "an unknown size of words";
	else if (left - head < w.nr * w.bytes)
		bad = "a row passes the end";
	else
		bad = check_start(f, c, &r);
	if (!bad)
		bad = read_words(s, f, &w, info, &r);
	if (bad)
		return clew_fail(diag, CLEW_BAD_FILE, s->rows_at + c->at, bad);
	c->at += head + w.nr * w.bytes;
	c->left--;
	c->next = r.start + 1;
	*ret = r;
	return CLEW_OK;
}

enum clew_err sframe_take_row(const struct sframe *s, const struct sframe_function *f,
			      struct sframe_cursor *c, struct sframe_row *ret, uint64_t *left,
			      struct clew_diag *diag)
{
	enum clew_err err;

	if (!*left && c->left)
		return clew_fail(diag, CLEW_LIMIT, s->rows_at + c->at, "rows shared too often");
	err = sframe_next_row(s, f, c, ret, diag);
	*left -= err == CLEW_OK;
	return err;
}
