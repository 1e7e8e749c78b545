/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/itrace.h"

#include <string.h>

#include "cli/common/message.h"
#include "cli/common/progress.h"
#include "cli/trace/etm_input.h"
#include "format/who_answer.h"
#include "trace/perf/perf_trace.h"

int cli_itrace_set(void *itrace, const char *arg, bool is_negated)
{
	struct cli_itrace *it = itrace;
	const char *at, *what;

	it->is_off = is_negated;
	if (is_negated)
		return 0;
	it->is_set = arg != NULL;
	if (!arg || itrace_opts_parse(&it->opts, arg, &at, &what) == CLEW_OK)
		return 0;
	cli_error("--itrace=%s: '%s': %s", arg, *at ? at : "the end", what);
	cli_hint(
		"letters: i[PERIOD] instructions, b branches, c calls, r returns, e errors, g[N] call "
		"chains, l[N] last branches, sN skip N events; of Intel PT also x transactions, w PTWRITE, "
		"p power, I interrupts, q places without code; of Arm SPE f m t caches and TLB, M memory, a remote; 'man clew-script' has all");
	return CLI_USAGE;
}

int cli_itrace_set_index(void *itrace, const char *arg, bool is_negated)
{
	struct cli_itrace *it = itrace;

	(void)arg;
	it->has_no_index = is_negated;
	it->keeps_index = !is_negated;
	return 0;
}

static int fail(const struct cli_input *in, const struct clew_diag *diag)
{
	cli_fail(in->path, diag);
	return CLI_FAILED;
}

static void report_ignored(const struct cli_itrace *it)
{
	static const char of_operations[] = "Mafmt", of_x86[] = "xwpIqAo";
	bool has_ops = trace_has_ops(it->trace), is_x86 = trace_has_x86(it->trace);
	char letters[sizeof(it->opts.ignored)] = "";
	size_t nr = 0;

	if (it->is_implied)
		return;
	for (const char *c = it->opts.ignored; it->is_set && *c; c++) {
		if (!(has_ops && strchr(of_operations, *c)) && !(is_x86 && strchr(of_x86, *c)))
			letters[nr++] = *c;
	}
	if (nr)
		cli_note("--itrace: '%s' has no meaning for %s and is ignored", letters,
			 has_ops  ? "SPE records"
			 : is_x86 ? "Intel PT"
				  : "ETM trace");
	if (it->is_set && !has_ops && !it->opts.insns &&
	    (it->opts.chains || it->opts.last_branches))
		cli_note("--itrace: 'g' and 'l' apply to instructions: without 'i' they have no "
			 "effect");
}

static int make_events(struct cli_itrace *it, struct cli_input *in, struct perf_file *file,
		       const struct cli_itrace_wishes *w)
{
	const struct trace_events_opts opts = {
		.nr_threads = 1,
		.itrace = it->opts,
		.filter = in->opts.filter,
		.recorded = file ? perf_file_evlist(file) : NULL,
		.wants_addr = w->wants_addr,
		.wants_branches = w->wants_branches,
		.wants_insns = w->wants_insns,
		.wants_depth = w->wants_depth,
		.wants_ipc = w->wants_ipc,
		.fold = w->fold,
		.wants_repeats = w->wants_repeats,
		.wants_steps = w->wants_steps,
		.is_as_perf = in->opts.is_as_perf,
		.is_single_threaded = w->is_single_threaded,
		.first_epoch = 1ull << 32,
	};
	struct clew_diag diag = {0};
	enum clew_err err = trace_events_new(&it->events, it->trace, &opts, &diag);

	if (err == CLEW_INVALID) {
		cli_error("%s", diag.what);
		return CLI_USAGE;
	}
	return err == CLEW_OK ? CLI_OK : fail(in, &diag);
}

/* A recording is read for its trace only if its header names trace, or is missing. */
static bool may_have_trace(struct perf_file *file)
{
	const struct perf_features *f = perf_file_features(file);
	const struct perf_evlist *l = perf_file_evlist(file);

	if (perf_features_has(f, PERF_FEAT_AUXTRACE))
		return true;
	for (size_t i = 0; i < l->evsels.nr; i++) {
		if (!perf_features_has(f, PERF_FEAT_ARCH) &&
		    l->evsels.data[i]->attr.type >= PERF_TYPE_MAX_STATIC)
			return true;
	}
	return false;
}

/* What of the filters holds before anything is decoded. */
static struct ana_filter decoded_filter(const struct cli_itrace *it, const struct cli_input *in)
{
	struct ana_filter f = in->opts.filter;

	if (it->opts.nr_skipped) /* those that are skipped are counted from the first one on */
		return (struct ana_filter){0};
	if (it->opts.is_timeless || it->opts.is_kernel_time)
		f.time_from.ns = f.time_to.ns = 0;
	return f;
}

/* A recording without ETM trace, or with trace of another kind, has its other events. */
static int open_recording(struct cli_itrace *it, const struct cli_input *in, struct analyze *a,
			  const struct cli_itrace_wishes *w)
{
	const struct ana_filter filter = decoded_filter(it, in);
	const struct perf_trace_wishes of_trace = {
		.fold = w->fold,
		.is_single_threaded = w->is_single_threaded,
		.filter = &filter,
		.index_path = in->map.data && !it->has_no_index ? in->path : NULL,
		.keeps_index = it->keeps_index,
	};
	struct clew_diag diag = {0};
	enum clew_err err = perf_trace_open_in(&it->trace, a, &of_trace, &diag);

	if (err == CLEW_NO_MEMORY || err == CLEW_OS)
		return fail(in, &diag);
	/* No CoreSight trace at all has no offset. */
	if (err != CLEW_OK && (err != CLEW_UNSUPPORTED || diag.offset))
		cli_warn("%s: the hardware trace cannot be decoded: %s", in->path,
			 diag.what ? diag.what : clew_err_name(err));
	return CLI_OK;
}

int cli_itrace_open(struct cli_itrace *it, struct cli_input *in, struct analyze *a,
		    const struct cli_itrace_wishes *w)
{
	struct perf_file *file = a ? analyze_file(a) : NULL;
	int status = CLI_OK;

	if (it->is_off && in->is_snapshot) {
		cli_error("--no-itrace leaves nothing: %s holds only trace", in->path);
		return CLI_USAGE;
	}
	if (it->is_off)
		return CLI_OK;
	if (!it->is_set)
		itrace_opts_default(&it->opts, it->is_sampled);
	if (in->is_snapshot)
		status = cli_etm_open_snapshot(in, &it->trace);
	else if (file && in->input.data && may_have_trace(file))
		status = open_recording(it, in, a, w);
	if (status != CLI_OK || !it->trace)
		return status;
	if (a && it->trace->ops->who_facts && it->trace->ops->who_facts(it->trace))
		analyze_set_root(a, it->trace->ops->who_facts(it->trace)->is_root.is);
	report_ignored(it);
	return make_events(it, in, file, w);
}

int cli_itrace_open_stats(struct cli_itrace *it, struct cli_input *in, struct analyze *a)
{
	const struct cli_itrace_wishes none = {.fold = TRACE_OPS_BY_CODE};
	int status = cli_itrace_open(it, in, a, &none);

	if (status == CLI_OK && it->trace &&
	    (!it->trace->ops->who_facts || !it->trace->ops->who_facts(it->trace)))
		cli_itrace_done(it);
	return status;
}

void cli_itrace_stats(const struct cli_itrace *it, struct analyze *a, struct buf *out)
{
	if (it->events)
		who_facts_text(out, it->trace->ops->who_facts(it->trace));
	else
		who_record_facts_text(out, perf_file_who_facts(analyze_file(a)));
	who_counts_text(out, &analyze_summary(a)->who,
			it->events ? &trace_events_summary(it->events)->who : NULL);
}

const struct ana_tracing *cli_itrace_tracing(const struct cli_itrace *it,
					     const struct ana_tracing *recorded)
{
	return it->events && it->trace->ops->tracing ? it->trace->ops->tracing(it->trace)
						     : recorded;
}

struct recorded {
	struct trace_events *events;
	const struct ana_consumer *consumer;
};

static enum clew_err take_recorded(void *ctx, const struct ana_batch *b)
{
	const struct recorded *r = ctx;

	return trace_events_take_recorded(r->events, r->consumer, b);
}

enum clew_err cli_itrace_run(struct cli_itrace *it, struct analyze *a,
			     const struct ana_consumer *consumer, struct clew_diag *diag)
{
	struct recorded r = {it->events, consumer};
	const struct ana_consumer merging = {take_recorded, &r};
	enum clew_err err = CLEW_OK;

	if (it->trace)
		it->trace->progress = NULL; /* it is decoded during the progress of the records */
	if (a)
		err = analyze_run(a, it->events ? &merging : consumer, diag);
	if (err != CLEW_OK || !it->events)
		return err;
	it->trace->progress = cli_progress();
	cli_progress_begin("decoding trace", it->trace->total_bytes);
	return trace_events_run(it->events, consumer, diag);
}

struct ana_summary cli_itrace_summary(const struct cli_itrace *it, const struct analyze *a)
{
	struct ana_summary ret = {0};
	const struct trace_events_summary *of_trace;

	if (a)
		ret = *analyze_summary(a);
	if (!it->events)
		return ret;
	of_trace = trace_events_summary(it->events);
	ret.tracing = cli_itrace_tracing(it, ret.tracing);
	ret.nr_aux_bytes = 0;
	ret.nr_samples += of_trace->nr_samples;
	ret.nr_filtered += of_trace->nr_filtered;
	return ret;
}

void cli_itrace_report(const struct cli_itrace *it, const char *path, bool has_errors)
{
	const struct trace_events_summary *sum;

	if (!it->events)
		return;
	sum = trace_events_summary(it->events);
	cli_etm_report_units(path, it->trace, NULL);
	if (sum->is_by_count)
		cli_note("--itrace: the trace has no times; the period was taken as %llu "
			 "instructions",
			 (unsigned long long)it->opts.period);
	if (sum->nr_errors && !has_errors)
		cli_note(
			"%llu place%s of the trace with gaps, or not decoded: 'clew script --itrace=e' shows %s",
			(unsigned long long)sum->nr_errors, sum->nr_errors == 1 ? "" : "s",
			sum->nr_errors == 1 ? "it" : "them");
	cli_etm_report_dropped(path, sum->nr_dropped);
	if (it->trace->skipped_bytes)
		cli_note(
			"%llu of %llu bytes of trace were decoded: what the filters keep is in these",
			(unsigned long long)(it->trace->given_bytes - it->trace->skipped_bytes),
			(unsigned long long)it->trace->given_bytes);
}

void cli_itrace_done(struct cli_itrace *it)
{
	trace_events_free(it->events);
	trace_input_free(it->trace);
	it->events = NULL;
	it->trace = NULL;
}
