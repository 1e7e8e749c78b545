/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/err.h"
#include "unwind/sframe_impl.h"

static bool set_loc(const struct sframe_loc *l, int8_t fixed, uint8_t *kind, uint8_t *reg,
		    int32_t *off)
{
	*off = l->off;
	*reg = l->reg;
	switch (l->where) {
	case SFRAME_UNTRACKED:
	case SFRAME_FIXED:
	case SFRAME_PADDING:
		*kind = fixed ? UNW_AT_CFA : UNW_SAME;
		*off = fixed;
		break;
	case SFRAME_AT_CFA:
		*kind = UNW_AT_CFA;
		break;
	case SFRAME_AT_REG:
		*kind = UNW_AT_REG;
		break;
	case SFRAME_IN_REG:
		*kind = UNW_IN_REG;
		break;
	}
	return l->reg < UNW_MAX_REGS;
}

void sframe_rule(const struct sframe *s, const struct sframe_function *f,
		 const struct sframe_row *row, struct unw_rule *ret)
{
	struct unw_rule r = {.cfa = UNW_CFA_REG, .origin = UNW_SFRAME};
	bool is_known = row->cfa.reg < UNW_MAX_REGS;

	r.flags = f->is_signal ? UNW_SIGNAL : 0;
	if (row->is_outermost) {
		r.cfa_reg = sframe_sp(s->arch);
		r.ra = UNW_UNDEFINED;
		*ret = r;
		return;
	}
	if (row->is_signed)
		r.flags |= (uint8_t)(UNW_RA_SIGNED | (f->is_key_b ? UNW_KEY_B : 0));
	r.cfa = row->cfa.where == SFRAME_AT_REG ? UNW_CFA_DEREF : UNW_CFA_REG;
	r.cfa_reg = row->cfa.reg;
	r.cfa_off = row->cfa.off;
	is_known &= set_loc(&row->ra, s->fixed_ra, &r.ra, &r.ra_reg, &r.ra_off);
	is_known &= set_loc(&row->fp, s->fixed_fp, &r.fp, &r.fp_reg, &r.fp_off);
	if (!is_known)
		r = (struct unw_rule){.origin = UNW_SFRAME, .why = UNW_WHY_REGISTER};
	*ret = r;
}

uint64_t sframe_max_rows(const struct sframe *s)
{
	return s->row_bytes / 2 + (uint64_t)s->nr_functions + SFRAME_MAX_EXPANDED;
}

/* Rows of @p f that can be read, taken from *left. */
static enum clew_err count_rows(const struct sframe *s, const struct sframe_function *f,
				uint64_t *left, struct sframe_counts *counts,
				struct clew_diag *diag)
{
	struct sframe_cursor c = sframe_first_row(f);
	struct sframe_row row;
	enum clew_err err;

	while (!(err = sframe_take_row(s, f, &c, &row, left, diag))) {
		counts->nr_rows++;
		counts->nr_equal += row.is_again;
	}
	return err == CLEW_END ? CLEW_OK : err;
}

static void count_order(const struct sframe *s, const struct sframe_function *f,
			const struct sframe_function *before, struct sframe_counts *counts)
{
	if (f->start < before->start)
		counts->nr_out_of_order += s->flags & SFRAME_F_FDE_SORTED;
	else
		counts->nr_overlaps += f->start - before->start < before->size;
}

void sframe_count(const struct sframe *s, struct sframe_counts *ret)
{
	struct sframe_counts n = {.nr_functions = s->nr_functions};
	uint64_t left = sframe_max_rows(s);
	struct sframe_function f, before;

	for (uint32_t i = 0; i < s->nr_functions; i++) {
		struct clew_diag diag = {0};
		enum clew_err err = sframe_function(s, i, &f, &diag);

		if (!err)
			err = count_rows(s, &f, &left, &n, &diag);
		if (i)
			count_order(s, &f, &before, &n);
		if (err && !n.nr_bad++)
			n.first_bad = diag;
		before = f;
	}
	*ret = n;
}

/* --- compiling --- */

struct compiler {
	const struct sframe *s;
	const struct unw_image *image;
	struct unw_list *list;
	uint64_t left, left_expanded; /* rows that may still be read, and written for blocks */
};

/* The whole of a function lies in one segment, so that its rows follow by their offsets. */
static bool find_extent(const struct unw_image *image, const struct sframe_function *f,
			uint64_t *ret)
{
	uint64_t last, last_rel;

	return !__builtin_add_overflow(f->start, f->size - 1, &last) &&
	       unw_image_rel(image, f->start, ret) && unw_image_rel(image, last, &last_rel) &&
	       last_rel - *ret == f->size - 1;
}

static void put_why(struct compiler *c, uint64_t rel, enum unw_why why)
{
	const struct unw_rule r = {.origin = UNW_SFRAME, .why = (unsigned int)why & 0xf};

	unw_list_row(c->list, rel, &r);
}

/* @p base: of the repetition; 0 without. */
static void put_rows(struct compiler *c, const struct sframe_function *f, uint64_t rel,
		     uint32_t base)
{
	struct sframe_cursor cursor = sframe_first_row(f);
	struct sframe_row row;
	struct unw_rule rule;
	bool is_first = true;

	while (!sframe_next_row(c->s, f, &cursor, &row, NULL) && row.start < f->size - base) {
		if (is_first && row.start)
			put_why(c, rel + base, UNW_WHY_GAP);
		is_first = false;
		sframe_rule(c->s, f, &row, &rule);
		unw_list_row(c->list, rel + base + row.start, &rule);
	}
	if (is_first)
		put_why(c, rel + base, UNW_WHY_GAP);
}

static bool is_plt_row(const struct sframe_row *row, int32_t cfa_off)
{
	return !row->is_outermost && row->cfa.where == SFRAME_IN_REG &&
	       row->cfa.reg == sframe_sp(UNW_X86_64) && row->cfa.off == cfa_off &&
	       row->ra.where == SFRAME_FIXED && row->fp.where == SFRAME_UNTRACKED;
}

/* What the x86-64 linkers write for .plt: 16 bytes an entry, of which the first part has one word
 * less on the stack. */
static bool put_plt(struct compiler *c, const struct sframe_function *f, uint64_t rel)
{
	struct sframe_cursor cursor = sframe_first_row(f);
	struct unw_rule rule = {
		.cfa = UNW_CFA_PLT,
		.cfa_reg = sframe_sp(UNW_X86_64),
		.ra = UNW_AT_CFA,
		.ra_off = SFRAME_AMD64_RA,
		.origin = UNW_SFRAME,
	};
	struct sframe_row first, second;

	if (c->s->arch != UNW_X86_64 || f->rep_size != SFRAME_PLT_ENTRY || f->nr_rows != 2 ||
	    f->start % SFRAME_PLT_ENTRY || f->is_signal ||
	    sframe_next_row(c->s, f, &cursor, &first, NULL) ||
	    sframe_next_row(c->s, f, &cursor, &second, NULL) || first.start || !second.start ||
	    !is_plt_row(&first, 8) || !is_plt_row(&second, 16))
		return false;
	rule.cfa_off = (int32_t)second.start;
	unw_list_row(c->list, rel, &rule);
	return true;
}

static void put_blocks(struct compiler *c, const struct sframe_function *f, uint64_t rel)
{
	/* One more, as a block may begin with a gap. */
	uint64_t nr = ((uint64_t)f->size + f->rep_size - 1) / f->rep_size * (f->nr_rows + 1ull);

	if (put_plt(c, f, rel))
		return;
	if (nr > c->left_expanded) {
		put_why(c, rel, UNW_WHY_OVERFLOW);
		return;
	}
	c->left_expanded -= nr;
	for (uint64_t base = 0; base < f->size; base += f->rep_size)
		put_rows(c, f, rel, (uint32_t)base);
}

/* A block of one rule from its start is the same as one row. */
static bool is_plain(const struct sframe *s, const struct sframe_function *f)
{
	struct sframe_cursor cursor = sframe_first_row(f);
	struct sframe_row row;

	return !f->is_mask ||
	       (f->nr_rows == 1 && !sframe_next_row(s, f, &cursor, &row, NULL) && !row.start);
}

static void put_function(struct compiler *c, uint32_t i)
{
	struct sframe_counts counts = {0};
	struct sframe_function f;
	enum clew_err err = sframe_function(c->s, i, &f, NULL);
	uint64_t rel;

	if (!f.size || !find_extent(c->image, &f, &rel))
		return;
	unw_list_begin(c->list, rel, rel + f.size);
	if (!err)
		err = count_rows(c->s, &f, &c->left, &counts, NULL);
	if (err)
		put_why(c, rel, err == CLEW_LIMIT ? UNW_WHY_OVERFLOW : UNW_WHY_BAD);
	else if (is_plain(c->s, &f))
		put_rows(c, &f, rel, 0);
	else
		put_blocks(c, &f, rel);
}

static enum clew_err check_section(const struct sframe *s, const struct unw_image *image,
				   struct clew_diag *diag)
{
	if (s->arch != image->arch)
		return clew_fail(diag, CLEW_BAD_FILE, 4, "not of the file's architecture");
	if (s->is_swapped != image->is_swapped)
		return clew_fail(diag, CLEW_BAD_FILE, 0, "not of the file's byte order");
	if (s->arch == UNW_X86_64 && s->fixed_ra != SFRAME_AMD64_RA)
		return clew_fail(diag, CLEW_BAD_FILE, 6,
				 "a return address that is not right below the CFA");
	return CLEW_OK;
}

/* A function that is not where code is says that its starts cannot be trusted. */
static enum clew_err check_extents(const struct sframe *s, const struct unw_image *image,
				   struct clew_diag *diag)
{
	struct sframe_function f;
	uint64_t rel;

	for (uint32_t i = 0; i < s->nr_functions; i++) {
		sframe_function(s, i, &f, NULL);
		if (f.size && !find_extent(image, &f, &rel))
			return clew_fail(diag, CLEW_BAD_FILE, s->functions_at,
					 "a function outside of the file's code");
	}
	return CLEW_OK;
}

enum clew_err sframe_rows(const struct unw_image *image, struct unw_list *ret,
			  struct clew_diag *diag)
{
	struct sframe s;
	enum clew_err err = sframe_open(&s, &image->sframe, diag);
	struct compiler c = {&s, image, ret, 0, SFRAME_MAX_EXPANDED};

	if (!err)
		err = check_section(&s, image, diag);
	if (!err)
		err = check_extents(&s, image, diag);
	if (err)
		return err;
	c.left = sframe_max_rows(&s);
	for (uint32_t i = 0; i < s.nr_functions; i++)
		put_function(&c, i);
	return CLEW_OK;
}
