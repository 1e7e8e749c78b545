/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/event/event_addr.h"

#include <stdlib.h>

#include "base/buf.h"
#include "record/plan/aux_pmu.h"

/* --- One of several symbols of a name --- */

static int by_start(const void *a, const void *b)
{
	const struct addr_symbol *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* A symbol may be in the table twice. */
static void drop_equal(struct addr_symbols *l)
{
	size_t nr = 0;

	qsort(l->data, l->nr, sizeof(*l->data), by_start);
	vec_for_each (l, s) {
		if (nr && l->data[nr - 1].start == s->start)
			l->data[nr - 1].is_global |= s->is_global;
		else
			l->data[nr++] = *s;
	}
	l->nr = nr;
}

static enum clew_err ask_which(struct event_parse *p, const struct addr_place *place,
			       const struct addr_symbols *l, const char *what)
{
	struct event_word w = place->symbol;
	struct buf list = {0};

	for (size_t i = 0; i < l->nr && i < 8; i++)
		buf_printf(&list, "%s#%zu 0x%llx%s", i ? ", " : "", i + 1,
			   (unsigned long long)l->data[i].start,
			   l->data[i].is_global ? " (global)" : "");
	if (l->nr > 8)
		buf_str(&list, ", ...");
	event_fail(p, w.s, CLEW_INVALID,
		   "%s has %zu symbols '%.*s': %.*s; choose one as '%.*s #1', or the global one as "
		   "'%.*s #g'",
		   what, l->nr, (int)w.n, w.s, (int)list.nr, list.nr ? list.data : "", (int)w.n,
		   w.s, (int)w.n, w.s);
	buf_done(&list);
	return CLEW_INVALID;
}

static enum clew_err choose_global(struct event_parse *p, const struct addr_place *place,
				   const struct addr_symbols *l, const char *what,
				   struct addr_symbol *ret)
{
	size_t nr = 0;

	vec_for_each (l, s) {
		if (s->is_global)
			*ret = *s;
		nr += s->is_global;
	}
	if (nr == 1)
		return CLEW_OK;
	return event_fail(p, place->symbol.s, CLEW_NOT_FOUND, "%s has %s global symbol '%.*s'",
			  what, nr ? "more than one" : "no", (int)place->symbol.n, place->symbol.s);
}

enum clew_err event_addr_choose(struct event_parse *p, const struct addr_place *place,
				struct addr_symbols *l, const char *what, struct addr_symbol *ret)
{
	drop_equal(l);
	if (place->nth == ADDR_GLOBAL)
		return choose_global(p, place, l, what, ret);
	if (place->nth == ADDR_ONLY && l->nr > 1)
		return ask_which(p, place, l, what);
	if (place->nth > (int64_t)l->nr)
		return event_fail(p, place->symbol.s, CLEW_NOT_FOUND,
				  "%s has %zu symbol%s '%.*s': there is no #%lld", what, l->nr,
				  l->nr == 1 ? "" : "s", (int)place->symbol.n, place->symbol.s,
				  (long long)place->nth);
	*ret = l->data[place->nth == ADDR_ONLY ? 0 : place->nth - 1];
	return CLEW_OK;
}

enum clew_err event_addr_end_at(struct event_parse *p, struct addr_filter *f, uint64_t end)
{
	if (end <= f->from)
		return event_fail(p, f->has_end ? f->end.symbol.s : f->word.s, CLEW_INVALID,
				  "the range ends at 0x%llx, before it begins at 0x%llx",
				  (unsigned long long)end, (unsigned long long)f->from);
	f->bytes = end - f->from;
	return CLEW_OK;
}

enum clew_err event_addr_range(struct event_parse *p, struct addr_filter *f, addr_look_up *look_up,
			       void *ctx)
{
	struct addr_symbol start = {0}, last;
	enum clew_err err = CLEW_OK;

	f->from = f->start.number;
	if (f->start.symbol.n) {
		err = look_up(ctx, &f->start, &start);
		f->from = start.start;
	}
	if (err != CLEW_OK)
		return err;
	if (f->has_end && !f->end.symbol.n) {
		f->bytes = f->end.number;
		return CLEW_OK;
	}
	if (f->has_end) {
		err = look_up(ctx, &f->end, &last);
		return err == CLEW_OK ? event_addr_end_at(p, f, last.end) : err;
	}
	if (f->action == ADDR_FILTER || f->action == ADDR_TRACESTOP)
		return event_addr_end_at(p, f, start.end);
	return CLEW_OK;
}

/* --- What the PMU can --- */

struct abilities {
	uint32_t info;
	bool points;      /* start and stop at an address */
	bool stop_ranges; /* tracestop */
	bool mixes;       /* ranges and points at the same time */
};

/* Spec: Linux 7.3 arch/x86/events/intel/pt.c, "pt_event_addr_filters_validate";
 * drivers/hwtracing/coresight/coresight-etm-perf.c, "etm_addr_filters_validate". */
static const struct abilities known[] = {
	{PERF_AUXTRACE_INTEL_PT, false, true,  false},
	{PERF_AUXTRACE_CS_ETM,   true,  false, false},
};

static const struct abilities *abilities_of(const struct rec_event *e)
{
	static const struct abilities any = {0, true, true, true};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].info == e->aux->info)
			return &known[i];
	return &any;
}

static bool is_point(const struct addr_filter *f)
{
	return !f->bytes;
}

static enum clew_err check_kind(struct event_parse *p, const struct rec_event *e,
				const struct addr_filter *f)
{
	const struct abilities *a = abilities_of(e);
	struct event_word w = f->word;

	if (!a->points && (is_point(f) || f->action == ADDR_START))
		return event_fail(p, w.s, CLEW_UNSUPPORTED,
				  "%s traces ranges of addresses only: 'filter' what to trace, or "
				  "'tracestop' where it ends, instead of '%.*s'",
				  e->pmu, (int)w.n, w.s);
	if (!a->stop_ranges && f->action == ADDR_TRACESTOP)
		return event_fail(p, w.s, CLEW_UNSUPPORTED,
				  "%s cannot end a trace by a range (tracestop): 'stop' at an "
				  "address",
				  e->pmu);
	if (!a->stop_ranges && f->action != ADDR_FILTER && !is_point(f))
		return event_fail(p, w.s, CLEW_UNSUPPORTED,
				  "%s starts and stops at an address: '%.*s' without a size",
				  e->pmu, (int)w.n, w.s);
	return CLEW_OK;
}

static enum clew_err check_mix(struct event_parse *p, const struct rec_event *e,
			       const struct addr_filters *l)
{
	size_t nr_points = 0;

	vec_for_each (l, f)
		nr_points += is_point(f);
	if (abilities_of(e)->mixes || !nr_points || nr_points == l->nr)
		return CLEW_OK;
	return event_fail(p, p->text, CLEW_UNSUPPORTED,
			  "%s takes either ranges (filter) or start and stop, not both", e->pmu);
}

static enum clew_err check_number(struct event_parse *p, const struct rec_event *e, size_t nr)
{
	struct os_pmus *pmus = event_pmus(p);
	const struct os_pmu *pmu = os_pmus_find(pmus, e->pmu, strlen(e->pmu));
	uint64_t most = 0;

	if (pmu)
		os_pmu_number(pmu, "nr_addr_filters", &most);
	if (!most)
		return event_fail(p, p->text, CLEW_UNSUPPORTED,
				  "%s has no address filters (nr_addr_filters)", e->pmu);
	if (nr > most)
		return event_fail(p, p->text, CLEW_UNSUPPORTED,
				  "%s has %llu address filter%s, these are %zu", e->pmu,
				  (unsigned long long)most, most == 1 ? "" : "s", nr);
	return CLEW_OK;
}

/* --- All of it --- */

enum clew_err event_addr_resolve(struct event_parse *p, struct addr_filter *f, const char **note)
{
	enum clew_err err = f->file.n ? event_addr_in_file(p, f, note) : event_addr_in_kernel(p, f);

	if (err == CLEW_OK && f->from + f->bytes < f->from)
		err = event_fail(p, f->word.s, CLEW_INVALID,
				 "the range ends beyond the last address");
	return err;
}

/* In the kernel's grammar. */
static const char *spell(struct event_parse *p, const struct addr_filters *l)
{
	static const char *const words[] = {"filter", "start", "stop", "stop"};
	struct buf b = {0};
	const char *ret = NULL;

	vec_for_each (l, f) {
		buf_printf(&b, "%s%s 0x%llx", f == l->data ? "" : ",", words[f->action],
			   (unsigned long long)f->from);
		if (f->bytes)
			buf_printf(&b, "/0x%llx", (unsigned long long)f->bytes);
		if (f->path)
			buf_printf(&b, "@%s", f->path);
	}
	if (!b.is_failed)
		ret = event_copy(p, b.data, b.nr);
	buf_done(&b);
	return ret;
}

/* What an earlier --filter gave: numbers alone. */
static enum clew_err take_earlier(struct event_parse *p, const struct rec_event *e,
				  struct addr_filters *l, const char **note)
{
	struct event_parse earlier = {.list = p->list, .text = e->filter, .pos = e->filter};
	enum clew_err err = e->filter ? event_addr_parse(&earlier, l) : CLEW_OK;

	for (size_t i = 0; i < l->nr && err == CLEW_OK; i++)
		err = event_addr_resolve(&earlier, &l->data[i], note);
	return err;
}

static enum clew_err take_filters(struct event_parse *p, struct rec_event *e,
				  struct addr_filters *l)
{
	const char *note = e->filter_note;
	enum clew_err err = take_earlier(p, e, l, &note);
	size_t first = l->nr;

	if (err == CLEW_OK)
		err = event_addr_parse(p, l);
	for (size_t i = first; i < l->nr && err == CLEW_OK; i++) {
		err = event_addr_resolve(p, &l->data[i], &note);
		if (err == CLEW_OK)
			err = check_kind(p, e, &l->data[i]);
	}
	if (err == CLEW_OK)
		err = check_mix(p, e, l);
	if (err == CLEW_OK)
		err = check_number(p, e, l->nr);
	if (err != CLEW_OK)
		return err;
	e->filter = spell(p, l);
	e->filter_note = note;
	vec_for_each (l, f) {
		e->filters_user |= f->path != NULL;
		e->filters_kernel |= !f->path;
	}
	return e->filter ? CLEW_OK : event_no_memory(p);
}

enum clew_err event_addr_filter(struct event_parse *p, struct rec_event *e)
{
	struct addr_filters l = {0};
	enum clew_err err;

	p->pos = p->text;
	err = take_filters(p, e, &l);
	vec_done(&l);
	return err;
}
