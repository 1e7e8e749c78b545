/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/etm_program.h"

#include <stdio.h>

enum { FIRST_KERNEL = ETM_NR_USERS * ETM_NR_VERSIONS, EL2_SPACE = FIRST_KERNEL + 3 };

/* When the code of user space changes, in ticks. */
static const uint64_t versions[ETM_NR_VERSIONS - 1] = {0x100000000, 0x7000000000000000};

static uint32_t below(struct etm_program *p, uint32_t n)
{
	return etm_random_below(&p->random, n);
}

static bool one_in(struct etm_program *p, uint32_t n)
{
	return etm_random_one_in(&p->random, n);
}

/* --- address spaces --- */

static uint32_t version_at(uint64_t ticks)
{
	return (ticks >= versions[0]) + (uint32_t)(ticks >= versions[1]);
}

static uint32_t space_of(void *ctx, const struct code_key *k)
{
	const struct etm_program *p = ctx;
	const struct code_arm_context *c = &k->context.arm;

	if (c->el == 0)
		return (c->has_cid ? c->cid % ETM_NR_USERS : 0) * ETM_NR_VERSIONS +
		       (p->has_versions ? version_at(k->ticks.ticks) : 0);
	if (c->el > 1)
		return EL2_SPACE + c->el - 2u;
	return FIRST_KERNEL + (c->security == ARM_SECURE ? 2 : c->has_vmid ? c->vmid % 2 : 0);
}

static bool find(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret)
{
	struct etm_program *p = ctx;
	const struct etm_area *a =
		space < ETM_NR_SPACES ? etm_image_area(&p->images[space], addr) : NULL;
	uint64_t from;

	if (!a || a->is_hidden)
		return false;
	from = (addr - a->start) / a->pieces * a->pieces;
	ret->start = a->start + from;
	ret->end = a->start + (from + a->pieces < a->bytes ? from + a->pieces : a->bytes);
	ret->bytes = a->code + from;
	return true;
}

static uint32_t space_now(struct etm_program *p)
{
	const struct enc_context *c = &p->pe.context;
	struct code_arm_context arm = {.el = c->el,
				       .security = (uint8_t)(c->nse << 1 | c->ns),
				       .has_cid = c->has_cid,
				       .has_vmid = c->has_vmid,
				       .cid = c->cid,
				       .vmid = c->vmid};
	struct code_key k = {.context.arm = arm, .ticks = {p->ticks}};

	return space_of(p, &k);
}

static struct etm_image *image_now(struct etm_program *p)
{
	return &p->images[space_now(p)];
}

/* --- the truth --- */

static void put(struct etm_program *p, struct etm_log_entry e)
{
	if (!p->is_wrong || etm_log_is_note(&e))
		(void)vec_push(&p->truth, e);
}

static void put_kind(struct etm_program *p, uint8_t kind, uint32_t number)
{
	put(p, (struct etm_log_entry){.kind = kind, .number = number});
}

/** The first trace on after an overflow says so. */
static void put_trace_on(struct etm_program *p)
{
	put_kind(p, FLOW_EV_TRACE_ON, p->is_after_overflow);
	p->is_after_overflow = false;
}

static void put_context(struct etm_program *p)
{
	const struct enc_context *c = &p->pe.context;

	put(p, (struct etm_log_entry){.kind = FLOW_EV_CONTEXT,
				      .el = c->el,
				      .isa = (uint8_t)(c->ns | c->nse << 1 | c->sf << 2 |
						       c->has_cid << 3 | c->has_vmid << 4),
				      .number = space_now(p),
				      .value = (c->has_cid ? c->cid : 0) |
					       (uint64_t)(c->has_vmid ? c->vmid : 0) << 32});
}

static void put_insn(struct etm_program *p, uint64_t address, uint8_t mark)
{
	put(p, (struct etm_log_entry){.kind = ETM_LOG_INSN,
				      .isa = (uint8_t)p->pe.isa,
				      .el = p->pe.context.el,
				      .mark = mark,
				      .number = space_now(p),
				      .address = address});
}

static void put_run(struct etm_program *p)
{
	vec_for_each (&p->run, a)
		put_insn(p, *a, 0);
	p->run.nr = 0;
}

/** Will the decoder see code here? The first time it does not, it reports that. */
static bool is_seen(struct etm_program *p)
{
	struct etm_area *a = etm_image_area(image_now(p), p->run_start);

	if (p->pe.is_lost || !a->is_hidden)
		return !p->pe.is_lost;
	put(p, (struct etm_log_entry){.kind = FLOW_EV_NACC, .address = p->run_start});
	p->pe.is_lost = true;
	return false;
}

/** A P0 element is complete, the unit has counted it. */
static void p0_done(struct etm_program *p)
{
	if (p->is_wrong)
		p->nr_wrong++;
	(void)vec_push(&p->ends, p->truth.nr);
	if (p->ends.nr <= p->config.max_spec)
		return;
	p->safe = p->ends.data[0];
	memmove(p->ends.data, p->ends.data + 1, --p->ends.nr * sizeof(*p->ends.data));
}

static void commit(struct etm_program *p, size_t nr)
{
	if (!nr)
		return;
	p->safe = p->ends.data[nr - 1];
	p->ends.nr -= nr;
	memmove(p->ends.data, p->ends.data + nr, p->ends.nr * sizeof(*p->ends.data));
}

/** What is not committed was never reported. */
static void drop_uncommitted(struct etm_program *p)
{
	size_t kept = p->safe;

	for (size_t i = p->safe; i < p->truth.nr; i++) {
		if (etm_log_is_note(&p->truth.data[i]))
			p->truth.data[kept++] = p->truth.data[i];
		else if (p->truth.data[i].kind == FLOW_EV_TRACE_ON)
			p->is_after_overflow |= p->truth.data[i].number;
	}
	p->truth.nr = p->safe = kept;
	p->ends.nr = 0;
	p->unit.depth = 0;
}

/* --- where execution goes --- */

static void arrive(struct etm_program *p, uint64_t pc, enum isa isa)
{
	p->pe.pc = p->run_start = pc;
	p->pe.isa = isa;
	p->run.nr = 0;
}

static void trace_address(struct etm_program *p)
{
	enc_unit_address(&p->unit, p->pe.pc, p->pe.isa == ISA_T32);
	p->pe.is_lost = false;
}

static void trace_context_address(struct etm_program *p, bool is_full)
{
	enc_unit_address_context(&p->unit, p->pe.pc, p->pe.isa == ISA_T32, &p->pe.context, is_full);
	put_context(p);
	p->pe.is_lost = false;
	if (!p->is_wrong)
		p->owes_place = 0;
}

/** What is done here nearly each time, where the program has habits. */
static struct etm_random habit(struct etm_program *p)
{
	struct etm_random r = {p->pe.pc * 0x9e3779b97f4a7c15u};

	if (!p->has_habits || one_in(p, 24))
		r.state = etm_random_u64(&p->random);
	return r;
}

/** Any instruction of the space, in the same state of registers unless @p is_any. */
static void any_place(struct etm_program *p, bool is_any, uint64_t *pc, enum isa *isa)
{
	struct etm_image *im = image_now(p);
	struct etm_random r = habit(p);
	struct etm_area *a;

	do {
		a = &im->areas[etm_random_below(&r, im->nr)];
	} while (!is_any && (a->isa == ISA_A64) != p->pe.context.sf);
	*pc = etm_area_any(a, &r);
	*isa = (enum isa)a->isa;
}

static void go_anywhere(struct etm_program *p)
{
	struct enc_context *c = &p->pe.context;
	uint64_t pc;
	enum isa isa;

	c->el = p->is_user_only || one_in(p, 2) ? 0 : (uint8_t)below(p, 4);
	c->ns = c->el == 3 ? 0 : !one_in(p, 5);
	c->nse = p->config.is_ete && one_in(p, 4);
	if (c->el == 1 && !c->nse && !c->ns)
		c->ns = one_in(p, 2);
	if (c->has_cid && one_in(p, 2))
		c->cid = (uint32_t)etm_random_u64(&p->random);
	if (c->has_vmid && one_in(p, 2))
		c->vmid = (uint32_t)etm_random_u64(&p->random) &
			  (uint32_t)(((uint64_t)1 << 8 * p->config.vmid_bytes) - 1);
	if (p->is_m) {
		c->el &= 1;
		c->nse = false;
	}
	any_place(p, true, &pc, &isa);
	c->sf = isa == ISA_A64;
	arrive(p, pc, isa);
	p->pe.nr_calls = p->pe.nr_frames = 0;
	p->pe.in_transaction = false;
}

static void call(struct etm_program *p, uint64_t back)
{
	struct etm_pe *pe = &p->pe;

	if (pe->nr_calls == ETM_MAX_CALLS) {
		memmove(pe->calls, pe->calls + 1, sizeof(pe->calls) - sizeof(pe->calls[0]));
		pe->nr_calls--;
	}
	pe->calls[pe->nr_calls].address = back;
	pe->calls[pe->nr_calls++].isa = pe->isa;
	enc_unit_push(&p->unit, back, pe->isa);
}

/** Back to the caller, if its code is still there; or anywhere. */
static void indirect_target(struct etm_program *p, bool is_link, uint64_t *pc, enum isa *isa)
{
	struct etm_pe *pe = &p->pe;

	while (!is_link && pe->nr_calls && below(p, 8) < p->return_chance) {
		*pc = pe->calls[--pe->nr_calls].address;
		*isa = pe->calls[pe->nr_calls].isa;
		if (etm_image_insn(image_now(p), *pc, *isa) && (*isa == ISA_A64) == pe->context.sf)
			return;
	}
	any_place(p, false, pc, isa);
}

/* --- exceptions --- */

static const uint8_t exceptions[] = {1, 2, 3, 4, 6, 7, 10, 11, 12, 14, 15, 17, 31};
enum { NO_RETURN_ADDRESS = 0xfffffffe, FIRST_M_IRQ = 0x208, LAST_M_IRQ = 0x3ef };

static unsigned int any_exception(struct etm_program *p)
{
	if (p->is_m && one_in(p, 2))
		return FIRST_M_IRQ + below(p, LAST_M_IRQ - FIRST_M_IRQ + 1);
	return exceptions[below(p, sizeof(exceptions))];
}

static void enter_handler(struct etm_program *p)
{
	struct etm_pe *pe = &p->pe;
	uint64_t pc;
	enum isa isa;

	if (pe->nr_frames == ETM_MAX_FRAMES)
		pe->nr_frames--;
	pe->frames[pe->nr_frames].address = pe->pc;
	pe->frames[pe->nr_frames].isa = pe->isa;
	pe->frames[pe->nr_frames++].context = pe->context;
	if (p->is_m) {
		pe->context.el = 1;
		pe->context.ns ^= one_in(p, 4);
	} else {
		pe->context.el = (uint8_t)(pe->context.el < 3 ? pe->context.el + 1 : 3);
		if (pe->context.el < 3 && one_in(p, 4))
			pe->context.el++;
		pe->context.sf = true;
	}
	any_place(p, true, &pc, &isa);
	arrive(p, pc, isa);
	trace_context_address(p, false);
}

/** User space only: nothing is traced until it resumes. */
static void skip_handler(struct etm_program *p)
{
	uint64_t pc = p->pe.pc;
	enum isa isa = p->pe.isa;

	if (one_in(p, 2))
		any_place(p, false, &pc, &isa);
	arrive(p, pc, isa);
	enc_unit_flush(&p->unit);
	enc_trace_on(&p->unit.out);
	p->unit.stack.nr = 0;
	put_trace_on(p);
	trace_context_address(p, false);
}

/** To be gone on with at pe.pc. */
static void except(struct etm_program *p, unsigned int e)
{
	unsigned int type = any_exception(p);
	bool was_lost = p->pe.is_lost;

	enc_unit_exception(&p->unit, type, e);
	if (e == ENC_E_RETURN && one_in(p, 8))
		trace_context_address(p, false);
	else
		enc_unit_address(&p->unit, p->pe.pc, p->pe.isa == ISA_T32);
	p->pe.is_lost = was_lost;
	if (e == ENC_E_RETURN && p->run.nr && is_seen(p))
		put_run(p);
	p->run.nr = 0;
	if (p->lacks_target)
		put(p, (struct etm_log_entry){.kind = FLOW_EV_NO_TARGET, .value = p->pe.pc});
	p->lacks_target = false;
	put(p,
	    (struct etm_log_entry){.kind = FLOW_EV_EXCEPTION, .number = type, .address = p->pe.pc});
	p0_done(p);
	p->pe.in_transaction = false;
	if (p->is_user_only)
		skip_handler(p);
	else
		enter_handler(p);
}

/** The next exception comes before anything ran where this one returned to. */
static void chain_tail(struct etm_program *p)
{
	unsigned int type = any_exception(p);
	bool was_lost = p->pe.is_lost;

	enc_unit_exception(&p->unit, type, ENC_E_RETURN);
	enc_unit_address(&p->unit, NO_RETURN_ADDRESS, true);
	p->pe.is_lost = was_lost;
	put(p, (struct etm_log_entry){
		       .kind = FLOW_EV_EXCEPTION, .number = type, .address = NO_RETURN_ADDRESS});
	p0_done(p);
	enter_handler(p);
}

/** @return false: there was no return to anywhere. */
static bool trace_return(struct etm_program *p)
{
	if (p->config.is_ete)
		return true;
	enc_unit_flush(&p->unit);
	enc_except_rtn(&p->unit.out);
	put_kind(p, FLOW_EV_EXCEPTION_RET, 0);
	if (!p->is_m)
		return true;
	enc_unit_p0(&p->unit);
	p0_done(p);
	if (!one_in(p, 3))
		return true;
	chain_tail(p);
	return false;
}

static void exception_return(struct etm_program *p)
{
	struct etm_pe *pe = &p->pe;
	uint64_t pc = 0;
	enum isa isa = ISA_A64;
	bool is_known = false;

	if (!trace_return(p))
		return;
	if (pe->nr_frames && !one_in(p, 4)) {
		uint32_t cid = pe->context.cid, vmid = pe->context.vmid;

		pe->nr_frames--;
		pe->context = pe->frames[pe->nr_frames].context;
		if (one_in(p, 3)) {
			pe->context.cid = cid;
			pe->context.vmid = vmid;
		}
		pc = pe->frames[pe->nr_frames].address;
		isa = pe->frames[pe->nr_frames].isa;
		is_known = etm_image_insn(image_now(p), pc, isa);
	} else {
		pe->context.el = (uint8_t)below(p, pe->context.el);
	}
	if (!is_known) {
		any_place(p, true, &pc, &isa);
		pe->context.sf = isa == ISA_A64;
	}
	arrive(p, pc, isa);
	/* The next interrupt comes before anything ran: no address is needed. */
	p->lacks_target = !p->is_m && !p->has_hidden && one_in(p, 10);
	if (p->lacks_target)
		except(p, ENC_E_RETURN);
	else
		trace_context_address(p, false);
}

/* --- waypoints --- */

static void start_transaction(struct etm_program *p)
{
	enc_unit_flush(&p->unit);
	enc_trans_start(&p->unit.out);
	put_kind(p, FLOW_EV_TRANSACTION, FLOW_TRANS_START);
	p->pe.in_transaction = true;
	p->pe.transaction_pc = p->pe.pc;
	if (p->config.transactions_are_p0) {
		enc_unit_p0(&p->unit);
		p0_done(p);
	}
}

/** From the secure state's functions, v8-M: traced as a separate P0 element. */
static void function_return(struct etm_program *p)
{
	enc_unit_flush(&p->unit);
	enc_func_ret(&p->unit.out);
	put_kind(p, FLOW_EV_FUNCTION_RET, 0);
	enc_unit_p0(&p->unit);
	p0_done(p);
	p->pe.context.ns = !p->pe.context.ns;
	any_place(p, true, &p->pe.pc, &p->pe.isa);
	arrive(p, p->pe.pc, p->pe.isa);
	trace_context_address(p, false);
}

static void follow_indirect(struct etm_program *p, const struct insn *i)
{
	uint64_t pc;
	enum isa isa;

	if (p->is_m && p->config.version >= 0x42 && !(i->flags & INSN_LINK) && one_in(p, 8)) {
		function_return(p);
		return;
	}
	if (i->flags & INSN_ERET ||
	    (p->is_m && p->pe.context.el && !(i->flags & INSN_LINK) && one_in(p, 2))) {
		exception_return(p);
		return;
	}
	indirect_target(p, i->flags & INSN_LINK, &pc, &isa);
	arrive(p, pc, isa);
	if (!(i->flags & INSN_LINK) && !p->config.has_branch_broadcast &&
	    enc_unit_pop(&p->unit, pc, isa))
		return;
	if (one_in(p, 40)) /* its first instruction faults */
		except(p, ENC_E_TARGET);
	else
		trace_address(p);
}

/** After waypoint @p i at pe.pc. */
static void follow(struct etm_program *p, const struct insn *i, bool is_e)
{
	uint64_t next = p->pe.pc + i->bytes;

	if (!is_e) {
		arrive(p, next, p->pe.isa);
		return;
	}
	if (i->flags & INSN_LINK)
		call(p, next);
	switch ((enum insn_kind)i->kind) {
	case INSN_BRANCH:
	case INSN_COND:
		arrive(p, i->target,
		       !(i->flags & INSN_SWITCH) ? p->pe.isa
		       : p->pe.isa == ISA_A32    ? ISA_T32
						 : ISA_A32);
		if (p->config.has_branch_broadcast)
			trace_address(p);
		return;
	case INSN_INDIRECT:
		follow_indirect(p, i);
		return;
	case INSN_TSTART:
		arrive(p, next, p->pe.isa);
		start_transaction(p);
		return;
	case INSN_PLAIN:
	case INSN_ISB:
	case INSN_WFX:
	case INSN_FAR:
	case INSN_SPECIAL:
		arrive(p, next, p->pe.isa);
		return;
	}
}

/** Executed up to and with the waypoint at pe.pc; the unit traces it as @p is_traced_e. */
static void atom(struct etm_program *p, const struct insn *i, bool is_e, bool is_traced_e)
{
	if (is_seen(p)) {
		put_run(p);
		put_insn(p, p->pe.pc, is_e ? 'E' : 'N');
		if (i->flags & INSN_ERET && is_e && p->config.is_ete)
			put_kind(p, FLOW_EV_EXCEPTION_RET, 0);
	}
	p->run.nr = 0;
	enc_unit_atom(&p->unit, is_traced_e);
	p0_done(p);
}

static void step(struct etm_program *p);

/** Up to @p nr P0 elements that never happened, as many as can be taken back. */
static void run_wrong(struct etm_program *p, uint32_t nr)
{
	uint32_t most_of_step = p->is_m ? 4 : 3; /* and one more P0 element */

	while (p->nr_wrong < nr && p->nr_wrong + most_of_step <= p->config.max_spec)
		step(p);
}

static void mispredict(struct etm_program *p, const struct insn *i, bool is_e)
{
	struct etm_pe pe;
	struct enc_unit_stack stack = p->unit.stack;
	struct enc_context context;
	bool has_context;

	atom(p, i, is_e, !is_e);
	pe = p->pe;
	context = p->unit.context;
	has_context = p->unit.has_context;
	p->is_wrong = true;
	p->nr_wrong = 0;
	follow(p, i, !is_e);
	run_wrong(p, below(p, 8));
	p->is_wrong = false;
	enc_unit_cancel(&p->unit, p->nr_wrong, true);
	p->ends.nr -= p->nr_wrong;
	p->unit.stack = stack;
	p->unit.context = context;
	p->unit.has_context = has_context;
	p->pe = pe;
	follow(p, i, is_e);
}

/** A wrong path from here on; the trace gives no reason. */
static void go_wrong(struct etm_program *p)
{
	struct etm_pe pe = p->pe;
	struct enc_unit_stack stack = p->unit.stack;
	struct enc_context context = p->unit.context;
	bool has_context = p->unit.has_context;

	p->is_wrong = true;
	p->nr_wrong = 0;
	run_wrong(p, 1 + below(p, 12));
	p->is_wrong = false;
	if (p->nr_wrong)
		enc_unit_cancel(&p->unit, p->nr_wrong, false);
	p->ends.nr -= p->nr_wrong;
	p->unit.stack = stack;
	p->unit.context = context;
	p->unit.has_context = has_context;
	p->pe = pe;
	arrive(p, pe.pc, pe.isa);
}

static bool may_fail(const struct insn *i)
{
	return i->kind == INSN_COND || i->flags & INSN_MAY_FAIL;
}

static void waypoint(struct etm_program *p, const struct insn *i)
{
	struct etm_random r = habit(p);
	bool is_e = !may_fail(i) || etm_random_one_in(&r, 2);

	if (may_fail(i) && p->is_speculating && !p->is_wrong && p->config.max_spec > 2 &&
	    one_in(p, 8)) {
		mispredict(p, i, is_e);
		return;
	}
	atom(p, i, is_e, is_e);
	follow(p, i, is_e);
}

/** On to the waypoint in the list of what ran. @return it. */
static const struct insn *run_straight(struct etm_program *p)
{
	for (;;) {
		const struct insn *i = etm_image_insn(image_now(p), p->pe.pc, p->pe.isa);

		if (i->kind != INSN_PLAIN)
			return i;
		(void)vec_push(&p->run, p->pe.pc);
		p->pe.pc += i->bytes;
	}
}

/* --- elements of which not every unit has some --- */

/** Past waypoints that are not taken to one that is. */
static void source_address(struct etm_program *p)
{
	size_t from = p->truth.nr;
	const struct insn *i = run_straight(p);
	bool is_one = true;

	while (may_fail(i) && one_in(p, 2)) {
		put_run(p);
		put_insn(p, p->pe.pc, 'N');
		p->pe.pc += i->bytes;
		is_one = false;
		i = run_straight(p);
	}
	put_run(p);
	put_insn(p, p->pe.pc, 'E');
	for (size_t k = from; k < p->truth.nr && !is_one && !p->splits_source_ranges; k++)
		p->truth.data[k].mark = 0;
	if (i->flags & INSN_ERET)
		put_kind(p, FLOW_EV_EXCEPTION_RET, 0);
	enc_unit_source(&p->unit, p->pe.pc, p->pe.isa == ISA_T32);
	p0_done(p);
	follow(p, i, true);
}

/** Instructions without atoms: a few, or a block, or several. */
static void q_element(struct etm_program *p)
{
	uint64_t start = p->pe.pc;
	enum isa isa = p->pe.isa, last = isa;
	uint32_t nr_insns = 0, nr_waypoints = 0, nr_barriers = 0, most = 1 + below(p, 3),
		 stop = below(p, 12);
	bool has_count = !one_in(p, 4), is_at_waypoint = false, is_at_branch = false;
	const struct insn *i = NULL;

	p->run.nr = 0;
	while (nr_waypoints < most && !(nr_insns && nr_insns == stop)) {
		uint64_t pc = p->pe.pc;

		i = etm_image_insn(image_now(p), pc, p->pe.isa);
		if (i->flags & INSN_ERET)
			break;
		(void)vec_push(&p->run, pc);
		nr_insns++;
		last = p->pe.isa;
		p->pe.pc += i->bytes;
		is_at_waypoint = i->kind != INSN_PLAIN;
		is_at_branch = is_at_waypoint && (i->kind == INSN_INDIRECT || i->target);
		if (!is_at_waypoint)
			continue;
		nr_waypoints++;
		nr_barriers += !is_at_branch;
		if (i->kind == INSN_INDIRECT)
			any_place(p, false, &p->pe.pc, &p->pe.isa);
		else if (i->target && !(may_fail(i) && one_in(p, 2))) {
			p->pe.pc = i->target;
			if (i->flags & INSN_SWITCH)
				p->pe.isa = p->pe.isa == ISA_A32 ? ISA_T32 : ISA_A32;
		}
	}
	if (!nr_insns)
		return;
	isa = p->pe.isa;
	p->pe.isa = last;
	if (has_count && nr_waypoints - nr_barriers <= is_at_branch) {
		uint64_t at = p->run.data[nr_insns - 1];
		const struct insn *w = etm_image_insn(image_now(p), at, last);
		bool is_next = p->pe.pc == at + w->bytes;
		bool may_go_on = may_fail(w) || last == ISA_T32;

		bool is_split = nr_waypoints <= is_at_waypoint || p->splits_source_ranges;

		p->run.nr -= is_at_waypoint;
		vec_for_each (&p->run, a) {
			w = etm_image_insn(image_now(p), *a, last);
			put_insn(p, *a,
				 w->kind == INSN_PLAIN || !is_split ? 0
				 : may_fail(w) || last == ISA_T32   ? 'N'
								    : 'E');
		}
		p->run.nr = 0;
		if (is_at_waypoint)
			put_insn(p, at, !is_split ? 0 : is_next && may_go_on ? 'N' : 'E');
	} else {
		put(p, (struct etm_log_entry){.kind = FLOW_EV_NO_PATH,
					      .number = has_count ? nr_insns : 0,
					      .address = start,
					      .value = p->pe.pc});
	}
	enc_unit_q(&p->unit, p->pe.pc, isa == ISA_T32, nr_insns, has_count);
	p->unit.stack.nr = 0; /* what calls did to it on the way is not traced */
	p0_done(p);
	arrive(p, p->pe.pc, isa);
}

static void end_transaction(struct etm_program *p)
{
	p->pe.in_transaction = false;
	enc_unit_flush(&p->unit);
	if (one_in(p, 2)) {
		enc_trans_commit(&p->unit.out);
		put_kind(p, FLOW_EV_TRANSACTION, FLOW_TRANS_COMMITTED);
		return;
	}
	enc_trans_fail(&p->unit.out);
	enc_unit_forget_history(&p->unit);
	p->unit.stack.nr = 0; /* nor is the outcome of a return just before */
	put_kind(p, FLOW_EV_TRANSACTION, FLOW_TRANS_FAILED);
	if (etm_image_insn(image_now(p), p->pe.transaction_pc, p->pe.isa))
		arrive(p, p->pe.transaction_pc, p->pe.isa);
	trace_address(p);
}

static void pe_reset(struct etm_program *p)
{
	enc_unit_flush(&p->unit);
	enc_pe_reset(&p->unit.out);
	enc_unit_p0(&p->unit);
	enc_unit_forget_history(&p->unit);
	p->unit.stack.nr = 0;
	put_kind(p, FLOW_EV_PE_RESET, 0);
	p0_done(p);
	go_anywhere(p);
	trace_context_address(p, true);
}

/* --- notes: time and the like, and commits --- */

/** Forward, but not into the next version of the code. */
static void pass_time(struct etm_program *p)
{
	uint64_t most = UINT64_MAX, by;

	if (p->has_versions && version_at(p->ticks) < ETM_NR_VERSIONS - 1)
		most = versions[version_at(p->ticks)] - 1;
	by = etm_random_u64(&p->random) >> (24 + below(p, 40));
	p->ticks = most - p->ticks < by ? most : p->ticks + by;
	if (!p->ticks)
		p->ticks = 1;
}

static void timestamp(struct etm_program *p)
{
	uint32_t count = below(p, 1u << p->config.cc_bits);

	if (one_in(p, 20) && !p->has_versions) { /* no time source */
		enc_unit_timestamp(&p->unit, 0);
		put(p, (struct etm_log_entry){.kind = FLOW_EV_TIMESTAMP});
		return;
	}
	pass_time(p);
	put(p, (struct etm_log_entry){.kind = FLOW_EV_TIMESTAMP, .value = p->ticks});
	if (p->has_cycles && one_in(p, 2)) {
		enc_unit_timestamp_count(&p->unit, p->ticks, count);
		put_kind(p, FLOW_EV_CYCLES, count);
	} else {
		enc_unit_timestamp(&p->unit, p->ticks);
	}
}

/** How many may be committed: what is on a wrong path, and its branch, not. */
static uint32_t committable(struct etm_program *p)
{
	uint32_t kept = p->is_wrong ? p->nr_wrong + 1 : 0;

	return p->unit.depth > kept ? p->unit.depth - kept : 0;
}

static void cycles(struct etm_program *p)
{
	uint32_t most = committable(p);
	uint32_t nr = p->config.has_commopt ? 0 : 1 + (most ? below(p, most) : 0);
	uint32_t count = p->unit.threshold + (uint32_t)(etm_random_u64(&p->random) >>
							(64 - 1 - below(p, p->config.cc_bits)));
	bool is_known = !one_in(p, 6);

	if (nr > most && p->config.max_spec)
		return;
	enc_unit_cycles(&p->unit, nr, count, is_known);
	put_kind(p, FLOW_EV_CYCLES, is_known ? count : UINT32_MAX);
	if (p->config.max_spec)
		commit(p, nr);
}

static void note(struct etm_program *p)
{
	uint32_t number = 1 + below(p, 15);
	uint64_t value = etm_random_u64(&p->random);

	enc_unit_flush(&p->unit);
	if (p->config.version >= 0x53 && one_in(p, 3)) {
		enc_instrumentation(&p->unit.out, number & 3, value);
		put(p, (struct etm_log_entry){
			       .kind = FLOW_EV_INSTRUMENTATION, .el = number & 3, .value = value});
	} else if (p->config.has_ts_marks && one_in(p, 2)) {
		enc_ts_marker(&p->unit.out);
		put_kind(p, FLOW_EV_TS_MARKER, 0);
	} else {
		enc_event(&p->unit.out, number);
		put_kind(p, FLOW_EV_EVENT, number);
	}
}

static void commit_some(struct etm_program *p)
{
	uint32_t most = committable(p), nr = most ? 1 + below(p, most) : 0;

	if (!nr)
		return;
	enc_unit_commit(&p->unit, nr);
	commit(p, nr);
}

static void notes(struct etm_program *p)
{
	if (p->has_habits && !one_in(p, 16))
		return;
	if (p->has_ts && one_in(p, 15))
		timestamp(p);
	if (p->has_cycles && one_in(p, 6))
		cycles(p);
	if (one_in(p, 40))
		note(p);
	if (p->config.max_spec && one_in(p, 5))
		commit_some(p);
}

/* --- breaks --- */

static void begin(struct etm_program *p, bool has_trace_on)
{
	bool in_transaction = p->config.is_ete && one_in(p, 6);

	enc_unit_async_only(&p->unit);
	if (p->config.is_ete && one_in(p, 4)) {
		enc_event(&p->unit.out, 5);
		put_kind(p, FLOW_EV_EVENT, 5);
	}
	enc_unit_info_only(&p->unit, p->has_cycles, in_transaction);
	if (in_transaction) {
		/* Reported at once; the event before it waits. */
		size_t nr = p->truth.nr;
		bool has_event = nr && p->truth.data[nr - 1].kind == FLOW_EV_EVENT;

		put_kind(p, FLOW_EV_TRANSACTION, FLOW_TRANS_INIT);
		if (has_event) {
			struct etm_log_entry e = p->truth.data[nr];

			p->truth.data[nr] = p->truth.data[nr - 1];
			p->truth.data[nr - 1] = e;
			p->safe = nr;
		} else {
			p->safe = p->truth.nr;
		}
	}
	if (has_trace_on) {
		enc_trace_on(&p->unit.out);
		put_trace_on(p);
	}
	go_anywhere(p);
	p->pe.in_transaction = in_transaction;
	p->pe.transaction_pc = p->pe.pc;
	trace_context_address(p, true);
}

static void lose(struct etm_program *p, bool is_overflow)
{
	enc_unit_flush(&p->unit);
	if (is_overflow)
		enc_overflow(&p->unit.out);
	else
		enc_discard(&p->unit.out);
	drop_uncommitted(p);
	put_kind(p, FLOW_EV_NO_SYNC, is_overflow ? FLOW_NO_SYNC_OVERFLOW : FLOW_NO_SYNC_DISCARD);
	p->safe = p->truth.nr;
	p->is_after_overflow |= is_overflow;
	begin(p, true);
}

/** Not traced for a while. */
static void filter(struct etm_program *p)
{
	enc_unit_flush(&p->unit);
	enc_trace_on(&p->unit.out);
	p->unit.stack.nr = 0;
	put_trace_on(p);
	go_anywhere(p);
	trace_context_address(p, false);
}

static void sync_here(struct etm_program *p)
{
	enc_unit_sync(&p->unit, p->has_cycles, p->pe.in_transaction);
	p->owes_place = one_in(p, 3) ? 1 + below(p, 4) : 0;
	if (!p->owes_place)
		trace_context_address(p, true);
}

/** CONTEXTIDR, VMID are written to; code at a later time. Where it is no matter what runs. */
static void change_context(struct etm_program *p)
{
	struct enc_context *c = &p->pe.context;

	if (c->el == 1 && c->has_cid)
		c->cid = one_in(p, 3) ? 0 : (uint32_t)etm_random_u64(&p->random);
	if (c->el >= 2 && c->has_vmid)
		c->vmid = below(p, 256);
	enc_unit_context(&p->unit, c, false);
	put_context(p);
	if (!p->has_versions || !p->has_ts || p->is_wrong || !one_in(p, 3) ||
	    version_at(p->ticks) == ETM_NR_VERSIONS - 1)
		return;
	p->ticks = versions[version_at(p->ticks)] + below(p, 1000);
	enc_unit_timestamp(&p->unit, p->ticks);
	put(p, (struct etm_log_entry){.kind = FLOW_EV_TIMESTAMP, .value = p->ticks});
}

static void breaks(struct etm_program *p)
{
	if (p->has_habits && !one_in(p, 16))
		return;
	if (one_in(p, 60))
		sync_here(p);
	if (one_in(p, 150))
		lose(p, p->config.is_ete ? one_in(p, 2) : !one_in(p, 3));
	if (one_in(p, 100))
		filter(p);
	if (p->config.is_ete && !p->is_user_only && one_in(p, 200))
		pe_reset(p);
	if (p->is_speculating && p->config.max_spec > 2 && one_in(p, 15))
		go_wrong(p);
	if (one_in(p, 100))
		p->return_chance = 1 + below(p, 8);
}

/* --- */

/** As loads of several registers are, that of the PC too. */
static bool may_be_continued(const struct insn *i)
{
	return i->bytes == 4 && (i->kind == INSN_PLAIN || i->kind == INSN_INDIRECT);
}

/** Interrupted in it, to be continued: the return address is inside. */
static void begin_insn(struct etm_program *p)
{
	(void)vec_push(&p->run, p->pe.pc);
	p->pe.pc += 2;
}

/** One or two P0 elements. */
static void step(struct etm_program *p)
{
	uint32_t until = below(p, p->has_habits ? 3000 : 150);

	if (!p->is_wrong && p->owes_place && !--p->owes_place)
		trace_context_address(p, true);
	if (!p->is_wrong)
		breaks(p);
	notes(p);
	/* Only what follows a P0 element is taken back with it. */
	if (!p->is_wrong || p->nr_wrong) {
		if (p->pe.context.el && one_in(p, 6))
			change_context(p);
		if (p->pe.in_transaction && one_in(p, 6))
			end_transaction(p);
	}
	if (p->config.is_ete && !p->has_hidden && one_in(p, p->has_habits ? 200 : 10)) {
		source_address(p);
		return;
	}
	if (p->config.has_q && !p->has_hidden && one_in(p, p->has_habits ? 200 : 10)) {
		q_element(p);
		return;
	}
	for (;; until--) {
		const struct insn *i = etm_image_insn(image_now(p), p->pe.pc, p->pe.isa);

		if (!until) { /* interrupted, a fault, a call */
			if (p->is_m && !p->is_user_only && may_be_continued(i) && one_in(p, 3))
				begin_insn(p);
			except(p, ENC_E_RETURN);
			return;
		}
		if (i->kind != INSN_PLAIN) {
			waypoint(p, i);
			return;
		}
		(void)vec_push(&p->run, p->pe.pc);
		p->pe.pc += i->bytes;
	}
}

static struct etm_regs random_regs(struct etm_program *p)
{
	static const uint8_t minors[] = {0, 1, 3}, sizes[] = {0, 1, 2, 4};
	bool is_ete = one_in(p, 2) && !p->is_m;
	uint32_t minor = is_ete ? minors[below(p, 3)] : below(p, 7);
	uint32_t vmid = sizes[below(p, !is_ete && !minor ? 2 : 4)];
	bool has_broadcast = one_in(p, 8);

	return (struct etm_regs){
		.is_ete = is_ete,
		.traceidr = 0x10,
		.configr = (uint32_t)has_broadcast << 3 | below(p, 2) << 12,
		.idr0 = 1u << 7 | (one_in(p, 4) ? 1u + below(p, 3) : 0) << 15 | below(p, 2) << 23 |
			below(p, 2) << 29 | below(p, 2) << 30,
		.idr1 = 0x4100f403 | minor << 4,
		.idr2 = 8u | (below(p, 2) * 4) << 5 | vmid << 10 | below(p, 9) << 25 |
			(uint32_t)one_in(p, 3) << 31,
		.idr8 = one_in(p, 2) ? 0
		      : one_in(p, 2) ? below(p, 8)
				     : below(p, 130),
		.devarch = 0x47705a13 | minor << 16,
	};
}

static void choose(struct etm_program *p)
{
	struct etm_regs regs = random_regs(p);

	p->has_hidden = one_in(p, 6);
	if (p->has_hidden)
		regs.configr &= ~(1u << 12);
	(void)etm_config_init(&p->config, &regs, NULL);
	p->config.is_m_profile = p->is_m;
	p->has_ts = !one_in(p, 3);
	p->has_cycles = one_in(p, 2);
	p->is_user_only = one_in(p, 6);
	p->has_versions = p->has_ts && one_in(p, 2);
	p->is_speculating = p->config.max_spec && !one_in(p, 4);
	p->splits_source_ranges = one_in(p, 2);
	p->return_chance = 1 + below(p, 8);
	p->pe.context.has_cid = p->config.cid_bytes && !one_in(p, 4);
	p->pe.context.has_vmid = p->config.vmid_bytes && !one_in(p, 4);
	p->unit.config = &p->config;
	/* The same again and again, in the same bytes: what decoders remember is used. */
	p->has_habits = one_in(p, 4);
	p->unit.random = p->has_habits && !one_in(p, 4) ? NULL : &p->random;
	p->unit.stack.depth = p->config.has_return_stack ? 1 + below(p, ENC_UNIT_STACK) : 0;
	p->unit.threshold = p->has_cycles ? below(p, 300) : 0;
}

static void make_code(struct etm_program *p)
{
	struct etm_code_opts o = {.has_wfx = p->config.wfx_are_waypoints,
				  .has_transactions = p->config.is_ete,
				  .is_m_profile = p->is_m};

	for (unsigned int i = 0; i < ETM_NR_SPACES; i++) {
		if (p->is_m) {
			etm_image_make_m(&p->images[i], &p->random, &o);
			p->images[i].areas[1].is_hidden = p->has_hidden;
		} else if (i < FIRST_KERNEL) {
			etm_image_make_user(&p->images[i], &p->random, &o);
			p->images[i].areas[1].is_hidden = p->has_hidden;
		} else {
			etm_image_make_kernel(&p->images[i], &p->random, &o);
		}
	}
}

bool etm_program_make(struct etm_program *p, uint64_t seed, unsigned int nr_steps)
{
	memset(p, 0, sizeof(*p));
	p->seed = p->random.state = seed;
	p->is_m = seed % 8 == 7;
	choose(p);
	make_code(p);
	p->source = (struct code_source){space_of, find, p};
	put_kind(p, FLOW_EV_NO_SYNC, FLOW_NO_SYNC_INIT);
	p->safe = 1;
	for (uint32_t i = one_in(p, 2) ? below(p, 40) : 0; i; i--)
		buf_char(&p->unit.out, (char)(1 + below(p, 255)));
	begin(p, one_in(p, 2));
	for (unsigned int i = p->has_habits ? 10 * nr_steps : nr_steps; i; i--)
		step(p);
	if (one_in(p, 2))
		commit_some(p);
	enc_unit_flush(&p->unit);
	drop_uncommitted(p);
	put_kind(p, FLOW_EV_END, 0);
	return !p->unit.out.is_failed;
}

void etm_program_done(struct etm_program *p)
{
	buf_done(&p->unit.out);
	vec_done(&p->truth);
	vec_done(&p->run);
	vec_done(&p->ends);
}

const char *etm_program_text(const struct etm_program *p)
{
	static char text[200];
	const struct etm_config *c = &p->config;

	snprintf(
		text, sizeof(text),
		"seed %llu, version %x%s, spec %u%s%s%s%s%s%s%s%s%s%s%s, cid %u vmid %u, %zu bytes",
		(unsigned long long)p->seed, c->version, p->is_m ? " of M" : "", c->max_spec,
		p->has_habits ? " habits" : "", p->unit.stack.depth ? " stack" : "",
		c->has_branch_broadcast ? " broadcast" : "", c->has_q ? " q" : "",
		c->has_commopt ? " commopt" : "", c->transactions_are_p0 ? " trans-p0" : "",
		p->has_ts ? " ts" : "", p->has_cycles ? " cycles" : "",
		p->has_hidden ? " hidden" : "", p->is_user_only ? " user" : "",
		p->has_versions ? " versions" : "", c->cid_bytes, c->vmid_bytes, p->unit.out.nr);
	return text;
}
