/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/perf_trace.h"

#include "base/err.h"
#include "base/hash.h"
#include "os/file.h"
#include "os/thread.h"
#include "trace/perf/aux_sharing.h"
#include "trace/perf/aux_streams.h"
#include "trace/perf/perf_trace_impl.h"
#include "trace/perf/trace_threads.h"

/* --- what is asked --- */

/** Of an operation. */
static void fill_op(const struct who_answer *a, struct trace_thread *ret)
{
	if (!(a->has & WHO_A_LOCAL))
		return;
	ret->tid = (uint32_t)a->local.n;
	if (!(a->has & WHO_A_THREAD))
		return;
	ret->pid = who_local_is_thread(a->pid) ? (uint32_t)a->pid.n : AUX_NONE;
	ret->comm = a->comm;
}

static uint32_t execs_at(const struct who_space_line *l, struct clew_perf_ns time)
{
	const struct who_change *c = who_timeline_at(&l->execs, time);

	return c ? c->value : 0;
}

/** Which thread of that number it is, and which program of its process. */
static void fill_life(const struct perf_trace *p, uint32_t unit, const struct code_key *key,
		      struct trace_thread *ret)
{
	const struct who_answer *a = ret->who;
	const struct who_space_line *l;
	struct trace_span s;

	if (!(a->has & WHO_A_THREAD))
		return;
	ret->life = a->serial;
	l = a->space < p->history.spaces.nr ? &p->history.spaces.data[a->space] : NULL;
	if (!l || !l->execs.nr)
		return;
	s = trace_span_of(p, unit, key->ticks, key->bound);
	ret->life = hash_two(a->serial, execs_at(l, trace_span_time(&s)));
	ret->may_be_exec = !s.is_ticks && execs_at(l, s.from) != execs_at(l, s.to);
}

/** As it is printed: also where the rule does not vouch for the name. */
static void fill_thread(const struct perf_trace *p, uint32_t unit, const struct code_key *key,
			struct trace_thread *ret)
{
	const struct who_answer *a = ret->who;
	struct clew_perf_ns time;
	const struct who_task *task;
	struct trace_span s;

	ret->tid = trace_tid_of(p, a);
	if (ret->tid == AUX_NONE)
		return;
	if (a->has & WHO_A_THREAD && who_local_is_thread(a->pid) && a->comm) {
		ret->pid = (uint32_t)a->pid.n;
		ret->comm = a->comm;
		return;
	}
	s = trace_span_of(p, unit, key->ticks, key->bound);
	time = trace_span_time(&s);
	task = who_history_task(&p->history, ret->tid, time);
	ret->pid = task ? task->pid : AUX_NONE;
	ret->comm = who_history_comm_at(&p->history, ret->tid, time);
}

static void thread(struct trace_input *t, size_t unit, const struct code_key *key,
		   struct trace_thread *ret)
{
	const struct perf_trace *p = (const struct perf_trace *)t;
	const struct who_answer *a = trace_ran_ask(p, (uint32_t)unit, key);

	*ret = (struct trace_thread){.pid = AUX_NONE, .tid = AUX_NONE, .who = a};
	if (a->kind == WHO_IDLE)
		*ret = (struct trace_thread){.comm = "swapper", .who = a};
	else if (a->kind == WHO_TASK && trace_ran_is_op(&p->ran, (uint32_t)unit))
		fill_op(a, ret);
	else if (a->kind == WHO_TASK)
		fill_thread(p, (uint32_t)unit, key, ret);
	if (a->kind == WHO_TASK)
		fill_life(p, (uint32_t)unit, key, ret);
}

static bool time_of(struct trace_input *t, size_t unit, struct clew_ticks ticks,
		    struct clew_perf_ns *ret)
{
	return trace_time_of((const struct perf_trace *)t, (uint32_t)unit, ticks, ret);
}

static struct trace_stay stay(struct trace_input *t, size_t unit, const struct code_key *key)
{
	return trace_code_stay((struct perf_trace *)t, (uint32_t)unit, key);
}

static const struct ana_loc *locate(struct trace_input *t, uint32_t space, uint64_t addr)
{
	return trace_code_locate((struct perf_trace *)t, space, addr, false);
}

static const struct ana_loc *locate_caller(struct trace_input *t, uint32_t space, uint64_t addr)
{
	return trace_code_locate((struct perf_trace *)t, space, addr, addr > 0);
}

static void free_trace(struct trace_input *t)
{
	struct perf_trace *p = (struct perf_trace *)t;

	for (uint32_t i = 0; i < p->nr_protocols; i++)
		p->protocols[i].protocol->units_free(p->protocols[i].units);
	aux_chunks_done(&p->chunks);
	aux_wanted_done(&p->wanted);
	ana_tracing_done(&p->tracing);
	ana_windows_done(&p->windows);
	trace_ran_free_kept(p);
	trace_ran_done(&p->ran);
	trace_marks_done(&p->marks, p->units.nr);
	who_history_done(&p->history);
	trace_patches_done(&p->patches);
	vec_done(&p->units);
	arena_done(&p->memory);
	map_u64_done(&p->by_cpu);
	map_u64_done(&p->locs);
	os_lock_free(p->lock);
	ana_reader_done(&p->reader);
	perf_file_free(p->file);
	ana_places_done(&p->own);
	mem_free(p);
}

static void release(const struct trace_input *t, struct bytes in)
{
	const struct perf_input *input = &((const struct perf_trace *)t)->input;
	const struct os_map map = {input->data, input->size};
	uint64_t from = (uintptr_t)in.pos - (uintptr_t)input->data;

	/* Bytes of compressed records are elsewhere. */
	if (input->is_mapped && range_fits(from, bytes_left(&in), input->size))
		os_map_release(&map, from, from + bytes_left(&in));
}

static const struct who_facts *who_facts(const struct trace_input *t)
{
	const struct perf_trace *p = (const struct perf_trace *)t;

	return p->units.nr ? who_ran_facts(p->ran.rule) : NULL;
}

static struct ana_tracing *tracing(struct trace_input *t)
{
	struct perf_trace *p = (struct perf_trace *)t;

	return ana_tracing_is_switched(&p->tracing, perf_file_evlist(p->file)) ? &p->tracing : NULL;
}

static const struct ana_windows *windows(const struct trace_input *t)
{
	const struct perf_trace *p = (const struct perf_trace *)t;

	return p->windows.snapshots.nr ? &p->windows : NULL;
}

static const struct trace_input_ops ops = {.run = aux_streams_run,
					   .steps_new = aux_streams_new_single,
					   .streams_new = aux_sharing_streams,
					   .nr_streams = aux_streams_nr,
					   .step = aux_streams_step,
					   .steps_free = aux_streams_free,
					   .thread = thread,
					   .time = time_of,
					   .stay = stay,
					   .locate = locate,
					   .locate_caller = locate_caller,
					   .release = release,
					   .who_facts = who_facts,
					   .tracing = tracing,
					   .windows = windows,
					   .free = free_trace};

static enum clew_err close_patches(struct perf_trace *p)
{
	ana_places_set_clock(p->places, perf_file_evlist(p->file));
	who_history_close(&p->history);
	return trace_patches_close(&p->patches, &p->history, &p->places->programs);
}

/** What is opened; @p first and @p places are an analysis's of the same recording, or NULL. */
struct opening {
	const struct perf_input *input;
	const struct dso_store_opts *symbols;
	const struct perf_file *first;
	struct ana_places *places;
	struct perf_trace_wishes wishes;
};

/* All is read before anything is decoded: records that come late need not be missed. 50 MB. */
enum { MAX_WAITING = 1 << 19 };

static enum clew_err open_file(struct perf_trace *p, const struct opening *o,
			       struct clew_diag *diag)
{
	enum clew_err err = o->first ? perf_file_reopen(&p->file, o->first, diag)
				     : perf_file_open(&p->file, o->input, diag);

	if (err)
		return err;
	if (ana_reader_init(&p->reader, p->file, &p->input, p->input.is_mapped) ||
	    ana_reader_ignore_rounds(&p->reader, &p->input, MAX_WAITING) ||
	    (!o->places && ana_places_init(&p->own, o->symbols, NULL, p->file, p->input.budget)))
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	return CLEW_OK;
}

static enum clew_err close_chunks(struct perf_trace *p)
{
	uint32_t uncovered = 0;

	/* The limit is for gcc 12, which with sanitizers sees more than there are. */
	for (uint32_t i = 0; i < p->nr_protocols && i < AUX_MAX_PROTOCOLS; i++)
		uncovered |= (uint32_t)p->protocols[i].protocol->takes_uncovered << i;
	return aux_chunks_close(&p->chunks, uncovered);
}

static enum clew_err init(struct perf_trace *p, const struct opening *o, struct clew_diag *diag)
{
	struct budget *budget = p->input.budget;
	enum clew_err err = open_file(p, o, diag);

	if (err)
		return err;
	p->lock = os_lock_new();
	if (!p->lock || who_history_init(&p->history, TRACE_NR_NO_CODE, budget))
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	if (trace_ran_init(p))
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	p->chunks.account.budget = p->tracing.intervals.account.budget = budget;
	p->windows.account.budget = budget;
	err = trace_records_read(p, diag);
	if (err)
		return err;
	ana_tracing_close(&p->tracing);
	if (!ana_windows_close(&p->windows))
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	/* perf (6.1) sets inherit for whole CPUs too. */
	p->is_of_tasks = p->is_of_tasks && !p->chunks.is_of_all;
	if (!p->nr_protocols)
		return clew_fail(diag, CLEW_UNSUPPORTED, 0,
				 "neither CoreSight trace nor SPE records in it");
	if (close_chunks(p) ||
	    !aux_chunks_sum(&p->chunks, &p->trace.nr_bytes, &p->trace.nr_missing_bytes) ||
	    !perf_trace_make_units(p) || close_patches(p) || trace_ran_close(p) ||
	    aux_wanted_make(&p->wanted, p))
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	return CLEW_OK;
}

static enum clew_err open_recording(struct trace_input **ret, const struct opening *o,
				    struct clew_diag *diag)
{
	struct perf_trace *p = mem_zalloc(sizeof(*p));
	enum clew_err err;

	if (!p)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	p->trace.ops = &ops;
	p->trace.progress = o->input->progress;
	p->input = *o->input;
	p->wishes = o->wishes;
	p->places = o->places ? o->places : &p->own;
	p->wants_windows = !o->places;
	err = init(p, o, diag);
	if (err)
		free_trace(&p->trace);
	else
		*ret = &p->trace;
	return err;
}

enum clew_err perf_trace_open(struct trace_input **ret, const struct perf_input *input,
			      const struct dso_store_opts *symbols, struct clew_diag *diag)
{
	const struct opening o = {.input = input, .symbols = symbols};

	return open_recording(ret, &o, diag);
}

enum clew_err perf_trace_open_in(struct trace_input **ret, struct analyze *a,
				 const struct perf_trace_wishes *w, struct clew_diag *diag)
{
	const struct opening o = {analyze_input(a), analyze_symbols(a), analyze_file(a),
				  analyze_places(a), *w};
	enum clew_err err = open_recording(ret, &o, diag);

	if (!err)
		analyze_set_single_threaded(a); /* both look up symbols */
	return err;
}
