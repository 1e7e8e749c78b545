/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_flow_impl.h"
#include "flow/etm/etm_insns.h"
#include "flow/flow_path_walk.h"
#include "flow/flow_walk.h"
#include "packet/etm/etm_headers.h"

/*
 * The packets that nearly all of a trace consists of, decoded fast: atoms, and addresses
 * without a context, of a unit that does not speculate. They are taken by whole paths
 * (flow_paths.h) where one is known or can be walked, else packet by packet; whatever else comes is
 * left to etm_packets_next(). Everything here has its plain counterpart in etm_walk.c;
 * tests/prop/etm_fast_test holds both to the same output.
 */

enum {
	FIRST_ATOMS = 0xc0,
	IGNORE = 0x70,
	MOST_BYTES = 9,                              /* of an address packet */
	SCAN_BYTES = FLOW_PATH_LETTERS + MOST_BYTES, /* what is read of the input at once */
};

/* How an address is coded, as a sum of fields of the bytes after the header, taken as one number;
 * address and IS are one number, too: address | IS. */
struct form {
	uint64_t keep; /* of the older address */
	uint64_t low, middle, high;
	uint8_t low_at, middle_at, older, bytes, is;
} __attribute__((aligned(64)));

/** etm_form, the last one for each of the older addresses. */
enum { NR_FORMS = ETM_FORM_MATCH + 3 };

/* clang-format off */
#define ALL (~0ull)
#define NONE    {0,         0,    0,    0,         0, 0, 0, 0, FLOW_NO_ADDRESS}
#define S0      {ALL << 9,  0x7f, 0,    0,         2, 0, 0, 2, 0}
#define S0_ON   {ALL << 17, 0x7f, 0xff, 0,         2, 9, 0, 3, 0}
#define S1      {ALL << 8,  0x7f, 0,    0,         1, 0, 0, 2, 1}
#define S1_ON   {ALL << 16, 0x7f, 0xff, 0,         1, 8, 0, 3, 1}
#define L_320   {0,         0x7f, 0x7f, 0xffff,    2, 9, 0, 5, 0}
#define L_321   {0,         0x7f, 0xff, 0xffff,    1, 8, 0, 5, 1}
#define L_320K  {ALL << 32, 0x7f, 0x7f, 0xffff,    2, 9, 0, 5, 0}
#define L_321K  {ALL << 32, 0x7f, 0xff, 0xffff,    1, 8, 0, 5, 1}
#define L_640   {0,         0x7f, 0x7f, ALL >> 16, 2, 9, 0, 9, 0}
#define L_641   {0,         0x7f, 0xff, ALL >> 16, 1, 8, 0, 9, 1}
#define OLD(n)  {ALL,       0,    0,    0,         0, 0, n, 1, 0}

/** [is the context AArch64?][form][does a short one have a second byte?] */
static const struct form forms[2][NR_FORMS][2] = {
	{{NONE, NONE}, {S0, S0_ON}, {S1, S1_ON}, {L_320, L_320}, {L_321, L_321}, {L_640, L_640},
	 {L_641, L_641}, {OLD(0), OLD(0)}, {OLD(1), OLD(1)}, {OLD(2), OLD(2)}},
	{{NONE, NONE}, {S0, S0_ON}, {S1, S1_ON}, {L_320K, L_320K}, {L_321K, L_321K}, {L_640, L_640},
	 {L_641, L_641}, {OLD(0), OLD(0)}, {OLD(1), OLD(1)}, {OLD(2), OLD(2)}},
};
/* clang-format on */

void etm_fast_init(struct etm_flow *f)
{
	struct flow_rules *r = &f->flow.rules;

	*r = (struct flow_rules){
		.insns = &etm_insns,
		.isas = {{ISA_A32, ISA_T32},  {ISA_A64, ISA_T32} },
		.switched = {[ISA_A32] = ISA_T32, [ISA_T32] = ISA_A32},
		.stack_depth = 16,
		.place_bit = 1,
 /* That of ETE makes an event. */
		.has_eret_events = f->config->is_ete,
		.has_return_stack = f->config->has_return_stack,
		.has_wfx = f->config->wfx_are_waypoints,
	};
	for (unsigned int h = FIRST_ATOMS; h <= 0xff; h++) {
		const struct etm_atoms a = etm_atoms_of((uint8_t)h);

		r->letters[h] = (struct flow_letter){a.bits, a.nr};
	}
	for (unsigned int h = 0; h <= 0xff; h++) {
		const struct etm_header *k = &etm_headers[h];

		if (k->kind >= ETM_ADDR_MATCH && k->kind <= ETM_ADDR_L_64IS1)
			f->forms[h] = (uint8_t)(k->form + (k->form == ETM_FORM_MATCH ? h & 3 : 0));
	}
}

static bool may_decode_fast(const struct etm_flow *f)
{
	const struct etm_packets *p = &f->packets;

	return f->sync == ETM_RUNNING && !f->config->max_spec && !f->has_pending &&
	       f->head == f->queue.nr && p->is_synced && !p->nr_held && !p->nr_skipped &&
	       !f->flow.needs_context && !f->opts.goes_plain &&
	       p->is_aarch64 == f->flow.context.arm.is_64;
}

/** The walk's own idea of where it is, of which the scan keeps only f->flow.at. */
static void settle(struct etm_flow *f)
{
	if (f->flow.at == FLOW_NO_BLOCK)
		return;
	f->flow.pc = f->flow.blocks.all.data[f->flow.at].start;
	f->flow.isa = (enum isa)f->flow.blocks.all.data[f->flow.at].isa;
}

/* --- by paths --- */

/** The scan's own state, and what made it stop. */
struct scan {
	const uint8_t *pos, *end;
	uint64_t older[3]; /* the last addresses, | IS */
	uint32_t at, is_64;
	uint8_t rest; /* of the packet at pos, see flow_path_more; 0: all of it */
	/* At pos: */
	uint64_t atoms, to;
	uint8_t nr, bytes; /* of atoms; of the address */
	struct flow_path *path;
};

enum stop {
	STOP_FULL,    /* the input is over, or there is no room for items */
	STOP_UNKNOWN, /* no path is known from here, or there is no packet for one */
	STOP_ODD,     /* path was taken, but does more than to lead on; pos is where it begins */
};

/** How many of the bytes @p x, the first lowest, are packets of atoms: 11xxxxxx. */
static inline unsigned int nr_atom_packets(uint64_t x)
{
	uint64_t others = ~(x & x << 1) & 0x8080808080808080u;

	return others ? (unsigned int)__builtin_ctzll(others) / 8 : 8;
}

static inline uint64_t address_of(const struct form *form, const uint64_t older[3], uint64_t next)
{
	return (older[form->older] & form->keep) | (next & form->low) << form->low_at |
	       (next >> 8 & form->middle) << form->middle_at | (next >> 16 & form->high) << 16 |
	       form->is;
}

static inline void older_of(const struct etm_packets *p, uint64_t ret[3])
{
	for (int i = 0; i < 3; i++)
		ret[i] = p->history[i].address | p->history[i].is;
}

/**
 * Take paths that are known. All the loop needs is in variables of its own, so that the compiler
 * sees that nothing else changes it.
 */
static __attribute__((always_inline)) inline enum stop scan(struct etm_flow *f, struct scan *s,
							    bool is_counting)
{
	const struct form(*const form_of)[2] = forms[s->is_64];
	const uint8_t *const form_nrs = f->forms;
	const struct flow_paths t = f->flow.paths;
	const struct flow_block *const blocks = f->flow.blocks.all.data;
	const uint32_t is_64 = s->is_64, space = f->flow.space, step = f->flow.step;
	const uint8_t *pos = s->pos, *const last = s->end - SCAN_BYTES;
	uint64_t older[3] = {s->older[0], s->older[1], s->older[2]};
	uint64_t start = flow_block_place(&blocks[s->at]), nr_packets = 0, nr_insns = 0;
	uint32_t from = (s->at << FLOW_FROM_BITS) + is_64;
	uint32_t *items = is_counting ? NULL : f->flow.items + f->flow.nr_items;
	uint32_t *const first_item = items;
	uint32_t *const last_item =
		is_counting ? NULL : f->flow.items + (FLOW_BATCH_ITEMS - FLOW_ITEMS_OF_PATH);
	enum stop stop = STOP_FULL;
	struct flow_path *with_address = NULL; /* the last one, if it ends with an address */
	const struct form *form = NULL;
	struct flow_path *path = NULL;
	uint64_t atoms = 0, to = 0;
	unsigned int nr = 0;
	uint8_t rest = s->rest;

	while (pos <= last && (is_counting || items <= last_item)) {
		uint64_t x = load_le64(pos), next;

		if (__builtin_expect(rest, 0))
			x = (x & ~0xffull) | rest;
		nr = nr_atom_packets(x);
		next = load_le64(pos + nr + 1);
		form = &form_of[form_nrs[pos[nr]]][next >> 7 & 1];
		atoms = x & flow_path_first_letters[nr];
		to = address_of(form, older, next);
		path = flow_path_find(&t, flow_path_slot(&t, space, start, atoms, to), from, atoms,
				      to);
		if (__builtin_expect(!path, 0)) {
			stop = STOP_UNKNOWN;
			goto out;
		}
		if (is_counting) {
			path->nr_runs += step;
		} else {
			const struct flow_path_more *more = flow_path_more(&t, path);

			items = flow_path_put_items(items, more);
			nr_insns += more->nr_insns;
		}
		if (__builtin_expect(path->more & FLOW_PATH_FLAGS, 0)) {
			stop = STOP_ODD;
			goto out;
		}
		from = (path->next << FLOW_FROM_BITS) + is_64;
		nr_packets += nr;
		pos += nr + form->bytes;
		rest = 0;
		with_address = path;
		if (__builtin_expect(!form->bytes, 0)) {
			with_address = NULL;
			start = flow_block_place(&blocks[path->next]);
			continue;
		}
		nr_packets++;
		older[2] = older[1];
		older[1] = older[0];
		older[0] = start = to;
	}
	goto full;
out:
	s->atoms = atoms;
	s->to = to;
	s->nr = (uint8_t)nr;
	s->bytes = form->bytes;
	s->path = path;
full:
	s->rest = rest;
	s->at = stop == STOP_ODD ? path->next : from >> FLOW_FROM_BITS;
	memcpy(s->older, older, sizeof(older));
	f->flow.totals.nr_packets += nr_packets;
	if (is_counting && pos != s->pos)
		flow_keep_path_edge(&f->flow, with_address);
	s->pos = pos;
	if (!is_counting) {
		f->flow.nr_items += (size_t)(items - first_item);
		f->flow.totals.nr_ranges += (size_t)(items - first_item);
		f->flow.totals.nr_insns += nr_insns;
	}
	return stop;
}

static void scan_begin(const struct etm_flow *f, struct scan *s, const struct bytes *in)
{
	*s = (struct scan){.pos = in->pos,
			   .end = in->end,
			   .at = f->flow.at,
			   .is_64 = f->flow.context.arm.is_64};
	older_of(&f->packets, s->older);
}

static void scan_end(struct etm_flow *f, const struct scan *s, struct bytes *in)
{
	f->packets.offset += (uint64_t)(s->pos - in->pos);
	in->pos = s->pos;
	f->flow.at = s->at;
	for (int i = 0; i < 3; i++) {
		f->packets.history[i].address = s->older[i] & ~1ull;
		f->packets.history[i].is = s->older[i] & 1;
	}
}

/** The rest of what a path does: it calls, or is cut, or ends after an indirect branch, and
 * no target follows. */
static void take_odd_path(struct etm_flow *f, struct scan *s)
{
	const struct flow_path *p = s->path;
	const struct flow_path_more *more = flow_path_more(&f->flow.paths, p);

	s->rest = 0;
	if (p->more & FLOW_PATH_CALLS)
		flow_push_path(&f->flow, p);
	if (p->more & FLOW_PATH_IS_CUT) {
		f->flow.totals.nr_packets += more->nr_bytes;
		s->pos += more->nr_bytes;
		s->rest = more->rest;
	} else {
		f->flow.totals.nr_packets += s->nr + (unsigned int)(s->bytes != 0);
		s->pos += s->nr + s->bytes;
	}
	flow_keep_path_edge(&f->flow, s->bytes && !(p->more & FLOW_PATH_IS_CUT) ? p : NULL);
	if (s->bytes && !(p->more & FLOW_PATH_IS_CUT)) {
		s->older[2] = s->older[1];
		s->older[1] = s->older[0];
		s->older[0] = s->to;
	}
	if (s->at == FLOW_NO_BLOCK)
		flow_leave(&f->flow, flow_path_last_block(&f->flow.paths, p));
}

/** Atoms follow an indirect branch: its target is on the return stack. */
static bool pop(struct etm_flow *f, struct scan *s)
{
	if (f->flow.popping != FLOW_POPS_TOP || !f->flow.stack_nr ||
	    !(s->rest || s->pos[0] >= FIRST_ATOMS))
		return false;
	s->at = flow_return_block(&f->flow, &f->flow.stack[f->flow.stack_top]);
	if (s->at == FLOW_NO_BLOCK)
		return false;
	flow_pop_top(&f->flow);
	f->flow.popping = FLOW_POPS_NOTHING;
	f->flow.needs_address = false;
	if (!f->flow.items)
		flow_count_target(&f->flow, f->flow.from, s->at, (int32_t)f->flow.step);
	f->flow.from = FLOW_NO_BLOCK;
	return true;
}

/** Take paths until one is new and cannot be walked. */
static void take_paths(struct etm_flow *f, struct scan *s)
{
	while (s->end - s->pos >= SCAN_BYTES && (s->at != FLOW_NO_BLOCK || pop(f, s))) {
		switch (f->flow.items ? scan(f, s, false) : scan(f, s, true)) {
		case STOP_FULL:
			return;
		case STOP_ODD:
			take_odd_path(f, s);
			break;
		case STOP_UNKNOWN:
			if (!(s->nr + s->bytes) ||
			    !flow_path_walk(&f->flow, s->at << FLOW_FROM_BITS | s->is_64, s->atoms,
					    s->nr, s->to))
				return;
			break;
		}
	}
}

/* --- packet by packet --- */

/** One atom at f->flow.at. @return false: the plain walk has to do it. */
static inline bool step(struct etm_flow *f, bool is_e)
{
	uint32_t next = f->flow.blocks.links.data[f->flow.at].next[is_e];

	if (next == FLOW_NO_BLOCK)
		return false;
	flow_put_item(&f->flow, f->flow.at, is_e);
	f->flow.at = next;
	return true;
}

/** @return false: decoding has ended, or the stream was lost. */
static bool step_all(struct etm_flow *f, struct flow_letter a)
{
	f->flow.last_edge.kind = FLOW_EDGE_NONE;
	if (f->flow.needs_address && !f->flow.popping) {
		f->flow.first = f->flow.first ? f->flow.first : FLOW_FIRST_RAN;
		flow_drop(&f->flow, a.nr);
		return true;
	}
	for (unsigned int i = 0; i < a.nr; i++, a.bits >>= 1) {
		if (f->flow.at != FLOW_NO_BLOCK && step(f, a.bits & 1))
			continue;
		settle(f);
		if (!flow_step(&f->flow, a.bits & 1))
			return false;
	}
	return true;
}

/** Where an indirect branch went, if it is one of the first few places it ever went to. */
static inline bool known_target(struct etm_flow *f, uint64_t address, enum isa isa)
{
	struct flow_targets *t;

	if (f->flow.from == FLOW_NO_BLOCK)
		return false;
	t = &f->flow.blocks.targets.data[f->flow.blocks.links.data[f->flow.from].other];
	for (unsigned int i = 0; i < FLOW_NR_TARGETS && t->to[i] != FLOW_NO_BLOCK; i++) {
		const struct flow_block *to = &f->flow.blocks.all.data[t->to[i]];

		if (to->start != address || to->space != f->flow.space || to->isa != (uint8_t)isa)
			continue;
		f->flow.at = t->to[i];
		return true;
	}
	return false;
}

static bool go_to(struct etm_flow *f, uint64_t address, uint8_t is)
{
	enum isa isa = etm_isa_of(f, is);

	flow_put_dropped(&f->flow);
	etm_packets_remember(&f->packets, address, is);
	f->flow.no_push = f->flow.needs_address = false;
	f->flow.popping = FLOW_POPS_NOTHING;
	if (!known_target(f, address, isa)) {
		f->flow.at = flow_blocks_get(&f->flow.blocks, f->flow.space, isa, address);
		if (f->flow.at == FLOW_NO_BLOCK) {
			flow_fail(&f->flow, CLEW_NO_MEMORY);
			return false;
		}
	}
	f->flow.last_edge.kind = FLOW_EDGE_NONE;
	if (f->flow.from != FLOW_NO_BLOCK) {
		flow_count_target(&f->flow, f->flow.from, f->flow.at, (int32_t)f->flow.step);
		if (!f->flow.items)
			f->flow.last_edge = (struct flow_last_edge){FLOW_EDGE_OF_BRANCH,
								    f->flow.from, f->flow.at};
	}
	f->flow.from = FLOW_NO_BLOCK;
	return true;
}

/** @return bytes of the address packet at @p p; 0: none, or cut. */
static size_t address_at(const struct etm_flow *f, const uint8_t *p, size_t left, uint64_t *ret)
{
	uint8_t bytes[MOST_BYTES] = {0};
	const struct form *form;
	uint64_t next, older[3];

	memcpy(bytes, p, left < MOST_BYTES ? left : MOST_BYTES);
	next = load_le64(bytes + 1);
	form = &forms[f->packets.is_aarch64][f->forms[*p]][next >> 7 & 1];
	if (!form->bytes || form->bytes > left)
		return 0;
	older_of(&f->packets, older);
	*ret = address_of(form, older, next);
	return form->bytes;
}

/** The packet at @p p, or the @p rest of it. @return its bytes; 0: not one of these; -1: the walk
 * has ended or was lost, and took the packet. */
static long one(struct etm_flow *f, const uint8_t *p, size_t left, uint8_t rest)
{
	uint8_t header = rest ? rest : *p;
	uint64_t to;
	size_t nr;

	if (header >= FIRST_ATOMS)
		return step_all(f, f->flow.rules.letters[header]) ? 1 : -1;
	nr = address_at(f, p, left, &to);
	if (!nr)
		return header == IGNORE;
	return go_to(f, to & ~1ull, to & 1) ? (long)nr : -1;
}

/** @return false: what comes is none of these, or fast decoding has ended. */
static bool one_packet(struct etm_flow *f, struct bytes *in, uint8_t rest)
{
	long nr;

	if (!bytes_left(in))
		return false;
	if (!rest && (f->flow.nr_items + FLOW_ITEMS_OF_PACKET > FLOW_BATCH_ITEMS ||
		      flow_cache_is_overfull(&f->flow)))
		return false;
	f->flow.offset = f->packets.offset;
	nr = one(f, in->pos, bytes_left(in), rest);
	if (!nr)
		return false;
	f->flow.totals.nr_packets++;
	f->packets.offset += nr < 0 ? 1u : (size_t)nr;
	in->pos += nr < 0 ? 1 : nr;
	return nr > 0 && f->sync == ETM_RUNNING && !f->flow.needs_context && !f->flow.err;
}

static bool may_take_paths(const struct etm_flow *f)
{
	return (f->flow.at != FLOW_NO_BLOCK || f->flow.popping) &&
	       !(f->flow.no_push && f->config->has_return_stack);
}

void etm_fast_decode(struct etm_flow *f, struct bytes *in)
{
	struct scan s;

	if (!may_decode_fast(f))
		return;
	do {
		s.rest = 0;
		if (!may_take_paths(f))
			continue;
		scan_begin(f, &s, in);
		take_paths(f, &s);
		scan_end(f, &s, in);
	} while (!f->flow.err && one_packet(f, in, s.rest));
	settle(f);
}
