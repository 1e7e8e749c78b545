/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/sframe_text.h"

#include "base/err.h"
#include "base/escape.h"

enum { COLUMN = 10, LAST_COLUMN = 13 };

const char *sframe_text_abi(const struct sframe *s)
{
	switch (s->abi) {
	case SFRAME_ABI_AARCH64_ENDIAN_BIG:
		return "elf64-bigaarch64";
	case SFRAME_ABI_AARCH64_ENDIAN_LITTLE:
		return "elf64-littleaarch64";
	case SFRAME_ABI_AMD64_ENDIAN_LITTLE:
		return "elf64-x86-64";
	case SFRAME_ABI_S390X_ENDIAN_BIG:
		return "elf64-s390";
	}
	return "";
}

static void put_flags(struct buf *out, uint8_t flags)
{
	static const char *const names[] = {
		"SFRAME_F_FDE_SORTED",
		"SFRAME_F_FRAME_POINTER",
		"SFRAME_F_FDE_FUNC_START_PCREL",
	};
	bool is_first = true;

	buf_str(out, "    Flags: ");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!(flags & 1u << i))
			continue;
		if (!is_first)
			buf_str(out, ",\n           ");
		buf_str(out, names[i]);
		is_first = false;
	}
	buf_str(out, is_first ? "NONE\n" : "\n");
}

void sframe_text_head(struct buf *out, const char *file, const struct sframe *s)
{
	buf_char(out, '\n');
	escape_printf(out, "%s:     file format %s\n", file, sframe_text_abi(s));
	buf_char(out, '\n');
	buf_str(out, "Contents of the SFrame section .sframe:\n  Header :\n\n");
	buf_printf(out, "    Version: SFRAME_VERSION_%u\n", s->version);
	put_flags(out, s->flags);
	if (s->version > 1 && s->fixed_fp)
		buf_printf(out, "    CFA fixed FP offset: %d\n", s->fixed_fp);
	if (s->version > 1 && s->fixed_ra)
		buf_printf(out, "    CFA fixed RA offset: %d\n", s->fixed_ra);
	buf_printf(out, "    Num FDEs: %u\n    Num FREs: %u\n\n  Function Index :\n",
		   s->nr_functions, s->nr_rows);
}

static void put_reg(struct buf *out, enum unw_arch arch, uint8_t reg)
{
	if (reg == sframe_sp(arch))
		buf_str(out, "sp");
	else if (reg == sframe_fp(arch))
		buf_str(out, "fp");
	else
		buf_printf(out, "r%u", reg);
}

static void put_loc(struct buf *out, const struct sframe *s, const struct sframe_loc *l,
		    int8_t fixed, bool is_ra)
{
	switch (l->where) {
	case SFRAME_UNTRACKED:
		buf_char(out, 'u');
		break;
	case SFRAME_FIXED:
		if (is_ra)
			buf_char(out, s->version == 1 ? 'u' : 'f');
		else
			buf_printf(out, "c%+d", fixed);
		break;
	case SFRAME_PADDING:
		buf_char(out, 'U');
		break;
	case SFRAME_AT_CFA:
		buf_printf(out, "c%+d", l->off);
		break;
	case SFRAME_AT_REG:
		buf_char(out, '(');
		put_reg(out, s->arch, l->reg);
		buf_printf(out, "%+d)", l->off);
		break;
	case SFRAME_IN_REG:
		if (s->version < 3) { /* s390x: by number, and without an offset */
			buf_printf(out, "r%u", l->reg);
			break;
		}
		put_reg(out, s->arch, l->reg);
		buf_printf(out, "%+d", l->off);
		break;
	}
}

static void put_cfa(struct buf *out, const struct sframe *s, const struct sframe_function *f,
		    const struct sframe_loc *l)
{
	if (f->is_flex) {
		put_loc(out, s, l, 0, false);
		return;
	}
	put_reg(out, s->arch, l->reg);
	buf_printf(out, "+%d", l->off); /* objdump's own: "sp+-8" */
}

/* Spaces up to a column of @p width that began at @p start; one at least. */
static void end_column(struct buf *out, size_t start, size_t width)
{
	size_t used = out->nr - start;

	buf_fill(out, ' ', used < width ? width - used : 1);
}

void sframe_text_part(struct buf *out, const struct sframe *s, const struct sframe_function *f,
		      const struct sframe_row *r, enum sframe_part part)
{
	switch (part) {
	case SFRAME_CFA:
		put_cfa(out, s, f, &r->cfa);
		break;
	case SFRAME_FP:
		put_loc(out, s, &r->fp, s->fixed_fp, false);
		break;
	case SFRAME_RA:
		put_loc(out, s, &r->ra, s->fixed_ra, true);
		if (r->is_signed)
			buf_str(out, "[s]");
		break;
	}
}

static void put_row(struct buf *out, const struct sframe *s, const struct sframe_function *f,
		    const struct sframe_row *r)
{
	static const size_t widths[] = {COLUMN, COLUMN, LAST_COLUMN};

	buf_str(out, "    ");
	buf_hex(out, f->is_mask ? r->start : f->start + r->start, 16, '0');
	buf_str(out, "  ");
	if (r->is_outermost) {
		buf_str(out, "RA undefined\n");
		return;
	}
	for (int part = SFRAME_CFA; part <= SFRAME_RA; part++) {
		size_t start = out->nr;

		sframe_text_part(out, s, f, r, (enum sframe_part)part);
		end_column(out, start, widths[part]);
	}
	buf_char(out, '\n');
}

static void put_function(struct buf *out, uint32_t i, const struct sframe_function *f)
{
	buf_printf(out, "\n    func idx [%u]: pc = 0x", i);
	buf_hex(out, f->start, 1, ' ');
	buf_printf(out, ", size = %u bytes", f->size);
	if (f->is_signal || f->is_flex)
		buf_printf(out, ", attr = \"%s%s\"", f->is_signal ? "S" : "",
			   f->is_flex ? "F" : "");
	if (f->is_key_b)
		buf_str(out, ", pauth = B key");
	buf_printf(out, "\n    STARTPC%s  CFA       FP        RA           \n",
		   f->is_mask ? "[m]    " : "       ");
}

enum clew_err sframe_text_function(struct buf *out, const struct sframe *s, uint32_t i,
				   uint64_t *left, struct clew_diag *diag)
{
	struct sframe_function f;
	struct sframe_row row;
	struct sframe_cursor c;
	enum clew_err err = sframe_function(s, i, &f, diag);

	put_function(out, i, &f);
	if (err)
		return err;
	c = sframe_first_row(&f);
	while (!(err = sframe_take_row(s, &f, &c, &row, left, diag)))
		put_row(out, s, &f, &row);
	return err == CLEW_END ? CLEW_OK : err;
}

static void put_rule_loc(struct buf *out, enum unw_arch arch, uint8_t kind, uint8_t reg,
			 int32_t off)
{
	switch ((enum unw_loc)kind) {
	case UNW_SAME:
		buf_char(out, 'u');
		break;
	case UNW_AT_CFA:
		buf_printf(out, "c%+d", off);
		break;
	case UNW_AT_REG:
		buf_char(out, '(');
		put_reg(out, arch, reg);
		buf_printf(out, "%+d)", off);
		break;
	case UNW_IN_REG:
		put_reg(out, arch, reg);
		buf_printf(out, "%+d", off);
		break;
	case UNW_UNDEFINED:
		buf_str(out, "undefined");
		break;
	}
}

static void put_rule_cfa(struct buf *out, enum unw_arch arch, const struct unw_rule *r)
{
	switch ((enum unw_cfa)r->cfa) {
	case UNW_CFA_NONE:
		break;
	case UNW_CFA_REG:
		put_rule_loc(out, arch, UNW_IN_REG, r->cfa_reg, r->cfa_off);
		break;
	case UNW_CFA_DEREF:
		put_rule_loc(out, arch, UNW_AT_REG, r->cfa_reg, r->cfa_off);
		if (r->cfa_off2)
			buf_printf(out, "%+d", r->cfa_off2);
		break;
	case UNW_CFA_PLT:
		buf_printf(out, "plt(%d)", r->cfa_off);
		break;
	case UNW_CFA_INDEX:
		put_rule_loc(out, arch, UNW_AT_REG, r->cfa_reg, r->cfa_off);
		buf_printf(out, "[r%u]%+d", r->ra_reg, r->cfa_off2);
		break;
	}
}

void sframe_text_rule(struct buf *out, enum unw_arch arch, const struct unw_rule *rule)
{
	if (!rule) {
		buf_str(out, "nothing");
		return;
	}
	if (rule->cfa == UNW_CFA_NONE) {
		buf_printf(out, "nothing (%s)", unw_why_name(rule->why));
		return;
	}
	if (rule->ra == UNW_UNDEFINED) {
		buf_str(out, "RA undefined");
	} else {
		put_rule_cfa(out, arch, rule);
		buf_str(out, " fp=");
		put_rule_loc(out, arch, rule->fp, rule->fp_reg, rule->fp_off);
		buf_str(out, " ra=");
		put_rule_loc(out, arch, rule->ra, rule->ra_reg, rule->ra_off);
	}
	if (rule->flags & UNW_RA_SIGNED)
		buf_str(out, rule->flags & UNW_KEY_B ? "[s, key B]" : "[s]");
	if (rule->flags & UNW_SIGNAL)
		buf_str(out, " signal");
}
