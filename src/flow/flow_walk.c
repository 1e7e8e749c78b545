/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_walk.h"

static bool bad_image(struct flow *f, const char *what)
{
	f->front->lose(f, FLOW_NO_SYNC_BAD_IMAGE, what);
	return false;
}

void flow_forget(struct flow *f)
{
	f->needs_address = f->needs_context = true;
	f->popping = FLOW_POPS_NOTHING;
	f->no_push = false;
	f->stack_nr = 0;
	if (f->context.arch == CODE_ARM)
		f->context.arm.upper_el = 0;
	f->at = f->from = FLOW_NO_BLOCK;
}

void flow_move_to(struct flow *f, uint64_t pc, enum isa isa)
{
	f->pc = pc;
	f->isa = isa;
	f->at = FLOW_NO_BLOCK;
	f->needs_address = false;
	f->popping = FLOW_POPS_NOTHING;
}

void flow_lose_place(struct flow *f)
{
	f->needs_address = true;
	f->popping = FLOW_POPS_NOTHING;
	f->at = FLOW_NO_BLOCK;
}

static void push(struct flow *f, uint32_t call)
{
	if (!f->rules.has_return_stack || f->no_push)
		return;
	f->stack_top = (f->stack_top + 1) & (f->rules.stack_depth - 1u);
	f->stack[f->stack_top] = flow_return_of(f, call);
	f->stack_nr += f->stack_nr < f->rules.stack_depth;
}

bool flow_here(struct flow *f)
{
	if (f->at == FLOW_NO_BLOCK)
		f->at = flow_blocks_get(&f->blocks, f->space, f->isa, f->pc);
	if (f->at == FLOW_NO_BLOCK)
		flow_fail(f, CLEW_NO_MEMORY);
	return f->at != FLOW_NO_BLOCK;
}

/** The branch of f->from led here. */
static void arrive(struct flow *f)
{
	if (f->from != FLOW_NO_BLOCK && !f->items && flow_here(f))
		flow_count_target(f, f->from, f->at, (int32_t)f->step);
	f->from = FLOW_NO_BLOCK;
}

bool flow_pop(struct flow *f)
{
	const struct flow_return *top = &f->stack[f->stack_top];

	if (!f->popping)
		return true;
	if (!flow_may_pop(f)) {
		f->front->lose(f, FLOW_NO_SYNC_BAD_PACKET, "the return stack is empty");
		return false;
	}
	if (f->popping == FLOW_POPS_TOP)
		flow_pop_top(f);
	flow_move_to(f, top->address, (enum isa)top->isa);
	arrive(f);
	return !f->err;
}

void flow_put_range(struct flow *f, uint64_t from, uint64_t to, uint32_t nr_insns)
{
	struct flow_event e = {.kind = FLOW_EV_RANGE,
			       .isa = (uint8_t)f->isa,
			       .el = code_context_el(&f->context),
			       .count = nr_insns,
			       .space = f->space,
			       .address = from,
			       .end = to};

	if (from == to)
		return;
	flow_add_range(f, nr_insns);
	if (!f->items)
		flow_ran(f, from, to, nr_insns);
	flow_put_event(f, &e);
}

static void put_no_code(struct flow *f, uint64_t address)
{
	struct flow_event e = {.kind = FLOW_EV_NACC,
			       .el = code_context_el(&f->context),
			       .space = f->space,
			       .address = address};

	f->totals.nr_nacc++;
	flow_put_event(f, &e);
	flow_lose_place(f);
}

bool flow_step_broken(struct flow *f, const struct flow_block *b)
{
	uint64_t end = b->start + b->bytes;

	flow_put_range(f, b->start, end, b->nr_insns);
	if (b->flags & FLOW_BLOCK_LONG)
		return bad_image(f, "code without a branch");
	put_no_code(f, end);
	return true;
}

void flow_take(struct flow *f, uint32_t at)
{
	const struct flow_block *b = &f->blocks.all.data[at];
	uint64_t next = b->start + b->bytes;
	struct flow_event e = {.kind = FLOW_EV_EXCEPTION_RET};

	if (b->flags & INSN_LINK)
		push(f, at);
	switch ((enum insn_kind)b->kind) {
	case INSN_BRANCH:
	case INSN_COND:
		flow_move_to(f, b->target, flow_target_isa(f, b));
		return;
	case INSN_INDIRECT:
		flow_lose_place(f);
		f->popping = flow_popping_after(f, b);
		f->from = at;
		if (b->flags & INSN_ERET && f->rules.has_eret_events)
			flow_put_event(f, &e); /* no packet does */
		return;
	case INSN_FAR:
		flow_lose_place(f);
		f->from = at;
		return;
	case INSN_PLAIN:
	case INSN_ISB:
	case INSN_WFX:
	case INSN_TSTART:
	case INSN_SPECIAL:
		flow_move_to(f, next, (enum isa)b->isa);
		return;
	}
}

/** Block f->at ran, and its waypoint. */
static bool step_block(struct flow *f, bool is_taken)
{
	uint32_t at = f->at, next = f->blocks.links.data[at].next[is_taken];
	const struct flow_block *b = &f->blocks.all.data[at];

	flow_put_item(f, at, is_taken);
	if (next != FLOW_NO_BLOCK) {
		b = &f->blocks.all.data[next];
		f->pc = b->start;
		f->isa = (enum isa)b->isa;
		f->at = next;
		return true;
	}
	if (is_taken)
		flow_take(f, at);
	else
		flow_move_to(f, b->start + b->bytes, (enum isa)b->isa);
	if (!f->needs_address && flow_here(f))
		*flow_link_of(f, at, is_taken) = f->at;
	return !f->err;
}

/** How many branches that are not reported a block is worth, but for one. */
static unsigned int long_share(const struct flow_block *b)
{
	return b->flags & FLOW_BLOCK_LONG ? FLOW_MAX_SILENT / FLOW_MAX_LONG - 1 : 0;
}

bool flow_pass_long(struct flow *f, unsigned int *nr_silent)
{
	const struct flow_block *b = &f->blocks.all.data[f->at];
	uint64_t end = b->start + b->bytes;

	*nr_silent += long_share(b);
	if (*nr_silent >= FLOW_MAX_SILENT)
		return bad_image(f, "code without a branch");
	flow_put_range(f, b->start, end, b->nr_insns);
	flow_move_to(f, end, f->isa);
	return true;
}

static bool pass_block(struct flow *f, unsigned int *nr_silent)
{
	if (f->blocks.all.data[f->at].flags & FLOW_BLOCK_LONG)
		return flow_pass_long(f, nr_silent);
	if (*nr_silent == FLOW_MAX_SILENT)
		return bad_image(f, "a loop without a branch that the trace reports");
	return step_block(f, true);
}

/** Pass branches without a bit, up to the first block that has another waypoint; or that @p end is
 * in, if not NULL. */
static bool pass_silent(struct flow *f, const uint64_t *end)
{
	for (unsigned int nr = 0; flow_here(f); nr++) {
		const struct flow_block *b = &f->blocks.all.data[f->at];

		if ((!flow_is_silent(f, b) && !(b->flags & FLOW_BLOCK_LONG)) ||
		    (end && *end - b->start < b->bytes))
			return true;
		if (f->items && f->nr_items >= FLOW_BATCH_ITEMS)
			flow_deliver(f);
		if (f->err || !pass_block(f, &nr))
			return false;
	}
	return false;
}

bool flow_step_silent(struct flow *f)
{
	return step_block(f, true);
}

bool flow_find_waypoint(struct flow *f)
{
	return pass_silent(f, NULL);
}

bool flow_step(struct flow *f, bool is_taken)
{
	const struct flow_block *b;

	f->last_edge.kind = FLOW_EDGE_NONE;
	f->first = f->first ? f->first : FLOW_FIRST_RAN;
	if (f->popping && !flow_pop(f))
		return false;
	if (f->needs_address || f->needs_context) {
		flow_drop(f, 1);
		return true;
	}
	if (!flow_find_waypoint(f))
		return false;
	b = &f->blocks.all.data[f->at];
	if (b->kind == INSN_PLAIN)
		return flow_step_broken(f, b);
	if (!flow_may_have_bit(f, b, is_taken))
		return bad_image(f, "taken or not, where an address is due");
	return step_block(f, is_taken);
}

bool flow_step_indirect(struct flow *f)
{
	const struct flow_block *b;

	f->last_edge.kind = FLOW_EDGE_NONE;
	f->first = f->first ? f->first : FLOW_FIRST_RAN;
	if (!flow_pop(f))
		return false;
	if (f->needs_address || f->needs_context)
		return true;
	if (!flow_find_waypoint(f))
		return false;
	b = &f->blocks.all.data[f->at];
	if (b->kind == INSN_PLAIN)
		return flow_step_broken(f, b);
	if (!flow_is_indirect(b))
		return bad_image(f, "an address, where taken or not is due");
	if (b->flags & INSN_RET && f->stack_nr)
		flow_pop_top(f);
	if (!step_block(f, true))
		return false;
	f->popping = FLOW_POPS_NOTHING;
	return true;
}

void flow_go_to(struct flow *f, uint64_t address, enum isa isa)
{
	uint32_t from = f->from;

	if (f->has_first_to == FLOW_TO_OPEN) {
		f->has_first_to = FLOW_TO_KNOWN;
		f->first_to = address;
	}
	f->no_push = false;
	flow_move_to(f, address, isa);
	arrive(f);
	f->last_edge.kind = FLOW_EDGE_NONE;
	if (from != FLOW_NO_BLOCK && !f->items && f->at != FLOW_NO_BLOCK)
		f->last_edge = (struct flow_last_edge){FLOW_EDGE_OF_BRANCH, from, f->at};
}

static bool has_not_come(struct flow *f)
{
	return bad_image(f, "an event where execution cannot have come");
}

/** @return false: a branch that the trace did not report would have been on the way. */
static bool is_in_block(struct flow *f, uint64_t end)
{
	const struct flow_block *b = &f->blocks.all.data[f->at];

	return end - b->start < b->bytes || b->kind == INSN_PLAIN || has_not_come(f);
}

/** Is f->at before @p end, and not the last block on the way there? */
static bool is_passed(const struct flow *f, uint64_t end)
{
	const struct flow_block *b = &f->blocks.all.data[f->at];

	return (b->kind != INSN_PLAIN || b->flags & FLOW_BLOCK_LONG) && !flow_is_branch(b) &&
	       end - b->start >= b->bytes;
}

/** Of an instruction of T32 that is interrupted, and will be continued: none that is only a branch.
 */
static bool is_inside_branch(const struct flow *f, uint64_t end)
{
	const struct flow_block *b = &f->blocks.all.data[f->at];

	return (b->kind == INSN_BRANCH || b->kind == INSN_COND) &&
	       end - b->start > b->bytes - b->last_bytes;
}

/** Where each branch has a bit: from f->pc, which stays, to @p end. @return false: there is one on
 * the way. */
static bool has_way_to(struct flow *f, uint64_t end)
{
	const uint64_t pc = f->pc;
	bool ok = flow_here(f);

	for (unsigned int nr = 0; ok && nr < FLOW_MAX_SILENT && is_passed(f, end); nr++) {
		nr += long_share(&f->blocks.all.data[f->at]);
		ok = flow_fall_through(f);
	}
	f->pc = pc;
	ok = ok && is_in_block(f, end) && (!is_inside_branch(f, end) || has_not_come(f));
	f->at = FLOW_NO_BLOCK;
	return ok;
}

void flow_run_to(struct flow *f, uint64_t end)
{
	struct flow_span span;
	uint64_t readable;
	uint32_t nr;

	if (f->rules.silent_kinds && (!pass_silent(f, &end) || !is_in_block(f, end)))
		return;
	if (end <= f->pc || (!f->rules.silent_kinds && !has_way_to(f, end)))
		return;
	span = (struct flow_span){f->pc, end, f->space, f->isa};
	nr = flow_insn_counter_count(&f->insn_counter, &f->code, &span, &readable);
	flow_put_range(f, f->pc, readable, nr);
	if (nr >= FLOW_MAX_RUN_INSNS)
		f->front->lose(f, FLOW_NO_SYNC_BAD_IMAGE,
			       "an exception far from where execution was");
	else if (readable < end)
		put_no_code(f, readable);
}

bool flow_fall_through(struct flow *f)
{
	const struct flow_block *b = &f->blocks.all.data[f->at];
	uint32_t at = f->at, next = f->blocks.links.data[at].next[0];

	flow_move_to(f, b->start + b->bytes, (enum isa)b->isa);
	f->at = next;
	if (!flow_here(f))
		return false;
	f->blocks.links.data[at].next[0] = f->at;
	return true;
}

static void put_path(struct flow *f, const struct flow_path *p)
{
	const struct flow_path_more *more = flow_path_more(&f->paths, p);

	flow_path_put_items(f->items + f->nr_items, more);
	f->nr_items += more->nr_items;
	f->totals.nr_ranges += more->nr_items;
	f->totals.nr_insns += more->nr_insns;
}

void flow_run_path(struct flow *f, const struct flow_path *p)
{
	bool has_address = p->to != FLOW_NO_ADDRESS && !(p->more & FLOW_PATH_IS_CUT) &&
			   !flow_path_is_to_untraced(p);

	f->first = f->first ? f->first : FLOW_FIRST_RAN;
	if (f->items)
		put_path(f, p);
	else
		f->paths.all.data[p - f->paths.all.data].nr_runs += f->step;
	if (p->more & FLOW_PATH_CALLS)
		flow_push_path(f, p);
	flow_keep_path_edge(f, has_address ? p : NULL);
	if (flow_path_is_to_untraced(p))
		return;
	if (p->next == FLOW_NO_BLOCK) {
		flow_leave(f, flow_path_last_block(&f->paths, p));
		return;
	}
	f->at = p->next;
	f->pc = f->blocks.all.data[f->at].start;
	f->isa = (enum isa)f->blocks.all.data[f->at].isa;
}
