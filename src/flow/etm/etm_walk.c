/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_flow_impl.h"
#include "flow/flow_walk.h"

enum {
	BOTH = 2, /* E1:E0 of an exception: its return address is the branch's target, too */
	NOWHERE = 0xfffffffe, /* M profile: where tail-chained exceptions would return to */
};

static void forget_ids(struct etm_flow *f)
{
	f->repeats_ids = false;
	f->flow.context.arm.has_cid = f->flow.context.arm.has_vmid = false;
	f->flow.context.arm.cid = f->flow.context.arm.vmid = 0;
}

void etm_walk_forget(struct etm_flow *f)
{
	forget_ids(f);
	flow_forget(&f->flow);
	f->flow.context.arm.entry = CODE_LANDMARK_UNKNOWN;
	f->flow.may_have_switched = true;
}

/* --- the other elements --- */

/** The kind of exception return that left EL2; unknown if it was something else. */
static uint8_t entry_by(struct etm_flow *f)
{
	const struct code_source *code = f->flow.opts.code;
	const struct flow_block *b;
	uint64_t pc;

	if (f->flow.from == FLOW_NO_BLOCK || !code->landmark)
		return CODE_LANDMARK_UNKNOWN;
	b = &f->flow.blocks.all.data[f->flow.from];
	if (!(b->flags & INSN_ERET))
		return CODE_LANDMARK_UNKNOWN;
	pc = b->start + b->bytes - b->last_bytes;
	if (f->entry_pc != pc || f->entry_space != b->space) {
		f->entry = (uint8_t)code->landmark(code->ctx, b->space, pc);
		f->entry_pc = pc;
		f->entry_space = b->space;
	}
	return f->entry;
}

/** Note how execution reached the level of @p n. Firmware returns to its caller. */
static void set_level(struct etm_flow *f, const struct etm_context *n)
{
	struct code_arm_context *c = &f->flow.context.arm;
	bool is_firmware = n->el == 3 || !n->ns;

	if (n->el == 2)
		c->entry = CODE_LANDMARK_UNKNOWN;
	else if (c->el == 2 && !is_firmware)
		c->entry = entry_by(f);
	if (n->el && !is_firmware)
		c->upper_el = n->el;
	c->is_at_start &= !n->el;
	/* After a gap the level before it does not matter. */
	f->flow.may_have_switched |= n->el || (c->el && c->upper_el);
	c->el = n->el;
	c->security = (uint8_t)(n->nse << 1 | n->ns); /* enum arm_security */
}

/** After a gap: how execution reaches its next level is unknown. */
static void forget_level(struct etm_flow *f)
{
	struct code_arm_context *c = &f->flow.context.arm;

	c->upper_el = 0;
	c->entry = CODE_LANDMARK_UNKNOWN;
	f->flow.may_have_switched = true;
}

static void set_context(struct etm_flow *f, const struct etm_elem *e)
{
	struct flow_event event = {.kind = FLOW_EV_CONTEXT};
	const struct etm_context *n = &e->context;
	struct code_arm_context *c = &f->flow.context.arm;

	if (!f->has_context) /* the first context of a part repeats the known one */
		c->el = n->el;
	set_level(f, n);
	if (!f->has_context)
		f->flow.has_own_context = n->el == 2; /* earlier contexts no longer matter */
	f->has_context = true;
	c->is_64 = n->sf;
	if (f->repeats_ids)
		forget_ids(f);
	if (n->has_vmid) {
		c->has_vmid = f->config->vmid_bytes;
		c->vmid = n->vmid;
	}
	if (n->has_cid) {
		c->has_cid = f->config->cid_bytes;
		c->cid = n->cid;
	}
	f->flow.needs_context = false;
	if (!f->flow.needs_address) {
		/* Branches may have led to T32, or from it, since the last address. */
		if (f->flow.isa != ISA_T32)
			f->flow.isa = c->is_64 ? ISA_A64 : ISA_A32;
		f->flow.at = FLOW_NO_BLOCK;
	}
	flow_look_up_space(&f->flow);
	event.context = f->flow.context;
	event.space = f->flow.space;
	event.el = c->el;
	flow_put_event(&f->flow, &event);
}

static enum flow_cause cause_of(uint32_t number)
{
	switch (number) {
	case ETM_EXC_CALL:
		return FLOW_CAUSE_CALL;
	case ETM_EXC_RESET:
	case ETM_EXC_DEBUG_HALT:
	case ETM_EXC_SYSTEM_ERROR:
	case ETM_EXC_INSN_DEBUG:
	case ETM_EXC_DATA_DEBUG:
	case ETM_EXC_IRQ:
	case ETM_EXC_FIQ:
		return FLOW_CAUSE_ASYNC;
	default:
		return FLOW_CAUSE_OTHER;
	}
}

static bool except(struct etm_flow *f, const struct etm_elem *e)
{
	struct flow_event event = {.kind = FLOW_EV_EXCEPTION,
				   .number = e->a,
				   .cause = (uint8_t)cause_of(e->a),
				   .address = e->value,
				   .el = f->flow.context.arm.el,
				   .is_target = e->e == BOTH};
	struct flow_event gap = {.kind = FLOW_EV_NO_TARGET, .end = e->value};
	bool is_of_nowhere = f->config->is_m_profile && e->value == NOWHERE;

	if (e->e == BOTH || is_of_nowhere)
		f->flow.popping = FLOW_POPS_NOTHING;
	else if (!flow_pop(&f->flow))
		return false;
	if (e->e != BOTH && !is_of_nowhere && !f->flow.needs_context) {
		if (!f->flow.needs_address)
			flow_run_to(&f->flow, e->value);
		else if (f->flow.from != FLOW_NO_BLOCK)
			flow_put_event(&f->flow, &gap);
	}
	if (f->sync != ETM_RUNNING)
		return false;
	f->flow.totals.nr_exceptions++;
	flow_put_event(&f->flow, &event);
	flow_lose_place(&f->flow);
	f->flow.from = FLOW_NO_BLOCK;
	return true;
}

/** May execution continue after the waypoint as if it were a nop? In T32 an IT block decides. */
static bool may_go_on(const struct flow_block *b)
{
	return b->kind == INSN_COND || b->flags & INSN_MAY_FAIL || b->isa == ISA_T32;
}

/** Past waypoints that are no branches, with @p nr instructions to go. *ret_nr: of which passed. */
static bool pass_barriers(struct etm_flow *f, uint32_t nr, uint32_t *ret_nr)
{
	*ret_nr = 0;
	for (;;) {
		const struct flow_block *b = &f->flow.blocks.all.data[f->flow.at];

		if (b->kind == INSN_PLAIN || flow_is_branch(b) || nr > FLOW_MAX_BLOCK_INSNS ||
		    nr - *ret_nr <= b->nr_insns)
			return true;
		*ret_nr += b->nr_insns;
		if (!flow_fall_through(&f->flow))
			return false;
	}
}

/** May execution be at @p to after all of block @p b? */
static bool may_lead_to(const struct flow_block *b, uint64_t to)
{
	uint64_t next = b->start + b->bytes;

	if (b->kind == INSN_INDIRECT)
		return true;
	if (b->kind == INSN_BRANCH || b->kind == INSN_COND)
		return to == b->target || (to == next && may_go_on(b));
	return b->kind != INSN_PLAIN && to == next;
}

/** What pass_barriers() passed, from block @p at on; and up to @p end. */
static void give_passed(struct etm_flow *f, uint32_t at, uint64_t end, uint32_t nr)
{
	uint64_t from = f->flow.blocks.all.data[at].start;

	while ((!f->flow.items || f->opts.splits_source_ranges) && at != f->flow.at) {
		const struct flow_block *b = &f->flow.blocks.all.data[at];

		flow_put_item(&f->flow, at, !may_go_on(b));
		if (f->flow.nr_items >= FLOW_BATCH_ITEMS)
			flow_deliver(&f->flow);
		from = b->start + b->bytes;
		nr -= b->nr_insns;
		at = f->flow.blocks.links.data[at].next[0];
	}
	flow_put_range(&f->flow, from, end, nr);
}

/** Q: instructions of which no atoms were sent. */
static bool skip_over(struct etm_flow *f, const struct etm_elem *e)
{
	struct flow_event gap = {.kind = FLOW_EV_NO_PATH,
				 .el = f->flow.context.arm.el,
				 .space = f->flow.space,
				 .end = e->value,
				 .has_count = e->has_count,
				 .count = e->a};
	const struct flow_block *b;
	uint64_t end = 0, next;
	uint32_t nr = 0, passed, first;

	if (!flow_pop(&f->flow))
		return false;
	if (f->flow.from != FLOW_NO_BLOCK) {
		gap.kind = FLOW_EV_NO_TARGET;
		flow_put_event(&f->flow, &gap);
	}
	f->flow.from = FLOW_NO_BLOCK; /* the address is where Q ended, not where a branch went */
	gap.isa = (uint8_t)f->flow.isa;
	gap.address = f->flow.pc;
	if (!f->flow.needs_address && !f->flow.needs_context) {
		if (!flow_here(&f->flow))
			return false;
		first = f->flow.at;
		if (!pass_barriers(f, e->has_count ? e->a : 0, &passed))
			return false;
		b = &f->flow.blocks.all.data[f->flow.at];
		next = b->start + b->bytes;
		if (e->value - f->flow.pc < b->bytes)
			nr = flow_code_count(&f->flow.code,
					     &(struct flow_span){f->flow.pc, e->value,
								 f->flow.space, f->flow.isa},
					     &end);
		if (e->has_count && e->a == passed + b->nr_insns && may_lead_to(b, e->value)) {
			bool is_e = next != e->value || !may_go_on(b);

			if (passed && f->flow.items && !f->opts.splits_source_ranges) {
				give_passed(f, first, next, e->a);
			} else {
				give_passed(f, first, b->start, passed);
				flow_put_item(&f->flow, f->flow.at, is_e);
			}
			if (b->kind == INSN_INDIRECT && is_e)
				f->flow.from = f->flow.at;
		} else if (e->has_count && e->a && e->a == passed + nr && end == e->value)
			give_passed(f, first, end, e->a);
		else
			flow_put_event(&f->flow, &gap);
	}
	flow_go_to(&f->flow, e->value, etm_isa_of(f, e->is));
	return true;
}

static void put_simply(struct etm_flow *f, enum flow_event_kind kind, uint32_t number)
{
	struct flow_event e = {
		.kind = (uint8_t)kind, .number = number, .el = f->flow.context.arm.el};

	flow_put_event(&f->flow, &e);
}

void etm_walk_note(struct etm_flow *f, const struct etm_elem *e)
{
	struct flow_event event = {.has_count = e->has_count,
				   .count = e->a,
				   .number = e->a,
				   .el = e->el,
				   .value = e->value};

	switch (e->kind) {
	case ETM_EL_TIMESTAMP:
		event.kind = FLOW_EV_TIMESTAMP;
		if (e->value) {
			f->flow.ticks = event.ticks;
			f->flow.has_own_ticks = true;
			f->flow.may_have_switched = false;
			if (!f->flow.needs_context)
				flow_look_up_space(&f->flow);
		}
		break;
	case ETM_EL_CYCLES:
		event.kind = FLOW_EV_CYCLES;
		break;
	case ETM_EL_EVENT:
		event.kind = FLOW_EV_EVENT;
		break;
	case ETM_EL_TS_MARKER:
		event.kind = FLOW_EV_TS_MARKER;
		break;
	case ETM_EL_ITE:
		event.kind = FLOW_EV_INSTRUMENTATION;
		break;
	default:
		return;
	}
	flow_put_event(&f->flow, &event);
}

/** Both sides empty their return stack. What the branch before took from the unit's is still to be
 * taken from this one, if no address comes. */
static void inform(struct etm_flow *f)
{
	if (flow_may_pop(&f->flow))
		f->flow.popping = FLOW_POPS_FORMER_TOP;
	f->flow.stack_nr = 0;
	f->flow.no_push = true;
	f->repeats_ids = true;
}

static void start_again(struct etm_flow *f)
{
	struct flow_event e = {.kind = FLOW_EV_TRACE_ON, .is_overflow = f->was_overflow};

	f->was_overflow = false;
	f->flow.stack_nr = 0;
	f->flow.from = FLOW_NO_BLOCK;
	if (f->flow.has_first_to == FLOW_TO_OPEN)
		f->flow.has_first_to = FLOW_TO_UNKNOWN;
	flow_lose_place(&f->flow);
	forget_level(f);
	flow_put_event(&f->flow, &e);
}

bool etm_walk_element(struct etm_flow *f, const struct etm_elem *e)
{
	flow_put_dropped(&f->flow);
	f->flow.offset = e->offset;
	if (e->kind <= ETM_EL_TRANS_START) {
		f->flow.last_edge.kind = FLOW_EDGE_NONE;
		f->flow.first = f->flow.first ? f->flow.first : FLOW_FIRST_RAN;
	}
	switch ((enum etm_element)e->kind) {
	case ETM_EL_ATOMS:
		break; /* one by one */
	case ETM_EL_EXCEPTION:
		return except(f, e);
	case ETM_EL_PE_RESET:
		flow_lose_place(&f->flow);
		f->flow.from = FLOW_NO_BLOCK;
		f->flow.stack_nr = 0;
		put_simply(f, FLOW_EV_PE_RESET, 0);
		break;
	case ETM_EL_SOURCE:
		return etm_walk_source(f, e);
	case ETM_EL_Q:
		return skip_over(f, e);
	case ETM_EL_FUNCTION_RET:
		put_simply(f, FLOW_EV_FUNCTION_RET, 0);
		break;
	case ETM_EL_TRANS_START:
		put_simply(f, FLOW_EV_TRANSACTION, FLOW_TRANS_START);
		break;
	case ETM_EL_ADDRESS:
		flow_go_to(&f->flow, e->value, etm_isa_of(f, e->is));
		break;
	case ETM_EL_CONTEXT:
		set_context(f, e);
		break;
	case ETM_EL_TRACE_ON:
		start_again(f);
		break;
	case ETM_EL_TRACE_INFO:
		inform(f);
		break;
	case ETM_EL_EXCEPTION_RET:
		/* Of M profile only the packet says that the branch was one. */
		f->flow.popping = FLOW_POPS_NOTHING;
		put_simply(f, FLOW_EV_EXCEPTION_RET, 0);
		break;
	case ETM_EL_TRANS_COMMIT:
		put_simply(f, FLOW_EV_TRANSACTION, FLOW_TRANS_COMMITTED);
		break;
	case ETM_EL_TRANS_FAIL:
		put_simply(f, FLOW_EV_TRANSACTION, FLOW_TRANS_FAILED);
		break;
	case ETM_EL_TIMESTAMP:
	case ETM_EL_CYCLES:
	case ETM_EL_EVENT:
	case ETM_EL_TS_MARKER:
	case ETM_EL_ITE:
		etm_walk_note(f, e);
		break;
	}
	return !f->flow.err;
}
