/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <clew/trace.h>

#include "api/ana_frame.h"
#include "base/budget.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "os/file.h"
#include "os/memory.h"
#include "trace/perf/perf_trace.h"
#include "trace/snapshot/cs_snapshot.h"
#include "trace/trace_decode.h"

enum { ITEMS = 4096 };

/** What is known of a unit at this point of its stream. */
struct state {
	struct clew_trace_context context;
	struct code_context inner; /* of which context is a part */
	bool has_context;
	struct clew_ticks ticks;
	struct clew_perf_ns bound;
};

struct clew_trace {
	struct os_map map; /* data NULL: a snapshot */
	struct perf_input input;
	struct dso_store_opts symbols;
	struct budget budget;
	struct trace_input *trace;
	struct clew_trace_unit *units;
	struct state *states;
	unsigned int nr_threads;
	/* During clew_trace_each(). */
	enum clew_err (*take)(void *ctx, size_t unit, const struct clew_trace_item *items,
			      size_t nr);
	void *ctx;
	struct clew_trace_item *items;
	size_t nr;
};

_Static_assert((int)CLEW_ISA_T32 == (int)ISA_T32 && (int)CLEW_REALM == (int)CODE_REALM,
	       "public and inner numbers are alike");

/* enum flow_event_kind -> enum clew_trace_kind. */
static const uint8_t kinds[NR_FLOW_EVENTS] = {
	[FLOW_EV_NO_SYNC] = CLEW_TRACE_NO_SYNC,
	[FLOW_EV_TRACE_ON] = CLEW_TRACE_ON,
	[FLOW_EV_CONTEXT] = CLEW_TRACE_CONTEXT,
	[FLOW_EV_RANGE] = CLEW_TRACE_RANGE,
	[FLOW_EV_NO_PATH] = CLEW_TRACE_UNKNOWN_PATH,
	[FLOW_EV_NACC] = CLEW_TRACE_NO_CODE,
	[FLOW_EV_NO_TARGET] = CLEW_TRACE_UNKNOWN_START,
	[FLOW_EV_DROPPED] = CLEW_TRACE_ATOMS_DROPPED,
	[FLOW_EV_EXCEPTION] = CLEW_TRACE_EXCEPTION,
	[FLOW_EV_EXCEPTION_RET] = CLEW_TRACE_EXCEPTION_RETURN,
	[FLOW_EV_FUNCTION_RET] = CLEW_TRACE_EXCEPTION_RETURN, /* M profile */
	[FLOW_EV_PE_RESET] = CLEW_TRACE_RESET,
	[FLOW_EV_TIMESTAMP] = CLEW_TRACE_TIMESTAMP,
	[FLOW_EV_CYCLES] = CLEW_TRACE_CYCLES,
	[FLOW_EV_EVENT] = CLEW_TRACE_EVENT,
	[FLOW_EV_TS_MARKER] = CLEW_TRACE_TS_MARKER,
	[FLOW_EV_INSTRUMENTATION] = CLEW_TRACE_INSTRUMENTATION,
	[FLOW_EV_TRANSACTION] = CLEW_TRACE_TRANSACTION,
	[FLOW_EV_UNSUPPORTED] = CLEW_TRACE_UNSUPPORTED,
	[FLOW_EV_END] = CLEW_TRACE_END,
};

static const char *why_no_sync(const struct flow_event *e)
{
	return e->what ? e->what : flow_no_sync_text((enum flow_no_sync)e->reason);
}

static void look_up_thread(struct clew_trace *t, size_t unit)
{
	struct state *s = &t->states[unit];
	struct trace_thread thread = {.pid = UINT32_MAX, .tid = UINT32_MAX};

	t->trace->ops->thread(t->trace, unit, &s->inner, s->ticks, s->bound, &thread);
	s->context.pid = thread.pid;
	s->context.tid = thread.tid;
	s->context.comm = thread.comm;
}

/** What is public has Arm's alone. */
static struct clew_trace_context context_of(const struct code_context *c)
{
	const struct code_arm_context *a = &c->arm;

	if (c->arch != CODE_ARM)
		return (struct clew_trace_context){.el = 0};
	return (struct clew_trace_context){.el = a->el,
					   .security = a->security,
					   .has_cid = a->has_cid,
					   .has_vmid = a->has_vmid,
					   .cid = a->cid,
					   .vmid = a->vmid};
}

/** Items hold a pointer to the context: hand out what was told before it changes. */
static enum clew_err flush(struct clew_trace *t, size_t unit)
{
	size_t nr = t->nr;

	t->nr = 0;
	return nr ? t->take(t->ctx, unit, t->items, nr) : CLEW_OK;
}

static enum clew_err note(struct clew_trace *t, size_t unit, const struct flow_event *e)
{
	struct state *s = &t->states[unit];
	enum clew_err err;

	if (e->kind != FLOW_EV_CONTEXT && e->kind != FLOW_EV_TIMESTAMP && e->kind != FLOW_EV_BOUND)
		return CLEW_OK;
	err = flush(t, unit);
	if (e->kind == FLOW_EV_TIMESTAMP && e->ticks.ticks)
		s->ticks = e->ticks;
	if (e->kind == FLOW_EV_BOUND)
		s->bound = e->bound;
	if (e->kind == FLOW_EV_CONTEXT) {
		s->has_context = true;
		s->inner = e->context;
		s->context = context_of(&e->context);
	}
	if (s->has_context)
		look_up_thread(t, unit);
	return err;
}

static struct clew_trace_item of_event(struct clew_trace *t, size_t unit,
				       const struct flow_event *e)
{
	const struct code_source *code = t->trace->units[unit].code;
	struct clew_trace_item i = {.kind = kinds[e->kind],
				    .isa = e->isa,
				    .space = e->space,
				    .number = e->number,
				    .start = e->address,
				    .end = e->end,
				    .value = e->value,
				    .offset = e->offset};

	switch (e->kind) {
	case FLOW_EV_TRACE_ON:
		i.number = e->is_overflow;
		break;
	case FLOW_EV_NO_SYNC:
		i.text = why_no_sync(e);
		break;
	case FLOW_EV_NACC:
		i.text = code->why ? code->why(code->ctx, e->space, e->address) : NULL;
		break;
	case FLOW_EV_RANGE:
	case FLOW_EV_NO_PATH:
	case FLOW_EV_NO_TARGET:
		i.number = e->count;
		break;
	case FLOW_EV_CYCLES:
		i.value = e->count;
		i.number = e->has_count;
		break;
	default:
		break;
	}
	return i;
}

static enum clew_err put(struct clew_trace *t, size_t unit, struct clew_trace_item i)
{
	struct state *s = &t->states[unit];

	i.context = s->has_context ? &s->context : NULL;
	t->items[t->nr++] = i;
	return t->nr == ITEMS ? flush(t, unit) : CLEW_OK;
}

static enum clew_err take_batch(void *ctx, size_t unit, const struct flow_batch *b)
{
	struct clew_trace *t = ctx;
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < b->nr && !err; i++) {
		uint32_t item = b->items[i];
		const struct flow_event *e = &b->events[item & ~FLOW_ITEM_EVENT];

		if (!(item & FLOW_ITEM_EVENT)) {
			const struct flow_block *k = &b->blocks[item >> 1];

			err = put(t, unit,
				  (struct clew_trace_item){.kind = CLEW_TRACE_RANGE,
							   .isa = k->isa,
							   .is_taken = item & 1,
							   .is_whole = true,
							   .space = k->space,
							   .number = k->nr_insns,
							   .start = k->start,
							   .end = k->start + k->bytes});
			continue;
		}
		err = note(t, unit, e);
		if (!err && e->kind != FLOW_EV_BOUND)
			err = put(t, unit, of_event(t, unit, e));
	}
	return err ? err : flush(t, unit);
}

static enum clew_err open_input(struct clew_trace *t, const char *path,
				const struct clew_trace_opts *o, struct clew_diag *diag)
{
	enum clew_err err;

	t->budget.limit = os_memory_share();
	if (cs_is_snapshot(path))
		return cs_snapshot_open_or_tell(&t->trace, path, &t->budget, NULL, NULL, diag);
	err = os_map_file(path, &t->map, diag);
	if (err == CLEW_OK && !t->map.data)
		err = clew_fail(diag, CLEW_BAD_FILE, 0, "the file is empty");
	if (err == CLEW_OK)
		t->input = (struct perf_input){.data = t->map.data,
					       .size = t->map.size,
					       .budget = &t->budget,
					       .is_mapped = true};
	t->symbols = (struct dso_store_opts){.budget = &t->budget,
					     .symfs = o->symfs,
					     .vmlinux = o->vmlinux,
					     .kallsyms = o->kallsyms,
					     .buildid_dir = o->build_ids};
	return err ? err : perf_trace_open(&t->trace, &t->input, &t->symbols, diag);
}

static enum clew_err list_units(struct clew_trace *t, struct clew_diag *diag)
{
	size_t nr = t->trace->nr_units;

	t->units = mem_calloc(nr + 1, sizeof(*t->units));
	t->states = mem_calloc(nr + 1, sizeof(*t->states));
	t->items = mem_calloc(ITEMS, sizeof(*t->items));
	if (!t->units || !t->states || !t->items)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	for (size_t i = 0; i < nr; i++) {
		const struct trace_unit *u = &t->trace->units[i];

		t->units[i] =
			(struct clew_trace_unit){.id = u->id,
						 .cpu = u->cpu,
						 .tid = u->tid,
						 .name = u->name,
						 .why_not = u->is_decodable ? NULL : u->why.what};
	}
	return CLEW_OK;
}

enum clew_err clew_trace_open(struct clew_trace **ret, const char *path,
			      const struct clew_trace_opts *opts, struct clew_diag *diag)
{
	struct clew_trace_opts o = {0};
	struct clew_trace *t = mem_zalloc(sizeof(*t));
	enum clew_err err;

	if (!t)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	if (opts)
		memcpy(&o, opts, opts->size < sizeof(o) ? opts->size : sizeof(o));
	t->nr_threads = o.nr_threads;
	err = open_input(t, path, &o, diag);
	if (err == CLEW_OK)
		err = list_units(t, diag);
	if (err == CLEW_OK)
		*ret = t;
	else
		clew_trace_free(t);
	return err;
}

const struct clew_trace_unit *clew_trace_units(const struct clew_trace *t, size_t *ret_nr)
{
	*ret_nr = t->trace->nr_units;
	return t->units;
}

enum clew_err clew_trace_each(struct clew_trace *t,
			      enum clew_err (*take)(void *ctx, size_t unit,
						    const struct clew_trace_item *items, size_t nr),
			      void *ctx, struct clew_diag *diag)
{
	struct trace_decode_opts o = {.nr_threads = t->nr_threads, .batch = take_batch, .ctx = t};
	struct clew_diag own;

	t->take = take;
	t->ctx = ctx;
	t->nr = 0;
	memset(t->states, 0, t->trace->nr_units * sizeof(*t->states));
	return trace_decode(t->trace, &o, diag ? diag : &own);
}

enum clew_err clew_trace_resolve(struct clew_trace *t, uint32_t space, uint64_t address,
				 struct clew_frame *ret)
{
	const struct ana_loc *loc = t->trace->ops->locate(t->trace, space, address);

	if (!loc)
		return CLEW_NO_MEMORY;
	*ret = ana_frame_of(loc);
	return CLEW_OK;
}

void clew_trace_free(struct clew_trace *t)
{
	if (!t)
		return;
	trace_input_free(t->trace);
	os_map_done(&t->map);
	mem_free(t->units);
	mem_free(t->states);
	mem_free(t->items);
	mem_free(t);
}
