/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/sframe_check.h"

#include "unwind/unw_list.h"

struct checker {
	struct unw_sweep sframe, eh_frame;
	uint8_t version;
	void (*report)(void *ctx, const struct sframe_finding *f);
	void *ctx;
	struct sframe_verdicts counts;
	struct sframe_finding dropped; /* so far; start == end: none */
	size_t dropped_function;
};

static bool same_loc(uint8_t kind, uint8_t reg, int32_t off, uint8_t kind2, uint8_t reg2,
		     int32_t off2)
{
	if (kind != kind2)
		return false;
	if (kind == UNW_SAME || kind == UNW_UNDEFINED)
		return true;
	return off == off2 && (kind == UNW_AT_CFA || reg == reg2);
}

static bool same_cfa(const struct unw_rule *a, const struct unw_rule *b)
{
	return a->cfa == b->cfa && a->cfa_off == b->cfa_off &&
	       (a->cfa == UNW_CFA_PLT || a->cfa_reg == b->cfa_reg) &&
	       (a->cfa != UNW_CFA_DEREF || a->cfa_off2 == b->cfa_off2) && a->cfa != UNW_CFA_INDEX;
}

/* Key B matters only where RA is signed. SFrame has no word of rbx. */
static uint8_t flags_of(const struct unw_rule *r)
{
	uint8_t flags = r->flags & (uint8_t)~UNW_RBX_LOST;

	return flags & UNW_RA_SIGNED ? flags : flags & (uint8_t)~UNW_KEY_B;
}

static bool same_places(const struct unw_rule *a, const struct unw_rule *b)
{
	return same_cfa(a, b) &&
	       same_loc(a->fp, a->fp_reg, a->fp_off, b->fp, b->fp_reg, b->fp_off) &&
	       same_loc(a->ra, a->ra_reg, a->ra_off, b->ra, b->ra_reg, b->ra_off);
}

bool sframe_same_rule(const struct unw_rule *a, const struct unw_rule *b)
{
	if (a->cfa == UNW_CFA_NONE || b->cfa == UNW_CFA_NONE)
		return a->cfa == b->cfa;
	if (a->ra == UNW_UNDEFINED || b->ra == UNW_UNDEFINED)
		return a->ra == b->ra;
	return flags_of(a) == flags_of(b) && same_places(a, b);
}

/* Versions 1 and 2 have an ordinary row where .eh_frame says more. */
static bool has_lost_mark(const struct checker *c, const struct unw_rule *s,
			  const struct unw_rule *e)
{
	struct unw_rule unmarked = *e;

	if (c->version > 2)
		return false;
	unmarked.flags &= (uint8_t)~UNW_SIGNAL;
	if (e->ra == UNW_UNDEFINED) {
		unmarked.ra = s->ra;
		unmarked.ra_reg = s->ra_reg;
		unmarked.ra_off = s->ra_off;
	}
	return (e->flags & UNW_SIGNAL || e->ra == UNW_UNDEFINED) && sframe_same_rule(s, &unmarked);
}

static void put_finding(struct checker *c, const struct sframe_finding *f)
{
	c->counts.nr[f->verdict]++;
	c->counts.bytes[f->verdict] += f->end - f->start;
	if (c->report)
		c->report(c->ctx, f);
}

static void end_dropped(struct checker *c)
{
	if (c->dropped.start < c->dropped.end)
		put_finding(c, &c->dropped);
	c->dropped.end = c->dropped.start;
}

/* Stretches of one function are one finding. */
static void add_dropped(struct checker *c, const struct sframe_finding *f)
{
	const struct unw_sweep *e = &c->eh_frame;
	size_t function = e->open.data[e->open.nr - 1].function;

	if (c->dropped.start < c->dropped.end && c->dropped.end == f->start &&
	    c->dropped_function == function) {
		c->dropped.end = f->end;
		return;
	}
	end_dropped(c);
	c->dropped = *f;
	c->dropped_function = function;
}

static bool is_known(const struct unw_rule *r)
{
	return r && r->cfa != UNW_CFA_NONE;
}

/* GNU as 2.47 keeps functions that it could not represent, without rows. */
static bool is_dropped(const struct unw_sweep *s)
{
	return !s->rule || (s->rule->cfa == UNW_CFA_NONE && s->rule->why == UNW_WHY_GAP);
}

static void compare(struct checker *c, uint64_t start, uint64_t end)
{
	struct sframe_finding f = {SFRAME_DIFFERS, start, end, c->sframe.rule, c->eh_frame.rule};

	if (is_known(f.eh_frame) && is_dropped(&c->sframe)) {
		f.verdict = SFRAME_DROPPED;
		add_dropped(c, &f);
		return;
	}
	end_dropped(c);
	if (!is_known(f.eh_frame)) {
		f.verdict = SFRAME_EXTRA;
		if (is_known(f.sframe))
			put_finding(c, &f);
		return;
	}
	c->counts.nr_compared++;
	c->counts.compared_bytes += end - start;
	if (sframe_same_rule(f.sframe, f.eh_frame))
		return;
	if (is_known(f.sframe) && has_lost_mark(c, f.sframe, f.eh_frame))
		f.verdict = SFRAME_LOST_MARK;
	put_finding(c, &f);
}

static enum clew_err walk(struct checker *c)
{
	struct unw_sweep *a = &c->sframe, *b = &c->eh_frame;
	uint64_t at = a->until < b->until ? a->until : b->until;

	while (at != UINT64_MAX) {
		uint64_t until;

		if ((a->until == at && !unw_sweep_next(a)) ||
		    (b->until == at && !unw_sweep_next(b)))
			return CLEW_NO_MEMORY;
		until = a->until < b->until ? a->until : b->until;
		if (until != UINT64_MAX)
			compare(c, at, until);
		at = until;
	}
	end_dropped(c);
	return CLEW_OK;
}

enum clew_err sframe_check(struct unw_list *sframe, struct unw_list *eh_frame, uint8_t version,
			   void (*report)(void *ctx, const struct sframe_finding *f), void *ctx,
			   struct sframe_verdicts *ret)
{
	struct checker c = {.version = version, .report = report, .ctx = ctx};
	enum clew_err err = unw_sweep_init(&c.sframe, sframe);

	if (!err)
		err = unw_sweep_init(&c.eh_frame, eh_frame);
	if (!err)
		err = walk(&c);
	unw_sweep_done(&c.sframe);
	unw_sweep_done(&c.eh_frame);
	*ret = c.counts;
	return err;
}
