/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_flow_impl.h"

enum {
	BOTH = 2, /* E1:E0 of an exception: its return address is the branch's target, too */
	NOWHERE = 0xfffffffe, /* M profile: where tail-chained exceptions would return to */
	MAX_SKIPPED = 4096,   /* branches that a source address may lead over: real ones few */
};

static bool bad_image(struct etm_flow *f, const char *what)
{
	etm_flow_lose(f, FLOW_NO_SYNC_BAD_IMAGE, what);
	return false;
}

/** Trace info resets them: what follows tells them again, where they are traced. */
static void forget_ids(struct etm_flow *f)
{
	f->flow.context.has_cid = f->flow.context.has_vmid = false;
	f->flow.context.cid = f->flow.context.vmid = 0;
}

void etm_walk_forget(struct etm_flow *f)
{
	forget_ids(f);
	f->flow.needs_address = f->flow.needs_context = true;
	f->is_popping = f->no_push = false;
	f->flow.stack_nr = 0;
	f->flow.context.upper_el = 0;
	f->flow.at = f->flow.from = FLOW_NO_BLOCK;
}

static void move_to(struct etm_flow *f, uint64_t pc, enum isa isa)
{
	f->flow.pc = pc;
	f->flow.isa = isa;
	f->flow.at = FLOW_NO_BLOCK;
	f->flow.needs_address = false;
	f->is_popping = false;
}

static void lose_place(struct etm_flow *f)
{
	f->flow.needs_address = true;
	f->is_popping = false;
	f->flow.at = FLOW_NO_BLOCK;
}

static void push(struct etm_flow *f, uint32_t call)
{
	const struct flow_block *b = &f->flow.blocks.all.data[call];

	if (!f->config->has_return_stack || f->no_push)
		return;
	f->flow.stack_top = (f->flow.stack_top + 1) % FLOW_STACK_DEPTH;
	f->flow.stack[f->flow.stack_top] = (struct flow_return){b->start + b->bytes, call, b->isa};
	f->flow.stack_nr += f->flow.stack_nr < FLOW_STACK_DEPTH;
}

static bool here(struct etm_flow *f);

/** The branch of f->flow.from led here. */
static void arrive(struct etm_flow *f)
{
	if (f->flow.from != FLOW_NO_BLOCK && !f->flow.items && here(f))
		flow_went(&f->flow, f->flow.from, f->flow.at, (int32_t)f->flow.step);
	f->flow.from = FLOW_NO_BLOCK;
}

static bool pop(struct etm_flow *f)
{
	if (!f->is_popping)
		return true;
	if (!f->flow.stack_nr) {
		etm_flow_lose(f, FLOW_NO_SYNC_BAD_PACKET, "the return stack is empty");
		return false;
	}
	move_to(f, f->flow.stack[f->flow.stack_top].address,
		(enum isa)f->flow.stack[f->flow.stack_top].isa);
	f->flow.stack_top = (f->flow.stack_top + FLOW_STACK_DEPTH - 1) % FLOW_STACK_DEPTH;
	f->flow.stack_nr--;
	arrive(f);
	return !f->flow.err;
}

/** The block at the place where execution is. @return false: no memory. */
static bool here(struct etm_flow *f)
{
	if (f->flow.at == FLOW_NO_BLOCK)
		f->flow.at =
			flow_blocks_get(&f->flow.blocks, f->flow.space, f->flow.isa, f->flow.pc);
	if (f->flow.at == FLOW_NO_BLOCK)
		flow_fail(&f->flow, CLEW_NO_MEMORY);
	return f->flow.at != FLOW_NO_BLOCK;
}

static void tell_range(struct etm_flow *f, uint64_t from, uint64_t to, uint32_t nr_insns)
{
	struct flow_event e = {.kind = FLOW_EV_RANGE,
			       .isa = (uint8_t)f->flow.isa,
			       .el = f->flow.context.el,
			       .count = nr_insns,
			       .space = f->flow.space,
			       .address = from,
			       .end = to};

	if (from == to)
		return;
	flow_add_range(&f->flow, nr_insns);
	if (!f->flow.items)
		flow_ran(&f->flow, from, to, nr_insns);
	flow_put_event(&f->flow, &e);
}

static void tell_no_code(struct etm_flow *f, uint64_t address)
{
	struct flow_event e = {.kind = FLOW_EV_NACC,
			       .el = f->flow.context.el,
			       .space = f->flow.space,
			       .address = address};

	f->flow.totals.nr_nacc++;
	flow_put_event(&f->flow, &e);
	lose_place(f);
}

/** A block that ends before a waypoint. */
static bool step_broken(struct etm_flow *f, const struct flow_block *b)
{
	uint64_t end = b->start + b->bytes;

	tell_range(f, b->start, end, b->nr_insns);
	if (b->flags & FLOW_BLOCK_ENDLESS)
		return bad_image(f, "code without a branch");
	tell_no_code(f, end);
	return true;
}

/** Behind block @p at, whose waypoint was taken. */
static void take(struct etm_flow *f, uint32_t at)
{
	const struct flow_block *b = &f->flow.blocks.all.data[at];
	uint64_t next = b->start + b->bytes;
	struct flow_event e = {.kind = FLOW_EV_EXCEPTION_RET};

	if (b->flags & INSN_LINK)
		push(f, at);
	switch ((enum insn_kind)b->kind) {
	case INSN_BRANCH:
	case INSN_COND:
		move_to(f, b->target, flow_target_isa(b));
		return;
	case INSN_INDIRECT:
		lose_place(f);
		f->is_popping = f->config->has_return_stack;
		f->flow.from = at;
		if (b->flags & INSN_ERET && f->config->is_ete)
			flow_put_event(&f->flow, &e); /* the packet that ETMv4 has */
		return;
	case INSN_PLAIN:
	case INSN_ISB:
	case INSN_WFX:
	case INSN_TSTART:
		move_to(f, next, (enum isa)b->isa);
		return;
	}
}

bool etm_walk_atom(struct etm_flow *f, bool is_e)
{
	uint32_t at, next;
	const struct flow_block *b;

	f->flow.last_edge.kind = FLOW_EDGE_NONE;
	f->flow.first = f->flow.first ? f->flow.first : FLOW_FIRST_RAN;
	if (!pop(f))
		return false;
	if (f->flow.needs_address || f->flow.needs_context) {
		flow_drop(&f->flow);
		return true;
	}
	if (!here(f))
		return false;
	at = f->flow.at;
	b = &f->flow.blocks.all.data[at];
	if (b->kind == INSN_PLAIN)
		return step_broken(f, b);
	flow_put_item(&f->flow, at, is_e);
	next = f->flow.blocks.links.data[at].next[is_e];
	if (next != FLOW_NO_BLOCK) {
		b = &f->flow.blocks.all.data[next];
		f->flow.pc = b->start;
		f->flow.isa = (enum isa)b->isa;
		f->flow.at = next;
		return true;
	}
	if (is_e)
		take(f, at);
	else
		move_to(f, b->start + b->bytes, (enum isa)b->isa);
	if (!f->flow.needs_address && here(f))
		*flow_link_of(&f->flow, at, is_e) = f->flow.at;
	return !f->flow.err;
}

/* --- the other elements --- */

static void set_address(struct etm_flow *f, const struct etm_elem *e)
{
	uint32_t from = f->flow.from;

	if (f->flow.has_first_to == FLOW_TO_OPEN) {
		f->flow.has_first_to = FLOW_TO_KNOWN;
		f->flow.first_to = e->value;
	}
	f->no_push = false;
	move_to(f, e->value, etm_isa_of(f, e->is));
	arrive(f);
	f->flow.last_edge.kind = FLOW_EDGE_NONE;
	if (from != FLOW_NO_BLOCK && !f->flow.items && f->flow.at != FLOW_NO_BLOCK)
		f->flow.last_edge = (struct flow_last_edge){FLOW_EDGE_OF_BRANCH, from, f->flow.at};
}

static void set_context(struct etm_flow *f, const struct etm_elem *e)
{
	struct flow_event told = {.kind = FLOW_EV_CONTEXT};
	const struct etm_context *n = &e->context;
	struct flow_context *c = &f->flow.context;

	c->el = n->el;
	if (!f->has_context)
		f->flow.has_own_context = n->el; /* upper_el is no guess any more */
	f->has_context = true;
	if (n->el)
		c->upper_el = n->el;
	c->security = (uint8_t)(n->nse << 1 | n->ns); /* enum code_security */
	c->is_64 = n->sf;
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
	told.context = *c;
	told.space = f->flow.space;
	told.el = c->el;
	flow_put_event(&f->flow, &told);
}

/** Instructions up to, and without, the exception's return address. */
static void run_to(struct etm_flow *f, uint64_t end)
{
	uint64_t readable;
	uint32_t nr;

	if (end <= f->flow.pc)
		return;
	nr = flow_reach_count(&f->flow.reach, &f->flow.code, f->flow.space, f->flow.isa, f->flow.pc,
			      end, &readable);
	tell_range(f, f->flow.pc, readable, nr);
	if (nr >= FLOW_MAX_BLOCK_INSNS)
		etm_flow_lose(f, FLOW_NO_SYNC_BAD_IMAGE,
			      "an exception far from where execution was");
	else if (readable < end)
		tell_no_code(f, readable);
}

static bool except(struct etm_flow *f, const struct etm_elem *e)
{
	struct flow_event told = {.kind = FLOW_EV_EXCEPTION,
				  .number = e->a,
				  .address = e->value,
				  .el = f->flow.context.el,
				  .is_target = e->e == BOTH};
	struct flow_event gap = {.kind = FLOW_EV_NO_TARGET, .end = e->value};
	bool is_of_nowhere = f->config->is_m_profile && e->value == NOWHERE;

	if (e->e == BOTH || is_of_nowhere)
		f->is_popping = false;
	else if (!pop(f))
		return false;
	if (e->e != BOTH && !is_of_nowhere && !f->flow.needs_context) {
		if (!f->flow.needs_address)
			run_to(f, e->value);
		else if (f->flow.from != FLOW_NO_BLOCK)
			flow_put_event(&f->flow, &gap);
	}
	if (f->sync != ETM_RUNNING)
		return false;
	f->flow.totals.nr_exceptions++;
	flow_put_event(&f->flow, &told);
	lose_place(f);
	f->flow.from = FLOW_NO_BLOCK;
	return true;
}

/** From block f->flow.at on, whose waypoint was not taken. @return false: no memory. */
static bool fall_through(struct etm_flow *f)
{
	const struct flow_block *b = &f->flow.blocks.all.data[f->flow.at];
	uint32_t at = f->flow.at, next = f->flow.blocks.links.data[at].next[0];

	move_to(f, b->start + b->bytes, (enum isa)b->isa);
	f->flow.at = next;
	if (!here(f))
		return false;
	f->flow.blocks.links.data[at].next[0] = f->flow.at;
	return true;
}

/** A branch at the element's address was taken; those on the way there were not. */
static bool source(struct etm_flow *f, const struct etm_elem *e)
{
	uint64_t from;
	uint32_t nr_insns = 0, nr_walked = 0, nr_blocks = 0;

	if (f->flow.needs_context) {
		flow_drop(&f->flow);
		return true;
	}
	if (f->flow.stack_nr && !pop(f))
		return false;
	f->is_popping = false; /* the target is not told, and not needed */
	f->flow.from = FLOW_NO_BLOCK;
	if (f->flow.needs_address || f->flow.pc > e->value)
		move_to(f, e->value, etm_isa_of(f, e->is));
	from = f->flow.pc;
	for (;;) {
		const struct flow_block *b;
		uint64_t branch;

		if (!here(f))
			return false;
		b = &f->flow.blocks.all.data[f->flow.at];
		branch = b->start + b->bytes - b->last_bytes;
		if (b->kind == INSN_PLAIN || branch > e->value)
			tell_range(f, from, b->start, nr_insns); /* got so far */
		if (b->kind == INSN_PLAIN)
			return step_broken(f, b);
		if (branch > e->value)
			return bad_image(f, "no branch at a source address");
		nr_walked += b->nr_insns;
		if (nr_walked > FLOW_MAX_BLOCK_INSNS)
			return bad_image(f, "a source address far from where execution was");
		nr_insns += b->nr_insns;
		if (branch == e->value)
			break;
		if (!f->flow.items || f->opts.splits_source_ranges) {
			flow_put_item(&f->flow, f->flow.at, false);
			from = b->start + b->bytes;
			nr_insns = 0;
			if (f->flow.nr_items >= FLOW_BATCH_ITEMS)
				flow_deliver(&f->flow);
		}
		if (++nr_blocks == MAX_SKIPPED)
			return bad_image(f, "a source address many branches away");
		if (!fall_through(f))
			return false;
	}
	if (from == f->flow.blocks.all.data[f->flow.at].start) {
		flow_put_item(&f->flow, f->flow.at, true);
	} else {
		const struct flow_block *b = &f->flow.blocks.all.data[f->flow.at];

		tell_range(f, from, b->start + b->bytes, nr_insns);
	}
	take(f, f->flow.at);
	return true;
}

/** May execution go on behind the waypoint as if it were not there? In T32 an IT block tells. */
static bool may_go_on(const struct flow_block *b)
{
	return b->kind == INSN_COND || b->flags & INSN_MAY_FAIL || b->isa == ISA_T32;
}

static bool is_branch(const struct flow_block *b)
{
	return b->kind == INSN_BRANCH || b->kind == INSN_COND || b->kind == INSN_INDIRECT;
}

/** Past waypoints that are no branches, with @p nr instructions to go. *ret_nr: of which passed. */
static bool pass_barriers(struct etm_flow *f, uint32_t nr, uint32_t *ret_nr)
{
	*ret_nr = 0;
	for (;;) {
		const struct flow_block *b = &f->flow.blocks.all.data[f->flow.at];

		if (b->kind == INSN_PLAIN || is_branch(b) || nr > FLOW_MAX_BLOCK_INSNS ||
		    nr - *ret_nr <= b->nr_insns)
			return true;
		*ret_nr += b->nr_insns;
		if (!fall_through(f))
			return false;
	}
}

/** What pass_barriers() passed, from block @p at on; and up to @p end. */
static void tell_passed(struct etm_flow *f, uint32_t at, uint64_t end, uint32_t nr)
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
	tell_range(f, from, end, nr);
}

/** Q: instructions of which no atoms were sent. */
static bool skip_over(struct etm_flow *f, const struct etm_elem *e)
{
	struct flow_event gap = {.kind = FLOW_EV_NO_PATH,
				 .el = f->flow.context.el,
				 .space = f->flow.space,
				 .end = e->value,
				 .has_count = e->has_count,
				 .count = e->a};
	const struct flow_block *b;
	uint64_t end = 0, next;
	uint32_t nr = 0, passed, first;

	if (!pop(f))
		return false;
	if (f->flow.from != FLOW_NO_BLOCK) {
		gap.kind = FLOW_EV_NO_TARGET;
		flow_put_event(&f->flow, &gap);
	}
	f->flow.from = FLOW_NO_BLOCK; /* the address is where Q ended, not where a branch went */
	gap.isa = (uint8_t)f->flow.isa;
	gap.address = f->flow.pc;
	if (!f->flow.needs_address && !f->flow.needs_context) {
		if (!here(f))
			return false;
		first = f->flow.at;
		if (!pass_barriers(f, e->has_count ? e->a : 0, &passed))
			return false;
		b = &f->flow.blocks.all.data[f->flow.at];
		next = b->start + b->bytes;
		if (e->value - f->flow.pc < b->bytes)
			nr = flow_code_count(&f->flow.code, f->flow.space, f->flow.isa, f->flow.pc,
					     e->value, &end);
		if (e->has_count && e->a == passed + b->nr_insns &&
		    (is_branch(b) || (b->kind != INSN_PLAIN && next == e->value))) {
			bool is_e = next != e->value || !may_go_on(b);

			if (passed && f->flow.items && !f->opts.splits_source_ranges) {
				tell_passed(f, first, next, e->a);
			} else {
				tell_passed(f, first, b->start, passed);
				flow_put_item(&f->flow, f->flow.at, is_e);
			}
			if (b->kind == INSN_INDIRECT && is_e)
				f->flow.from = f->flow.at;
		} else if (e->has_count && e->a && e->a == passed + nr && end == e->value)
			tell_passed(f, first, end, e->a);
		else
			flow_put_event(&f->flow, &gap);
	}
	set_address(f, e);
	return true;
}

static void told_simply(struct etm_flow *f, enum flow_event_kind kind, uint32_t number)
{
	struct flow_event e = {.kind = (uint8_t)kind, .number = number, .el = f->flow.context.el};

	flow_put_event(&f->flow, &e);
}

void etm_walk_note(struct etm_flow *f, const struct etm_elem *e)
{
	struct flow_event told = {.has_count = e->has_count,
				  .count = e->a,
				  .number = e->a,
				  .el = e->el,
				  .value = e->value};

	switch (e->kind) {
	case ETM_EL_TIMESTAMP:
		told.kind = FLOW_EV_TIMESTAMP;
		if (e->value) {
			f->flow.ticks = e->value;
			f->flow.has_own_ticks = true;
			if (!f->flow.needs_context)
				flow_look_up_space(&f->flow);
		}
		break;
	case ETM_EL_CYCLES:
		told.kind = FLOW_EV_CYCLES;
		break;
	case ETM_EL_EVENT:
		told.kind = FLOW_EV_EVENT;
		break;
	case ETM_EL_TS_MARKER:
		told.kind = FLOW_EV_TS_MARKER;
		break;
	case ETM_EL_ITE:
		told.kind = FLOW_EV_INSTRUMENTATION;
		break;
	default:
		return;
	}
	flow_put_event(&f->flow, &told);
}

static void start_again(struct etm_flow *f)
{
	struct flow_event e = {.kind = FLOW_EV_TRACE_ON, .is_overflow = f->was_overflow};

	f->was_overflow = false;
	f->flow.stack_nr = 0;
	f->flow.from = FLOW_NO_BLOCK;
	if (f->flow.has_first_to == FLOW_TO_OPEN)
		f->flow.has_first_to = FLOW_TO_UNKNOWN;
	lose_place(f);
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
		lose_place(f);
		f->flow.from = FLOW_NO_BLOCK;
		f->flow.stack_nr = 0;
		told_simply(f, FLOW_EV_PE_RESET, 0);
		break;
	case ETM_EL_SOURCE:
		return source(f, e);
	case ETM_EL_Q:
		return skip_over(f, e);
	case ETM_EL_FUNCTION_RET:
		told_simply(f, FLOW_EV_FUNCTION_RET, 0);
		break;
	case ETM_EL_TRANS_START:
		told_simply(f, FLOW_EV_TRANSACTION, FLOW_TRANS_START);
		break;
	case ETM_EL_ADDRESS:
		set_address(f, e);
		break;
	case ETM_EL_CONTEXT:
		set_context(f, e);
		break;
	case ETM_EL_TRACE_ON:
		start_again(f);
		break;
	case ETM_EL_TRACE_INFO:
		f->flow.stack_nr = 0;
		f->no_push = true;
		forget_ids(f);
		break;
	case ETM_EL_EXCEPTION_RET:
		told_simply(f, FLOW_EV_EXCEPTION_RET, 0);
		break;
	case ETM_EL_TRANS_COMMIT:
		told_simply(f, FLOW_EV_TRANSACTION, FLOW_TRANS_COMMITTED);
		break;
	case ETM_EL_TRANS_FAIL:
		told_simply(f, FLOW_EV_TRANSACTION, FLOW_TRANS_FAILED);
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
