/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_flow_impl.h"
#include "flow/etm/etm_insns.h"
#include "flow/etm/etm_parallel.h"

enum {
	DEFAULT_CACHE_BYTES = 32 << 20,
	ADDRESS_SPACE = 8, /* times the cache: room for tables that double */
	MAX_EVENTS = 4 << 10,
	MAX_PIECE = 32 << 20,  /* of input */
	MAX_COUNTED = 1 << 30, /* and a piece more, of at most 24 atoms a byte: 31 bits */
};

void etm_flow_fail(struct etm_flow *f, enum clew_err err)
{
	if (!f->err)
		f->err = err;
}

void etm_flow_deliver(struct etm_flow *f)
{
	struct flow_batch b = {.items = f->items,
			       .nr = f->nr_items,
			       .blocks = f->blocks.all.data,
			       .events = f->events.data,
			       .epoch = f->epoch};

	if (f->items && f->nr_items && !f->err)
		etm_flow_fail(f, f->opts.flow.batch(f->opts.flow.ctx, &b));
	f->nr_items = f->events.nr = 0;
}

void etm_flow_event(struct etm_flow *f, const struct flow_event *e)
{
	if (!f->items)
		return;
	if (f->nr_items >= ETM_BATCH_ITEMS)
		etm_flow_deliver(f);
	f->items[f->nr_items++] = FLOW_ITEM_EVENT | (uint32_t)f->events.nr;
	if (!vec_push(&f->events, *e)) {
		f->nr_items--;
		etm_flow_fail(f, CLEW_NO_MEMORY);
		return;
	}
	f->events.data[f->events.nr - 1].offset = f->offset;
}

static void tell_no_sync(struct etm_flow *f, enum flow_no_sync reason, const char *what)
{
	struct flow_event e = {.kind = FLOW_EV_NO_SYNC, .reason = (uint8_t)reason, .what = what};

	/* Whoever feeds it begins anew at each AUX record: no trace is lost by that. */
	f->totals.nr_no_sync += reason != FLOW_NO_SYNC_INIT && reason != FLOW_NO_SYNC_RESET;
	etm_flow_event(f, &e);
}

void etm_flow_lose(struct etm_flow *f, enum flow_no_sync reason, const char *what)
{
	bool is_announced = reason == FLOW_NO_SYNC_DISCARD || reason == FLOW_NO_SYNC_OVERFLOW;

	if (f->sync == ETM_WAIT_ASYNC)
		return;
	f->first = f->first ? f->first : ETM_FIRST_LOSS;
	f->sync = ETM_WAIT_ASYNC;
	etm_walk_tell_dropped(f);
	etm_queue_drop(f, is_announced);
	etm_walk_forget(f);
	f->packets.is_synced = false;
	f->packets.nr_zeros = 0;
	f->was_overflow |= reason == FLOW_NO_SYNC_OVERFLOW;
	tell_no_sync(f, reason, what);
}

static void begin(struct etm_flow *f, const struct etm_packet *p)
{
	uint32_t spec = p->trace_info.spec;
	struct flow_event in_transaction = {.kind = FLOW_EV_TRANSACTION, .number = FLOW_TRANS_INIT};

	f->sync = ETM_RUNNING;
	f->nr_placeholders = spec < f->config->max_spec ? spec : f->config->max_spec;
	f->depth = f->nr_placeholders;
	if (p->trace_info.info & 0x40)
		etm_flow_event(f, &in_transaction);
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

/** An address: of the exception or Q in front of it, else where execution goes on. */
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
	uint8_t *seen = &f->unsupported[p->header / 8], bit = (uint8_t)(1u << p->header % 8);

	if (!(*seen & bit))
		etm_flow_event(f, &e);
	*seen |= bit;
	etm_flow_lose(f, FLOW_NO_SYNC_BAD_PACKET, "a packet that is not decoded");
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
		etm_flow_lose(f, FLOW_NO_SYNC_BAD_PACKET, "an exception without its address");
		return;
	}
	switch (kind) {
	case ETM_ASYNC:
		if (!f->has_pending)
			break;
		/* The address behind it is no exception's. */
		etm_flow_lose(f, FLOW_NO_SYNC_BAD_PACKET, "an exception without its address");
		f->sync = ETM_WAIT_INFO;
		f->packets.is_synced = true; /* by this one */
		break;
	case ETM_NOT_SYNCED:
	case ETM_IGNORE:
	case ETM_INCOMPLETE:
	case NR_ETM_KINDS:
		break;
	case ETM_BAD:
		etm_flow_lose(f, FLOW_NO_SYNC_BAD_PACKET, "reserved or malformed packet");
		break;
	case ETM_UNSUPPORTED:
		unsupported(f, p);
		break;
	case ETM_DISCARD:
		etm_flow_lose(f, FLOW_NO_SYNC_DISCARD, NULL);
		break;
	case ETM_OVERFLOW:
		etm_flow_lose(f, FLOW_NO_SYNC_OVERFLOW, NULL);
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
	f->offset = p->offset;
	f->totals.nr_packets++;
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

static size_t cache_bytes(const struct etm_flow *f)
{
	return flow_blocks_bytes(&f->blocks) + etm_paths_bytes(&f->paths);
}

bool etm_flow_cache_is_full(const struct etm_flow *f)
{
	return cache_bytes(f) > f->opts.flow.max_cache_bytes;
}

bool etm_flow_cache_is_overfull(const struct etm_flow *f)
{
	return !f->is_speculative && cache_bytes(f) > f->opts.flow.max_cache_bytes / 4 * 5;
}

/** Block numbers begin again. */
static void clear_cache(struct etm_flow *f)
{
	etm_flow_deliver(f);
	etm_counts_keep(f);
	etm_paths_clear(&f->paths);
	flow_blocks_clear(&f->blocks);
	flow_reach_done(&f->reach);
	for (unsigned int i = 0; i < ETM_STACK_DEPTH; i++)
		f->stack[i].call = FLOW_NO_BLOCK;
	f->at = FLOW_NO_BLOCK;
	f->epoch++;
}

static void limit_counts(struct etm_flow *f)
{
	if (f->nr_counted > MAX_COUNTED)
		etm_counts_keep(f);
}

/** Keep the cache within its bound, and counts within theirs. */
static void limit_cache(struct etm_flow *f)
{
	if (f->is_speculative) /* what can still be taken back has to be there */
		return;
	limit_counts(f);
	/* A branch that waits for its target has to be known until then. */
	if (etm_flow_cache_is_full(f) && f->from == FLOW_NO_BLOCK)
		clear_cache(f);
}

bool etm_flow_wants_room(const struct etm_flow *f)
{
	return f->nr_counted > MAX_COUNTED || cache_bytes(f) > f->opts.flow.max_cache_bytes / 4 * 3;
}

void etm_flow_make_room(struct etm_flow *f)
{
	limit_counts(f);
	if (etm_flow_wants_room(f))
		clear_cache(f);
}

static void begin_input(struct etm_flow *f)
{
	if (!f->is_begun)
		tell_no_sync(f, FLOW_NO_SYNC_INIT, NULL);
	f->is_begun = true;
}

static void feed_piece(struct etm_flow *f, struct bytes in)
{
	struct etm_packet p;

	f->nr_counted += 24 * bytes_left(&in);
	for (;;) {
		etm_straight(f, &in);
		if (f->err || etm_packets_next(&f->packets, &in, &p))
			break;
		take_packet(f, &p);
		if (f->nr_items + ETM_ITEMS_OF_PACKET > ETM_BATCH_ITEMS ||
		    f->events.nr > MAX_EVENTS)
			etm_flow_deliver(f);
		limit_cache(f);
	}
}

static enum clew_err feed(struct flow *flow, struct bytes in)
{
	struct etm_flow *f = etm_flow_of(flow);
	struct bytes piece;

	if (f->parallel)
		return etm_parallel_feed(f->parallel, in);
	f->totals.nr_bytes += bytes_left(&in);
	if (bytes_left(&in))
		begin_input(f);
	while (!f->err && bytes_left(&in)) {
		size_t left = bytes_left(&in);

		bytes_take(&in, left < MAX_PIECE ? left : MAX_PIECE, &piece);
		limit_cache(f);
		feed_piece(f, piece);
	}
	return f->err;
}

static void end_input(struct etm_flow *f)
{
	struct etm_packet p;

	while (!etm_packets_finish(&f->packets, &p))
		take_packet(f, &p);
	etm_queue_end(f);
	etm_walk_tell_dropped(f);
}

static enum clew_err restart(struct flow *flow, uint64_t offset)
{
	struct etm_flow *f = etm_flow_of(flow);

	if (f->parallel)
		return etm_parallel_restart(f->parallel, offset);
	end_input(f);
	etm_packets_reset(&f->packets, offset);
	f->offset = offset;
	if (f->sync == ETM_RUNNING)
		etm_flow_lose(f, FLOW_NO_SYNC_RESET, NULL);
	f->sync = ETM_WAIT_ASYNC;
	return f->err;
}

static enum clew_err flush(struct flow *flow)
{
	struct etm_flow *f = etm_flow_of(flow);

	if (!f->parallel)
		etm_flow_deliver(f);
	return f->err;
}

static enum clew_err finish(struct flow *flow)
{
	struct etm_flow *f = etm_flow_of(flow);
	struct flow_event e = {.kind = FLOW_EV_END};

	if (f->parallel)
		return etm_parallel_finish(f->parallel);
	end_input(f);
	if (f->is_begun)
		etm_flow_event(f, &e);
	etm_flow_deliver(f);
	return f->err;
}

static void set_bound(struct flow *flow, uint64_t bound)
{
	struct etm_flow *f = etm_flow_of(flow);
	struct flow_event e = {.kind = FLOW_EV_BOUND, .value = bound};

	if (f->parallel) {
		etm_parallel_set_bound(f->parallel, bound);
		return;
	}
	if (bound == f->bound)
		return;
	f->bound = bound;
	etm_walk_tell_dropped(f);
	etm_flow_event(f, &e);
	if (!f->needs_context)
		etm_walk_look_up_space(f);
}

static void set_max_cache(struct flow *flow, size_t bytes)
{
	struct etm_flow *f = etm_flow_of(flow);

	f->opts.flow.max_cache_bytes = bytes;
	if (f->parallel)
		etm_parallel_set_max_cache(f->parallel, bytes);
}

static void free_flow(struct flow *flow)
{
	struct etm_flow *f = etm_flow_of(flow);

	etm_parallel_free(f->parallel);
	os_heap_done(&f->heap);
	flow_reach_done(&f->reach);
	flow_kept_done(&f->kept);
	map_u64_done(&f->went);
	flow_kept_done(&f->pieces);
	vec_done(&f->queue);
	vec_done(&f->events);
	mem_free(f->items);
	mem_free(f);
}

static const struct flow_front front = {
	.feed = feed,
	.restart = restart,
	.flush = flush,
	.finish = finish,
	.set_bound = set_bound,
	.set_max_cache = set_max_cache,
	.totals = etm_counts_totals,
	.edges = etm_counts_edges,
	.free = free_flow,
};

struct flow *etm_flow_new(const struct etm_flow_opts *opts)
{
	struct etm_flow *f = mem_zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->flow.front = &front;
	f->opts = *opts;
	f->config = opts->config;
	if (!f->opts.flow.max_cache_bytes)
		f->opts.flow.max_cache_bytes = DEFAULT_CACHE_BYTES;
	f->step = 1;
	if (opts->flow.nr_threads > 1 && !f->config->max_spec) {
		f->parallel = etm_parallel_new(&f->opts);
		if (!f->parallel) {
			mem_free(f);
			return NULL;
		}
		return &f->flow;
	}
	etm_packets_init(&f->packets, f->config);
	flow_code_init(&f->code, opts->flow.code, &etm_insns, f->config->wfx_are_waypoints);
	flow_blocks_init(&f->blocks, &f->heap, &f->code, !opts->flow.batch);
	etm_walk_forget(f);
	etm_straight_init(f);
	if (opts->flow.batch)
		f->items = mem_alloc((ETM_BATCH_ITEMS + ETM_ITEMS_OF_PATH) * sizeof(*f->items));
	if (!os_heap_init(&f->heap, ADDRESS_SPACE * f->opts.flow.max_cache_bytes) ||
	    !etm_paths_init(&f->paths, &f->heap) || (opts->flow.batch && !f->items)) {
		flow_free(&f->flow);
		return NULL;
	}
	return &f->flow;
}
