/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/sframe_words.h"

#include "unwind/sframe_impl.h"

static bool has_registers(const struct sframe_style *s)
{
	return s->arch == UNW_S390X && s->version == 2;
}

/* Where the ABI has RA if no word says. */
static bool is_default_ra(const struct sframe_style *s, const struct unw_rule *r)
{
	if (s->arch == UNW_X86_64)
		return r->ra == UNW_AT_CFA && r->ra_off == SFRAME_AMD64_RA;
	return r->ra == UNW_SAME;
}

/* A word of *(CFA + off), or of version 2 of s390x a register. */
static bool is_saved(const struct sframe_style *s, uint8_t kind, int32_t off)
{
	if (kind == UNW_AT_CFA)
		return !has_registers(s) || !(off & 1);
	return kind == UNW_IN_REG && has_registers(s) && !off;
}

static bool is_plain_ra(const struct sframe_style *s, const struct unw_rule *r)
{
	if (is_default_ra(s, r))
		return s->arch != UNW_AARCH64 || r->fp == UNW_SAME;
	if (s->arch == UNW_X86_64)
		return false;
	/* A word of 0 is padding on s390x. */
	return is_saved(s, r->ra, r->ra_off) &&
	       (s->arch != UNW_S390X || r->ra != UNW_AT_CFA || r->ra_off);
}

static bool is_plain_fp(const struct sframe_style *s, const struct unw_rule *r)
{
	return r->fp == UNW_SAME || is_saved(s, r->fp, r->fp_off);
}

static bool is_plain_cfa(const struct sframe_style *s, const struct unw_rule *r)
{
	return r->cfa == UNW_CFA_REG &&
	       (r->cfa_reg == sframe_sp(s->arch) || r->cfa_reg == sframe_fp(s->arch));
}

bool sframe_is_default(const struct sframe_style *style, const struct unw_rule *rule)
{
	return rule->ra == UNW_UNDEFINED ||
	       (is_plain_cfa(style, rule) && is_plain_ra(style, rule) && is_plain_fp(style, rule));
}

static void add(struct sframe_words *w, int64_t word)
{
	w->word[w->nr++] = word;
}

static int64_t saved_word(uint8_t kind, uint8_t reg, int32_t off)
{
	return kind == UNW_IN_REG ? (int64_t)reg << 1 | 1 : off;
}

static int64_t cfa_word(const struct sframe_style *s, const struct unw_rule *r)
{
	return s->arch == UNW_S390X
		     ? ((int64_t)r->cfa_off - SFRAME_S390X_CFA_BIAS) / SFRAME_S390X_CFA_SCALE
		     : r->cfa_off;
}

static bool put_default(const struct sframe_style *s, const struct unw_rule *r,
			struct sframe_words *w, enum sframe_left_out *why)
{
	*why = !is_plain_cfa(s, r) ? SFRAME_LEFT_CFA
	     : !is_plain_fp(s, r)  ? SFRAME_LEFT_FP
				   : SFRAME_LEFT_RA;
	if (!sframe_is_default(s, r))
		return false;
	w->info |= r->cfa_reg == sframe_sp(s->arch) ? SFRAME_ROW_BASE_SP : 0;
	add(w, cfa_word(s, r));
	if (!is_default_ra(s, r))
		add(w, saved_word(r->ra, r->ra_reg, r->ra_off));
	else if (s->arch == UNW_S390X && r->fp != UNW_SAME)
		add(w, 0);
	if (r->fp != UNW_SAME)
		add(w, saved_word(r->fp, r->fp_reg, r->fp_off));
	return true;
}

/* Two words. Kinds that have no words are turned away before. */
static void add_pair(struct sframe_words *w, uint8_t kind, uint8_t reg, int64_t off)
{
	int64_t control = (int64_t)reg << SFRAME_CONTROL_REG | SFRAME_CONTROL_REG_P;

	if (kind == UNW_AT_CFA)
		control = SFRAME_CONTROL_DEREF;
	else if (kind == UNW_AT_REG)
		control |= SFRAME_CONTROL_DEREF;
	add(w, control);
	add(w, off);
}

static bool is_flex_kind(uint8_t kind)
{
	return kind == UNW_AT_CFA || kind == UNW_AT_REG || kind == UNW_IN_REG;
}

static bool put_flex(const struct sframe_style *s, const struct unw_rule *r, struct sframe_words *w,
		     enum sframe_left_out *why)
{
	*why = SFRAME_LEFT_RA;
	if (!is_default_ra(s, r) && !is_flex_kind(r->ra))
		return false;
	*why = SFRAME_LEFT_FP;
	if (r->fp != UNW_SAME && !is_flex_kind(r->fp))
		return false;
	add_pair(w, r->cfa == UNW_CFA_DEREF ? UNW_AT_REG : UNW_IN_REG, r->cfa_reg, cfa_word(s, r));
	if (!is_default_ra(s, r))
		add_pair(w, r->ra, r->ra_reg, r->ra_off);
	else if (r->fp != UNW_SAME)
		add(w, 0);
	if (r->fp != UNW_SAME)
		add_pair(w, r->fp, r->fp_reg, r->fp_off);
	return true;
}

/* Control words count from 0, the others have a sign: 0x81 in one byte is register 16. */
static bool fits(const struct sframe_words *w, bool is_flex, unsigned int bytes)
{
	unsigned int at = 0, bits = 8 * bytes;
	int64_t half = (int64_t)1 << (bits - 1);

	for (bool is_control = is_flex; at < w->nr; at++) {
		int64_t v = w->word[at];

		if (is_control ? v >= 2 * half : v < -half || v >= half)
			return false;
		/* A pair's offset follows; after padding comes the next control word. */
		is_control = is_flex && (!is_control || (at == 2 && !v));
	}
	return true;
}

static bool check_form(const struct sframe_style *s, const struct unw_rule *r,
		       enum sframe_left_out *why)
{
	bool is_bad = true;

	if (r->cfa == UNW_CFA_NONE || r->cfa == UNW_CFA_PLT)
		*why = SFRAME_LEFT_NO_RULE;
	else if (r->cfa == UNW_CFA_INDEX || (r->cfa == UNW_CFA_DEREF && r->cfa_off2))
		*why = SFRAME_LEFT_DEREF_ADD;
	else if (s->arch == UNW_S390X &&
		 ((int64_t)r->cfa_off - SFRAME_S390X_CFA_BIAS) % SFRAME_S390X_CFA_SCALE)
		*why = SFRAME_LEFT_OFFSET;
	else
		is_bad = false;
	return !is_bad;
}

bool sframe_words_of(const struct sframe_style *style, const struct unw_rule *rule,
		     struct sframe_words *ret, enum sframe_left_out *why)
{
	struct sframe_words w = {.bytes = 1};

	if (rule->cfa != UNW_CFA_NONE && rule->ra == UNW_UNDEFINED) {
		*why = SFRAME_LEFT_OUTERMOST;
		*ret = w;
		return style->version > 1;
	}
	if (!check_form(style, rule, why) ||
	    !(style->is_flex ? put_flex(style, rule, &w, why) : put_default(style, rule, &w, why)))
		return false;
	while (w.bytes < 4 && !fits(&w, style->is_flex, w.bytes))
		w.bytes *= 2;
	w.info |= (uint8_t)(w.nr << 1 | (w.bytes / 2) << 5);
	if (style->arch == UNW_AARCH64 && rule->flags & UNW_RA_SIGNED)
		w.info |= SFRAME_ROW_SIGNED;
	*ret = w;
	return true;
}
