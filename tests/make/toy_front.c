/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_path_walk.h"
#include "flow/flow_walk.h"
#include "make/toy.h"

enum {
	ADDRESS_BYTES = 9,
	SYNC_BYTES = TOY_PADS + ADDRESS_BYTES,
	CONTEXT = FLOW_NR_CONTEXTS - 1, /* the only one there is */
};

struct toy_flow {
	struct flow flow;
	enum isa isa;
	struct code_context context;
	bool has_paths, is_synced;
	uint64_t next; /* offset of the next byte */
	uint8_t held[ADDRESS_BYTES], nr_held;
	unsigned int nr_pads;
};

/* --- instructions --- */

/** A damaged address may be in the midst of an instruction. @return NULL: none stands there. */
static const uint8_t *insn_at(struct flow_code *c, uint32_t space, uint64_t addr)
{
	const uint8_t *ret;
	size_t left = flow_code_at(c, space, addr, &ret);
	unsigned int kind = left ? *ret >> 4 : 0;

	if (!left || !toy_bytes(*ret) || toy_bytes(*ret) > left || kind >= NR_TOY_KINDS)
		return NULL;
	return kind >= TOY_BRANCH && kind <= TOY_CALL && toy_bytes(*ret) < 3 ? NULL : ret;
}

static void end_block(struct flow_block *ret, const uint8_t *insn, uint64_t at)
{
	ret->kind = toy_waypoints[*insn >> 4].kind;
	ret->flags = toy_waypoints[*insn >> 4].flags;
	ret->last_bytes = toy_bytes(*insn);
	if (ret->kind != INSN_INDIRECT && ret->kind != INSN_FAR)
		ret->target = TOY_BASE + (uint64_t)(insn[1] | insn[2] << 8);
	ret->bytes = (uint32_t)(at + toy_bytes(*insn) - ret->start);
}

static void build(struct flow_code *c, struct flow_block *ret)
{
	uint64_t at = ret->start;
	const uint8_t *insn;

	for (; (insn = insn_at(c, ret->space, at)); at += toy_bytes(*insn)) {
		ret->nr_insns++;
		if (*insn >> 4 == TOY_PLAIN)
			continue;
		end_block(ret, insn, at);
		return;
	}
	ret->flags = FLOW_BLOCK_NO_CODE;
	ret->bytes = (uint32_t)(at - ret->start);
}

static uint32_t count(struct flow_code *c, const struct flow_span *s, uint64_t *ret_readable)
{
	uint64_t at = s->from;
	const uint8_t *insn;
	uint32_t nr = 0;

	for (; at < s->to && (insn = insn_at(c, s->space, at)); nr++)
		at += toy_bytes(*insn);
	*ret_readable = at;
	return nr;
}

static struct flow_insn_bytes insn_bytes(enum isa isa)
{
	(void)isa;
	return (struct flow_insn_bytes){1, TOY_MAX_INSN};
}

static const struct flow_insns insns = {.build = build, .count = count, .bytes = insn_bytes};

/* --- packets --- */

static struct toy_flow *toy_of(struct flow *f)
{
	return (struct toy_flow *)f;
}

static void lose(struct flow *f, enum flow_no_sync reason, const char *what)
{
	struct toy_flow *t = toy_of(f);

	f->first = f->first ? f->first : FLOW_FIRST_LOSS;
	flow_put_dropped(f);
	flow_take_back_edge(f);
	flow_forget(f);
	t->is_synced = false;
	t->nr_pads = 0;
	flow_put_no_sync(f, reason, what);
}

/** What ran since the last packet: branches without a bit may be on the way. */
static void run_to_sync(struct flow *f, uint64_t address)
{
	f->last_edge.kind = FLOW_EDGE_NONE;
	if (toy_of(f)->is_synced && f->rules.silent_kinds && flow_pop(f) && !f->needs_address &&
	    !f->needs_context)
		flow_run_to(f, address);
}

static void sync(struct flow *f, uint64_t address)
{
	const struct flow_event e = {.kind = FLOW_EV_CONTEXT, .context = toy_of(f)->context};

	run_to_sync(f, address);

	toy_of(f)->is_synced = true;
	f->context = e.context;
	f->needs_context = false;
	f->stack_nr = 0;
	flow_look_up_space(f);
	flow_put_event(f, &e);
	flow_go_to(f, address, toy_of(f)->isa);
}

static void except(struct flow *f, uint64_t address)
{
	const struct flow_event e = {.kind = FLOW_EV_EXCEPTION, .address = address};

	f->last_edge.kind = FLOW_EDGE_NONE;
	f->first = f->first ? f->first : FLOW_FIRST_RAN;
	if (!flow_pop(f))
		return;
	if (!f->needs_address)
		flow_run_to(f, address);
	if (!toy_of(f)->is_synced)
		return;
	f->totals.nr_exceptions++;
	flow_put_event(f, &e);
	flow_lose_place(f);
	f->from = FLOW_NO_BLOCK;
}

static void take_address(struct flow *f, enum toy_packet header, uint64_t address)
{
	flow_put_dropped(f);
	if (header == TOY_SYNC)
		sync(f, address);
	else if (header == TOY_EXCEPTION)
		except(f, address);
	else if (!f->rules.silent_kinds || flow_step_indirect(f))
		flow_go_to(f, address, toy_of(f)->isa);
}

static void take_branches(struct flow *f, struct flow_letter branches)
{
	for (; branches.nr; branches.nr--, branches.bits >>= 1) {
		if (!flow_step(f, branches.bits & 1))
			return;
	}
}

static uint64_t address_of(const uint8_t *p)
{
	return load_u64(p, __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__);
}

/** A header. @return whether more bytes belong to it. */
static bool take_header(struct toy_flow *t, uint8_t header)
{
	struct flow *f = &t->flow;
	bool is_sync = header == TOY_SYNC && t->nr_pads >= TOY_PADS;

	t->nr_pads = header == TOY_PAD ? t->nr_pads + 1 : 0;
	if (is_sync || (t->is_synced && (header == TOY_ADDRESS || header == TOY_EXCEPTION)))
		return true;
	if (!t->is_synced || header == TOY_PAD)
		return false;
	f->totals.nr_packets++;
	if (f->rules.letters[header].nr)
		take_branches(f, f->rules.letters[header]);
	else
		lose(f, FLOW_NO_SYNC_BAD_PACKET, "no such packet");
	return false;
}

static void take_byte(struct toy_flow *t, uint8_t byte)
{
	struct flow *f = &t->flow;

	if (!t->nr_held)
		f->offset = t->next;
	t->next++;
	if (!t->nr_held && !take_header(t, byte))
		return;
	t->held[t->nr_held++] = byte;
	if (t->nr_held < ADDRESS_BYTES)
		return;
	t->nr_held = 0;
	f->totals.nr_packets++;
	take_address(f, (enum toy_packet)t->held[0], address_of(t->held + 1));
}

/* --- by paths --- */

static bool may_take_path(const struct toy_flow *t, struct bytes in)
{
	const struct flow *f = &t->flow;

	return t->has_paths && t->is_synced && !t->nr_held && !f->needs_context &&
	       bytes_left(&in) >= FLOW_PATH_LETTERS + ADDRESS_BYTES &&
	       (f->rules.letters[in.pos[0]].nr ||
		(f->rules.silent_kinds && in.pos[0] == TOY_ADDRESS)) &&
	       (!f->needs_address || flow_may_pop(f));
}

static const struct flow_path *path_at(struct flow *f, uint64_t key, unsigned int nr, uint64_t to)
{
	uint64_t start = flow_block_place(&f->blocks.all.data[f->at]);
	uint32_t from = f->at << FLOW_FROM_BITS | CONTEXT;
	size_t slot = flow_path_slot(&f->paths, f->space, start, key, to);
	const struct flow_path *p = flow_path_find(&f->paths, slot, from, key, to);

	return p ? p : flow_path_walk(f, from, key, nr, to);
}

/** Branches of letter @p letter that are left as @p rest. */
static void take_rest(struct flow *f, const struct flow_path *p, unsigned int *nr)
{
	const struct flow_path_more *more = flow_path_more(&f->paths, p);
	uint8_t rest = more->rest;

	*nr = more->nr_bytes + (rest ? 1u : 0u);
	f->totals.nr_packets += *nr;
	take_branches(f, f->rules.letters[rest]);
}

/** @return bytes taken; 0: no path. */
static size_t take_path(struct toy_flow *t, struct bytes in)
{
	struct flow *f = &t->flow;
	uint64_t key = 0, to = FLOW_NO_ADDRESS;
	const struct flow_path *p;
	unsigned int nr = 0;

	if (!may_take_path(t, in) || !flow_pop(f) || !flow_here(f))
		return 0;
	for (; nr < FLOW_PATH_LETTERS && f->rules.letters[in.pos[nr]].nr; nr++)
		key |= (uint64_t)in.pos[nr] << 8 * nr;
	if (in.pos[nr] == TOY_ADDRESS)
		to = address_of(in.pos + nr + 1);
	p = nr || to != FLOW_NO_ADDRESS ? path_at(f, key, nr, to) : NULL;
	if (!p)
		return 0;
	t->nr_pads = 0;
	f->offset = t->next;
	flow_run_path(f, p);
	if (p->more & FLOW_PATH_IS_CUT) {
		take_rest(f, p, &nr);
		return nr;
	}
	f->totals.nr_packets += nr + (to != FLOW_NO_ADDRESS);
	return nr + (to != FLOW_NO_ADDRESS ? ADDRESS_BYTES : 0);
}

static void feed(struct flow *f, struct bytes in)
{
	struct toy_flow *t = toy_of(f);

	while (!f->err && bytes_left(&in)) {
		size_t nr = take_path(t, in);

		t->next += nr;
		in.pos += nr;
		if (!nr && !f->err)
			take_byte(t, *in.pos++);
		if (f->nr_items + FLOW_ITEMS_OF_PACKET > FLOW_BATCH_ITEMS - FLOW_ITEMS_OF_PATH)
			flow_deliver(f);
		flow_limit_cache(f);
	}
}

static void end_input(struct flow *f)
{
	(void)f;
}

static void restart(struct flow *f)
{
	struct toy_flow *t = toy_of(f);

	if (t->is_synced)
		lose(f, FLOW_NO_SYNC_RESET, NULL);
	t->next = f->offset;
	t->nr_held = 0;
}

/* --- parts --- */

static size_t find_cut(const struct flow *f, struct bytes in, size_t from, size_t to)
{
	static const uint8_t marker[TOY_PADS + 1] = {
		[0 ... TOY_PADS - 1] = TOY_PAD, [TOY_PADS] = TOY_SYNC};
	size_t left = bytes_left(&in) - from;
	const uint8_t *at = memmem(in.pos + from, left, marker, sizeof(marker));
	size_t ret = at ? (size_t)(at - in.pos) : to;

	(void)f;
	return ret < to && bytes_left(&in) - ret >= SYNC_BYTES ? ret : to;
}

static void begin_part(struct flow *f, uint64_t offset, uint64_t place)
{
	struct toy_flow *t = toy_of(f);

	(void)place;
	flow_forget(f);
	t->is_synced = true;
	t->nr_held = 0;
	t->nr_pads = 0;
	t->next = offset;
}

static void assume(struct code_context *ret, const struct code_context *now, bool needs_context)
{
	(void)ret, (void)now, (void)needs_context;
}

static bool is_as_assumed(const struct code_context *assumed, const struct code_context *now,
			  uint64_t place)
{
	(void)assumed, (void)now, (void)place;
	return true;
}

static size_t nr_waiting(const struct flow *f)
{
	(void)f;
	return 0;
}

static void perform_rest(struct flow *f)
{
	(void)f;
}

static bool is_between(const struct flow *f, uint64_t *ret)
{
	const struct toy_flow *t = (const struct toy_flow *)f;

	*ret = t->next;
	return t->is_synced && !t->nr_held;
}

/** A copy, of which flow is not used. */
static bool save(void *state, const struct flow *f)
{
	memcpy(state, f, sizeof(struct toy_flow));
	return true;
}

static bool restore(const void *state, struct flow *f)
{
	const struct toy_flow *s = state;
	struct toy_flow *t = toy_of(f);

	t->is_synced = s->is_synced;
	t->next = s->next;
	t->nr_pads = s->nr_pads;
	t->nr_held = s->nr_held;
	memcpy(t->held, s->held, sizeof(t->held));
	return true;
}

static void state_done(void *state)
{
	(void)state;
}

static bool init(struct flow *f, const void *own)
{
	const struct toy_opts *o = own;
	struct flow_rules *r = &f->rules;

	toy_of(f)->isa = o->isa;
	toy_of(f)->context = o->context;
	toy_of(f)->has_paths = o->has_paths;
	r->isas[CONTEXT][0] = (uint8_t)o->isa;
	r->insns = o->insns ? o->insns : &insns;
	r->has_return_stack = true;
	r->stack_depth = o->is_silent ? 64 : 16;
	if (o->is_silent)
		r->silent_kinds = 1 << INSN_BRANCH | 1 << INSN_INDIRECT | 1 << INSN_FAR;
	for (unsigned int nr = 1; nr <= TOY_MAX_BRANCHES; nr++) {
		for (unsigned int bits = 0; bits < 1u << nr; bits++)
			r->letters[TOY_BRANCHES | 1u << nr | bits] =
				(struct flow_letter){bits, (uint8_t)nr};
	}
	return true;
}

static void done(struct flow *f)
{
	(void)f;
}

static const struct flow_front front = {
	.flow_bytes = sizeof(struct toy_flow),
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
	.state_bytes = sizeof(struct toy_flow),
	.save = save,
	.restore = restore,
	.state_done = state_done,
};

struct flow *toy_flow_new(const struct toy_opts *opts)
{
	return flow_new(&front, &opts->flow, opts);
}
