/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "base/text_list.h"
#include "rows/report_feed_impl.h"

enum { UNRESOLVED = 1, RESOLVED, INLINED, NO_LINE };

struct maker {
	const struct feed_frames *frames;
	const struct report_sort *sort;
	struct feed_names names;
	struct intern groups;
};

static bool number(struct intern *t, const char *text, uint32_t *ret)
{
	*ret = intern_str(t, text ? text : "");
	return *ret != INTERN_FAILED;
}

/* Functions are one where file name and range are, as several dsos may be one file. What has no
 * name differs by its address. */
bool feed_identify(struct feed_names *names, const struct report_sort *sort,
		   const struct feed_frame *f, struct feed_identity *ret)
{
	uint32_t dso, function;

	*ret = (struct feed_identity){0};
	if (!number(&names->dsos, feed_dso_name(f->dso), &dso) ||
	    !number(&names->functions, f->function, &function))
		return false;
	if (report_sort_has(sort, REPORT_DSO))
		ret->dso = dso;
	if (report_sort_has(sort, REPORT_SYM)) {
		bool is_named = f->sym || f->function;

		ret->kind = f->function ? INLINED : f->sym ? RESOLVED : UNRESOLVED;
		ret->dso = is_named ? dso : ret->dso;
		ret->a = f->function ? function : f->sym ? f->sym->start : f->rel;
		ret->b = !f->function && f->sym ? f->sym->end : 0;
	}
	if (report_sort_has(sort, REPORT_SRCLINE)) {
		ret->line = f->line;
		ret->place = f->file ? 0 : f->rel;
		ret->dso = f->file ? ret->dso : dso;
	}
	if ((report_sort_has(sort, REPORT_SRCLINE) || report_sort_has(sort, REPORT_SRCFILE)))
		return number(&names->files, f->file, &ret->file);
	return true;
}

void feed_names_done(struct feed_names *names)
{
	intern_done(&names->dsos);
	intern_done(&names->files);
	intern_done(&names->functions);
}

static const char *sym_name(const struct feed_frame *f)
{
	return f->function ? f->function : f->sym ? f->sym->name : NULL;
}

static int order_text(const char *a, const char *b)
{
	if (!a || !b)
		return (b != NULL) - (a != NULL); /* names before none */
	return strcmp(a, b);
}

/* By name, then file, then address: the same order whatever came first. */
static int compare_frames(const struct feed_frame *a, const struct feed_frame *b)
{
	int order = order_text(sym_name(a), sym_name(b));

	if (!order)
		order = strcmp(feed_dso_name(a->dso), feed_dso_name(b->dso));
	if (!order)
		order = order_text(a->file, b->file);
	if (!order && a->line != b->line)
		order = a->line < b->line ? -1 : 1;
	if (!order && a->rel != b->rel)
		order = a->rel < b->rel ? -1 : 1;
	if (!order && a->dso && b->dso)
		order = strcmp(dso_path(a->dso), dso_path(b->dso));
	return order;
}

static int by_name(const void *x, const void *y, void *arg)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	const struct feed_frame *all = arg;
	int order = compare_frames(&all[a], &all[b]);

	return order ? order : a < b ? -1 : a > b;
}

static bool rank_frames(struct feed_groups *g, const struct feed_frames *frames)
{
	size_t nr = frames->all.nr;
	uint32_t *order = mem_calloc(nr, sizeof(*order));

	if (!order)
		return false;
	for (uint32_t i = 0; i < nr; i++)
		order[i] = i;
	if (nr)
		qsort_r(order, nr, sizeof(*order), by_name, frames->all.data);
	for (uint32_t i = 0; i < nr; i++)
		g->frame_rank[order[i]] = i;
	mem_free(order);
	return true;
}

/* An inlined function has no symbol of its own. */
static bool is_asked(const struct feed_frame *f, const char *name, const char *list)
{
	const struct dso_sym inlined = {.name = name, .link_name = name};

	return name && dso_sym_is_in_list(f->function || !f->sym ? &inlined : f->sym, list);
}

bool feed_is_listed(const struct feed_frame *f, const struct report_feed_opts *o)
{
	const char *name = sym_name(f);

	if (o->dsos && !text_list_has(o->dsos, feed_dso_name(f->dso)) &&
	    !(f->dso && text_list_has(o->dsos, dso_path(f->dso))))
		return false;
	return !o->symbols || is_asked(f, name, o->symbols);
}

bool feed_has_part(const struct feed_frame *f, const struct report_feed_opts *o)
{
	const char *name = sym_name(f);

	return !o->symbol_part || (name && strstr(name, o->symbol_part));
}

/* Branches were selected before they were counted. */
bool feed_is_hidden(const struct feed_frame *f, const struct report_feed_opts *o)
{
	if (o->by_branch)
		return false;
	return (o->hide_unresolved && !sym_name(f)) || !feed_is_listed(f, o) ||
	       !feed_has_part(f, o);
}

/* One group more, with frame @p i to stand for it. */
static void found_group(struct feed_groups *g, const struct feed_frames *frames, uint32_t group,
			uint32_t i, const struct report_feed_opts *opts)
{
	g->nr = group + 1;
	g->frame_in[group] = i;
	g->group_rank[group] = g->frame_rank[i];
	g->is_hidden[group] = feed_is_hidden(&frames->all.data[i], opts);
}

static enum clew_err group_all(struct feed_groups *g, struct maker *m,
			       const struct report_feed_opts *opts)
{
	for (uint32_t i = 0; i < m->frames->all.nr; i++) {
		struct feed_identity id;
		uint32_t group;

		if (!feed_identify(&m->names, m->sort, &m->frames->all.data[i], &id))
			return CLEW_NO_MEMORY;
		group = intern_add(&m->groups, (const char *)&id, sizeof(id));
		if (group == INTERN_FAILED)
			return CLEW_NO_MEMORY;
		group--; /* number 0 is the empty text's */
		if (group >= g->nr)
			found_group(g, m->frames, group, i, opts);
		else if (g->frame_rank[i] < g->group_rank[group])
			g->group_rank[group] = g->frame_rank[i];
		g->group_of[i] = group;
	}
	return CLEW_OK;
}

enum clew_err feed_groups_make(struct feed_groups *g, const struct feed_frames *frames,
			       const struct report_feed_opts *opts)
{
	struct maker m = {.frames = frames, .sort = &opts->sort};
	enum clew_err err = CLEW_NO_MEMORY;
	size_t nr = frames->all.nr;

	g->group_of = mem_calloc(nr, sizeof(uint32_t));
	g->frame_rank = mem_calloc(nr, sizeof(uint32_t));
	g->group_rank = mem_calloc(nr, sizeof(uint32_t));
	g->frame_in = mem_calloc(nr, sizeof(uint32_t));
	g->is_hidden = mem_calloc(nr, sizeof(bool));
	if (g->group_of && g->frame_rank && g->group_rank && g->frame_in && g->is_hidden &&
	    rank_frames(g, frames))
		err = group_all(g, &m, opts);
	feed_names_done(&m.names);
	intern_done(&m.groups);
	return err;
}

void feed_groups_done(struct feed_groups *g)
{
	mem_free(g->group_of);
	mem_free(g->frame_rank);
	mem_free(g->group_rank);
	mem_free(g->frame_in);
	mem_free(g->is_hidden);
	*g = (struct feed_groups){0};
}
