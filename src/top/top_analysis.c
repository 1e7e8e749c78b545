/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/err.h"
#include "base/mem.h"
#include "os/clock.h"
#include "top/top_impl.h"

enum { MAX_NODES = 1 << 18 };
/* A task that was preempted returns to user mode, and gives its stack, when it runs again: until
 * then all later samples wait, too. */
#define STACK_WAIT_NS 1000000000ull

/* Parts of max_bytes, in 64ths. The rest is the program itself, and what is free between its
 * parts. */
enum {
	STREAM_PART = 4, /* and as much for what top_save() keeps */
	CACHE_PART = 3,
	SYMBOLS_PART = 32,
	SYMBOLS_HIGH_PART = 26, /* at a refresh: above it symbols are unloaded, */
	SYMBOLS_LOW_PART = 20,  /* down to this */
	ROWS_PART = 12,         /* that are shown, and those that come */
	/* What is known of threads and mappings, and names that only end with the analysis: above
	 * it, and twice what there was at first, the analysis begins again. */
	STATE_PART = 1,
};

static uint64_t part(const struct top *t, unsigned int nr)
{
	return t->opts.max_bytes / 64 * nr;
}

uint64_t top_stream_bytes(const struct top_opts *o)
{
	return o->max_bytes / 64 * STREAM_PART;
}

static const double decay = 0.9, min_share = 0.0001, min_path_share = 0.000001;

static uint64_t cpu_ns(void)
{
	enum { PROCESS_CPUTIME = 2 };
	uint64_t ns = 0, resolution;

	os_clock_read(PROCESS_CPUTIME, &ns, &resolution);
	return ns;
}

static enum clew_err new_feed(struct top *t, struct report_feed **ret)
{
	struct report_feed_opts o = t->opts.feed;
	struct clew_diag diag;

	o.budget = &t->a.rows;
	o.max_nodes = MAX_NODES;
	return report_feed_new(ret, &o, &diag);
}

/* --- samples --- */

static enum top_level level_of(const struct ana_event *e)
{
	switch (e->loc ? (enum ana_level)e->loc->level : ANA_UNKNOWN) {
	case ANA_USER:
		return TOP_USER;
	case ANA_KERNEL:
		return TOP_KERNEL;
	case ANA_GUEST_USER:
	case ANA_GUEST_KERNEL:
		return TOP_GUEST;
	case ANA_HYPERVISOR:
	case ANA_UNKNOWN:
	case ANA_COOKIE:
		break;
	}
	return TOP_OTHER;
}

static enum clew_err take_batch(void *ctx, const struct ana_batch *b)
{
	struct top *t = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		if (!b->events[i].sample)
			continue;
		t->a.next.samples++;
		t->a.next.by_level[level_of(&b->events[i])]++;
	}
	return report_feed_batch(t->a.live, b);
}

/* --- a refresh --- */

/* The events are the same in all streams. */
static enum clew_err take_events(struct top *t)
{
	const struct perf_evlist *l = perf_file_evlist(analyze_file(t->a.analyze));

	for (size_t i = t->a.events.evsels.nr; i < l->evsels.nr; i++) {
		const struct perf_evsel *e = l->evsels.data[i];
		struct perf_evsel *own =
			perf_evlist_add(&t->a.events, &e->attr, e->name, NULL, 0, false);

		if (!own)
			return CLEW_NO_MEMORY;
		own->leader = e->leader;
	}
	return CLEW_OK;
}

static enum clew_err merge(struct top *t, struct report_feed *to, bool is_zeroed)
{
	struct report_carry how = {.factor = decay,
				   .min_share = min_share,
				   .min_path_share = min_path_share,
				   .events = &t->a.events};
	enum clew_err err = CLEW_OK;

	if (t->a.shown && !is_zeroed)
		err = report_feed_carry(to, t->a.shown->feed, &how);
	how = (struct report_carry){.factor = 1, .events = &t->a.events};
	if (err == CLEW_OK)
		err = report_feed_carry(to, t->a.live, &how);
	return err == CLEW_OK ? report_feed_finish(to) : err;
}

static void count(struct top *t, struct top_view *v)
{
	uint64_t now = os_clock_ns(), cpu = cpu_ns();
	uint64_t lost = t->a.lost_before;

	if (t->a.analyze)
		lost += analyze_summary(t->a.analyze)->nr_lost;
	v->interval_ns = now - t->a.time_at;
	v->lost = lost - t->a.lost_at;
	v->all_lost = lost;
	v->cpu_ns = cpu - t->a.cpu_at;
	v->all_cpu_ns = cpu;
	v->all_samples += v->samples;
	v->number++;
	t->a.time_at = now;
	t->a.lost_at = lost;
	t->a.cpu_at = cpu;
}

static enum clew_err make_view(struct top *t, bool is_zeroed, struct top_view **ret)
{
	struct top_view *v = mem_alloc(sizeof(*v));
	enum clew_err err = v ? CLEW_OK : CLEW_NO_MEMORY;

	if (v)
		*v = (struct top_view){.nr_users = 1};
	if (err == CLEW_OK)
		err = new_feed(t, &v->feed);
	if (err == CLEW_OK)
		err = merge(t, v->feed, is_zeroed);
	if (err != CLEW_OK) {
		report_feed_free(v ? v->feed : NULL);
		mem_free(v);
		return err;
	}
	count(t, &t->a.next);
	t->a.next.feed = v->feed;
	t->a.next.nr_users = 1;
	*v = t->a.next;
	t->a.next = (struct top_view){
		.number = v->number, .all_samples = v->all_samples, .stream = v->stream};
	*ret = v;
	return CLEW_OK;
}

static enum clew_err replace_live(struct top *t)
{
	report_feed_free(t->a.live);
	t->a.live = NULL;
	return new_feed(t, &t->a.live);
}

static enum clew_err refresh(struct top *t)
{
	struct top_view *v;
	enum clew_err err;
	bool is_zeroed;

	os_lock(t->lock);
	is_zeroed = t->is_zeroed;
	os_unlock(t->lock);
	err = make_view(t, is_zeroed, &v);
	if (err != CLEW_OK)
		return err;
	if (t->a.shown)
		top_release(t, t->a.shown);
	t->a.shown = v;
	top_publish(t, top_hold(t, v));
	return replace_live(t);
}

/* --- bounds --- */

/* Only where nothing points to symbols any more. */
static void trim_symbols(struct top *t)
{
	bool is_high = t->a.symbols.used > part(t, SYMBOLS_HIGH_PART);

	dso_store_trim(t->a.dsos, part(t, is_high ? SYMBOLS_LOW_PART : SYMBOLS_PART));
}

static bool has_grown(struct top *t)
{
	uint64_t now = t->a.state.used + dso_store_kept_bytes(t->a.dsos);

	if (!t->a.state_base)
		t->a.state_base = now;
	return now > part(t, STATE_PART) && now > 2 * t->a.state_base;
}

static void schedule(struct top *t)
{
	uint64_t ns;

	os_lock(t->lock);
	ns = t->refresh_ns;
	os_unlock(t->lock);
	if (!t->a.shown && t->opts.first_ns && t->opts.first_ns < ns)
		ns = t->opts.first_ns;
	top_stream_mark_at(t->stream, os_clock_ns() + ns);
}

/* A mark was read: all that the rings had when it was due is known. */
static enum clew_err on_mark(struct top *t)
{
	enum clew_err err = analyze_settle(t->a.analyze);

	if (err == CLEW_OK)
		err = take_events(t);
	if (err == CLEW_OK && top_is_taken(t)) {
		report_feed_touch(t->a.live);
		err = refresh(t);
		trim_symbols(t);
	}
	if (err == CLEW_OK && !t->a.is_switching && has_grown(t)) {
		t->a.is_switching = true;
		top_send(t, "snapshot\n");
	}
	schedule(t);
	return err;
}

/* --- a stream --- */

static enum clew_err open_stream(struct top *t)
{
	const struct perf_input input = {
		.read = top_stream_read, .ctx = t->stream, .budget = &t->a.state};
	const struct ana_consumer consumer = {take_batch, t};
	struct ana_opts o = t->opts.analysis;
	enum clew_err err;

	o.symbols.budget = &t->a.symbols;
	o.symbols.is_live = true;
	t->a.dsos = dso_store_new(&o.symbols);
	if (!t->a.dsos)
		return clew_fail(&t->a.diag, CLEW_NO_MEMORY, 0, "out of memory");
	o.dsos = t->a.dsos;
	o.cache_bytes = part(t, CACHE_PART);
	o.is_live = true;
	o.max_wait_ns = STACK_WAIT_NS;
	t->a.state_base = t->a.nr_marks = 0;
	t->a.is_switching = false;
	t->a.next.stream++;
	err = analyze_open(&t->a.analyze, &input, &o, &t->a.diag);
	return err == CLEW_OK ? analyze_begin(t->a.analyze, &consumer, &t->a.diag) : err;
}

/* The first mark of a stream ends the records that it begins with: from the first stream's on, time
 * is counted. */
static bool has_mark(struct top *t)
{
	uint64_t nr =
		perf_file_counts(analyze_file(t->a.analyze))->by_type[PERF_RECORD_FINISHED_INIT];

	if (nr && !t->a.time_at) {
		t->a.time_at = os_clock_ns();
		t->a.cpu_at = cpu_ns();
		schedule(t);
	}
	if (nr <= t->a.nr_marks + 1)
		return false;
	t->a.nr_marks = nr - 1;
	return true;
}

static enum clew_err read_stream(struct top *t)
{
	enum clew_err err = open_stream(t);

	while (err == CLEW_OK) {
		err = analyze_step(t->a.analyze, &t->a.diag);
		if (err == CLEW_OK && has_mark(t))
			err = on_mark(t);
	}
	return err == CLEW_END ? take_events(t) : err;
}

/* Counts stay, names are copied: nothing points into the analysis after it. */
static enum clew_err close_stream(struct top *t)
{
	enum clew_err err = CLEW_OK;
	struct report_feed *kept = NULL;
	const struct report_carry how = {.factor = 1, .events = &t->a.events};

	if (t->a.analyze)
		t->a.lost_before += analyze_summary(t->a.analyze)->nr_lost;
	err = new_feed(t, &kept);
	if (err == CLEW_OK)
		err = report_feed_carry(kept, t->a.live, &how);
	report_feed_free(t->a.live);
	t->a.live = kept;
	analyze_free(t->a.analyze);
	dso_store_free(t->a.dsos);
	t->a.analyze = NULL;
	t->a.dsos = NULL;
	return err;
}

static enum clew_err read_streams(struct top *t)
{
	enum clew_err err = new_feed(t, &t->a.live), closed;

	while (err == CLEW_OK && top_stream_next(t->stream)) {
		err = read_stream(t);
		closed = close_stream(t);
		err = err == CLEW_OK ? closed : err;
	}
	if (err == CLEW_OK && t->a.time_at && (t->a.next.samples || !t->a.shown)) {
		top_wait_taken(t);
		err = refresh(t);
	}
	return err;
}

void top_analysis_main(void *top)
{
	struct top *t = top;
	enum clew_err err;

	t->a.symbols.limit = part(t, SYMBOLS_PART);
	t->a.rows.limit = part(t, ROWS_PART);
	err = read_streams(t);
	os_lock(t->lock);
	if (t->is_stopped) /* what was dropped on the way is no error */
		err = CLEW_OK;
	t->is_ended = true;
	os_lock_wake_all(t->lock);
	os_unlock(t->lock);
	if (err == CLEW_OK)
		t->a.diag = (struct clew_diag){0};
	else if (t->a.diag.code == CLEW_OK)
		clew_fail(&t->a.diag, err, 0, clew_err_name(err));
	if (err != CLEW_OK)
		top_stop(t);
}

void top_analysis_done(struct top *t)
{
	if (t->a.shown)
		top_release(t, t->a.shown);
	report_feed_free(t->a.live);
	analyze_free(t->a.analyze);
	dso_store_free(t->a.dsos);
	perf_evlist_done(&t->a.events);
}
