/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows/report_feed_impl.h"

struct feed_frame feed_frame_at(const struct report_feed *f, const struct ana_loc *loc)
{
	struct feed_frame frame = {
		.rel = loc->rel, .level = loc->level, .is_return = loc->is_return};

	frame.dso = loc->dso;
	frame.sym = loc->sym;
	if (loc->nr_lines && f->frames.is_exact) {
		/* Without inlined frames the place is where the innermost code was written. */
		frame.file = loc->lines[0].file;
		frame.line = loc->lines[0].line;
	}
	return frame;
}

bool feed_memo_grow(struct feed_memo *m, size_t want)
{
	if (!vec_reserve(m, want))
		return false;
	while (m->nr < want)
		m->data[m->nr++] = REPORT_NONE;
	return true;
}

/* Every frame of every chain comes here. */
static inline uint32_t frame_of(struct report_feed *f, const struct ana_loc *loc)
{
	uint32_t *known = feed_memo_at(&f->frame_of_loc, loc->id);
	struct feed_frame frame;

	if (!known)
		return REPORT_NONE;
	if (*known == REPORT_NONE) {
		frame = feed_frame_at(f, loc);
		*known = feed_frame_add(&f->frames, &frame);
	}
	return *known;
}

static inline enum clew_err descend(struct report_feed *f, const struct ana_loc *loc,
				    uint32_t *node)
{
	enum clew_err err = CLEW_OK;
	uint32_t frame;

	for (uint32_t i = f->opts.has_inlines ? loc->nr_lines : 0; i-- > 1 && err == CLEW_OK;) {
		/* lines[i - 1] was inlined into lines[i], where its call is. */
		struct feed_frame outer = feed_frame_at(f, loc);

		outer.function = loc->lines[i].function;
		outer.file = loc->lines[i].file;
		outer.line = loc->lines[i].line;
		if (i == loc->nr_lines - 1)
			outer.function = NULL;
		frame = feed_frame_add(&f->frames, &outer);
		err = frame == REPORT_NONE ? CLEW_NO_MEMORY
					   : report_tree_child(&f->tree, *node, frame, node);
	}
	if (err != CLEW_OK)
		return err;
	if (f->opts.has_inlines && loc->nr_lines > 1) {
		struct feed_frame inner = feed_frame_at(f, loc);

		inner.function = loc->lines[0].function;
		frame = feed_frame_add(&f->frames, &inner);
	} else {
		frame = frame_of(f, loc);
	}
	return frame == REPORT_NONE ? CLEW_NO_MEMORY
				    : report_tree_child(&f->tree, *node, frame, node);
}

/* Go down @p nr locations, of which @p outermost is the last in memory; free of cost as far as they
 * equal the last path. */
static enum clew_err walk(struct report_feed *f, struct feed_path *last,
			  const struct ana_loc *const *outermost, uint32_t nr, uint32_t *node)
{
	uint32_t depth = 0;
	enum clew_err err = CLEW_OK;

	for (; depth < nr && depth < last->steps.nr; depth++) {
		if (last->steps.data[depth].loc != *(outermost - depth))
			break;
		*node = last->steps.data[depth].node;
	}
	last->steps.nr = depth;
	for (; depth < nr && err == CLEW_OK; depth++) {
		const struct ana_loc *loc = *(outermost - depth);

		err = descend(f, loc, node);
		if (err == CLEW_OK && !vec_push(&last->steps, (struct feed_step){loc, *node}))
			err = CLEW_NO_MEMORY;
	}
	return err;
}

static enum clew_err chain_node(struct report_feed *f, const struct ana_event *e, uint32_t *ret)
{
	const struct ana_chain *c = e->chain;
	uint32_t nr = c->nr, outermost = c->nr - 1, node = REPORT_ROOT;
	uint32_t *known = feed_memo_at(&f->node_of_chain, c->id);
	enum clew_err err;

	if (!known)
		return CLEW_NO_MEMORY;
	if (*known != REPORT_NONE) {
		*ret = *known;
		return CLEW_OK;
	}
	if (f->opts.max_stack && nr > f->opts.max_stack) {
		nr = f->opts.max_stack;
		outermost = f->opts.keeps_outermost ? outermost : nr - 1;
	}
	err = walk(f, &f->last_paths[e->tid % FEED_PATHS], c->locs + outermost, nr, &node);
	if (err == CLEW_OK)
		*ret = *known = node;
	return err;
}

/* Does the sample go to the row of its file, in no graph? */
static bool is_file_enough(const struct report_feed *f, const struct ana_event *e)
{
	if (!f->is_file_enough || e->loc->sym || (f->opts.has_inlines && e->loc->nr_lines > 1))
		return false;
	return f->opts.no_graphs || !(e->evsel->attr.sample_type & PERF_SAMPLE_CALLCHAIN);
}

/* One node for all nameless places of a file: there may be as many as samples. */
static enum clew_err file_node(struct report_feed *f, const struct ana_loc *loc, uint32_t *node)
{
	const struct feed_frame frame = {.dso = loc->dso, .level = loc->level};
	enum clew_err err = CLEW_OK;
	uint32_t n;

	if (f->last_file_node == REPORT_ROOT || f->last_file != loc->dso) {
		n = feed_frame_add(&f->frames, &frame);
		err = n == REPORT_NONE ? CLEW_NO_MEMORY
				       : report_tree_child(&f->tree, REPORT_ROOT, n, node);
		if (err != CLEW_OK)
			return err;
		f->last_file = loc->dso;
		f->last_file_node = *node;
	}
	*node = f->last_file_node;
	return CLEW_OK;
}

/* An address of no known place: of samples that carry none. */
static enum clew_err no_address(struct report_feed *f, uint32_t *node)
{
	struct feed_frame frame = {.level = ANA_UNKNOWN};
	uint32_t n = feed_frame_add(&f->frames, &frame);

	return n == REPORT_NONE ? CLEW_NO_MEMORY : report_tree_child(&f->tree, *node, n, node);
}

/* Is the sampled address in the function the chain ends in, as it nearly always is? */
static bool is_leaf(const struct report_feed *f, const struct ana_event *e)
{
	const struct ana_loc *first = e->chain->locs[0];

	if (f->opts.keeps_outermost && f->opts.max_stack && e->chain->nr > f->opts.max_stack)
		return false;
	if (first == e->loc || !e->loc)
		return true;
	return !f->frames.is_exact && !f->opts.has_inlines && first->sym &&
	       first->sym == e->loc->sym;
}

enum clew_err feed_path(struct report_feed *f, const struct ana_event *e, uint32_t *ret)
{
	uint32_t node = REPORT_ROOT;
	enum clew_err err = CLEW_OK;

	if (e->chain && e->chain->nr && !f->opts.no_chains) {
		err = chain_node(f, e, &node);
		if (err == CLEW_OK && e->loc && !is_leaf(f, e))
			err = descend(f, e->loc, &node);
	} else if (!e->loc) {
		err = no_address(f, &node);
	} else {
		err = is_file_enough(f, e) ? file_node(f, e->loc, &node)
					   : descend(f, e->loc, &node);
	}
	if (err == CLEW_OK)
		*ret = node;
	return err;
}

enum clew_err feed_short_path(struct report_feed *f, const struct ana_event *e, uint32_t *ret)
{
	uint32_t node = REPORT_ROOT, frame = REPORT_NONE;
	enum clew_err err = CLEW_LIMIT;

	if (e->loc)
		frame = frame_of(f, e->loc);
	if (frame != REPORT_NONE)
		err = report_tree_child(&f->tree, REPORT_ROOT, frame, &node);
	*ret = node;
	return err == CLEW_LIMIT ? CLEW_OK : err;
}

uint32_t feed_frame_of(struct report_feed *f, const struct ana_loc *loc)
{
	return frame_of(f, loc);
}

enum clew_err feed_descend(struct report_feed *f, const struct ana_loc *loc, uint32_t *node)
{
	return descend(f, loc, node);
}
