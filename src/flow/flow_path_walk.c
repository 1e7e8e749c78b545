/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_path_walk.h"

/** How far it came. */
struct place {
	uint32_t at; /* FLOW_NO_BLOCK: after the last item */
	uint32_t nr_insns;
	unsigned int nr_items, nr_own, most_own;
	unsigned int nr_silent; /* items that there is room for, of branches without a bit */
	bool pops;              /* what was on the stack before */
};

struct walk {
	struct flow *f;
	struct place place;
	uint32_t *items;
	struct flow_return own[FLOW_STACK_DEPTH]; /* pushed on the way, the oldest first */
};

static uint32_t block_at(struct flow *f, enum isa isa, uint64_t address)
{
	uint32_t ret = flow_blocks_get(&f->blocks, f->space, isa, address);

	if (ret == FLOW_NO_BLOCK)
		flow_fail(f, CLEW_NO_MEMORY);
	return ret;
}

uint32_t flow_return_block(struct flow *f, const struct flow_return *r)
{
	uint32_t ret, *known = NULL;

	/* The not-taken successor of a call is its return address. */
	if (r->call != FLOW_NO_BLOCK && f->blocks.all.data[r->call].space == f->space)
		known = &f->blocks.links.data[r->call].next[0];
	if (known && *known != FLOW_NO_BLOCK)
		return *known;
	ret = block_at(f, (enum isa)r->isa, r->address);
	if (known)
		f->blocks.links.data[r->call].next[0] = ret;
	return ret;
}

/** After an indirect branch, and more branches are to come. */
static bool pop_own(struct walk *w)
{
	struct place *p = &w->place;
	const struct flow_block *last;

	if (!p->nr_own)
		return false;
	last = &w->f->blocks.all.data[w->items[p->nr_items - 1] >> 1];
	if (!flow_popping_after(w->f, last))
		return false;
	p->at = flow_return_block(w->f, &w->own[--p->nr_own]);
	return p->at != FLOW_NO_BLOCK;
}

static bool push_own(struct walk *w, uint32_t call)
{
	struct place *p = &w->place;

	if (p->nr_own == w->f->rules.stack_depth)
		return false;
	w->own[p->nr_own++] = flow_return_of(w->f, call);
	if (p->most_own < p->nr_own)
		p->most_own = p->nr_own;
	return true;
}

/** @return whether it is known now which block is after block @p at. */
static bool look_after(struct flow *f, uint32_t at, bool is_taken)
{
	const struct flow_block *b = &f->blocks.all.data[at];
	uint64_t address = b->start + b->bytes;
	enum isa isa = (enum isa)b->isa;
	uint32_t next;

	if (is_taken && (b->kind == INSN_BRANCH || b->kind == INSN_COND)) {
		address = b->target;
		isa = flow_target_isa(f, b);
	}
	next = block_at(f, isa, address);
	if (next != FLOW_NO_BLOCK)
		*flow_link_of(f, at, is_taken) = next;
	return next != FLOW_NO_BLOCK;
}

/** The waypoint of the block where @p w is. @return false: that is for the plain walk, or begins a
 * path of its own. */
static bool take_block(struct walk *w, bool is_taken)
{
	struct flow *f = w->f;
	struct place *p = &w->place;
	const struct flow_block b = f->blocks.all.data[p->at];
	uint32_t at = p->at, next = FLOW_NO_BLOCK;

	if (b.kind == INSN_PLAIN || b.flags & FLOW_BLOCK_SWITCHES ||
	    (b.kind == INSN_FAR && !f->rules.silent_kinds) ||
	    (is_taken && b.flags & INSN_ERET && f->rules.has_eret_events))
		return false;
	if (!is_taken || !flow_is_indirect(&b)) {
		next = *flow_link_of(f, at, is_taken);
		if (next == FLOW_NO_BLOCK && !look_after(f, at, is_taken))
			return false;
		next = *flow_link_of(f, at, is_taken);
	}
	if (is_taken && b.flags & INSN_LINK && f->rules.has_return_stack && !push_own(w, at))
		return false;
	p->nr_insns += b.nr_insns;
	w->items[p->nr_items++] = at << 1 | is_taken;
	p->at = next;
	return true;
}

/** Branches without a bit. @return the block after them; NULL: it is far away, or unknown. */
static const struct flow_block *pass_silent(struct walk *w)
{
	const struct flow_blocks *blocks = &w->f->blocks;

	while (flow_is_silent(w->f, &blocks->all.data[w->place.at])) {
		if (!w->place.nr_silent || !take_block(w, true))
			return NULL;
		w->place.nr_silent--;
	}
	return &blocks->all.data[w->place.at];
}

/** What has a bit, after what has none. */
static bool take_bit(struct walk *w, bool is_taken)
{
	const struct flow_block *b = pass_silent(w);

	return b && flow_may_have_bit(w->f, b, is_taken) && take_block(w, is_taken);
}

/** The indirect branch that goes to the path's address, and what is on the way to it. */
static bool take_indirect(struct walk *w)
{
	const struct flow_block *b = pass_silent(w);
	bool is_return;

	if (!b || !flow_is_indirect(b) || !w->place.nr_silent)
		return false;
	is_return = b->flags & INSN_RET && w->f->rules.has_return_stack;
	if (!take_block(w, true))
		return false;
	w->place.pops = is_return && !w->place.nr_own;
	w->place.nr_own -= is_return && w->place.nr_own;
	return true;
}

/** One branch that does more than to lead on, or to a block that is not looked up yet. */
static bool step(struct walk *w, bool is_taken)
{
	struct place before;

	if (w->place.at == FLOW_NO_BLOCK && !pop_own(w))
		return false;
	if (!w->f->rules.silent_kinds)
		return take_block(w, is_taken);
	before = w->place;
	if (take_bit(w, is_taken))
		return true;
	w->place = before;
	return false;
}

/** The branch to @p to, where nothing is traced: a direct one that has no bit, or the next indirect
 * one; and what is on the way to it. */
static bool leave(struct walk *w, uint64_t to)
{
	const struct flow_block *b;

	if (w->place.at == FLOW_NO_BLOCK && !pop_own(w))
		return false;
	for (; w->place.nr_silent; w->place.nr_silent--) {
		bool is_last;

		b = &w->f->blocks.all.data[w->place.at];
		is_last = flow_leaves_by(b, to);
		if ((!is_last && !flow_is_silent(w->f, b)) || !take_block(w, true))
			return false;
		if (is_last)
			return true;
	}
	return false;
}

/** The path's address. @return false: it does not belong to the path. */
static bool go_to(struct walk *w, uint32_t from, uint64_t to)
{
	const struct flow_rules *r = &w->f->rules;
	enum isa isa = (enum isa)r->isas[from & (FLOW_NR_CONTEXTS - 1)][to & r->place_bit];
	struct place before = w->place;

	if (from & FLOW_TO_UNTRACED) {
		if (leave(w, to))
			return true;
		w->place = before;
		return false;
	}
	if (r->silent_kinds >> INSN_INDIRECT & 1) {
		if (w->place.at == FLOW_NO_BLOCK && !pop_own(w))
			return false;
		before = w->place;
		if (!take_indirect(w)) {
			w->place = before;
			return false;
		}
	}
	w->place.at = block_at(w->f, isa, to & ~(uint64_t)r->place_bit);
	return true;
}

/** What branches without a bit leave room for. */
static unsigned int nr_silent(const struct flow_rules *r, uint64_t key)
{
	unsigned int ret = r->silent_kinds ? FLOW_PATH_ITEMS : 0;

	for (; ret && key; key >>= 8)
		ret -= r->letters[key & 0xff].nr;
	return ret;
}

/** What is left of a letter can be said by another one. */
static uint8_t rest_of(const struct flow *f, struct flow_letter a, unsigned int nr_taken)
{
	uint32_t bits = a.bits >> nr_taken;

	for (unsigned int i = 1; i < FLOW_NR_LETTERS && nr_taken; i++) {
		const struct flow_letter *b = &f->rules.letters[i];

		if (b->nr == a.nr - nr_taken && b->bits == bits)
			return (uint8_t)i;
	}
	return 0;
}

/** @return whether all of the letters could be taken; else *ret says how far it came. */
static bool take_letters(struct walk *w, uint64_t key, unsigned int nr, struct flow_path_more *ret)
{
	const struct flow_blocks *b = &w->f->blocks;
	struct place *p = &w->place;

	/* What counts switches is on no path. */
	for (; ret->nr_bytes < nr; ret->nr_bytes++, key >>= 8) {
		const struct flow_letter a = w->f->rules.letters[key & 0xff];

		for (unsigned int i = 0; i < a.nr; i++) {
			uint32_t at = p->at, e = a.bits >> i & 1;

			if (at != FLOW_NO_BLOCK && b->links.data[at].next[e] != FLOW_NO_BLOCK &&
			    !(b->all.data[at].flags & FLOW_BLOCK_SWITCHES)) {
				w->items[p->nr_items++] = at << 1 | e;
				p->nr_insns += b->links.data[at].nr_insns;
				p->at = b->links.data[at].next[e];
			} else if (!step(w, e)) {
				ret->rest = rest_of(w->f, a, i);
				return false;
			}
		}
	}
	return true;
}

enum { MOST_WORDS = FLOW_MORE_WORDS + FLOW_PATH_ITEMS + FLOW_CALLS_WORDS + FLOW_PATH_SLACK };

static bool has_room(struct flow *f)
{
	struct flow_paths *t = &f->paths;

	if (t->all.nr % 16 == 0 && flow_cache_is_full(f))
		return false;
	if (os_heap_reserve(t->heap, &t->all, t->all.nr + 1) &&
	    os_heap_reserve(t->heap, &t->words, t->words.nr + MOST_WORDS) &&
	    os_heap_reserve(t->heap, &t->pushed, t->pushed.nr + FLOW_STACK_DEPTH))
		return true;
	flow_fail(f, CLEW_NO_MEMORY);
	return false;
}

static void keep_pushed(struct flow_paths *t, const struct walk *w)
{
	struct flow_path_calls c = {.pushed = (uint32_t)t->pushed.nr,
				    .nr_pushed = (uint8_t)w->place.nr_own,
				    .most_pushed = (uint8_t)w->place.most_own,
				    .pops = w->place.pops};

	memcpy(t->pushed.data + t->pushed.nr, w->own, w->place.nr_own * sizeof(w->own[0]));
	t->pushed.nr += w->place.nr_own;
	memcpy(t->words.data + t->words.nr, &c, sizeof(c));
	t->words.nr += FLOW_CALLS_WORDS;
}

static void keep_more(struct flow *f, const struct walk *w, struct flow_path *p,
		      struct flow_path_more *more)
{
	struct flow_paths *t = &f->paths;
	uint32_t *words = t->words.data + t->words.nr;

	more->nr_insns = w->place.nr_insns;
	more->nr_items = (uint8_t)w->place.nr_items;
	if (!f->items && w->place.nr_items) {
		words[FLOW_MORE_WORDS] = w->items[w->place.nr_items - 1];
		more->nr_items = 1;
	}
	memcpy(words, more, sizeof(*more));
	p->more |= (uint32_t)t->words.nr << FLOW_PATH_FLAG_BITS;
	t->words.nr += FLOW_MORE_WORDS + more->nr_items;
	if (p->more & FLOW_PATH_CALLS)
		keep_pushed(t, w);
}

static struct flow_path *keep(struct flow *f, const struct walk *w, struct flow_path p,
			      struct flow_path_more *more)
{
	if (flow_path_is_to_untraced(&p)) { /* nothing is left of the return stack */
		p.next = FLOW_NO_BLOCK;
	} else {
		p.next = w->place.at;
		p.more |= w->place.most_own || w->place.pops ? FLOW_PATH_CALLS : 0;
		p.more |= p.next == FLOW_NO_BLOCK ? FLOW_PATH_LEAVES : 0;
	}
	if (f->items || p.more)
		keep_more(f, w, &p, more);
	return flow_paths_add(&f->paths, &f->blocks, &p);
}

struct flow_path *flow_path_walk(struct flow *f, uint32_t from, uint64_t key, unsigned int nr,
				 uint64_t to)
{
	struct walk w;
	struct flow_path p = {.key = key, .to = to, .from = from};
	struct flow_path_more more = {0};

	if (!has_room(f))
		return NULL;
	w.f = f;
	w.items = f->paths.words.data + f->paths.words.nr + FLOW_MORE_WORDS;
	w.place = (struct place){.at = from >> FLOW_FROM_BITS,
				 .nr_silent = nr_silent(&f->rules, key)};
	if (!take_letters(&w, key, nr, &more) || f->err ||
	    (to != FLOW_NO_ADDRESS && !go_to(&w, from, to))) {
		p.more = FLOW_PATH_IS_CUT;
		if (!w.place.nr_items)
			return NULL;
	}
	if (!flow_paths_grow(&f->paths, &f->blocks))
		flow_fail(f, CLEW_NO_MEMORY);
	return f->err ? NULL : keep(f, &w, p, &more);
}
