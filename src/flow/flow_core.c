/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_core.h"

static const uint64_t max_counted = 3ull << 30; /* and a piece of input more: 32 bits */

/* --- for the consumer --- */

void flow_deliver(struct flow *f)
{
	struct flow_batch b = {.items = f->items,
			       .nr = f->nr_items,
			       .blocks = f->blocks.all.data,
			       .events = f->events.data,
			       .epoch = f->epoch};

	if (f->items && f->nr_items && !f->err)
		flow_fail(f, f->opts.batch(f->opts.ctx, &b));
	f->nr_items = f->events.nr = 0;
}

void flow_put_event(struct flow *f, const struct flow_event *e)
{
	if (!f->items)
		return;
	if (f->nr_items >= FLOW_BATCH_ITEMS)
		flow_deliver(f);
	f->items[f->nr_items++] = FLOW_ITEM_EVENT | (uint32_t)f->events.nr;
	if (!vec_push(&f->events, *e)) {
		f->nr_items--;
		flow_fail(f, CLEW_NO_MEMORY);
		return;
	}
	f->events.data[f->events.nr - 1].offset = f->offset;
}

void flow_put_switch(struct flow *f)
{
	const struct flow_event e = {.kind = FLOW_EV_SWITCH, .number = ++f->nr_switches};

	flow_put_event(f, &e);
}

void flow_put_no_sync(struct flow *f, enum flow_no_sync reason, const char *what)
{
	struct flow_event e = {.kind = FLOW_EV_NO_SYNC, .reason = (uint8_t)reason, .what = what};

	/* INIT and RESET: the caller restarts the flow at each AUX record, which loses no trace. */
	f->totals.nr_no_sync += reason != FLOW_NO_SYNC_INIT && reason != FLOW_NO_SYNC_RESET;
	flow_put_event(f, &e);
}

void flow_put_loss(struct flow *f, enum flow_no_sync reason)
{
	struct flow_event e = {.kind = FLOW_EV_NO_SYNC,
			       .reason = (uint8_t)reason,
			       .is_target = !f->needs_address && !f->needs_context,
			       .space = f->space,
			       .address = f->pc};

	f->totals.nr_no_sync++;
	flow_put_event(f, &e);
}

void flow_put_ticks(struct flow *f)
{
	struct flow_event e = {.kind = FLOW_EV_TIMESTAMP};

	if (f->ticks.ticks > f->shown.ticks)
		f->shown = f->ticks;
	e.ticks = f->shown;
	flow_put_event(f, &e);
}

void flow_report_dropped(struct flow *f)
{
	const struct flow_event e = {.kind = FLOW_EV_DROPPED,
				     .el = code_context_el(&f->context),
				     .value = f->nr_dropped};
	uint64_t offset = f->offset;

	f->nr_dropped = 0;
	f->offset = f->dropped_at;
	flow_put_event(f, &e);
	f->offset = offset;
}

void flow_look_up_space(struct flow *f)
{
	struct code_key key = {.context = f->context,
			       .ticks = f->ticks,
			       .bound = f->bound,
			       .nr_switches = f->nr_switches,
			       .may_have_switched = f->may_have_switched};
	uint32_t space = f->opts.code->space(f->opts.code->ctx, &key);

	if (f->is_speculative && !f->has_own_ticks) {
		f->asked[f->nr_asked % FLOW_MAX_ASKED].key = key;
		f->asked[f->nr_asked++ % FLOW_MAX_ASKED].space = space;
	}
	if (space != f->space)
		f->at = FLOW_NO_BLOCK;
	f->space = space;
}

/* --- the cache --- */

static size_t cache_bytes(const struct flow *f)
{
	return flow_blocks_bytes(&f->blocks) + flow_paths_bytes(&f->paths);
}

bool flow_cache_is_full(const struct flow *f)
{
	return cache_bytes(f) > f->opts.max_cache_bytes;
}

bool flow_cache_is_overfull(const struct flow *f)
{
	return !f->is_speculative && cache_bytes(f) > f->opts.max_cache_bytes / 4 * 5;
}

/** Block numbers begin again. */
static void clear_cache(struct flow *f)
{
	flow_deliver(f);
	flow_counts_store(f);
	flow_paths_clear(&f->paths);
	flow_blocks_clear(&f->blocks);
	flow_insn_counter_done(&f->insn_counter);
	for (unsigned int i = 0; i < FLOW_STACK_DEPTH; i++)
		f->stack[i].call = FLOW_NO_BLOCK;
	f->at = FLOW_NO_BLOCK;
	f->epoch++;
}

static void limit_counts(struct flow *f)
{
	if (f->nr_counted > max_counted)
		flow_counts_store(f);
}

void flow_limit_cache(struct flow *f)
{
	if (f->is_speculative) /* what can still be taken back has to be there */
		return;
	limit_counts(f);
	/* A branch that waits for its target has to be known until then. */
	if (flow_cache_is_full(f) && f->from == FLOW_NO_BLOCK)
		clear_cache(f);
}

bool flow_wants_room(const struct flow *f)
{
	return f->nr_counted > max_counted || cache_bytes(f) > f->opts.max_cache_bytes / 4 * 3;
}

void flow_make_room(struct flow *f)
{
	limit_counts(f);
	if (flow_wants_room(f))
		clear_cache(f);
}
