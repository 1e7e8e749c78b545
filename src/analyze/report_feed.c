/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/report_feed.h"

#include "analyze/report_feed_impl.h"
#include "base/err.h"

static bool is_plain(const struct report_sort *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		if (s->keys[i] >= REPORT_CGROUP && !report_key_is_frame(s->keys[i]))
			return false;
	}
	return true;
}

enum clew_err report_feed_new(struct report_feed **ret, const struct report_feed_opts *opts,
			      struct clew_diag *diag)
{
	const struct ana_filter who = {
		.comms = opts->filter.comms, .pids = opts->filter.pids, .tids = opts->filter.tids};
	struct report_feed *f = mem_zalloc(sizeof(*f));
	enum clew_err err;

	if (!f)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	f->opts = *opts;
	f->has_filter = who.comms || who.pids || who.tids;
	f->is_plain_key = is_plain(&opts->sort);
	f->frames.is_exact = opts->by_address || report_sort_has(&opts->sort, REPORT_SRCLINE) ||
			     report_sort_has(&opts->sort, REPORT_SRCFILE);
	err = report_tree_init(&f->tree, opts->max_nodes);
	if (err == CLEW_OK)
		err = ana_filter_init(&f->filter, &who, diag);
	else
		clew_fail(diag, err, 0, "out of memory");
	if (err != CLEW_OK) {
		report_feed_free(f);
		return err;
	}
	*ret = f;
	return CLEW_OK;
}

void report_feed_free(struct report_feed *f)
{
	if (!f)
		return;
	vec_for_each (&f->events, ev)
		report_weights_done(&ev->weights);
	vec_done(&f->events);
	ana_filter_done(&f->filter);
	report_pass_done(&f->pass);
	report_tree_done(&f->tree);
	feed_frames_done(&f->frames);
	feed_groups_done(&f->groups);
	intern_done(&f->texts);
	intern_done(&f->tuples);
	map_u64_done(&f->text_of);
	vec_done(&f->comm_of);
	for (size_t i = 0; i < FEED_PATHS; i++)
		vec_done(&f->last_paths[i].steps);
	vec_done(&f->frame_of_loc);
	vec_done(&f->node_of_chain);
	mem_free(f->key_rank);
	mem_free(f);
}

static struct report_event *event_of(struct report_feed *f, const struct perf_evsel *evsel)
{
	while (f->events.nr <= evsel->index) {
		if (!vec_push(&f->events, (struct report_event){0}))
			return NULL;
	}
	f->events.data[evsel->index].evsel = evsel;
	return &f->events.data[evsel->index];
}

static struct feed_frame frame_at(const struct report_feed *f, const struct ana_loc *loc)
{
	struct feed_frame frame = {.rel = loc->rel, .level = loc->level};

	frame.dso = loc->dso;
	frame.sym = loc->sym;
	if (loc->nr_lines && f->frames.is_exact) {
		/* Without inlined frames the place is where the innermost code was written. */
		frame.file = loc->lines[0].file;
		frame.line = loc->lines[0].line;
	}
	return frame;
}

/* @return whether vec slot @p id exists now; new ones hold REPORT_NONE. */
#define MEMO_RESERVE(v, id) \
 ((id) < (v)->nr || memo_grow(&(v)->data, &(v)->nr, &(v)->cap, (size_t)(id) + 1))

static bool memo_grow(uint32_t **data, size_t *nr, size_t *cap, size_t want)
{
	if (want > *cap && !vec_grow_((void **)data, cap, want, sizeof(**data)))
		return false;
	while (*nr < want)
		(*data)[(*nr)++] = REPORT_NONE;
	return true;
}

static uint32_t frame_of(struct report_feed *f, const struct ana_loc *loc)
{
	struct feed_frame frame;
	uint32_t *memo;

	if (!MEMO_RESERVE(&f->frame_of_loc, loc->id))
		return REPORT_NONE;
	memo = &f->frame_of_loc.data[loc->id];
	if (*memo == REPORT_NONE) {
		frame = frame_at(f, loc);
		*memo = feed_frame_add(&f->frames, &frame);
	}
	return *memo;
}

/* The location's frames below *node: more than one where functions are inlined there. */
static enum clew_err descend(struct report_feed *f, const struct ana_loc *loc, uint32_t *node)
{
	enum clew_err err = CLEW_OK;
	uint32_t frame;

	for (uint32_t i = f->opts.has_inlines ? loc->nr_lines : 0; i-- > 1 && err == CLEW_OK;) {
		/* lines[i - 1] was inlined into lines[i], where its call is. */
		struct feed_frame outer = frame_at(f, loc);

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
		struct feed_frame inner = frame_at(f, loc);

		inner.function = loc->lines[0].function;
		frame = feed_frame_add(&f->frames, &inner);
	} else {
		frame = frame_of(f, loc);
	}
	return frame == REPORT_NONE ? CLEW_NO_MEMORY
				    : report_tree_child(&f->tree, *node, frame, node);
}

/* Go down @p nr locations, of which @p outermost is the last in memory, as far as the last path
 * went there too for nothing. */
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
	enum clew_err err;

	if (!MEMO_RESERVE(&f->node_of_chain, c->id))
		return CLEW_NO_MEMORY;
	if (f->node_of_chain.data[c->id] != REPORT_NONE) {
		*ret = f->node_of_chain.data[c->id];
		return CLEW_OK;
	}
	if (f->opts.max_stack && nr > f->opts.max_stack) {
		nr = f->opts.max_stack;
		outermost = f->opts.keeps_outermost ? outermost : nr - 1;
	}
	err = walk(f, &f->last_paths[e->tid % FEED_PATHS], c->locs + outermost, nr, &node);
	if (err == CLEW_OK)
		*ret = f->node_of_chain.data[c->id] = node;
	return err;
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

static enum clew_err path_of(struct report_feed *f, const struct ana_event *e, uint32_t *ret)
{
	uint32_t node = REPORT_ROOT;
	enum clew_err err = CLEW_OK;

	if (e->chain && e->chain->nr && !f->opts.no_chains) {
		err = chain_node(f, e, &node);
		if (err == CLEW_OK && e->loc && !is_leaf(f, e))
			err = descend(f, e->loc, &node);
	} else {
		err = e->loc ? descend(f, e->loc, &node) : no_address(f, &node);
	}
	if (err == CLEW_OK)
		*ret = node;
	return err;
}

/* The tree is full: the sampled function alone, or where even that is new, an empty path. */
static enum clew_err short_path(struct report_feed *f, const struct ana_event *e, uint32_t *ret)
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

static void note_depth(const struct report_feed *f, struct report_event *ev,
		       const struct ana_event *e)
{
	if (!e->chain || f->opts.no_chains || !f->opts.max_stack ||
	    e->chain->nr <= f->opts.max_stack)
		return;
	ev->nr_deep++;
	ev->nr_deep_frames += e->chain->nr - f->opts.max_stack;
}

static enum clew_err take(struct report_feed *f, const struct ana_event *e)
{
	struct report_event *ev = event_of(f, e->evsel);
	uint32_t node, key;
	enum clew_err err;

	if (!ev)
		return CLEW_NO_MEMORY;
	if (f->opts.hide_unresolved && !(e->loc && e->loc->sym))
		return CLEW_OK;
	ev->nr++;
	ev->period += e->period;
	if (f->has_filter) {
		struct who_thread t = {.pid = e->pid, .tid = e->tid, .comm = e->comm};

		if (!ana_filter_keeps(&f->filter, e->sample, &t))
			return CLEW_OK;
	}
	ev->nr_kept++;
	ev->period_kept += e->period;
	ev->has_chains |= e->chain && !f->opts.no_chains;
	note_depth(f, ev, e);
	err = path_of(f, e, &node);
	if (err == CLEW_LIMIT) {
		ev->nr_no_room++;
		err = short_path(f, e, &node);
	}
	key = feed_key(f, e);
	if (err != CLEW_OK || key == REPORT_NONE)
		return CLEW_NO_MEMORY;
	return report_weights_add(&ev->weights, key, node, 1, e->period);
}

static enum clew_err take_lost(struct report_feed *f, const struct ana_event *e)
{
	struct report_event *ev = event_of(f, e->evsel);

	if (!ev)
		return CLEW_NO_MEMORY;
	ev->nr_lost_records++;
	return CLEW_OK;
}

enum clew_err report_feed_batch(void *feed, const struct ana_batch *b)
{
	struct report_feed *f = feed;
	enum clew_err err = CLEW_OK;

	if (!f->has_epoch || f->epoch != b->epoch) {
		f->epoch = b->epoch;
		f->has_epoch = true;
		f->frame_of_loc.nr = f->node_of_chain.nr = 0;
		for (size_t i = 0; i < FEED_PATHS; i++)
			f->last_paths[i].steps.nr = 0;
	}
	for (size_t i = 0; i < b->nr && err == CLEW_OK; i++) {
		const struct ana_event *e = &b->events[i];

		if (e->sample && e->evsel)
			err = take(f, e);
		else if (e->record.type == PERF_RECORD_LOST_SAMPLES && e->evsel)
			err = take_lost(f, e);
	}
	return err;
}

enum clew_err report_feed_finish(struct report_feed *f)
{
	enum clew_err err;

	vec_done(&f->frame_of_loc);
	vec_done(&f->node_of_chain);
	mem_free(f->tree.slots); /* it grows no more */
	f->tree.slots = NULL;
	vec_for_each (&f->events, ev)
		report_weights_sort(&ev->weights);
	err = feed_groups_make(&f->groups, &f->frames, &f->opts);
	if (err == CLEW_OK)
		err = feed_rank_keys(f);
	return err == CLEW_OK
		     ? report_pass_init(&f->pass, &f->tree, f->groups.group_of, f->groups.nr)
		     : err;
}

size_t report_feed_nr_events(const struct report_feed *f)
{
	return f->events.nr;
}

const struct report_event *report_feed_event(const struct report_feed *f, size_t i)
{
	return &f->events.data[i];
}

const struct report_sort *report_feed_sort(const struct report_feed *f)
{
	return &f->opts.sort;
}
