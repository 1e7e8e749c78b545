/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prop/ipt_judge.h"

#include <stdio.h>

#include "base/hash.h"
#include "flow/pt/ipt_flow.h"

enum { MOST_ROUNDING = 16 };

/** @return false */
static bool wrong(struct ipt_judge *j, const char *what, uint64_t got, uint64_t want)
{
	if (!j->why[0])
		snprintf(j->why, sizeof(j->why), "after %llu instructions, %s: %llx, not %llx",
			 (unsigned long long)j->at, what, (unsigned long long)got,
			 (unsigned long long)want);
	return false;
}

/* --- instructions --- */

/** The truth's state before the next instruction. @return is it another one? */
static bool take_states(struct ipt_judge *j)
{
	const struct ipt_truth *t = j->truth;
	size_t from = j->next_state;

	while (j->next_state < t->states.nr && t->states.data[j->next_state].at <= j->at)
		j->state = t->states.data[j->next_state++];
	return j->next_state > from;
}

static bool is_state_right(struct ipt_judge *j, uint64_t address, enum isa isa)
{
	const struct code_x86_context *want = &j->state.x86, *got = &j->context;
	unsigned int bits = isa == ISA_X86_64 ? 64 : isa == ISA_X86_32 ? 32 : 16;

	if (got->bits != want->bits || bits != want->bits)
		return wrong(j, "mode", got->bits, want->bits);
	if (got->has_cr3 != want->has_cr3 || got->cr3 != want->cr3)
		return wrong(j, "CR3", got->cr3, want->cr3);
	if (got->is_guest != want->is_guest)
		return wrong(j, "guest", got->is_guest, want->is_guest);
	if (got->has_vmcs != want->has_vmcs || got->vmcs != want->vmcs)
		return wrong(j, "VMCS", got->vmcs, want->vmcs);
	if (j->is_in_transaction != j->state.is_in_transaction)
		return wrong(j, "transaction", j->is_in_transaction, j->state.is_in_transaction);
	if (got->is_kernel != address >> 63)
		return wrong(j, "half of addresses", got->is_kernel, address >> 63);
	return true;
}

/** All instructions up to here ran: when, as the trace says? */
static bool is_time_right(struct ipt_judge *j)
{
	const struct ipt_truth *t = j->truth;
	uint64_t want, off;

	while (j->time < t->times.nr && t->times.data[j->time].at < j->at)
		j->time++;
	if (j->time == t->times.nr || t->times.data[j->time].at != j->at)
		return true;
	want = t->times.data[j->time].ticks;
	while (j->time < t->times.nr && t->times.data[j->time].at == j->at)
		j->time++;
	off = j->ticks > want ? j->ticks - want : want - j->ticks;
	j->nr_times++;
	j->sum += off;
	j->worst = off > j->worst ? off : j->worst;
	return off <= j->most_off ? true : wrong(j, "time", j->ticks, want);
}

static bool take_run(struct ipt_judge *j, uint64_t from, uint64_t to, uint32_t nr, enum isa isa)
{
	const struct ipt_truth *t = j->truth;

	for (bool is_first = true; nr; nr--, is_first = false) {
		uint64_t want;

		if (j->at == t->insns.nr)
			return wrong(j, "more than was executed", from, 0);
		want = t->insns.data[j->at];
		if (ipt_insn_address(want) != from)
			return wrong(j, "address", from, ipt_insn_address(want));
		if ((take_states(j) || is_first) && !is_state_right(j, from, isa))
			return false;
		from += ipt_insn_bytes(want);
		j->at++;
	}
	if (from != to)
		return wrong(j, "end", to, from);
	return j->most_off == UINT64_MAX || is_time_right(j);
}

/* --- events --- */

static bool take_mark(struct ipt_judge *j, const struct flow_event *e, uint64_t value)
{
	const struct ipt_mark *m = &j->truth->marks.data[j->mark];

	if (j->mark == j->truth->marks.nr)
		return wrong(j, "more events than there were", e->kind, 0);
	if (m->kind != e->kind)
		return wrong(j, "event", e->kind, m->kind);
	if (m->at != j->at)
		return wrong(j, "event's place", j->at, m->at);
	if (m->value != value)
		return wrong(j, "event's value", value, m->value);
	if (m->is_overflow != (e->kind == FLOW_EV_TRACE_ON && e->is_overflow))
		return wrong(j, "event after an overflow", e->is_overflow, m->is_overflow);
	j->mark++;
	return true;
}

/** Of a PTWRITE: without a FUP it comes before the instructions that lead to it. */
static bool take_note(struct ipt_judge *j, const struct flow_event *e)
{
	const struct ipt_mark *m = &j->truth->marks.data[j->mark];
	uint64_t at = j->at;
	bool ok;

	if (e->number != FLOW_NOTE_PTWRITE)
		return true;
	if (j->mark < j->truth->marks.nr && !e->has_count && m->at >= at)
		j->at = m->at;
	ok = take_mark(j, e, e->value);
	j->at = at;
	return ok;
}

static bool take_loss(struct ipt_judge *j, const struct flow_event *e)
{
	if (e->reason == FLOW_NO_SYNC_INIT)
		return true;
	if (e->reason == FLOW_NO_SYNC_OVERFLOW)
		return take_mark(j, e, 0);
	return wrong(j, e->what ? e->what : flow_no_sync_text((enum flow_no_sync)e->reason),
		     e->offset, 0);
}

static bool take_event(struct ipt_judge *j, const struct flow_event *e)
{
	switch ((enum flow_event_kind)e->kind) {
	case FLOW_EV_NO_SYNC:
		return take_loss(j, e);
	case FLOW_EV_TRACE_ON:
	case FLOW_EV_TRACE_OFF:
	case FLOW_EV_EXCEPTION:
		return take_mark(j, e, e->address);
	case FLOW_EV_NOTE:
		return take_note(j, e);
	case FLOW_EV_CONTEXT:
		j->context = e->context.x86;
		return true;
	case FLOW_EV_TRANSACTION:
		j->is_in_transaction =
			e->number == FLOW_TRANS_INIT || e->number == FLOW_TRANS_START;
		return true;
	case FLOW_EV_TIMESTAMP:
		if (e->ticks.ticks < j->ticks)
			return wrong(j, "time before the last one", e->ticks.ticks, j->ticks);
		j->ticks = e->ticks.ticks;
		return true;
	case FLOW_EV_RANGE:
		return take_run(j, e->address, e->end, e->count, (enum isa)e->isa);
	case FLOW_EV_NACC:
	case FLOW_EV_DROPPED:
	case FLOW_EV_NO_PATH:
	case FLOW_EV_NO_TARGET:
		return wrong(j, "event that was none", e->kind, e->address);
	case FLOW_EV_EXCEPTION_RET:
	case FLOW_EV_FUNCTION_RET:
	case FLOW_EV_PE_RESET:
	case FLOW_EV_CYCLES:
	case FLOW_EV_BOUND:
	case FLOW_EV_EVENT:
	case FLOW_EV_TS_MARKER:
	case FLOW_EV_INSTRUMENTATION:
	case FLOW_EV_UNSUPPORTED:
	case FLOW_EV_END:
	case FLOW_EV_SWITCH:
	case NR_FLOW_EVENTS:
		break;
	}
	return true;
}

static enum clew_err take_batch(void *ctx, const struct flow_batch *b)
{
	struct ipt_judge *j = ctx;
	bool ok = true;

	for (size_t i = 0; ok && i < b->nr; i++) {
		uint32_t item = b->items[i];
		const struct flow_block *k = &b->blocks[item >> 1];

		ok = item & FLOW_ITEM_EVENT
			   ? take_event(j, &b->events[item & ~(uint32_t)FLOW_ITEM_EVENT])
			   : take_run(j, k->start, k->start + k->bytes, k->nr_insns,
				      (enum isa)k->isa);
	}
	return ok ? CLEW_OK : CLEW_INVALID;
}

/* --- a decoding --- */

uint64_t ipt_judge_most_off(const struct ipt_encode_opts *o)
{
	const struct ipt_timing *t = &o->timing;

	if (!o->has_tsc || (!o->has_cyc && !o->has_mtc))
		return UINT64_MAX;
	/* Cycles that are not reported yet when the ratio changes count by the next one. */
	if (o->cyc_threshold && o->has_power)
		return UINT64_MAX;
	if (o->has_mtc && o->errata & IPT_SKZ84) /* MTC counts from a TMA, which may be missing */
		return UINT64_MAX;
	if (o->has_cyc)
		return MOST_ROUNDING + 2 * (uint64_t)o->cyc_threshold;
	return MOST_ROUNDING + ((uint64_t)t->numerator << t->mtc_shift) / t->denominator;
}

static enum clew_err feed(struct flow *f, struct bytes in, size_t piece)
{
	enum clew_err err = CLEW_OK;
	struct bytes next;

	while (bytes_left(&in) && !err) {
		size_t left = bytes_left(&in);

		bytes_take(&in, piece && piece < left ? piece : left, &next);
		err = flow_feed(f, next);
	}
	return err ? err : flow_finish(f);
}

static struct flow *decode(const struct ipt_judge *j, const struct ipt_judge_run *r,
			   enum clew_err (*batch)(void *ctx, const struct flow_batch *b), void *ctx,
			   enum clew_err *ret)
{
	struct ipt_flow_opts o = {.config = j->config,
				  .flow.code = j->code,
				  .flow.batch = batch,
				  .flow.ctx = ctx,
				  .flow.nr_threads = r->nr_threads,
				  .flow.part_bytes = r->part_bytes,
				  .flow.max_cache_bytes = r->max_cache_bytes,
				  .goes_plain = r->goes_plain};
	struct flow *f = ipt_flow_new(&o);
	struct bytes in = bytes_of(j->trace->data, r->cut ? r->cut : j->trace->nr);

	*ret = f ? feed(f, in, r->piece) : CLEW_NO_MEMORY;
	return f;
}

bool ipt_judge_is_right(struct ipt_judge *j, const struct ipt_judge_run *r)
{
	enum clew_err err;
	struct flow *f;

	*j = (struct ipt_judge){.truth = j->truth,
				.config = j->config,
				.code = j->code,
				.trace = j->trace,
				.most_off = j->most_off};
	f = decode(j, r, take_batch, j, &err);
	if (err && !j->why[0])
		wrong(j, "error", (uint64_t)-err, 0);
	if (!j->why[0] && !r->cut && j->at != j->truth->insns.nr)
		wrong(j, "instructions", j->at, j->truth->insns.nr);
	if (!j->why[0] && !r->cut && j->mark != j->truth->marks.nr)
		wrong(j, "events", j->mark, j->truth->marks.nr);
	if (!j->why[0] && flow_totals(f)->nr_insns != j->at)
		wrong(j, "total", flow_totals(f)->nr_insns, j->at);
	flow_free(f);
	return !j->why[0];
}

/* --- counts --- */

/** A sum over what ran: each run of a block, by the way its waypoint was left. */
static uint64_t weight(const struct flow_block *b, bool is_taken)
{
	return hash_two(hash_two(b->start, b->bytes),
			(uint64_t)b->space << 8 | (uint64_t)b->isa << 1 | is_taken);
}

static enum clew_err add_blocks(void *ctx, const struct flow_batch *b)
{
	uint64_t *sum = ctx;

	for (size_t i = 0; i < b->nr; i++)
		if (!(b->items[i] & FLOW_ITEM_EVENT))
			*sum += weight(&b->blocks[b->items[i] >> 1], b->items[i] & 1);
	return CLEW_OK;
}

static bool add_edge(void *ctx, const struct flow_edge *e)
{
	uint64_t *sum = ctx;

	if (e->from->kind != INSN_PLAIN)
		*sum += e->nr * weight(e->from, e->is_taken);
	return true;
}

bool ipt_judge_is_counted(struct ipt_judge *j, const struct ipt_judge_run *r)
{
	uint64_t in_batches = 0, in_edges = 0, nr_batches = 0, nr_counts = 0;
	enum clew_err errs[2];
	struct flow *batches = decode(j, r, add_blocks, &in_batches, &errs[0]);
	struct flow *counts = decode(j, r, NULL, NULL, &errs[1]);

	j->why[0] = '\0';
	if (!errs[0] && !errs[1]) {
		nr_batches = flow_totals(batches)->nr_insns;
		nr_counts = flow_totals(counts)->nr_insns;
		flow_edges(counts, add_edge, &in_edges);
	}
	if (errs[0] || errs[1])
		wrong(j, "error", 0, 0);
	if (nr_batches != nr_counts)
		wrong(j, "counted instructions", nr_counts, nr_batches);
	if (in_batches != in_edges)
		wrong(j, "counted blocks", in_edges, in_batches);
	flow_free(batches);
	flow_free(counts);
	return !j->why[0];
}
