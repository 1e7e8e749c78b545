/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "analyze/ana_impl.h"
#include "base/err.h"
#include "base/mem.h"
#include "perfdata/perf_deferred.h"

/*
 * A sample's user stack may stand far behind it. Where the input can be read twice, a second reader
 * goes ahead as far as the sample at hand needs: nothing but the samples in between is remembered,
 * and each record is played when it is its turn. A stream cannot be read twice: there all records
 * wait behind a sample that waits. docs/decisions/stitching.md
 */
enum { MIN_BUDGET = 64 << 20, MAX_BUDGET = 1 << 30 };

/* Of a stream that somebody watches. */
#define STREAM_AGE_NS (10 * 1000000000ull)

bool ana_find_mark(const struct perf_words *chain, uint32_t *ret)
{
	for (uint32_t i = 0; i < chain->nr; i++) {
		if (perf_words_get(chain, i) == PERF_CONTEXT_USER_DEFERRED) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static void drop_stack(void *ctx, const struct stitch_stack *stack)
{
	(void)ctx;
	mem_free((void *)(uintptr_t)stack->record);
}

static enum clew_err start_ahead(struct analyze *a)
{
	struct ana_defer *d = &a->defer;
	struct clew_diag diag;
	enum clew_err err = perf_file_open(&d->file, &a->input, &diag);

	return err == CLEW_OK ? ana_reader_init(&d->reader, d->file, &a->input, a->opts.is_mapped)
			      : err;
}

enum clew_err ana_defer_start(struct analyze *a)
{
	struct stitch_opts opts = {.drop = drop_stack};
	struct ana_defer *d = &a->defer;
	bool is_stream = !a->input.data;
	enum clew_err err = CLEW_OK;

	if (d->mode != ANA_DEFER_OFF)
		return CLEW_OK;
	/* What is remembered of a sample and its stack is less than half of their records. */
	opts.budget_bytes = a->input.size / 2;
	if (opts.budget_bytes < MIN_BUDGET)
		opts.budget_bytes = MIN_BUDGET;
	if (opts.budget_bytes > MAX_BUDGET)
		opts.budget_bytes = MAX_BUDGET;
	if (is_stream && a->opts.is_live)
		opts.age_ns = STREAM_AGE_NS;
	d->stitch = stitch_new(&opts);
	if (!d->stitch)
		return CLEW_NO_MEMORY;
	if (!is_stream)
		err = start_ahead(a);
	d->mode = is_stream ? ANA_DEFER_QUEUE : ANA_DEFER_AHEAD;
	return err;
}

bool ana_defer_is_wanted(const struct analyze *a)
{
	return a->opts.wants_outcomes || (!a->opts.no_chains && !a->opts.no_merge);
}

/* A pipe's events come as it goes. */
enum clew_err ana_defer_check(struct analyze *a)
{
	const struct perf_evlist *l = perf_file_evlist(a->file);

	if (a->defer.mode != ANA_DEFER_OFF || a->defer.nr_evsels == l->evsels.nr ||
	    !ana_defer_is_wanted(a))
		return CLEW_OK;
	for (; a->defer.nr_evsels < l->evsels.nr; a->defer.nr_evsels++) {
		if (l->evsels.data[a->defer.nr_evsels]->attr.flags & PERF_ATTR_DEFER_CALLCHAIN)
			return ana_defer_start(a);
	}
	return CLEW_OK;
}

/* Without the task's number in the records, the cookie alone has to do: as if each were a task. */
static uint32_t task_of(uint32_t tid, uint64_t cookie)
{
	return tid == UINT32_MAX ? (uint32_t)(cookie ^ cookie >> 32) : tid;
}

/* A sample that waits for a stack: which? */
static bool key_of_sample(struct perf_file *file, const struct perf_record *r, uint32_t *ret_tid,
			  uint64_t *ret_cookie)
{
	const struct perf_evsel *evsel = perf_evlist_of_record(perf_file_evlist(file), r->type,
							       perf_record_body(r), r->swap);
	struct perf_sample s;
	uint32_t at;

	if (!evsel ||
	    perf_sample_parse(perf_record_body(r), r->misc, r->swap, &evsel->attr, &s) != CLEW_OK ||
	    !ana_find_mark(&s.callchain, &at) || at + 1 >= s.callchain.nr)
		return false;
	*ret_cookie = perf_words_get(&s.callchain, at + 1);
	*ret_tid = task_of(evsel->attr.flags & PERF_ATTR_SAMPLE_ID_ALL ? s.tid : UINT32_MAX,
			   *ret_cookie);
	return !perf_cookie_is_none(*ret_cookie);
}

/* A stack in the mapped file stays there; else it is copied, without the block it stands in. */
static bool keep_ips(const struct perf_record *r, struct stitch_stack *stack)
{
	size_t ip_bytes = 8 * (size_t)stack->nr;
	size_t method_bytes = stack->methods ? ((size_t)stack->nr + 1) / 2 : 0;
	uint8_t *copy;

	if (!r->block || !ip_bytes)
		return true;
	copy = mem_alloc(ip_bytes + method_bytes);
	if (!copy)
		return false;
	memcpy(copy, stack->ips, ip_bytes);
	stack->ips = copy;
	if (method_bytes) {
		memcpy(copy + ip_bytes, stack->methods, method_bytes);
		stack->methods = copy + ip_bytes;
	}
	stack->record = copy;
	stack->bytes = ip_bytes + method_bytes;
	return true;
}

static enum clew_err take_stack(struct ana_defer *d, struct perf_file *file,
				const struct perf_record *r, uint64_t time)
{
	const struct perf_evsel *evsel = perf_evlist_of_record(perf_file_evlist(file), r->type,
							       perf_record_body(r), r->swap);
	struct perf_sample_id id = {.tid = UINT32_MAX};
	struct perf_deferred_trailer trailer;
	struct perf_callchain_deferred c;
	struct stitch_stack stack = {0};
	enum clew_err err;

	if (!evsel || perf_callchain_deferred_parse(r, &c) != CLEW_OK ||
	    perf_sample_id_parse(perf_record_body(r), r->swap, &evsel->attr, &id) != CLEW_OK)
		return CLEW_OK; /* counted where it is played */
	stack.ips = c.ips;
	stack.nr = (uint32_t)c.nr;
	stack.is_own = c.cookie & PERF_COOKIE_OWN;
	if (perf_deferred_trailer(r, id.size_bytes, &trailer)) {
		stack.stop = trailer.stop;
		stack.why = trailer.why;
		stack.method = trailer.method;
		stack.methods = trailer.methods;
	}
	if (!keep_ips(r, &stack))
		return CLEW_NO_MEMORY;
	err = stitch_stack_record(d->stitch, task_of(id.tid, c.cookie), c.cookie,
				  time == UINT64_MAX ? 0 : time, &stack);
	if (err != CLEW_OK)
		mem_free((void *)(uintptr_t)stack.record);
	return err;
}

/* What ends a task's entry. */
static void take_task(struct ana_defer *d, const struct perf_record *r)
{
	struct perf_comm comm;
	struct perf_task task;
	struct perf_lost lost;

	switch (r->type) {
	case PERF_RECORD_COMM:
		if (perf_comm_parse(r, &comm) == CLEW_OK && comm.is_exec)
			stitch_task_exec(d->stitch, comm.tid);
		break;
	case PERF_RECORD_FORK:
		if (perf_task_parse(r, &task) == CLEW_OK && !task.is_recorders)
			stitch_task_fork(d->stitch, task.tid);
		break;
	case PERF_RECORD_EXIT:
		if (perf_task_parse(r, &task) == CLEW_OK)
			stitch_task_exit(d->stitch, task.tid);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		if (perf_lost_parse(r, &lost) == CLEW_OK && lost.lost)
			stitch_lost(d->stitch);
		break;
	default:
		break;
	}
}

/* --- a second reader --- */

static enum clew_err look_at(struct ana_defer *d, const struct perf_record *r, uint64_t time)
{
	uint64_t cookie;
	uint32_t tid;

	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		if (!key_of_sample(d->file, r, &tid, &cookie))
			return CLEW_OK;
		return stitch_sample(d->stitch, tid, cookie, time == UINT64_MAX ? 0 : time,
				     (void *)(uintptr_t)r->offset, 0);
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		return take_stack(d, d->file, r, time);
	default:
		take_task(d, r);
		return CLEW_OK;
	}
}

static enum clew_err look_further(struct ana_defer *d)
{
	struct clew_diag diag;
	struct perf_record r;
	uint64_t time;
	enum clew_err err = ana_reader_next(&d->reader, &r, &time, &diag);

	if (err == CLEW_NO_MEMORY)
		return err;
	if (err != CLEW_OK) {
		stitch_end(d->stitch);
		d->is_at_end = true;
		return CLEW_OK;
	}
	err = look_at(d, &r, time);
	perf_block_release(r.block);
	return err;
}

enum clew_err ana_defer_ask(struct analyze *a, const struct perf_record *r, struct ana_user *ret)
{
	struct ana_defer *d = &a->defer;
	struct stitch_item item;
	enum clew_err err;

	for (;;) {
		/* Both readers meet the same samples in the same order, unless the file is being
		 * changed: then nothing is attached. */
		while (d->mode == ANA_DEFER_AHEAD && stitch_next(d->stitch, &item)) {
			if (item.item != (void *)(uintptr_t)r->offset)
				continue;
			ana_user_take(&item, ret);
			return CLEW_OK;
		}
		/* A stream's sample of which no event was known when it came. */
		if (d->is_at_end || d->mode == ANA_DEFER_QUEUE) {
			ret->state = STITCH_LOST;
			ret->reason = STITCH_END;
			return CLEW_OK;
		}
		err = look_further(d);
		if (err != CLEW_OK)
			return err;
	}
}

/* --- a stream --- */

struct waiting {
	struct perf_record record;
	uint64_t time;
};

static void free_waiting(struct waiting *w)
{
	perf_block_release(w->record.block);
	mem_free(w);
}

static enum clew_err let_go(struct analyze *a)
{
	struct stitch_item item;
	enum clew_err err = CLEW_OK;

	while (err == CLEW_OK && stitch_next(a->defer.stitch, &item)) {
		struct waiting *w = item.item;

		err = ana_process(a, &w->record, w->time, &item);
		free_waiting(w);
	}
	return err;
}

static enum clew_err put_in(struct analyze *a, struct waiting *w)
{
	struct ana_defer *d = &a->defer;
	const struct perf_record *r = &w->record;
	uint64_t time = w->time == UINT64_MAX ? 0 : w->time, cookie;
	size_t bytes = sizeof(*w) + r->size;
	uint32_t tid;
	enum clew_err err;

	if (r->type == PERF_RECORD_SAMPLE && key_of_sample(a->file, r, &tid, &cookie))
		return stitch_sample(d->stitch, tid, cookie, time, w, bytes);
	if (r->type == PERF_RECORD_CALLCHAIN_DEFERRED) {
		err = take_stack(d, a->file, r, w->time);
		if (err != CLEW_OK)
			return err;
	}
	take_task(d, r);
	return stitch_other(d->stitch, time, w, bytes);
}

enum clew_err ana_defer_take(struct analyze *a, const struct perf_record *r, uint64_t time)
{
	bool has_no_place = time == 0 || time == UINT64_MAX;
	struct waiting *w;
	enum clew_err err;

	if (has_no_place && r->type != PERF_RECORD_SAMPLE &&
	    r->type != PERF_RECORD_CALLCHAIN_DEFERRED)
		return ana_process(a, r, time, NULL);
	w = mem_alloc(sizeof(*w));
	if (!w)
		return CLEW_NO_MEMORY;
	*w = (struct waiting){*r, time};
	perf_block_hold(r->block);
	err = put_in(a, w);
	if (err != CLEW_OK) {
		free_waiting(w);
		return err;
	}
	return let_go(a);
}

enum clew_err ana_defer_finish(struct analyze *a)
{
	if (a->defer.mode != ANA_DEFER_QUEUE)
		return CLEW_OK;
	stitch_end(a->defer.stitch);
	return let_go(a);
}

void ana_defer_done(struct ana_defer *d)
{
	struct stitch_item item;

	if (d->stitch)
		stitch_end(d->stitch);
	while (d->mode == ANA_DEFER_QUEUE && stitch_next(d->stitch, &item))
		free_waiting(item.item);
	stitch_free(d->stitch);
	ana_reader_done(&d->reader);
	perf_file_free(d->file);
	*d = (struct ana_defer){0};
}
