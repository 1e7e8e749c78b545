/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "cli/common/message.h"
#include "cli/common/progress.h"
#include "cli/export_run.h"
#include "cli/note_unchecked.h"
#include "format/export/export_formats.h"
#include "format/json_put.h"

enum { SPEEDSCOPE_MANY = 500000, MAX_LISTED = 8 };

void export_list_event(struct export_listed *l, const char *name, uint64_t nr)
{
	if (l->nr_events++ < MAX_LISTED)
		buf_printf(&l->text, "%s%s (%llu)", l->nr_events > 1 ? ", " : "", name,
			   (unsigned long long)nr);
	l->nr_samples += nr;
}

void export_report_listed(struct export_listed *l, const char *format, bool has_event)
{
	if (l->nr_events)
		cli_note("%llu samples of other events were omitted: %s%s",
			 (unsigned long long)l->nr_samples, buf_cstr(&l->text),
			 l->nr_events > MAX_LISTED ? ", ..." : "");
	if (l->nr_events && !has_event)
		cli_hint("%s has one weight: -e NAME chooses the event", format);
	buf_done(&l->text);
}

static void report_omitted_events(const struct export_run *r)
{
	struct export_listed list = {0};

	for (size_t i = 0; i < export_nr_events(r->export); i++) {
		const struct export_event *e = export_event_at(r->export, i);

		if (e->is_omitted)
			export_list_event(&list, e->evsel->name, e->nr);
	}
	export_report_listed(&list, r->opts.format->name, r->opts.event);
}

void export_report_skipped(const struct ana_summary *s)
{
	if (s->nr_filtered)
		cli_note("%llu samples were omitted by filters",
			 (unsigned long long)s->nr_filtered);
	if (s->nr_lost)
		cli_note("the kernel lost %llu records", (unsigned long long)s->nr_lost);
	if (s->nr_bpf_filtered)
		cli_note("%llu samples were filtered by BPF while they were recorded",
			 (unsigned long long)s->nr_bpf_filtered);
}

static void report_numbers(const struct export_run *r)
{
	const struct export_summary *x = export_summary(r->export);
	const struct ana_summary *s = &r->summary;

	cli_note("%s: %llu samples written", r->opts.format->name,
		 (unsigned long long)x->nr_samples);
	report_omitted_events(r);
	if (x->nr_unpicked)
		cli_note("%llu samples are not in the rows that are shown",
			 (unsigned long long)x->nr_unpicked);
	export_report_skipped(s);
	if (x->nr_cut)
		cli_note("%llu samples have a stack without its outermost frames",
			 (unsigned long long)x->nr_cut);
	if (x->nr_short)
		cli_warn("%llu samples were written with their innermost function alone: there "
			 "was no room for more different stacks or functions",
			 (unsigned long long)x->nr_short);
	if (x->nr_no_key)
		cli_warn("%llu samples were written as of an unknown thread: there was no room for "
			 "more threads",
			 (unsigned long long)x->nr_no_key);
	if (x->nr_pauses)
		cli_note(
			"%llu times, %llu.%03llu ms in all, were not recorded: an event was paused, "
			"throttled, or its buffer full",
			(unsigned long long)x->nr_pauses, (unsigned long long)x->pause_ns / 1000000,
			(unsigned long long)x->pause_ns / 1000 % 1000);
	if (x->overlap_ns)
		cli_note("slices are wall time: %llu.%03llu ms less than their samples, which "
			 "overlap",
			 (unsigned long long)x->overlap_ns / 1000000,
			 (unsigned long long)x->overlap_ns / 1000 % 1000);
	if (x->nr_clipped)
		cli_note("%llu markers outside of the time of all samples were moved to it",
			 (unsigned long long)x->nr_clipped);
}

void export_report_input(const struct cli_input *in, const struct ana_summary *s)
{
	if (s->nr_bad)
		cli_warn("%s: %llu samples could not be read and were skipped", in->path,
			 (unsigned long long)s->nr_bad);
	if (!s->nr_samples && !s->nr_filtered)
		cli_warn("%s holds no samples", in->path);
	cli_input_warn(in, s);
	cli_note_unchecked(s);
}

static void report_input(const struct export_run *r)
{
	cli_input_warn_end(&r->in, &r->summary);
	export_report_input(&r->in, &r->summary);
	cli_itrace_report(&r->itrace, r->in.path, false);
	if (r->opts.format == &export_speedscope &&
	    export_summary(r->export)->nr_samples > SPEEDSCOPE_MANY)
		cli_hint("speedscope needs minutes and gigabytes for that many samples: pprof "
			 "adds equal ones up");
}

/* @p is_omitted: those that were, else those that were written. */
static void put_events(const struct export_run *r, struct json_put *j, const char *key,
		       bool is_omitted)
{
	json_key(j, key);
	json_open(j, '[');
	for (size_t i = 0; i < export_nr_events(r->export); i++) {
		const struct export_event *e = export_event_at(r->export, i);

		if (e->is_omitted != is_omitted)
			continue;
		json_open(j, '{');
		json_put_string(j, "event", e->evsel->name);
		json_put_u64(j, "samples", e->nr);
		json_put_u64(j, "period", e->period);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void report_json(const struct export_run *r)
{
	const struct export_summary *x = export_summary(r->export);
	clew_auto(buf_done) struct buf out = {0};
	struct json_put j = {.out = &out};

	json_open(&j, '{');
	json_put_string(&j, "format", r->opts.format->name);
	json_put_u64(&j, "samples", x->nr_samples);
	json_put_u64(&j, "period", x->period);
	put_events(r, &j, "events", false);
	put_events(r, &j, "omitted_events", true);
	json_put_u64(&j, "omitted_samples", x->nr_omitted);
	json_put_u64(&j, "filtered_samples", r->summary.nr_filtered);
	json_put_u64(&j, "bad_samples", r->summary.nr_bad);
	json_put_u64(&j, "cut_samples", x->nr_short);
	json_put_u64(&j, "cut_stacks", x->nr_cut);
	json_put_u64(&j, "unknown_thread_samples", x->nr_no_key);
	json_put_u64(&j, "lost_records", r->summary.nr_lost);
	json_put_u64(&j, "bpf_filtered_samples", r->summary.nr_bpf_filtered);
	json_put_u64(&j, "pauses", x->nr_pauses);
	json_put_u64(&j, "paused_ns", x->pause_ns);
	json_put_u64(&j, "overlap_ns", x->overlap_ns);
	json_put_u64(&j, "moved_markers", x->nr_clipped);
	json_put_bool(&j, "is_truncated", r->summary.end.code == CLEW_TRUNCATED || r->is_damaged);
	json_close(&j, '}');
	cli_progress_pause();
	cli_put(stderr, "%s\n", buf_cstr(&out));
}

void export_run_report(const struct export_run *r)
{
	if (r->is_json)
		report_json(r);
	else
		report_numbers(r);
	report_input(r);
}
