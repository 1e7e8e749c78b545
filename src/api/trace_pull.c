/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "api/misuse.h"
#include "api/trace_impl.h"
#include "base/err.h"

/* --- batches that wait --- */

static enum clew_err keep_end(void *ctx, size_t unit, struct flow *flow)
{
	struct clew_trace *t = ctx;
	struct trace_waiting *w = trace_waiting_add(&t->pull);

	(void)flow;
	if (!w)
		return CLEW_NO_MEMORY;
	w->batch.unit = unit;
	w->is_end = true;
	return CLEW_OK;
}

/** Events of @p b, or one more than the highest number of one. */
static size_t nr_events(const struct flow_batch *b)
{
	size_t nr = 0, end = 0;

	for (size_t i = 0; i < b->nr; i++) {
		size_t next = (b->items[i] & ~(uint32_t)FLOW_ITEM_EVENT) + (size_t)1;

		if (!(b->items[i] & FLOW_ITEM_EVENT))
			continue;
		nr++;
		end = next > end ? next : end;
	}
	return nr > end ? nr : end;
}

/** With memory for the events that lives as long as the batches do. */
static enum clew_err take_batch(void *ctx, size_t unit, const struct flow_batch *b)
{
	struct clew_trace *t = ctx;
	struct trace_made own = t->made;
	size_t nr = nr_events(b);
	enum clew_err err = CLEW_NO_MEMORY;

	memset(&t->made, 0, sizeof(t->made));
	t->made.events.data = arena_alloc(&t->pull.memory, nr * sizeof(*own.events.data) + 1);
	t->made.partial.data = arena_alloc(&t->pull.memory, nr * sizeof(*own.partial.data) + 1);
	t->made.events.cap = t->made.partial.cap = nr;
	if (t->made.events.data && t->made.partial.data)
		err = trace_cut_batch(t, unit, b);
	t->made = own;
	return err;
}

/* --- a pass --- */

static enum clew_err begin_pulling(struct clew_trace *t)
{
	struct trace_decode_opts opts = trace_pass_opts(t);

	opts.nr_threads = 1;
	opts.batch = take_batch;
	opts.unit_end = keep_end;
	t->take = trace_waiting_keep;
	t->take_ctx = t;
	t->pull.pass = TRACE_PULLING;
	return trace_decoding_new(&t->pull.decoding, t->trace, &opts);
}

/** @p err: CLEW_END or a failure. */
static enum clew_err end_pulling(struct clew_trace *t, enum clew_err err)
{
	trace_pull_done(&t->pull);
	t->pull.pass = TRACE_OVER;
	return trace_pass_end(t, err, NULL, NULL);
}

/** Of a pass that is over, as often as it is asked for. */
static enum clew_err repeat_end(const struct clew_trace *t, struct clew_diag *diag)
{
	if (t->end.code == CLEW_OK)
		return clew_fail(diag, CLEW_END, 0, "there is no more trace");
	if (diag)
		*diag = t->end;
	return t->end.code;
}

/** Decode until batches wait. */
static enum clew_err decode(struct clew_trace *t)
{
	struct trace_pull *p = &t->pull;

	trace_waiting_drop(p);
	while (!p->end && !p->waiting.nr)
		p->end = trace_decoding_step(p->decoding, 0);
	return p->waiting.nr ? CLEW_OK : p->end;
}

/** The next that waits. @return CLEW_OK without *ret: it was the end of a unit. */
static enum clew_err take_waiting(struct clew_trace *t, const struct clew_trace_batch **ret)
{
	struct trace_waiting *w = t->pull.waiting.data[t->pull.next++];

	if (w->is_end)
		return t->run.unit_end ? trace_pass_taken(t, t->run.unit_end(t->ctx, w->batch.unit))
				       : CLEW_OK;
	if (!w->batch.ranges)
		w->batch.ranges = trace_ranges_of(&t->states[w->batch.unit], w->batch.epoch);
	*ret = &w->batch;
	return CLEW_OK;
}

/** Until batches wait, or there is no more. */
static enum clew_err pull(struct clew_trace *t, const struct clew_trace_batch **ret)
{
	struct trace_pull *p = &t->pull;
	enum clew_err err = p->pass == TRACE_NEW ? begin_pulling(t) : CLEW_OK;

	while (!err && !*ret && p->pass != TRACE_OVER) {
		if (p->next == p->waiting.nr)
			err = decode(t);
		if (!err)
			err = take_waiting(t, ret);
	}
	return err;
}

enum clew_err clew_trace_next(struct clew_trace *t, const struct clew_trace_batch **ret,
			      struct clew_diag *diag)
{
	const struct clew_trace_batch *next = NULL;
	enum clew_err err;

	if (!t || !ret)
		return api_misuse(diag, "an argument is NULL");
	if (t->pull.pass == TRACE_OTHER || t->is_running || t->is_pulling)
		return api_misuse(diag, "another pass has begun");
	t->is_pulling = true;
	err = pull(t, &next);
	t->is_pulling = false;
	if (err)
		end_pulling(t, err);
	if (t->pull.pass == TRACE_OVER)
		return repeat_end(t, diag);
	*ret = next;
	return CLEW_OK;
}
