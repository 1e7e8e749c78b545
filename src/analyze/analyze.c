/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/analyze.h"

#include <stdlib.h>

#include "analyze/ana_deliver.h"
#include "analyze/ana_own_ids.h"
#include "analyze/ana_queue.h"
#include "analyze/ana_sideband.h"
#include "analyze/ana_stack.h"
#include "analyze/analyze_impl.h"
#include "base/err.h"
#include "base/mem.h"
#include "os/file.h"
#include "os/map_ahead.h"
#include "os/thread.h"

/* One of no use is as good as none, but noted. */
static enum clew_err open_infos(struct analyze *a)
{
	const struct perf_features *f = perf_file_features(a->file);
	struct bytes section = f->section[PERF_FEAT_CLEW_STACKS];
	enum clew_err err = CLEW_OK;

	if (section.pos && !perf_file_is_pipe(a->file) &&
	    (a->opts.wants_outcomes || !a->opts.no_chains))
		err = perf_stack_reader_new(&a->infos, section);
	if (err == CLEW_UNSUPPORTED)
		a->summary.stacks_note = "is of another version";
	else if (err == CLEW_BAD_FILE)
		a->summary.stacks_note = "is damaged";
	return err == CLEW_NO_MEMORY ? err : CLEW_OK;
}

static enum clew_err init(struct analyze *a, struct clew_diag *diag)
{
	enum clew_err err = perf_file_open(&a->file, &a->input, diag);

	if (err != CLEW_OK)
		return err;
	if (ana_reader_init(&a->reader, a->file, &a->input, a->opts.is_mapped) != CLEW_OK)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	a->who = who_new(a->input.budget);
	if (!a->who ||
	    ana_places_init(&a->places, &a->opts.symbols, a->opts.dsos, a->file, a->input.budget))
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	a->places.wants_lines = a->opts.wants_lines;
	if (open_infos(a) != CLEW_OK)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	if (a->opts.is_as_perf)
		who_keep_maps_over_exec(a->who);
	return ana_filter_init(&a->filter, &a->opts.filter, diag);
}

enum clew_err analyze_open(struct analyze **ret, const struct perf_input *input,
			   const struct ana_opts *opts, struct clew_diag *diag)
{
	struct analyze *a = mem_zalloc(sizeof(*a));
	enum clew_err err;

	if (!a)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	a->input = *input;
	a->account.budget = input->budget;
	a->tracing.intervals.account.budget = a->windows.account.budget = input->budget;
	a->opts = *opts;
	a->summary.first_time = a->summary.last_time = clew_perf_ns_none();
	err = init(a, diag);
	if (err == CLEW_OK)
		*ret = a;
	else
		analyze_free(a);
	return err;
}

void analyze_free(struct analyze *a)
{
	if (!a)
		return;
	ana_queue_free(a->queue);
	ana_defer_done(&a->defer);
	perf_stack_reader_free(a->infos);
	ana_reader_done(&a->reader);
	ana_cache_done(&a->cache);
	ana_filter_done(&a->filter);
	ana_aux_done(&a->aux);
	ana_losses_done(&a->losses);
	ana_tracing_done(&a->tracing);
	ana_windows_done(&a->windows);
	who_on_done(&a->on);
	map_u64_done(&a->cgroups);
	map_u64_done(&a->counters);
	map_u64_done(&a->unresolved_by_dso);
	vec_done(&a->unchecked);
	vec_done(&a->unresolved);
	vec_done(&a->lbr);
	ana_stacks_free(a->stacks);
	who_free(a->who);
	ana_places_done(&a->places);
	arena_done(&a->memory);
	budget_account_done(&a->account);
	perf_file_free(a->file);
	mem_free(a);
}

struct perf_file *analyze_file(struct analyze *a)
{
	return a->file;
}

struct dso_store *analyze_dsos(struct analyze *a)
{
	return a->places.dsos;
}

const struct perf_input *analyze_input(const struct analyze *a)
{
	return &a->input;
}

const struct dso_store_opts *analyze_symbols(const struct analyze *a)
{
	return &a->opts.symbols;
}

struct ana_places *analyze_places(struct analyze *a)
{
	return &a->places;
}

void analyze_set_single_threaded(struct analyze *a)
{
	a->opts.is_single_threaded = true;
}

void analyze_want_branches(struct analyze *a)
{
	a->opts.wants_branches = a->opts.no_chains = true;
}

void analyze_set_root(struct analyze *a, enum who_fact is_root)
{
	a->is_root = is_root;
}

const struct ana_summary *analyze_summary(const struct analyze *a)
{
	return &a->summary;
}

static enum clew_err process(struct analyze *a, const struct perf_record *r,
			     struct clew_perf_ns time, const struct stitch_item *item)
{
	enum clew_err err;

	if (r->type == PERF_RECORD_SAMPLE)
		return ana_deliver_sample(a, r, item && item->is_sample ? item : NULL);
	err = ana_take_record(a, r, time);
	if (err == CLEW_OK && a->opts.wants_who && who_on_takes(r->type))
		err = ana_take_switch(a, r, time);
	if (err == CLEW_BAD_FILE) {
		ana_note_bad(a, r);
		return CLEW_OK;
	}
	if (err == CLEW_OK && (a->opts.wants_records ||
			       (a->opts.no_merge && r->type == PERF_RECORD_CALLCHAIN_DEFERRED)))
		err = ana_deliver_record(a, r, time);
	return err;
}

/* Whatever no longer waits for a stack. */
static enum clew_err process_due(struct analyze *a)
{
	enum clew_err err = CLEW_OK;
	struct ana_due due;

	while (err == CLEW_OK && a->defer.mode == ANA_DEFER_QUEUE && ana_defer_next(a, &due)) {
		err = process(a, &due.record, due.time, &due.item);
		perf_block_release(due.record.block);
	}
	return err;
}

static enum clew_err take(struct analyze *a, const struct perf_record *r, struct clew_perf_ns time)
{
	enum clew_err err;

	if (a->defer.mode != ANA_DEFER_QUEUE)
		return process(a, r, time, NULL);
	err = ana_defer_waits(r, time) ? ana_defer_take(a, r, time) : process(a, r, time, NULL);
	return err == CLEW_OK ? process_due(a) : err;
}

static enum clew_err take_in(struct analyze *a, const struct perf_record *r,
			     struct clew_perf_ns time)
{
	enum clew_err err = ana_tracing_take(&a->tracing, perf_file_evlist(a->file), r, time);

	if (err == CLEW_OK)
		err = ana_defer_check(a);
	if (err == CLEW_OK)
		err = take(a, r, time);
	/* A batch that waits keeps the blocks of its records. */
	if (err == CLEW_OK && r->block && budget_holds_much(a->input.budget))
		err = ana_queue_flush(a->queue);
	perf_block_release(r->block);
	return err;
}

/* What is whole is delivered. @p err: why there are no more records, @p why more of it. */
static enum clew_err finish(struct analyze *a, enum clew_err err, const struct clew_diag *why,
			    struct clew_diag *diag)
{
	enum clew_err end;

	if (diag && err != CLEW_END)
		*diag = *why;
	if (err == CLEW_TRUNCATED)
		a->summary.end = *why;
	if (err == CLEW_NO_MEMORY || err == CLEW_OS)
		return err;
	ana_defer_end(a);
	end = process_due(a);
	if (end == CLEW_OK)
		end = ana_queue_wait(a->queue);
	if (err != CLEW_END && err != CLEW_TRUNCATED)
		return err;
	return end == CLEW_OK ? CLEW_OK : clew_fail(diag, end, 0, clew_err_name(end));
}

static enum clew_err read_all(struct analyze *a, struct clew_diag *diag)
{
	struct clew_diag why = {0};
	struct perf_record r;
	enum clew_err err;
	struct clew_perf_ns time;

	while ((err = ana_reader_next(&a->reader, &r, &time, &why)) == CLEW_OK) {
		err = take_in(a, &r, time);
		if (err != CLEW_OK)
			return clew_fail(diag, err, r.offset, clew_err_name(err));
	}
	return finish(a, err, &why, diag);
}

static int by_nr(const void *x, const void *y)
{
	const struct ana_unresolved *a = x, *b = y;

	if (a->nr != b->nr)
		return a->nr < b->nr ? 1 : -1;
	return (a->dso ? (int)dso_id(a->dso) : -1) - (b->dso ? (int)dso_id(b->dso) : -1);
}

static const char *note_of_kernel(struct analyze *a)
{
	struct dso *d;

	for (size_t i = 0; (d = dso_store_at(a->places.dsos, i)); i++) {
		if (dso_kind(d) == DSO_KERNEL && dso_note(d))
			return dso_note(d);
	}
	return NULL;
}

/* The first doubt about code made at run time. */
static const char *note_of_code(struct analyze *a)
{
	struct dso *d;

	for (size_t i = 0; (d = dso_store_at(a->places.dsos, i)); i++) {
		if (dso_kind(d) == DSO_JIT && dso_note(d))
			return dso_note(d);
	}
	return NULL;
}

/* Of the recording before its stacks were put into their samples. */
static void take_totals(struct stitch_counts *ret, const struct perf_stack_totals *t)
{
	ret->nr_stacks = t->nr_stacks;
	ret->nr_unclaimed = t->nr_unclaimed;
	ret->nr_duplicates = t->nr_duplicates;
	ret->nr_differing = t->nr_differing;
	ret->nr_late = t->nr_late;
}

static void note_unknown_stacks(struct analyze *a)
{
	struct ana_summary *s = &a->summary;

	if (s->stacks_note)
		s->nr_stacks_unknown = s->nr_samples;
	if (!a->infos)
		return;
	s->nr_stacks_unknown = perf_stack_reader_nr_unknown(a->infos);
	if (perf_stack_reader_is_broken(a->infos))
		s->stacks_note = "is damaged";
	else if (s->nr_stacks_unknown)
		s->stacks_note = "ends early";
}

/* Several names of one file are one. */
static bool has_file(const struct analyze *a, const struct dso *d)
{
	vec_for_each (&a->unchecked, i) {
		if (dso_symbol_file(*i) == dso_symbol_file(d))
			return true;
	}
	return false;
}

static enum clew_err list_unchecked(struct analyze *a)
{
	enum { MAX_LISTED = 1024 };
	struct dso *d;

	a->unchecked.nr = 0;
	for (size_t i = 0; (d = dso_store_at(a->places.dsos, i)); i++) {
		if (!dso_unchecked(d) || !dso_symbol_file(d) || has_file(a, d))
			continue;
		if (a->unchecked.nr == MAX_LISTED)
			break;
		if (!vec_push(&a->unchecked, d))
			return CLEW_NO_MEMORY;
	}
	a->summary.unchecked = a->unchecked.data;
	a->summary.nr_unchecked = a->unchecked.nr;
	return CLEW_OK;
}

static enum clew_err summarize(struct analyze *a)
{
	const struct map_u64 *m = &a->unresolved_by_dso;

	a->summary.order = *perf_order_counts(a->reader.order);
	if (ana_defer_stitch(a))
		stitch_counts(ana_defer_stitch(a), &a->summary.stitch);
	else if (a->infos)
		take_totals(&a->summary.stitch, perf_stack_reader_totals(a->infos));
	a->summary.nr_over_budget = a->opts.symbols.budget ? a->opts.symbols.budget->nr_refused : 0;
	a->summary.nr_maps_dropped = who_nr_maps_dropped(a->who);
	a->summary.kernel_note = note_of_kernel(a);
	if (list_unchecked(a) != CLEW_OK)
		return CLEW_NO_MEMORY;
	a->summary.code_note = note_of_code(a);
	note_unknown_stacks(a);
	if (a->summary.nr_aux_bytes) /* snapshots keep less than was recorded: no loss */
		a->summary.nr_aux_missing = 0;
	for (size_t i = 0; i < m->cap; i++) {
		struct dso *dso = NULL;

		if (!m->used[i])
			continue;
		if (m->slots[i].key)
			dso = dso_store_at(a->places.dsos, m->slots[i].key - 1);
		if (!vec_push(&a->unresolved, (struct ana_unresolved){dso, m->slots[i].value}))
			return CLEW_NO_MEMORY;
	}
	if (a->unresolved.nr)
		qsort(a->unresolved.data, a->unresolved.nr, sizeof(*a->unresolved.data), by_nr);
	ana_aux_sort(&a->aux);
	ana_tracing_close(&a->tracing);
	if (!ana_windows_close(&a->windows))
		return CLEW_NO_MEMORY;
	if (a->windows.snapshots.nr)
		a->summary.windows = &a->windows;
	if (ana_tracing_is_switched(&a->tracing, perf_file_evlist(a->file)))
		a->summary.tracing = &a->tracing;
	a->summary.aux = a->aux.cpus.data;
	a->summary.nr_aux = a->aux.cpus.nr;
	a->summary.gaps = a->aux.gaps.data;
	a->summary.nr_gaps = a->aux.gaps.nr;
	a->summary.loss_sums = a->losses.sums;
	a->summary.losses = a->losses.all.data;
	a->summary.nr_losses = a->losses.all.nr;
	a->summary.unresolved = a->unresolved.data;
	a->summary.nr_unresolved = a->unresolved.nr;
	return CLEW_OK;
}

/* Of a file; of a stream no one knows. */
static uint64_t end_of_records(const struct analyze *a)
{
	struct perf_file_section data = perf_file_data(a->file);

	if (perf_file_is_pipe(a->file) || perf_file_is_unfinished(a->file))
		return a->input.size;
	return data.offset + data.size;
}

static enum clew_err begin(struct analyze *a, const struct ana_consumer *consumer, bool is_threaded,
			   struct clew_diag *diag)
{
	a->queue = ana_queue_new(consumer, is_threaded, a->cache.epoch);
	if (!a->queue)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	progress_begin(a->input.progress, "reading", end_of_records(a));
	return CLEW_OK;
}

static enum clew_err end(struct analyze *a, enum clew_err err, struct clew_diag *diag)
{
	ana_queue_stop(a->queue); /* where an error came in between, it may still be at work */
	if (summarize(a) != CLEW_OK && err == CLEW_OK)
		err = clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	return err;
}

enum clew_err analyze_run(struct analyze *a, const struct ana_consumer *consumer,
			  struct clew_diag *diag)
{
	/* A pipe's events may still grow while the consumer reads them: one after the other there.
	 */
	bool is_threaded = !a->opts.is_single_threaded && !perf_file_is_pipe(a->file) &&
			   os_nr_cpus_usable() > 1;
	enum clew_err err = begin(a, consumer, is_threaded, diag);

	if (err != CLEW_OK)
		return err;
	if (is_threaded)
		a->reader.ahead = os_map_ahead_start(&a->reader.map);
	return end(a, read_all(a, diag), diag);
}

enum clew_err analyze_begin(struct analyze *a, const struct ana_consumer *consumer,
			    struct clew_diag *diag)
{
	return begin(a, consumer, false, diag);
}

enum clew_err analyze_settle(struct analyze *a)
{
	enum clew_err err = ana_queue_wait(a->queue);

	ana_cache_reset(&a->cache);
	ana_queue_set_epoch(a->queue, a->cache.epoch);
	ana_stacks_free(a->stacks);
	a->stacks = NULL;
	who_forget_code(a->who);
	return err;
}

enum clew_err analyze_step(struct analyze *a, struct clew_diag *diag)
{
	struct clew_diag why = {0};
	struct perf_record r;
	struct clew_perf_ns time;
	enum clew_err err = ana_reader_next(&a->reader, &r, &time, &why);

	if (err == CLEW_OK) {
		err = take_in(a, &r, time);
		if (err == CLEW_OK)
			return CLEW_OK;
		return end(a, clew_fail(diag, err, r.offset, clew_err_name(err)), diag);
	}
	err = end(a, finish(a, err, &why, diag), diag);
	return err == CLEW_OK ? CLEW_END : err;
}
