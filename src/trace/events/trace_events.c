/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/events/trace_events.h"

#include "base/err.h"
#include "base/mem.h"
#include "trace/events/trace_events_impl.h"
#include "trace/events/trace_steps.h"

enum { LOST_TRACE = 8 };

/* A recording's are named with its modifiers: "branches:u". */
static struct perf_evsel *add_evsel(struct trace_events *e, const struct perf_attr *attr,
				    const char *name)
{
	return perf_evlist_add(&e->list, attr, e->opts.recorded ? NULL : name, NULL, 0, false);
}

static bool add_of_flow(struct trace_events *e)
{
	const struct itrace_opts *o = &e->opts.itrace;
	struct perf_attr a = trace_events_attr(e);

	if (o->branches || o->calls || o->returns) {
		struct perf_attr b = a;

		b.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
		b.sample_period = 1;
		b.sample_type |= PERF_SAMPLE_ADDR;
		e->branches = add_evsel(e, &b, "branches");
		if (!e->branches)
			return false;
	}
	e->pebs = o->aux_outputs && trace_has_x86(e->trace) ? trace_pebs_evsel(e) : NULL;
	if (trace_has_x86(e->trace) && !trace_notes_add_evsels(e))
		return false;
	if (!o->insns)
		return true;
	a.config = PERF_COUNT_HW_INSTRUCTIONS;
	a.sample_period = o->period;
	a.sample_type &= ~(uint64_t)PERF_SAMPLE_ADDR;
	a.sample_type |= (o->last_branches ? (uint64_t)PERF_SAMPLE_BRANCH_STACK : 0) |
			 (o->chains ? (uint64_t)PERF_SAMPLE_CALLCHAIN : 0);
	e->insns = add_evsel(e, &a, "instructions");
	return e->insns;
}

/* An input without units has the events of a flow, though none come. */
static bool add_own(struct trace_events *e)
{
	bool has_ops = trace_has_ops(e->trace);

	return (!has_ops || trace_ops_add_evsels(e)) &&
	       ((has_ops && !trace_has_flow(e->trace)) || add_of_flow(e));
}

/* The recorded ones keep their index, so that a writer of both needs one list. */
static bool make_list(struct trace_events *e)
{
	const struct perf_evlist *l = e->opts.recorded;

	for (size_t i = 0; l && i < l->evsels.nr; i++) {
		if (!vec_push(&e->list.evsels, l->evsels.data[i]))
			return false;
	}
	return add_own(e);
}

static enum clew_err make_synths(struct trace_events *e)
{
	e->synths = mem_calloc(e->trace->nr_units, sizeof(*e->synths));
	for (size_t i = 0; e->synths && i < e->trace->nr_units; i++) {
		if (trace_synth_init(&e->synths[i], e, i) != CLEW_OK)
			return CLEW_NO_MEMORY;
		e->summary.nr_units += e->trace->units[i].is_decodable;
	}
	return e->synths || !e->trace->nr_units ? CLEW_OK : CLEW_NO_MEMORY;
}

/* Each operation counts alone where only some are wanted, or their times matter. */
static bool may_fold(const struct trace_events *e)
{
	const struct itrace_opts *o = &e->opts.itrace;
	const struct ana_filter *f = &e->opts.filter;

	return !f->time_from.ns && !f->time_to.ns && !o->nr_skipped && !o->last_branches &&
	       trace_ops_period(o) == 1 && !trace_has_flow(e->trace);
}

enum clew_err trace_events_new(struct trace_events **ret, struct trace_input *trace,
			       const struct trace_events_opts *opts, struct clew_diag *diag)
{
	struct trace_events *e = mem_zalloc(sizeof(*e));
	enum clew_err err;

	if (!e)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	e->opts = *opts;
	e->trace = trace;
	/* As perf's for Intel PT: branches would be too many. */
	e->opts.itrace.calls |=
		opts->itrace.is_default && !opts->itrace.insns && trace_has_x86(trace);
	e->tracing = trace->ops->tracing ? trace->ops->tracing(trace) : NULL;
	if (!may_fold(e))
		e->opts.fold = TRACE_OPS_EACH;
	if (may_fold(e) && opts->wants_repeats)
		e->repeats = trace_repeats_new(); /* without enough memory, all are made */
	e->epoch = opts->first_epoch;
	err = ana_filter_init(&e->filter, &opts->filter, diag);
	if (err == CLEW_OK &&
	    (!make_list(e) || make_synths(e) != CLEW_OK || !trace_steps_new(&e->steps, e)))
		err = clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	if (err == CLEW_OK)
		*ret = e;
	else
		trace_events_free(e);
	return err;
}

const struct perf_evlist *trace_events_list(const struct trace_events *e)
{
	return &e->list;
}

static enum clew_err take_batch(void *ctx, size_t unit, const struct flow_batch *b)
{
	struct trace_events *e = ctx;

	return trace_synth_batch(&e->synths[unit], b);
}

static enum clew_err take_ops(void *ctx, size_t unit, const struct trace_ops_batch *b)
{
	struct trace_events *e = ctx;

	return trace_ops_take(&e->synths[unit], b);
}

static enum clew_err take_ops_end(void *ctx, size_t unit, const struct trace_ops_counts *c)
{
	struct trace_events *e = ctx;
	struct trace_ops_counts *sum = &e->summary.ops;

	(void)unit;
	sum->nr_records += c->nr_records;
	sum->nr_cut += c->nr_cut;
	sum->nr_damaged += c->nr_damaged;
	sum->nr_skipped_bytes += c->nr_skipped_bytes;
	sum->nr_padding_bytes += c->nr_padding_bytes;
	return CLEW_OK;
}

static struct trace_stay take_stay(void *ctx, size_t unit, const struct code_key *key)
{
	const struct trace_events *e = ctx;

	if (e->trace->ops->stay)
		return e->trace->ops->stay(e->trace, unit, key);
	return (struct trace_stay){key->ticks.ticks, key->ticks.ticks + 1};
}

static enum clew_err take_warning_on(void *ctx, const char *what, uint32_t cpu)
{
	struct trace_events *e = ctx;

	if (e->trace->nr_units && !(e->opts.itrace.errors_minus >> ('l' - 'a') & 1))
		trace_emit_error(&e->synths[0], &(struct trace_error){.code = LOST_TRACE,
								      .words = what,
								      .is_of_no_unit = true,
								      .cpu = cpu});
	return e->err;
}

static enum clew_err take_warning(void *ctx, const char *what, uint64_t number, uint64_t offset)
{
	(void)number, (void)offset;
	return take_warning_on(ctx, what, UINT32_MAX);
}

static enum clew_err take_end(void *ctx, size_t unit, struct flow *flow)
{
	struct trace_events *e = ctx;

	(void)unit;
	e->summary.nr_insns += flow_totals(flow)->nr_insns;
	return CLEW_OK;
}

static void note_period(struct trace_events *e)
{
	if (!e->insns || e->opts.itrace.unit == ITRACE_INSNS)
		return;
	for (size_t i = 0; i < e->trace->nr_units; i++)
		e->summary.is_by_count |=
			e->trace->units[i].is_decodable && e->synths[i].is_by_count;
}

static struct trace_decode_opts decode_opts(struct trace_events *e)
{
	return (struct trace_decode_opts){
		.nr_threads = e->opts.nr_threads,
		.splits_source_ranges = true,
		.detail = e->opts.itrace.detail,
		.has_cycles = e->opts.wants_ipc,
		.batch = take_batch,
		.unit_end = take_end,
		.ops = take_ops,
		.ops_fold = e->opts.fold,
		.has_no_helper = e->opts.is_single_threaded,
		.ops_stay = take_stay,
		.ops_end = take_ops_end,
		.ctx = e,
		.listener = {take_warning, e, take_warning_on},
	};
}

static enum clew_err prepare(struct trace_events *e, const struct ana_consumer *consumer)
{
	const struct trace_decode_opts opts = decode_opts(e);

	e->consumer = consumer;
	if (e->is_prepared)
		return CLEW_OK;
	e->is_prepared = true;
	return trace_merge_new(&e->merge, e, &opts);
}

/** How many of the batch's events from @p from on come before the next item of the trace. Where
 * none does, *ret_until becomes the time of the first. */
static size_t nr_alike(const struct ana_batch *b, size_t from, struct clew_perf_ns *ret_until)
{
	size_t i = from;

	while (i < b->nr &&
	       (!clew_perf_ns_is_known(b->events[i].time) || b->events[i].time.ns <= ret_until->ns))
		i++;
	if (i == from && i < b->nr)
		*ret_until = b->events[i].time;
	return i - from;
}

enum clew_err trace_events_take_recorded(struct trace_events *e,
					 const struct ana_consumer *consumer,
					 const struct ana_batch *b)
{
	enum clew_err err = prepare(e, consumer);

	if (err || !e->merge || !trace_merge_is_with_recorded(e->merge))
		return err ? err : consumer->batch(consumer->ctx, b);
	for (size_t i = 0, nr; !err && i < b->nr; i += nr) {
		struct ana_batch part = {.events = b->events + i, .epoch = b->epoch};

		nr = part.nr = nr_alike(b, i, &e->recorded_until);
		if (nr) {
			err = consumer->batch(consumer->ctx, &part);
			continue;
		}
		err = trace_merge_until(e->merge, e->recorded_until);
		if (!err)
			err = trace_emit_flush(e);
	}
	return e->err ? e->err : err;
}

enum clew_err trace_events_run(struct trace_events *e, const struct ana_consumer *consumer,
			       struct clew_diag *diag)
{
	const struct trace_decode_opts opts = decode_opts(e);
	enum clew_err err = prepare(e, consumer);

	if (!err && e->merge)
		err = trace_merge_rest(e->merge);
	else if (!err)
		err = trace_decode(e->trace, &opts, diag);
	if (err == CLEW_NO_MEMORY)
		clew_fail(diag, err, 0, "out of memory");
	note_period(e);
	if (e->err == CLEW_OK)
		trace_emit_flush(e);
	return e->err != CLEW_OK ? e->err : err;
}

const struct trace_events_summary *trace_events_summary(const struct trace_events *e)
{
	return &e->summary;
}

void trace_events_free(struct trace_events *e)
{
	if (!e)
		return;
	trace_merge_free(e->merge);
	trace_repeats_free(e->repeats);
	trace_steps_free(e->steps);
	for (size_t i = 0; e->synths && i < e->trace->nr_units; i++)
		trace_synth_done(&e->synths[i]);
	mem_free(e->synths);
	call_stacks_done(&e->calls);
	mem_free(e->jumps);
	map_u64_done(&e->unreadable);
	ana_filter_done(&e->filter);
	arena_done(&e->batch_memory);
	arena_done(&e->chain_memory);
	map_u64_done(&e->chains);
	perf_evlist_done(&e->list);
	mem_free(e);
}
