/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows/report_feed_impl.h"

/* A feed that is made of others: names are copied, so that the recording they are of may go. */

struct feed_carried {
	struct dso_store *dsos; /* names of files; nothing is loaded */
	struct intern texts;
	struct intern syms; /* struct sym_id -> index + 1 of all */
	struct arena memory;
	struct {
		VEC(struct dso_sym *);
	} all;
};

struct sym_id {
	uint64_t dso, start, end, name;
};

struct carry {
	struct report_feed *to;
	const struct report_feed *from;
	const struct report_carry *how;
	uint32_t *frame, *node, *key; /* by number in from; REPORT_NONE: not carried (yet) */
	uint64_t *self;               /* by frame: periods sampled there, of one event */
	struct feed_memo path;        /* nodes not carried yet, innermost first */
};

void feed_carried_free(struct feed_carried *c)
{
	if (!c)
		return;
	dso_store_free(c->dsos);
	intern_done(&c->texts);
	intern_done(&c->syms);
	arena_done(&c->memory);
	vec_done(&c->all);
	mem_free(c);
}

static struct feed_carried *carried_new(void)
{
	struct feed_carried *c = mem_zalloc(sizeof(*c));

	if (c)
		c->dsos = dso_store_new(NULL);
	if (c && c->dsos)
		return c;
	feed_carried_free(c);
	return NULL;
}

/* @return false: no memory. NULL stays NULL. */
static bool keep_text(struct feed_carried *c, const char **text)
{
	uint32_t id = *text ? intern_str(&c->texts, *text) : 0;

	if (id == INTERN_FAILED)
		return false;
	if (*text)
		*text = intern_get(&c->texts, id);
	return true;
}

static bool keep_dso(struct feed_carried *c, const struct dso **dso)
{
	struct dso_key key = {.load_start = 0};

	if (!*dso)
		return true;
	key.kind = dso_kind(*dso);
	key.path = dso_path(*dso);
	*dso = dso_store_get(c->dsos, &key);
	return *dso;
}

/* One object for one function, as frames differ by it. */
static bool keep_sym(struct feed_carried *c, const struct dso *dso, const struct dso_sym **sym)
{
	const char *name = *sym ? (*sym)->name : NULL;
	struct sym_id id = {.dso = (uintptr_t)dso};
	struct dso_sym *n;
	uint32_t at;

	if (!*sym)
		return true;
	if (!keep_text(c, &name))
		return false;
	id.start = (*sym)->start;
	id.end = (*sym)->end;
	id.name = (uintptr_t)name;
	at = intern_add(&c->syms, (const char *)&id, sizeof(id));
	if (at == INTERN_FAILED)
		return false;
	if (at <= c->all.nr) {
		*sym = c->all.data[at - 1];
		return true;
	}
	n = arena_alloc(&c->memory, sizeof(*n));
	if (!n || !vec_push(&c->all, n))
		return false;
	*n = (struct dso_sym){id.start, id.end, name, name};
	*sym = n;
	return true;
}

static uint32_t carry_frame(struct carry *c, uint32_t frame)
{
	struct feed_frame f = c->from->frames.all.data[frame];
	struct feed_carried *names = c->to->carried;

	if (c->frame[frame] != REPORT_NONE)
		return c->frame[frame];
	if (!keep_dso(names, &f.dso) || !keep_sym(names, f.dso, &f.sym) ||
	    !keep_text(names, &f.function) || !keep_text(names, &f.file))
		return REPORT_NONE;
	return c->frame[frame] = feed_frame_add(&c->to->frames, &f);
}

static uint32_t carry_key(struct carry *c, uint32_t key)
{
	const struct report_sort *sort = &c->from->opts.sort;
	uint64_t values[REPORT_NR_KEYS + 1] = {0};
	const char *comm = c->from->comm_of.data[key];
	size_t nr = 0;

	if (c->key[key] != REPORT_NONE)
		return c->key[key];
	for (size_t i = 0; i < sort->nr; i++) {
		enum report_key k = sort->keys[i];
		uint64_t v = report_key_is_frame(k) ? 0 : feed_key_value(c->from, key, k);

		if (report_key_is_frame(k))
			continue;
		if (report_key_is_text(k) && v)
			v = intern_str(&c->to->texts, intern_get(&c->from->texts, (uint32_t)v));
		if (v == INTERN_FAILED && report_key_is_text(k))
			return REPORT_NONE;
		values[nr++] = v;
	}
	if (!keep_text(c->to->carried, &comm))
		return REPORT_NONE;
	return c->key[key] = feed_add_key(c->to, values, nr + 1, comm);
}

/* The node and all above it, outermost first. CLEW_LIMIT: the tree is full. */
static enum clew_err carry_node(struct carry *c, uint32_t node, uint32_t *ret)
{
	const struct report_node *nodes = c->from->tree.nodes.data;
	uint32_t to = REPORT_ROOT, n = node;

	c->path.nr = 0;
	for (; n != REPORT_ROOT && c->node[n] == REPORT_NONE; n = nodes[n].parent) {
		if (!vec_push(&c->path, n))
			return CLEW_NO_MEMORY;
	}
	if (n != REPORT_ROOT)
		to = c->node[n];
	for (size_t i = c->path.nr; i-- > 0;) {
		uint32_t frame = carry_frame(c, nodes[c->path.data[i]].frame);
		enum clew_err err = frame == REPORT_NONE
					  ? CLEW_NO_MEMORY
					  : report_tree_child(&c->to->tree, to, frame, &to);

		if (err != CLEW_OK)
			return err;
		c->node[c->path.data[i]] = to;
	}
	*ret = to;
	return CLEW_OK;
}

/* Where there is no room for the path: its function alone, or not even that. */
static enum clew_err carry_leaf(struct carry *c, uint32_t node, uint32_t *ret)
{
	uint32_t frame = carry_frame(c, c->from->tree.nodes.data[node].frame);
	enum clew_err err = frame == REPORT_NONE
				  ? CLEW_NO_MEMORY
				  : report_tree_child(&c->to->tree, REPORT_ROOT, frame, ret);

	return err == CLEW_LIMIT ? CLEW_OK : err;
}

static uint64_t scaled(uint64_t v, double factor)
{
	return factor >= 1 ? v : (uint64_t)((double)v * factor);
}

static enum clew_err carry_weight(struct carry *c, struct report_event *ev,
				  const struct report_weight *w)
{
	uint64_t period = scaled(w->period, c->how->factor);
	uint32_t node = REPORT_ROOT, key;
	enum clew_err err;

	if (!period)
		return CLEW_OK;
	err = w->node == REPORT_ROOT ? CLEW_OK : carry_node(c, w->node, &node);
	if (err == CLEW_LIMIT)
		err = carry_leaf(c, w->node, &node);
	if (err != CLEW_OK)
		return err;
	key = carry_key(c, w->key);
	if (key == REPORT_NONE)
		return CLEW_NO_MEMORY;
	return feed_weigh(c->to, ev, key, node, scaled(w->nr, c->how->factor), period);
}

static bool is_small(const struct carry *c, const struct report_event *ev,
		     const struct report_weight *w)
{
	uint32_t frame = c->from->tree.nodes.data[w->node].frame;
	uint64_t self = frame == REPORT_NONE ? w->period : c->self[frame];

	return (double)self < c->how->min_share * (double)ev->period ||
	       (double)w->period < c->how->min_path_share * (double)ev->period;
}

static enum clew_err carry_weights(struct carry *c, struct report_event *to,
				   const struct report_event *from)
{
	enum clew_err err = CLEW_OK;

	memset(c->self, 0, c->from->frames.all.nr * sizeof(*c->self));
	vec_for_each (&from->weights.all, w) {
		uint32_t frame = c->from->tree.nodes.data[w->node].frame;

		if (frame != REPORT_NONE)
			c->self[frame] += w->period;
	}
	vec_for_each (&from->weights.all, w) {
		if (err == CLEW_OK && !is_small(c, from, w))
			err = carry_weight(c, to, w);
	}
	return err;
}

static enum clew_err carry_event(struct carry *c, size_t i)
{
	const struct report_event *from = &c->from->events.data[i];
	struct report_event *to;

	if (!from->evsel || i >= c->how->events->evsels.nr)
		return CLEW_OK;
	to = feed_event_of(c->to, c->how->events->evsels.data[i]);
	if (!to)
		return CLEW_NO_MEMORY;
	to->nr += scaled(from->nr, c->how->factor);
	to->period += scaled(from->period, c->how->factor);
	to->nr_kept += scaled(from->nr_kept, c->how->factor);
	to->period_kept += scaled(from->period_kept, c->how->factor);
	to->has_chains |= from->has_chains;
	return carry_weights(c, to, from);
}

static uint32_t *none(size_t nr)
{
	uint32_t *v = mem_calloc(nr ? nr : 1, sizeof(*v));

	if (v)
		memset(v, 0xff, nr * sizeof(*v));
	return v;
}

static enum clew_err carry_all(struct carry *c)
{
	enum clew_err err = CLEW_OK;

	if (!c->frame || !c->node || !c->key || !c->self)
		return CLEW_NO_MEMORY;
	for (size_t i = 0; i < c->from->events.nr && err == CLEW_OK; i++)
		err = carry_event(c, i);
	return err;
}

enum clew_err report_feed_carry(struct report_feed *to, const struct report_feed *from,
				const struct report_carry *how)
{
	struct carry c = {.to = to,
			  .from = from,
			  .how = how,
			  .frame = none(from->frames.all.nr),
			  .node = none(from->tree.nodes.nr),
			  .key = none(from->comm_of.nr),
			  .self = mem_calloc(from->frames.all.nr + 1, sizeof(*c.self))};
	enum clew_err err = CLEW_NO_MEMORY;

	if (!to->carried)
		to->carried = carried_new();
	if (to->carried)
		err = carry_all(&c);
	mem_free(c.frame);
	mem_free(c.node);
	mem_free(c.key);
	mem_free(c.self);
	vec_done(&c.path);
	return err;
}

void report_feed_touch(const struct report_feed *f)
{
	vec_for_each (&f->frames.all, frame) {
		if (frame->dso)
			dso_touch(frame->dso);
	}
}
