/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "format/json_put.h"
#include "format/page/page_impl.h"
#include "format/report/stats_text.h"

static void put_columns(struct json_put *j, const struct page_columns *c)
{
	json_key(j, "columns");
	json_open(j, '{');
	for (size_t i = 0; i < c->nr; i++) {
		json_key(j, c->all[i].name);
		json_open(j, '[');
		json_u64(j, c->all[i].kind);
		json_u64(j, c->all[i].at);
		json_u64(j, c->all[i].nr);
		json_close(j, ']');
	}
	json_close(j, '}');
}

/* What a column without differences has in common. */
static void put_same(struct json_put *j, const struct page_feed *p)
{
	json_key(j, "same");
	json_open(j, '{');
	json_put_u64(j, "thread", p->same.thread);
	json_put_u64(j, "cpu", p->same.cpu);
	json_put_u64(j, "event", p->same.event);
	json_put_u64(j, "cgroup", p->same.cgroup);
	json_put_u64(j, "weight", p->same.weight);
	json_put_u64(j, "nr", 1);
	json_close(j, '}');
}

static void put_events(struct json_put *j, const struct page_out *o)
{
	const struct page_feed *p = o->page;

	json_key(j, "events");
	json_open(j, '[');
	for (size_t i = 0; i < report_feed_nr_events(o->feed) && i <= PAGE_MAX_EVENTS; i++) {
		const struct report_event *ev = report_feed_event(o->feed, i);

		json_open(j, '{');
		json_put_string(j, "name", ev->evsel ? ev->evsel->name : "");
		json_put_string(j, "unit",
				ev->evsel && perf_attr_is_clock(&ev->evsel->attr) ? "ns" : "");
		json_put_u64(j, "samples", p->nr_of[i]);
		json_put_u64(j, "sum", p->sum_of[i]);
		json_put_bool(j, "has_stacks", ev->has_chains);
		json_put_bool(j, "is_traced", p->is_traced[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_threads(struct json_put *j, const struct page_feed *p)
{
	json_key(j, "threads");
	json_open(j, '[');
	vec_for_each (&p->threads, t) {
		json_open(j, '[');
		json_id(j, t->pid);
		json_id(j, t->tid);
		for (uint32_t i = 0; i < t->nr_comms; i++)
			json_string(j, intern_get(&p->texts, t->comms[i]));
		json_close(j, ']');
	}
	json_close(j, ']');
}

static void put_records(struct json_put *j, const struct page_feed *p)
{
	json_key(j, "records");
	json_open(j, '[');
	vec_for_each (&p->records, r) {
		const uint64_t *thread = map_u64_get(&p->thread_of, r->who);

		if (!thread && (r->kind == PAGE_COMM || r->kind == PAGE_EXIT))
			continue; /* it has no sample */
		json_open(j, '[');
		json_u64(j, r->time - p->first);
		json_u64(j, r->kind);
		json_i64(j, thread ? (int64_t)*thread : -1);
		json_id(j, r->cpu);
		json_u64(j, r->number);
		json_string(j, intern_get(&p->texts, r->text));
		json_close(j, ']');
	}
	json_close(j, ']');
	json_put_u64(j, "more_records", p->nr_more_records);
}

/* Of an interval, what lies between the first sample and the last; none: from > to. */
struct shown {
	uint64_t from, to;
};

static struct shown shown_of(const struct page_feed *p, struct clew_perf_ns from,
			     struct clew_perf_ns to)
{
	return (struct shown){from.ns > p->first ? from.ns : p->first,
			      to.ns < p->last ? to.ns : p->last};
}

static void open_interval(struct json_put *j, const struct page_feed *p, const struct shown *s,
			  uint32_t cpu, uint32_t tid)
{
	json_open(j, '[');
	json_u64(j, s->from - p->first);
	json_u64(j, s->to - p->first);
	json_id(j, cpu);
	json_id(j, tid);
}

static void put_pauses(struct json_put *j, const struct page_feed *p)
{
	json_key(j, "pauses");
	json_open(j, '[');
	vec_for_each (&p->pauses, x) {
		const struct shown s = shown_of(p, x->from, x->to);

		if (s.from > s.to || (s.from == s.to && x->from.ns < x->to.ns))
			continue;
		open_interval(j, p, &s, x->cpu, x->tid);
		json_string(j, x->why);
		json_close(j, ']');
	}
	json_close(j, ']');
	json_put_u64(j, "more_pauses", p->nr_more_pauses);
}

/* A loss between samples that are not on the page is none of it. */
static void put_losses(struct json_put *j, const struct page_feed *p, const struct ana_summary *s)
{
	json_key(j, "losses");
	json_open(j, '[');
	for (size_t i = 0; i < s->nr_losses; i++) {
		const struct ana_loss *l = &s->losses[i];
		const struct shown part = shown_of(p, l->from, l->to);

		if (part.from > part.to)
			continue;
		open_interval(j, p, &part, l->cpu, l->tid);
		json_u64(j, l->nr);
		json_close(j, ']');
	}
	json_close(j, ']');
	json_put_u64(j, "more_losses", s->loss_sums.nr - s->nr_losses);
}

static void put_strings(struct json_put *j, const char *key, const struct intern *t)
{
	json_key(j, key);
	json_open(j, '[');
	for (uint32_t i = 0; i < t->strs.nr; i++)
		json_string(j, intern_get(t, i));
	json_close(j, ']');
}

/* Lines of the text report's end, without the marks of its comments. */
static void put_notes(struct json_put *j, const struct ana_summary *s)
{
	struct buf b = {0};
	char *line, *rest;

	report_gaps_text(&b, s);
	rest = (char *)(uintptr_t)buf_cstr(&b);
	json_key(j, "notes");
	json_open(j, '[');
	while ((line = strsep(&rest, "\n"))) {
		line += strspn(line, "# ");
		if (*line)
			json_string(j, line);
	}
	json_close(j, ']');
	buf_done(&b);
}

static void put_summary(struct json_put *j, const struct page_out *o, const struct ana_summary *s)
{
	const struct page_feed *p = o->page;
	struct buf start = {0};

	buf_dec(&start, p->first, 0, ' ');
	json_put_string(j, "start", buf_cstr(&start)); /* a number of JavaScript has 53 bits */
	buf_done(&start);
	json_put_u64(j, "duration", p->last - p->first);
	json_put_bool(j, "has_times", p->nr_timeless < p->nr_samples);
	json_put_u64(j, "samples", p->nr_samples);
	json_put_u64(j, "resolution",
		     p->bin_ns < p->last - p->first ? p->bin_ns : p->last - p->first);
	json_put_u64(j, "more_intervals", p->intervals.nr_hidden + p->levels.nr_hidden);
	json_put_u64(j, "more_calls", p->calls.nr_hidden);
	json_put_u64(j, "instant_calls", p->nr_instant_calls);
	json_put_u64(j, "small", o->tree->nr_small);
	json_put_u64(j, "rare", p->nr_rare);
	json_put_u64(j, "lost", s->nr_lost);
	json_put_u64(j, "filtered", s->nr_filtered);
	json_put_u64(j, "filtered_by_bpf", s->nr_bpf_filtered);
}

static bool add_pairs(struct page_out *o, struct report_diff_files *files)
{
	uint32_t nr = report_feed_nr_groups(o->feed);
	struct buf b = {0};
	bool ok;

	o->pair_names = mem_calloc(nr + 1u, sizeof(*o->pair_names));
	o->pair_dsos = mem_calloc(nr + 1u, sizeof(*o->pair_dsos));
	ok = o->pair_names && o->pair_dsos;
	for (uint32_t i = 0; i < nr && ok; i++) {
		uint32_t frame = report_feed_group_frame(o->feed, i);
		const char *file = report_feed_pair_file(o->feed, frame, files);

		buf_clear(&b);
		report_feed_pair_function(o->feed, frame, &b);
		o->pair_names[i] = intern_str(&o->strings, buf_cstr(&b));
		o->pair_dsos[i] = file ? intern_str(&o->strings, file) : INTERN_FAILED;
		ok = o->pair_names[i] != INTERN_FAILED && o->pair_dsos[i] != INTERN_FAILED;
	}
	ok &= !b.is_failed;
	buf_done(&b);
	return ok;
}

/* Name, file and source of each row of the report. */
enum clew_err page_head_names(struct page_out *o, struct report_diff_files *pair)
{
	uint32_t nr = report_feed_nr_groups(o->feed);
	struct buf b = {0};
	const char *source;
	bool ok = true;

	o->names = mem_calloc(nr + 1u, sizeof(*o->names));
	o->dsos = mem_calloc(nr + 1u, sizeof(*o->dsos));
	o->files = mem_calloc(nr + 1u, sizeof(*o->files));
	o->lines = mem_calloc(nr + 1u, sizeof(*o->lines));
	ok = o->names && o->dsos && o->files && o->lines &&
	     intern_str(&o->strings, "") != INTERN_FAILED;
	o->small_name = ok ? intern_str(&o->strings, "(small)") : 0;
	ok &= o->small_name != INTERN_FAILED;
	for (uint32_t i = 0; i < nr && ok; i++) {
		uint32_t frame = report_feed_group_frame(o->feed, i);
		struct report_frame_text t = report_feed_frame(o->feed, frame);

		buf_clear(&b);
		report_feed_frame_name(o->feed, frame, &b);
		o->names[i] = intern_str(&o->strings, t.sym ? t.sym : buf_cstr(&b));
		o->dsos[i] = intern_str(&o->strings, t.dso);
		if (report_feed_frame_source(o->feed, frame, &source, &o->lines[i]))
			o->files[i] = intern_str(&o->strings, source);
		ok = o->names[i] != INTERN_FAILED && o->dsos[i] != INTERN_FAILED &&
		     o->files[i] != INTERN_FAILED;
	}
	ok &= !b.is_failed && (!pair || add_pairs(o, pair));
	buf_done(&b);
	return ok ? CLEW_OK : CLEW_NO_MEMORY;
}

enum clew_err page_head_put(struct buf *to, struct page_out *o, const struct page_columns *c,
			    const struct ana_summary *s, const struct page_opts *opts)
{
	struct json_put j = {.out = to};

	json_open(&j, '{');
	json_put_string(&j, "format", "clew-page");
	json_put_u64(&j, "version", PAGE_VERSION);
	json_put_string(&j, "title", opts->title);
	json_put_string(&j, "cut", opts->cut);
	json_put_bool(&j, "is_trace", opts->is_trace);
	put_summary(&j, o, s);
	put_events(&j, o);
	put_threads(&j, o->page);
	put_strings(&j, "cgroups", &o->page->cgroups);
	put_records(&j, o->page);
	put_pauses(&j, o->page);
	put_losses(&j, o->page, s);
	put_notes(&j, s);
	put_same(&j, o->page);
	put_columns(&j, c);
	put_strings(&j, "strings", &o->strings);
	json_close(&j, '}');
	return to->is_failed ? CLEW_NO_MEMORY : CLEW_OK;
}
