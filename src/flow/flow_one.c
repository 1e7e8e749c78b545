/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_one.h"

#include "flow/flow_walk.h"

enum {
	ADDRESS_SPACE = 8,     /* times the cache: room for tables that double */
	MAX_PIECE = 768 << 20, /* of input, branches that it may be of */
};

/** That a byte is of, at most. */
static size_t branches_of_byte(const struct flow *f)
{
	return f->rules.silent_kinds ? FLOW_PATH_ITEMS : FLOW_LETTER_BRANCHES;
}

static void begin_input(struct flow *f)
{
	if (!f->is_begun)
		flow_put_no_sync(f, FLOW_NO_SYNC_INIT, NULL);
	f->is_begun = true;
}

enum clew_err flow_one_feed(struct flow *f, struct bytes in)
{
	size_t most = MAX_PIECE / branches_of_byte(f);
	struct bytes piece;

	f->totals.nr_bytes += bytes_left(&in);
	if (bytes_left(&in))
		begin_input(f);
	while (!f->err && bytes_left(&in)) {
		size_t left = bytes_left(&in);

		bytes_take(&in, left < most ? left : most, &piece);
		flow_limit_cache(f);
		if (!f->items)
			f->nr_counted += branches_of_byte(f) * bytes_left(&piece);
		f->front->feed(f, piece);
	}
	return f->err;
}

static void end_input(struct flow *f)
{
	f->front->end_input(f);
	flow_put_dropped(f);
}

enum clew_err flow_one_restart(struct flow *f, uint64_t offset)
{
	end_input(f);
	f->offset = offset;
	f->front->restart(f);
	return f->err;
}

enum clew_err flow_one_finish(struct flow *f)
{
	struct flow_event e = {.kind = FLOW_EV_END};

	end_input(f);
	if (f->is_begun)
		flow_put_event(f, &e);
	flow_deliver(f);
	return f->err;
}

void flow_one_set_bound(struct flow *f, struct clew_perf_ns bound)
{
	struct flow_event e = {.kind = FLOW_EV_BOUND, .bound = bound};

	if (bound.ns == f->bound.ns)
		return;
	f->bound = bound;
	f->nr_switches = 0;
	if (f->context.arch == CODE_ARM)
		f->context.arm.is_at_start = true;
	flow_put_dropped(f);
	flow_put_event(f, &e);
	if (!f->needs_context)
		flow_look_up_space(f);
}

static bool init(struct flow *f, const void *own)
{
	size_t nr_items = FLOW_BATCH_ITEMS + FLOW_ITEMS_OF_PATH;

	f->step = 1;
	flow_forget(f);
	if (f->opts.batch)
		f->items = mem_alloc(nr_items * sizeof(*f->items));
	if (!f->front->init(f, own) || (!f->items && f->opts.batch))
		return false;
	flow_code_init(&f->code, f->opts.code, f->rules.insns, f->rules.has_wfx);
	flow_blocks_init(&f->blocks, &f->heap, &f->code, !f->opts.batch);
	return os_heap_init(&f->heap, ADDRESS_SPACE * f->opts.max_cache_bytes) &&
	       flow_paths_init(&f->paths, &f->heap);
}

struct flow *flow_one_new(const struct flow_front *front, const struct flow_opts *opts,
			  const void *own)
{
	struct flow *f = mem_zalloc(front->flow_bytes);

	if (!f)
		return NULL;
	f->front = front;
	f->opts = *opts;
	if (init(f, own))
		return f;
	flow_one_free(f);
	return NULL;
}

void flow_one_free(struct flow *f)
{
	if (!f)
		return;
	f->front->done(f);
	os_heap_done(&f->heap);
	flow_insn_counter_done(&f->insn_counter);
	flow_count_store_done(&f->stored);
	map_u64_done(&f->more_targets);
	flow_count_store_done(&f->pieces);
	vec_done(&f->events);
	mem_free(f->items);
	mem_free(f);
}
