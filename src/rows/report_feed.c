/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows/report_feed.h"

#include "base/err.h"
#include "base/u64.h"
#include "rows/report_feed_impl.h"

static bool is_plain(const struct report_sort *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		if (s->keys[i] >= REPORT_CGROUP && !report_key_is_frame(s->keys[i]))
			return false;
	}
	return true;
}

static bool has_frame_key(const struct report_sort *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		if (report_key_is_frame(s->keys[i]))
			return true;
	}
	return false;
}

/* Is the file all that rows need of a place without a name? */
static bool is_file_enough(const struct report_feed *f)
{
	for (size_t i = 0; i < f->opts.sort.nr; i++) {
		enum report_key k = f->opts.sort.keys[i];

		if (report_key_is_end(k) || (report_key_is_frame(k) && k != REPORT_DSO))
			return false;
	}
	return f->opts.no_paths && !f->frames.is_exact;
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
	f->frames.is_exact = opts->by_address || opts->ops == REPORT_OPS_BRANCHES ||
			     report_sort_has_lines(&opts->sort);
	f->has_frame_key = has_frame_key(&opts->sort);
	f->is_file_enough = is_file_enough(f);
	err = report_tree_init(&f->tree, opts->max_nodes);
	f->tree.account.budget = f->frames.account.budget = f->account.budget = opts->budget;
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
	feed_carried_free(f->carried);
	feed_ends_done(&f->ends);
	feed_ops_done(&f->ops);
	map_u64_done(&f->namespace_of);
	vec_done(&f->comm_of);
	budget_account_done(&f->account);
	for (size_t i = 0; i < FEED_PATHS; i++)
		vec_done(&f->last_paths[i].steps);
	vec_done(&f->frame_of_loc);
	vec_done(&f->node_of_chain);
	mem_free(f->key_rank);
	mem_free(f);
}

struct report_event *feed_event_of(struct report_feed *f, const struct perf_evsel *evsel)
{
	while (f->events.nr <= evsel->index) {
		if (!vec_push(&f->events, (struct report_event){0}))
			return NULL;
	}
	f->events.data[evsel->index].evsel = evsel;
	return &f->events.data[evsel->index];
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

/* Skipped threads still count in the totals. */
static bool is_kept(struct report_feed *f, const struct ana_event *e)
{
	struct who_thread t = {.pid = e->pid, .tid = e->tid, .comm = e->comm};

	return !f->has_filter || ana_filter_keeps(&f->filter, e->sample, &t);
}

bool feed_shows(struct report_feed *f, const struct ana_event *e)
{
	bool is_hidden = f->opts.hide_unresolved && !(e->loc && e->loc->sym);

	return !is_hidden && is_kept(f, e);
}

static enum clew_err weigh(struct report_feed *f, struct report_event *ev,
			   const struct ana_event *e, uint32_t node)
{
	uint32_t key = feed_key(f, e, NULL);

	if (key == REPORT_NONE)
		return CLEW_NO_MEMORY;
	return feed_weigh(f, ev, key, node, 1 + e->nr_more, feed_period(e));
}

static enum clew_err take(struct report_feed *f, struct report_event *ev, const struct ana_event *e)
{
	enum clew_err err;
	uint32_t node;

	ev->nr += 1 + e->nr_more;
	ev->period += feed_period(e);
	if (!is_kept(f, e))
		return CLEW_OK;
	ev->nr_kept += 1 + e->nr_more;
	ev->period_kept += feed_period(e);
	ev->has_chains |= e->chain && !f->opts.no_chains;
	note_depth(f, ev, e);
	if (f->opts.no_rows)
		return CLEW_OK;
	err = feed_path(f, e, &node);
	if (err == CLEW_LIMIT) {
		ev->nr_no_room += 1 + e->nr_more;
		err = feed_short_path(f, e, &node);
	}
	if (err != CLEW_OK)
		return CLEW_NO_MEMORY;
	if (f->opts.on_sample)
		err = f->opts.on_sample(f->opts.on_sample_ctx, e, node);
	return err == CLEW_OK ? weigh(f, ev, e, node) : err;
}

static enum clew_err take_sample(struct report_feed *f, const struct ana_event *e)
{
	struct report_event *ev = feed_event_of(f, e->evsel);

	if (!ev)
		return CLEW_NO_MEMORY;
	if (f->opts.hide_unresolved && !(e->loc && e->loc->sym))
		return CLEW_OK;
	if (f->opts.ops)
		return is_kept(f, e) ? feed_take_op(f, ev, e) : CLEW_OK;
	return f->opts.by_branch ? feed_take_branches(f, ev, e, is_kept(f, e)) : take(f, ev, e);
}

static enum clew_err take_lost(struct report_feed *f, const struct ana_event *e)
{
	struct report_event *ev = feed_event_of(f, e->evsel);
	struct perf_lost lost;
	uint64_t *to;

	if (!ev)
		return CLEW_NO_MEMORY;
	if (perf_lost_parse(&e->record, &lost) != CLEW_OK)
		return CLEW_OK;
	to = lost.is_bpf_filtered ? &ev->nr_bpf_filtered : &ev->nr_lost;
	*to = u64_sum(*to, lost.lost);
	return CLEW_OK;
}

void feed_begin_batch(struct report_feed *f, const struct ana_batch *b)
{
	if (f->has_epoch && f->epoch == b->epoch)
		return;
	f->epoch = b->epoch;
	f->has_epoch = true;
	f->frame_of_loc.nr = f->node_of_chain.nr = 0;
	for (size_t i = 0; i < FEED_PATHS; i++)
		f->last_paths[i].steps.nr = 0;
}

enum clew_err report_feed_batch(void *feed, const struct ana_batch *b)
{
	struct report_feed *f = feed;
	enum clew_err err = CLEW_OK;

	feed_begin_batch(f, b);
	for (size_t i = 0; i < b->nr && err == CLEW_OK; i++) {
		const struct ana_event *e = &b->events[i];

		if (e->sample && e->evsel)
			err = take_sample(f, e);
		else if (e->record.type == PERF_RECORD_LOST_SAMPLES && e->evsel)
			err = take_lost(f, e);
		else if (e->record.type == PERF_RECORD_NAMESPACES && !e->sample)
			err = feed_take_namespaces(f, e);
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
	if (err == CLEW_OK && f->opts.ops)
		err = feed_ops_finish(f);
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

const struct report_tree *report_feed_tree(const struct report_feed *f)
{
	return &f->tree;
}

uint32_t report_feed_nr_groups(const struct report_feed *f)
{
	return f->groups.nr;
}

uint32_t report_feed_group_of(const struct report_feed *f, uint32_t frame)
{
	return f->groups.group_of[frame];
}

uint32_t report_feed_group_frame(const struct report_feed *f, uint32_t group)
{
	return f->groups.frame_in[group];
}
