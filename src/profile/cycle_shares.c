/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/cycle_shares.h"

#include "base/u64.h"
#include "report/code_counts.h"

/* Of an interval: a longer one says nothing of a function. Keeps products in 64 bits, too. */
enum { MAX_BLOCKS = 1 << 16 };

void cycle_shares_done(struct cycle_shares *c)
{
	vec_done(&c->blocks);
	vec_done(&c->shares);
}

static void begin(struct cycle_shares *c, bool is_open)
{
	c->is_open = is_open;
	c->nr_insns = 0;
	c->blocks.nr = 0;
}

/** What the first @p nr of @p all instructions get of @p count cycles. */
static uint64_t share_of(uint64_t count, uint64_t nr, uint64_t all)
{
	uint64_t parts = count * CODE_CYCLE;

	return parts / all * nr + parts % all * nr / all;
}

static void count(struct cycle_shares *c, const struct flow_event *e)
{
	uint64_t nr = 0;

	for (size_t i = 0; c->is_open && e->has_count && i < c->blocks.nr; i++) {
		struct cycle_share *s = &c->shares.data[c->blocks.data[i]];
		uint64_t before = share_of(e->count, nr, c->nr_insns);

		nr += s->block.nr_insns;
		s->nr++;
		s->cycles = u64_sum(s->cycles, share_of(e->count, nr, c->nr_insns) - before);
	}
	begin(c, e->has_count);
}

/* Of code up to an interrupt, or the like, the share is no block's. */
static void add_range(struct cycle_shares *c, const struct flow_event *e)
{
	c->nr_insns += e->count;
}

static void take_event(struct cycle_shares *c, const struct flow_event *e)
{
	switch ((enum flow_event_kind)e->kind) {
	case FLOW_EV_CYCLES:
		count(c, e);
		break;
	case FLOW_EV_RANGE:
		add_range(c, e);
		break;
	case FLOW_EV_TRACE_ON:
		begin(c, c->is_x86 && !e->is_overflow);
		break;
	case FLOW_EV_NO_SYNC:
	case FLOW_EV_TRACE_OFF:
	case FLOW_EV_NO_PATH:
	case FLOW_EV_NACC:
	case FLOW_EV_NO_TARGET:
	case FLOW_EV_DROPPED:
	case FLOW_EV_PE_RESET:
	case FLOW_EV_UNSUPPORTED:
	case FLOW_EV_END:
		begin(c, false);
		break;
	case FLOW_EV_CONTEXT:
	case FLOW_EV_EXCEPTION:
	case FLOW_EV_EXCEPTION_RET:
	case FLOW_EV_FUNCTION_RET:
	case FLOW_EV_TIMESTAMP:
	case FLOW_EV_BOUND:
	case FLOW_EV_EVENT:
	case FLOW_EV_TS_MARKER:
	case FLOW_EV_INSTRUMENTATION:
	case FLOW_EV_TRANSACTION:
	case FLOW_EV_SWITCH:
	case FLOW_EV_NOTE:
	case NR_FLOW_EVENTS:
		break;
	}
}

/** @return false: out of memory. */
static bool take_block(struct cycle_shares *c, const struct flow_batch *b, uint32_t at)
{
	if (!c->is_open)
		return true;
	if (c->blocks.nr == MAX_BLOCKS) {
		begin(c, false);
		return true;
	}
	if (!vec_reach(&c->shares, at + 1u))
		return false;
	c->shares.data[at].block = b->blocks[at];
	c->nr_insns += b->blocks[at].nr_insns;
	return vec_push(&c->blocks, at);
}

bool cycle_shares_end(struct cycle_shares *c, const struct cycle_shares_sink *to)
{
	vec_for_each (&c->shares, s) {
		if (s->nr && !to->share(to->ctx, s))
			return false;
	}
	c->shares.nr = 0;
	begin(c, false);
	return true;
}

enum clew_err cycle_shares_add(struct cycle_shares *c, const struct flow_batch *b,
			       const struct cycle_shares_sink *to)
{
	if (c->has_epoch && c->epoch != b->epoch && !cycle_shares_end(c, to))
		return CLEW_NO_MEMORY;
	c->epoch = b->epoch;
	c->has_epoch = true;
	for (size_t i = 0; i < b->nr; i++) {
		uint32_t item = b->items[i];

		if (item & FLOW_ITEM_EVENT)
			take_event(c, &b->events[item & ~FLOW_ITEM_EVENT]);
		else if (!take_block(c, b, item >> 1))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}
