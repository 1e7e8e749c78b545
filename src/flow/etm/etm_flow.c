/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_cut.h"
#include "flow/etm/etm_flow_impl.h"
#include "flow/etm/etm_state.h"

enum { MAX_EVENTS = 4 << 10 };

/** Decoding resumes at the next async. */
static void lose_sync(struct etm_flow *f, enum flow_no_sync reason, const char *what)
{
	bool is_announced = reason == FLOW_NO_SYNC_DISCARD || reason == FLOW_NO_SYNC_OVERFLOW;

	if (f->sync == ETM_WAIT_ASYNC)
		return;
	f->flow.first = f->flow.first ? f->flow.first : FLOW_FIRST_LOSS;
	f->sync = ETM_WAIT_ASYNC;
	flow_put_dropped(&f->flow);
	etm_queue_drop(f, is_announced);
	etm_walk_forget(f);
	f->packets.is_synced = false;
	f->packets.nr_zeros = 0;
	f->was_overflow |= reason == FLOW_NO_SYNC_OVERFLOW;
	flow_put_no_sync(&f->flow, reason, what);
}

static void begin(struct etm_flow *f, const struct etm_packet *p)
{
	uint32_t spec = p->trace_info.spec;
	struct flow_event in_transaction = {.kind = FLOW_EV_TRANSACTION, .number = FLOW_TRANS_INIT};

	f->sync = ETM_RUNNING;
	f->nr_placeholders = spec < f->config->max_spec ? spec : f->config->max_spec;
	f->depth = f->nr_placeholders;
	if (p->trace_info.info & 0x40)
		flow_put_event(&f->flow, &in_transaction);
}

static struct etm_elem element(const struct etm_packet *p, enum etm_element kind)
{
	return (struct etm_elem){.kind = (uint8_t)kind, .offset = p->offset};
}

static void add(struct etm_flow *f, const struct etm_packet *p, enum etm_element kind)
{
	struct etm_elem e = element(p, kind);

	etm_queue_add(f, &e);
}

static void add_atoms(struct etm_flow *f, const struct etm_packet *p)
{
	struct etm_elem e = element(p, ETM_EL_ATOMS);

	e.a = p->atoms.bits;
	e.nr = p->atoms.nr;
	if (e.nr)
		etm_queue_add(f, &e);
}

static void add_context(struct etm_flow *f, const struct etm_packet *p)
{
	struct etm_elem e = element(p, ETM_EL_CONTEXT);

	e.context = p->context;
	e.is_of_next = f->has_pending;
	if (e.context.has_payload)
		etm_queue_add(f, &e);
}

/** An address: of the exception or Q before it, else where execution continues. */
static void add_address(struct etm_flow *f, const struct etm_packet *p)
{
	struct etm_elem e = element(p, ETM_EL_ADDRESS);

	add_context(f, p);
	if (f->sync != ETM_RUNNING)
		return; /* what waits was too much */
	if (f->has_pending) {
		e = f->pending;
		f->has_pending = false;
	}
	e.value = p->address;
	e.is = p->is;
	etm_queue_add(f, &e);
}

static void add_exception(struct etm_flow *f, const struct etm_packet *p)
{
	f->pending = element(p, ETM_EL_EXCEPTION);
	f->pending.a = p->exception;
	f->pending.e = p->exception_e;
	f->has_pending = true;
}

static void add_q(struct etm_flow *f, const struct etm_packet *p)
{
	struct etm_elem e = element(p, ETM_EL_Q);

	e.a = p->q_count;
	e.has_count = p->has_q_count;
	e.value = p->address;
	e.is = p->is;
	if (p->has_address) {
		etm_queue_add(f, &e);
	} else {
		f->pending = e;
		f->has_pending = true;
	}
}

static void add_source(struct etm_flow *f, const struct etm_packet *p)
{
	struct etm_elem e = element(p, ETM_EL_SOURCE);

	e.value = p->address;
	e.is = p->is;
	etm_queue_add(f, &e);
}

static void add_count(struct etm_flow *f, const struct etm_packet *p)
{
	struct etm_elem e = element(p, ETM_EL_CYCLES);

	e.a = p->count;
	e.has_count = p->has_count;
	/* Without speculation all is committed already, whatever the packet says. */
	if (etm_queue_add(f, &e) && p->commit && f->config->max_spec)
		etm_queue_commit(f, p->commit);
}

static void add_timestamp(struct etm_flow *f, const struct etm_packet *p)
{
	struct etm_elem e = element(p, ETM_EL_TIMESTAMP);

	e.value = p->timestamp;
	if (etm_queue_add(f, &e) && p->has_count)
		add_count(f, p);
}

static void add_note(struct etm_flow *f, const struct etm_packet *p, enum etm_element kind)
{
	struct etm_elem e = element(p, kind);

	e.a = p->events;
	e.el = p->ite_el;
	e.value = p->ite_value;
	etm_queue_add(f, &e);
}

/** MISPREDICT, CANCEL_F1 to F3: atoms first, then cancel, then mispredict. */
static void take_back(struct etm_flow *f, const struct etm_packet *p)
{
	add_atoms(f, p);
	if (f->sync == ETM_RUNNING && p->commit && !etm_queue_cancel(f, p->commit))
		return;
	if (f->sync == ETM_RUNNING && p->is_mispredict)
		etm_queue_mispredict(f);
}

static void unsupported(struct etm_flow *f, const struct etm_packet *p)
{
	struct flow_event e = {.kind = FLOW_EV_UNSUPPORTED, .number = p->header};
	uint8_t *seen = &f->flow.reported[p->header / 8], bit = (uint8_t)(1u << p->header % 8);

	if (!(*seen & bit))
		flow_put_event(&f->flow, &e);
	*seen |= bit;
	lose_sync(f, FLOW_NO_SYNC_BAD_PACKET, "a packet that is not decoded");
}

static bool is_p0_of_kind(enum etm_kind kind)
{
	return kind >= ETM_ATOM_F1 ||
	       (kind >= ETM_SRC_ADDR_MATCH && kind <= ETM_SRC_ADDR_L_64IS1) || kind == ETM_EXCEPT ||
	       kind == ETM_Q;
}

static void run_packet(struct etm_flow *f, const struct etm_packet *p)
{
	enum etm_kind kind = (enum etm_kind)p->kind;

	if (f->has_pending && is_p0_of_kind(kind)) {
		lose_sync(f, FLOW_NO_SYNC_BAD_PACKET, "an exception without its address");
		return;
	}
	switch (kind) {
	case ETM_ASYNC:
		if (!f->has_pending)
			break;
		/* The address after it is no exception's. */
		lose_sync(f, FLOW_NO_SYNC_BAD_PACKET, "an exception without its address");
		f->sync = ETM_WAIT_INFO;
		f->packets.is_synced = true; /* by this one */
		break;
	case ETM_NOT_SYNCED:
	case ETM_IGNORE:
	case ETM_INCOMPLETE:
	case NR_ETM_KINDS:
		break;
	case ETM_BAD:
		lose_sync(f, FLOW_NO_SYNC_BAD_PACKET, "reserved or malformed packet");
		break;
	case ETM_UNSUPPORTED:
		unsupported(f, p);
		break;
	case ETM_DISCARD:
		lose_sync(f, FLOW_NO_SYNC_DISCARD, NULL);
		break;
	case ETM_OVERFLOW:
		lose_sync(f, FLOW_NO_SYNC_OVERFLOW, NULL);
		break;
	case ETM_TRACE_INFO:
		add(f, p, ETM_EL_TRACE_INFO);
		break;
	case ETM_TIMESTAMP:
		add_timestamp(f, p);
		break;
	case ETM_TRACE_ON:
		add(f, p, ETM_EL_TRACE_ON);
		break;
	case ETM_FUNC_RET:
		add(f, p, ETM_EL_FUNCTION_RET);
		break;
	case ETM_EXCEPT:
		add_exception(f, p);
		break;
	case ETM_EXCEPT_RTN:
		add(f, p, ETM_EL_EXCEPTION_RET);
		break;
	case ETM_PE_RESET:
		add(f, p, ETM_EL_PE_RESET);
		break;
	case ETM_TRANS_FAIL:
		add(f, p, ETM_EL_TRANS_FAIL);
		break;
	case ETM_ITE:
		add_note(f, p, ETM_EL_ITE);
		break;
	case ETM_TRANS_ST:
		add(f, p, ETM_EL_TRANS_START);
		break;
	case ETM_TRANS_COMMIT:
		add(f, p, ETM_EL_TRANS_COMMIT);
		break;
	case ETM_CCNT_F1:
	case ETM_CCNT_F2:
	case ETM_CCNT_F3:
		add_count(f, p);
		break;
	case ETM_COMMIT:
		etm_queue_commit(f, p->commit);
		break;
	case ETM_CANCEL_F1:
	case ETM_CANCEL_F1_MISPRED:
	case ETM_MISPREDICT:
	case ETM_CANCEL_F2:
	case ETM_CANCEL_F3:
		take_back(f, p);
		break;
	case ETM_EVENT:
		add_note(f, p, ETM_EL_EVENT);
		break;
	case ETM_TS_MARKER:
		add_note(f, p, ETM_EL_TS_MARKER);
		break;
	case ETM_CTXT:
		add_context(f, p);
		break;
	case ETM_ADDR_CTXT_L_32IS0:
	case ETM_ADDR_CTXT_L_32IS1:
	case ETM_ADDR_CTXT_L_64IS0:
	case ETM_ADDR_CTXT_L_64IS1:
	case ETM_ADDR_MATCH:
	case ETM_ADDR_S_IS0:
	case ETM_ADDR_S_IS1:
	case ETM_ADDR_L_32IS0:
	case ETM_ADDR_L_32IS1:
	case ETM_ADDR_L_64IS0:
	case ETM_ADDR_L_64IS1:
		add_address(f, p);
		break;
	case ETM_Q:
		add_q(f, p);
		break;
	case ETM_SRC_ADDR_MATCH:
	case ETM_SRC_ADDR_S_IS0:
	case ETM_SRC_ADDR_S_IS1:
	case ETM_SRC_ADDR_L_32IS0:
	case ETM_SRC_ADDR_L_32IS1:
	case ETM_SRC_ADDR_L_64IS0:
	case ETM_SRC_ADDR_L_64IS1:
		add_source(f, p);
		break;
	case ETM_ATOM_F1:
	case ETM_ATOM_F2:
	case ETM_ATOM_F3:
	case ETM_ATOM_F4:
	case ETM_ATOM_F5:
	case ETM_ATOM_F6:
		add_atoms(f, p);
		break;
	}
}

static void take_packet(struct etm_flow *f, const struct etm_packet *p)
{
	f->flow.offset = p->offset;
	f->flow.totals.nr_packets++;
	switch (f->sync) {
	case ETM_WAIT_ASYNC:
		if (p->kind == ETM_ASYNC)
			f->sync = ETM_WAIT_INFO;
		break;
	case ETM_WAIT_INFO:
		if (p->kind == ETM_TRACE_INFO)
			begin(f, p);
		else if (p->kind == ETM_EVENT && f->config->is_ete)
			add_note(f, p, ETM_EL_EVENT);
		else if (!f->packets.is_synced)
			f->sync = ETM_WAIT_ASYNC;
		break;
	case ETM_RUNNING:
		run_packet(f, p);
		break;
	}
}

static void feed(struct flow *flow, struct bytes in)
{
	struct etm_flow *f = etm_flow_of(flow);
	struct etm_packet p;

	for (;;) {
		etm_fast_decode(f, &in);
		if (flow->err || etm_packets_next(&f->packets, &in, &p))
			break;
		take_packet(f, &p);
		if (flow->nr_items + FLOW_ITEMS_OF_PACKET > FLOW_BATCH_ITEMS ||
		    flow->events.nr > MAX_EVENTS)
			flow_deliver(flow);
		flow_limit_cache(flow);
	}
}

static void end_input(struct flow *flow)
{
	struct etm_flow *f = etm_flow_of(flow);
	struct etm_packet p;

	while (!etm_packets_finish(&f->packets, &p))
		take_packet(f, &p);
	etm_queue_end(f);
}

static void restart(struct flow *flow)
{
	struct etm_flow *f = etm_flow_of(flow);

	etm_packets_reset(&f->packets, flow->offset);
	if (f->sync == ETM_RUNNING)
		lose_sync(f, FLOW_NO_SYNC_RESET, NULL);
	f->sync = ETM_WAIT_ASYNC;
}

static void lose(struct flow *flow, enum flow_no_sync reason, const char *what)
{
	lose_sync(etm_flow_of(flow), reason, what);
}

/* --- parts --- */

static size_t find_cut(const struct flow *flow, struct bytes in, size_t from, size_t to)
{
	return etm_find_cut(((const struct etm_flow *)flow)->config, in, from, to);
}

static void begin_part(struct flow *flow, uint64_t offset, uint64_t place)
{
	struct etm_flow *f = etm_flow_of(flow);

	(void)place;
	f->sync = ETM_RUNNING;
	f->was_overflow = false;
	f->head = f->queue.nr = 0;
	f->depth = f->nr_placeholders = 0;
	f->has_pending = false;
	f->has_context = false;
	etm_walk_forget(f);
	etm_packets_reset(&f->packets, offset);
	f->packets.is_synced = true;
}

static void assume(struct code_context *ret, const struct code_context *now, bool needs_context)
{
	/* A guess: most trace is of a system, not of one EL. */
	ret->arm.upper_el = needs_context ? 1 : now->arm.upper_el;
	ret->arm.entry = now->arm.entry;
	ret->arm.is_at_start = now->arm.is_at_start;
}

static bool is_as_assumed(const struct code_context *assumed, const struct code_context *now,
			  uint64_t place)
{
	const struct code_arm_context *a = &assumed->arm, *b = &now->arm;

	(void)place;
	return a->upper_el == b->upper_el && a->entry == b->entry &&
	       a->is_at_start == b->is_at_start;
}

static size_t nr_waiting(const struct flow *flow)
{
	const struct etm_flow *f = (const struct etm_flow *)flow;

	return f->queue.nr - f->head;
}

static void perform_rest(struct flow *flow)
{
	etm_queue_perform_rest(etm_flow_of(flow));
}

static bool is_between(const struct flow *flow, uint64_t *ret)
{
	const struct etm_flow *f = (const struct etm_flow *)flow;
	const struct etm_packets *k = &f->packets;

	*ret = k->offset;
	return f->sync == ETM_RUNNING && !f->has_pending && !f->depth && !f->was_overflow &&
	       k->is_synced && !k->nr_held && !k->nr_skipped;
}

/* --- */

static bool init(struct flow *flow, const void *own)
{
	struct etm_flow *f = etm_flow_of(flow);

	f->opts = *(const struct etm_flow_opts *)own;
	f->config = f->opts.config;
	etm_packets_init(&f->packets, f->config);
	etm_fast_init(f);
	return true;
}

static void done(struct flow *flow)
{
	vec_done(&etm_flow_of(flow)->queue);
}

static const struct flow_front front = {
	.flow_bytes = sizeof(struct etm_flow),
	.init = init,
	.done = done,
	.feed = feed,
	.end_input = end_input,
	.restart = restart,
	.lose = lose,
	.find_cut = find_cut,
	.begin_part = begin_part,
	.assume = assume,
	.is_as_assumed = is_as_assumed,
	.nr_waiting = nr_waiting,
	.perform_rest = perform_rest,
	.is_between = is_between,
	.state_bytes = sizeof(struct etm_state),
	.save = etm_state_save,
	.restore = etm_state_restore,
	.state_done = etm_state_done,
};

struct flow *etm_flow_new(const struct etm_flow_opts *opts)
{
	struct flow_opts o = opts->flow;

	if (opts->config->max_spec || o.code->counts_switches)
		o.nr_threads = 1;
	return flow_new(&front, &o, opts);
}
