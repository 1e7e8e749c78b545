/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/events/guest_ids.h"

#include "flow/flow_key.h"
#include "trace/trace_decode.h"
#include "who/who_ran.h"

enum { MAX_IDS = 1 << 22 };

/** What a unit showed last: of equal ids in a row, the first and the last one count. */
struct unit_ids {
	struct code_key key;
	bool is_set, has_more; /* has_more: last is not added yet */
	uint32_t tid, id;
	uint64_t last;
};

struct reading {
	struct trace_input *trace;
	const struct guest_ids_sink *sink;
	struct unit_ids *units;
	uint64_t nr;
};

static bool add(struct reading *r, const struct unit_ids *u, uint64_t ns)
{
	return r->nr++ >= MAX_IDS ||
	       r->sink->take(r->sink->ctx, u->tid, (struct clew_perf_ns){ns}, u->id);
}

static bool see(struct reading *r, struct unit_ids *u, uint32_t tid, uint32_t id, uint64_t ns)
{
	bool ok = true;

	if (u->is_set && u->tid == tid && u->id == id) {
		u->has_more = true;
		u->last = ns;
		return true;
	}
	if (u->is_set && u->has_more)
		ok = add(r, u, u->last);
	u->is_set = true;
	u->has_more = false;
	u->tid = tid;
	u->id = id;
	return ok && add(r, u, ns);
}

static enum clew_err ask(struct reading *r, size_t unit, const struct code_key *key)
{
	struct trace_input *t = r->trace;
	struct clew_perf_ns ns;
	struct trace_thread who;

	if (!key->ticks.ticks || !t->ops->time(t, unit, key->ticks, &ns))
		return CLEW_OK;
	t->ops->thread(t, unit, key, &who);
	if (!who.who || !(who.who->has & WHO_A_GUEST_ROOT) || !(who.who->has & WHO_A_LOCAL))
		return CLEW_OK;
	return see(r, &r->units[unit], (uint32_t)who.who->local.n, who.who->guest_root.n, ns.ns)
		     ? CLEW_OK
		     : CLEW_NO_MEMORY;
}

static enum clew_err take_ops(void *ctx, size_t unit, const struct trace_ops_batch *b)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < b->nr && !err; i++) {
		const struct code_key key = trace_op_key(&b->ops[i], b->bound);

		if (key.context.arm.has_cid)
			err = ask(ctx, unit, &key);
	}
	return err;
}

/** At a timestamp the context is that of its tick. */
static enum clew_err take_batch(void *ctx, size_t unit, const struct flow_batch *b)
{
	struct reading *r = ctx;
	struct code_key *key = &r->units[unit].key;
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < b->nr && !err; i++) {
		const struct flow_event *e = &b->events[b->items[i] & ~FLOW_ITEM_EVENT];

		if (!(b->items[i] & FLOW_ITEM_EVENT))
			continue;
		flow_key_take_event(key, e);
		if (e->kind == FLOW_EV_TIMESTAMP && key->context.arch == CODE_ARM &&
		    key->context.arm.has_cid)
			err = ask(r, unit, key);
	}
	return err;
}

enum clew_err guest_ids_read(struct trace_input *t, const struct guest_ids_sink *sink)
{
	struct reading r = {.trace = t, .sink = sink};
	const struct trace_decode_opts opts = {
		.nr_threads = 1, .batch = take_batch, .ops = take_ops, .ctx = &r};
	enum clew_err err;

	r.units = mem_calloc(t->nr_units + 1, sizeof(*r.units));
	if (!r.units)
		return CLEW_NO_MEMORY;
	err = trace_decode(t, &opts, NULL);
	for (size_t i = 0; !err && i < t->nr_units; i++) {
		const struct unit_ids *u = &r.units[i];

		if (u->is_set && u->has_more && !add(&r, u, u->last))
			err = CLEW_NO_MEMORY;
	}
	mem_free(r.units);
	return err;
}
