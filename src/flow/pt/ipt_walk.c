/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_walk.h"
#include "flow/pt/ipt_flow_impl.h"
#include "isa/x86/x86_branch.h"

bool ipt_bad_trace(struct ipt_flow *f, const char *what)
{
	f->flow.front->lose(&f->flow, FLOW_NO_SYNC_BAD_PACKET, what);
	return false;
}

bool ipt_bad_image(struct ipt_flow *f, const char *what)
{
	f->flow.front->lose(&f->flow, FLOW_NO_SYNC_BAD_IMAGE, what);
	return false;
}

static const struct flow_block *here(struct ipt_flow *f)
{
	return flow_here(&f->flow) ? &f->flow.blocks.all.data[f->flow.at] : NULL;
}

static void make_room(struct flow *f)
{
	if (f->nr_items + FLOW_ITEMS_OF_PACKET > FLOW_BATCH_ITEMS)
		flow_deliver(f);
}

/* --- contexts --- */

void ipt_change_context(struct ipt_flow *f, const struct ipt_context *c)
{
	struct code_x86_context *x = &f->flow.context.x86;
	struct flow_event e = {.kind = FLOW_EV_CONTEXT};

	if (c->has_mode)
		x->bits = c->bits;
	if (c->has_pip) {
		x->has_cr3 = true;
		x->cr3 = c->cr3;
		x->is_guest = c->is_guest;
	}
	if (c->has_vmcs) {
		x->has_vmcs = c->vmcs != IPT_NO_VMCS;
		x->vmcs = x->has_vmcs ? c->vmcs : 0;
	}
	if (c->has_half)
		x->is_kernel = c->is_kernel;
	f->flow.needs_context = false;
	flow_look_up_space(&f->flow);
	e.context = f->flow.context;
	e.space = f->flow.space;
	flow_put_event(&f->flow, &e);
}

bool ipt_differs(const struct ipt_flow *f, const struct ipt_context *c)
{
	const struct code_x86_context *x = &f->flow.context.x86;

	return (c->has_half && c->is_kernel != x->is_kernel) ||
	       (c->has_mode && c->bits != x->bits) ||
	       (c->has_pip && (!x->has_cr3 || c->cr3 != x->cr3 || c->is_guest != x->is_guest)) ||
	       (c->has_vmcs && (!x->has_vmcs || c->vmcs != x->vmcs));
}

void ipt_go_to(struct ipt_flow *f, uint64_t ip)
{
	if (f->next.has_mode)
		ipt_put_if(f, f->next.is_if, FLOW_IF_BRANCH, FLOW_NO_ADDRESS);
	f->next.has_half = true;
	f->next.is_kernel = ip >> 63;
	if (f->flow.needs_context || ipt_differs(f, &f->next))
		ipt_change_context(f, &f->next);
	f->next = (struct ipt_context){0};
	if (ipt_has_points(f))
		f->flow.isa = ipt_isa(f);
	else
		flow_go_to(&f->flow, ip, ipt_isa(f));
}

/* --- bits --- */

static void drop_bits(struct ipt_flow *f)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < f->nr_waiting; i++)
		nr += f->waiting[i].nr;
	f->nr_waiting = 0;
	if (nr)
		flow_drop(&f->flow, nr);
}

static bool take_bit(struct ipt_flow *f)
{
	struct ipt_bits *b = &f->waiting[0];
	bool ret = b->bits & 1;

	b->bits >>= 1;
	if (--b->nr)
		return ret;
	f->nr_waiting--;
	for (unsigned int i = 0; i < f->nr_waiting; i++)
		f->waiting[i] = f->waiting[i + 1];
	return ret;
}

void ipt_put_cycles(struct ipt_flow *f, bool is_exact)
{
	struct flow_event e = {.kind = FLOW_EV_CYCLES, .has_count = true, .is_target = is_exact};

	if (!f->has_cycles)
		return;
	f->has_cycles = false;
	e.count = f->nr_cycles < UINT32_MAX ? (uint32_t)f->nr_cycles : UINT32_MAX;
	f->nr_cycles = 0;
	flow_put_event(&f->flow, &e);
}

bool ipt_run_bits(struct ipt_flow *f)
{
	struct flow *flow = &f->flow;

	while (f->nr_waiting) {
		const struct flow_block *b;
		bool is_taken;

		if (!flow_pop(flow))
			return false;
		if (!ipt_is_ready(f)) {
			drop_bits(f);
			return true;
		}
		make_room(flow);
		if (!flow_find_waypoint(flow))
			return false;
		b = here(f);
		if (flow_is_indirect(b) && !(b->flags & INSN_RET))
			return true;
		is_taken = take_bit(f);
		if (!flow_step(flow, is_taken))
			return false;
		ipt_put_cycles(f, is_taken); /* they end with the oldest bit of a TNT */
	}
	return true;
}

bool ipt_add_bits(struct ipt_flow *f, uint64_t bits, unsigned int nr)
{
	if (ipt_has_points(f))
		return true;
	if (f->nr_waiting == IPT_MAX_WAITING)
		return ipt_bad_trace(f, "branches, and no address of an indirect one before them");
	f->waiting[f->nr_waiting++] = (struct ipt_bits){bits, (uint8_t)nr};
	return ipt_run_bits(f);
}

/* --- places --- */

bool ipt_run_to(struct ipt_flow *f, uint64_t ip)
{
	struct flow *flow = &f->flow;

	flow->last_edge.kind = FLOW_EDGE_NONE;
	flow->first = flow->first ? flow->first : FLOW_FIRST_RAN;
	if (!flow_pop(flow))
		return false;
	if (!ipt_is_ready(f))
		return true;
	make_room(flow);
	flow_run_to(flow, ip);
	if (f->sync == IPT_WAIT_PSB || flow->err)
		return false;
	if (!flow->needs_address)
		flow_move_to(flow, ip, flow->isa);
	return true;
}

bool ipt_run_through(struct ipt_flow *f, uint64_t ip, uint8_t detail)
{
	const struct flow_block *b;

	if (!ipt_run_to(f, ip))
		return false;
	if (!ipt_is_ready(f))
		return true;
	b = here(f);
	if (!b)
		return false;
	return b->kind == INSN_SPECIAL && b->detail == detail && b->bytes == b->last_bytes
		     ? flow_step_silent(&f->flow)
		     : true;
}

bool ipt_may_reach(struct ipt_flow *f, uint64_t ip)
{
	struct flow *flow = &f->flow;
	uint64_t pc = flow->pc;

	for (unsigned int nr = 0; nr < FLOW_MAX_SILENT; nr++) {
		uint32_t at = flow_blocks_get(&flow->blocks, flow->space, flow->isa, pc);
		const struct flow_block *b;

		if (at == FLOW_NO_BLOCK)
			return true; /* out of memory, as who goes there will find */
		b = &flow->blocks.all.data[at];
		if (ip == pc || ip - b->start < b->bytes)
			return true;
		if (b->flags & FLOW_BLOCK_LONG)
			nr += FLOW_MAX_SILENT / FLOW_MAX_LONG - 1;
		else if (!flow_is_silent(flow, b))
			return false;
		pc = b->kind == INSN_BRANCH ? b->target : b->start + b->bytes;
	}
	return false;
}

void ipt_correct_target(struct ipt_flow *f, uint64_t ip)
{
	flow_take_back_edge(&f->flow);
	flow_move_to(&f->flow, ip, f->flow.isa);
}

bool ipt_is_at_vm_entry(struct ipt_flow *f)
{
	const struct flow_block *b = ipt_is_ready(f) ? here(f) : NULL;

	return b && b->kind == INSN_FAR && b->detail == X86_VM_ENTRY && b->nr_insns == 1;
}

/** Block @p b, where execution is, if no packet is due of it. *ret_is_over: one is. */
static bool run_silent(struct ipt_flow *f, const struct flow_block *b, unsigned int *nr,
		       bool *ret_is_over)
{
	bool is_long = b->flags & FLOW_BLOCK_LONG;

	*ret_is_over = !is_long && !flow_is_silent(&f->flow, b);
	if (*ret_is_over)
		return true;
	return is_long ? flow_pass_long(&f->flow, nr) : flow_step_silent(&f->flow);
}

bool ipt_run_special(struct ipt_flow *f, uint8_t detail, uint64_t *ret)
{
	struct flow *flow = &f->flow;
	bool is_over = false;

	*ret = FLOW_NO_ADDRESS;
	if (!flow_pop(flow))
		return false;
	for (unsigned int nr = 0; ipt_is_ready(f) && nr < FLOW_MAX_SILENT; nr++) {
		const struct flow_block *b = here(f);

		if (!b)
			return false;
		if (b->kind == INSN_SPECIAL && b->detail == detail)
			*ret = b->start + b->bytes - b->last_bytes;
		make_room(flow);
		if (!run_silent(f, b, &nr, &is_over))
			return false;
		if (is_over)
			break;
		if (*ret != FLOW_NO_ADDRESS)
			break;
	}
	return true;
}

static bool is_filtered_out(const struct ipt_flow *f, uint64_t address)
{
	const struct code_source *code = f->flow.opts.code;

	return code->is_traced && !code->is_traced(code->ctx, f->flow.space, address);
}

/** Where a return without an address goes. */
static bool is_top_filtered_out(const struct ipt_flow *f)
{
	const struct flow *flow = &f->flow;

	return flow->stack_nr && is_filtered_out(f, flow->stack[flow->stack_top].address);
}

/** How the branch at the end of a block leaves what is traced. */
enum leaving {
	STAYS,
	LEAVES_DIRECT,    /* a silent one */
	LEAVES_BY_BIT,    /* which the trace does not have */
	LEAVES_NOT_TAKEN, /* the same: what comes after it is not traced */
	LEAVES_FAR,       /* to an address that only the trace has, or nothing has */
};

static enum leaving leaving_of_cond(const struct ipt_flow *f, const struct flow_block *b,
				    uint64_t to)
{
	uint64_t next = b->start + b->bytes;
	bool has_address = to != FLOW_NO_ADDRESS;

	if (has_address ? b->target == to : is_filtered_out(f, b->target))
		return LEAVES_BY_BIT;
	return (has_address ? next == to : is_filtered_out(f, next)) ? LEAVES_NOT_TAKEN : STAYS;
}

/** @p to: what TIP.PGD says, or FLOW_NO_ADDRESS. */
static enum leaving leaving_of(const struct ipt_flow *f, const struct flow_block *b, uint64_t to)
{
	bool has_address = to != FLOW_NO_ADDRESS;

	switch ((enum insn_kind)b->kind) {
	case INSN_BRANCH:
		return (has_address ? b->target == to : is_filtered_out(f, b->target))
			     ? LEAVES_DIRECT
			     : STAYS;
	case INSN_COND:
		return leaving_of_cond(f, b, to);
	case INSN_INDIRECT:
		if (!has_address && b->flags & INSN_RET && is_top_filtered_out(f))
			return LEAVES_BY_BIT;
		return LEAVES_FAR;
	case INSN_FAR:
		return LEAVES_FAR;
	case INSN_SPECIAL:
		return !has_address && (b->detail == X86_INT ||
					(b->detail == X86_MOV_CR3 && !f->next.has_pip))
			     ? LEAVES_DIRECT
			     : STAYS;
	case INSN_PLAIN:
	case INSN_ISB:
	case INSN_WFX:
	case INSN_TSTART:
		break;
	}
	return STAYS;
}

/** The block's branch, which leaves. */
static bool leave_by(struct ipt_flow *f, enum leaving how)
{
	if (how == LEAVES_BY_BIT || how == LEAVES_NOT_TAKEN)
		return flow_step(&f->flow, how == LEAVES_BY_BIT) && flow_pop(&f->flow);
	return how == LEAVES_FAR ? flow_step_indirect(&f->flow) : flow_step_silent(&f->flow);
}

/** Does execution come from block to block to @p to, which is not traced? */
static bool falls_out(const struct ipt_flow *f, const struct flow_block *b, uint64_t to)
{
	return to != FLOW_NO_ADDRESS && to - b->start < b->bytes &&
	       (!f->flow.opts.code->is_traced || is_filtered_out(f, to));
}

bool ipt_leave(struct ipt_flow *f, uint64_t to)
{
	struct flow *flow = &f->flow;
	bool is_over = false;

	flow->last_edge.kind = FLOW_EDGE_NONE;
	flow->first = flow->first ? flow->first : FLOW_FIRST_RAN;
	if (!flow_pop(flow))
		return false;
	for (unsigned int nr = 0; ipt_is_ready(f); nr++) {
		const struct flow_block *b = here(f);
		enum leaving how;

		if (!b)
			return false;
		if (falls_out(f, b, to))
			return ipt_run_to(f, to);
		if (b->flags & FLOW_BLOCK_NO_CODE)
			return flow_step_broken(flow, b);
		how = leaving_of(f, b, to);
		make_room(flow);
		if (how != STAYS)
			return leave_by(f, how);
		if (nr == FLOW_MAX_SILENT)
			return ipt_bad_image(f, "a loop that nothing leaves");
		if (!run_silent(f, b, &nr, &is_over))
			return false;
		if (is_over)
			return ipt_bad_image(f, "a branch, where tracing ends");
	}
	return true;
}
