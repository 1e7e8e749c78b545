/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/unw_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/search.h"

static uint64_t rule_hash(const struct unw_rule *r)
{
	uint64_t v[3];

	memcpy(v, r, sizeof(v));
	return hash_two(hash_two(v[0], v[1]), v[2]);
}

static bool grow_slots(struct unw_rules *s)
{
	size_t n = s->nr_slots ? s->nr_slots * 2 : 256;
	uint32_t *slots = mem_calloc(n, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < s->nr; i++) {
		size_t at = rule_hash(&s->data[i]) & (n - 1);

		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = (uint32_t)i + 1;
	}
	mem_free(s->slots);
	s->slots = slots;
	s->nr_slots = n;
	return true;
}

bool unw_rules_intern(struct unw_rules *s, const struct unw_rule *rule, uint32_t *ret)
{
	size_t at;

	if (s->nr >= s->nr_slots / 2 && !grow_slots(s))
		return false;
	for (at = rule_hash(rule) & (s->nr_slots - 1); s->slots[at];
	     at = (at + 1) & (s->nr_slots - 1)) {
		if (!memcmp(&s->data[s->slots[at] - 1], rule, sizeof(*rule))) {
			*ret = s->slots[at] - 1;
			return true;
		}
	}
	if (s->nr == UINT32_MAX - 1 || !vec_push(s, *rule))
		return false;
	s->slots[at] = (uint32_t)s->nr;
	*ret = (uint32_t)s->nr - 1;
	return true;
}

void unw_rules_done(struct unw_rules *s)
{
	vec_done(s);
	mem_free(s->slots);
	s->slots = NULL;
	s->nr_slots = 0;
}

struct unw_list *unw_list_new(void)
{
	return mem_zalloc(sizeof(struct unw_list));
}

void unw_list_free(struct unw_list *l)
{
	if (!l)
		return;
	vec_done(&l->functions);
	vec_done(&l->marks);
	unw_rules_done(&l->rules);
	mem_free(l);
}

size_t unw_list_nr_rows(const struct unw_list *l)
{
	return l->marks.nr;
}

void unw_list_begin(struct unw_list *l, uint64_t start, uint64_t end)
{
	struct unw_function f = {start, end, l->marks.nr, 0};
	size_t nr = l->functions.nr;

	l->is_open = false;
	if (start >= end)
		return;
	if (end - start > UINT32_MAX) {
		l->err = l->err ? l->err : CLEW_LIMIT;
		return;
	}
	if (nr && l->functions.data[nr - 1].start >= start)
		l->is_unordered = true;
	if (vec_push(&l->functions, f))
		l->is_open = true;
	else
		l->err = CLEW_NO_MEMORY;
}

static void clear_loc(const uint8_t kind, uint8_t *reg, int32_t *off)
{
	if (kind != UNW_AT_REG && kind != UNW_IN_REG)
		*reg = 0;
	if (kind == UNW_SAME || kind == UNW_UNDEFINED)
		*off = 0;
}

/** What does not count becomes 0, so that rules that say the same are the same. */
static struct unw_rule canonical(const struct unw_list *l, const struct unw_rule *rule)
{
	struct unw_rule r = *rule;

	if (r.cfa_reg >= UNW_MAX_REGS || r.ra_reg >= UNW_MAX_REGS || r.fp_reg >= UNW_MAX_REGS) {
		r.cfa = UNW_CFA_NONE;
		r.why = UNW_WHY_REGISTER;
	}
	if (r.cfa == UNW_CFA_NONE)
		return (struct unw_rule){.origin = r.origin, .why = r.why};
	r.why = 0;
	if (r.cfa == UNW_CFA_PLT || (r.cfa == UNW_CFA_REG && l->is_without_rbx))
		r.cfa_off2 = 0;
	if (l->is_without_rbx)
		r.flags &= (uint8_t)~UNW_RBX_LOST;
	if (r.cfa == UNW_CFA_PLT)
		r.cfa_reg = 0;
	if (r.cfa != UNW_CFA_INDEX)
		clear_loc(r.ra, &r.ra_reg, &r.ra_off);
	clear_loc(r.fp, &r.fp_reg, &r.fp_off);
	return r;
}

void unw_list_row(struct unw_list *l, uint64_t rel, const struct unw_rule *rule)
{
	struct unw_function *f;
	struct unw_mark m, *last;
	struct unw_rule r = canonical(l, rule);

	if (!l->is_open)
		return;
	f = &l->functions.data[l->functions.nr - 1];
	if (rel < f->start || rel >= f->end)
		return;
	m.off = (uint32_t)(rel - f->start);
	last = f->nr ? &l->marks.data[f->first + f->nr - 1] : NULL;
	if (last && m.off < last->off)
		return;
	if (last && !memcmp(&l->rules.data[last->rule], &r, sizeof(r)))
		return;
	if (!unw_rules_intern(&l->rules, &r, &m.rule)) {
		l->err = CLEW_NO_MEMORY;
	} else if (last && last->off == m.off) {
		last->rule = m.rule;
	} else if (vec_push(&l->marks, m)) {
		f->nr++;
	} else {
		l->err = CLEW_NO_MEMORY;
	}
}

/** Of two functions with one start the one that was given first counts: it comes last. */
static int by_start(const void *a, const void *b)
{
	const struct unw_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? 1 : -1;
	return x->nr < y->nr ? 1 : x->nr > y->nr ? -1 : 0; /* without rows: given before */
}

void unw_list_sort(struct unw_list *l)
{
	if (l->is_unordered)
		qsort(l->functions.data, l->functions.nr, sizeof(*l->functions.data), by_start);
	l->is_unordered = false;
}

bool unw_list_covers(const struct unw_list *l, uint64_t rel)
{
	size_t after = search_first(l->functions.nr, i, l->functions.data[i].start > rel);

	return after && rel < l->functions.data[after - 1].end;
}

enum clew_err unw_sweep_init(struct unw_sweep *s, struct unw_list *l)
{
	*s = (struct unw_sweep){.list = l, .until = UINT64_MAX};
	if (l->err)
		return l->err;
	unw_list_sort(l);
	if (l->functions.nr)
		s->until = l->functions.data[0].start;
	return CLEW_OK;
}

void unw_sweep_done(struct unw_sweep *s)
{
	vec_done(&s->open);
}

/** Close the functions that ended, open the ones that start here. */
static bool change_open(struct unw_sweep *s)
{
	const struct unw_function *f = s->list->functions.data;

	while (s->next < s->list->functions.nr && f[s->next].start <= s->at) {
		struct unw_open o = {s->next, 0};

		if (!vec_push(&s->open, o))
			return false;
		s->next++;
	}
	while (s->open.nr && f[s->open.data[s->open.nr - 1].function].end <= s->at)
		s->open.nr--;
	return true;
}

bool unw_sweep_next(struct unw_sweep *s)
{
	const struct unw_function *f;
	const struct unw_mark *marks;
	struct unw_open *o;
	uint64_t off;

	s->at = s->until;
	if (!change_open(s))
		return false;
	s->rule = NULL;
	s->until = UINT64_MAX;
	if (s->next < s->list->functions.nr)
		s->until = s->list->functions.data[s->next].start;
	if (!s->open.nr)
		return true;
	o = &s->open.data[s->open.nr - 1];
	f = &s->list->functions.data[o->function];
	marks = s->list->marks.data + f->first;
	off = s->at - f->start;
	while (o->mark < f->nr && marks[o->mark].off <= off)
		o->mark++;
	if (o->mark) {
		s->index = marks[o->mark - 1].rule;
		s->rule = &s->list->rules.data[s->index];
	}
	if (o->mark < f->nr && f->start + marks[o->mark].off < s->until)
		s->until = f->start + marks[o->mark].off;
	if (f->end < s->until)
		s->until = f->end;
	return true;
}
