/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_core.h"

enum { FIRST_BITS = 13, MAX_BITS = 30 };

static size_t slots_bytes(unsigned int bits)
{
	return (((size_t)1 << bits) + FLOW_PATH_PROBES) * sizeof(uint32_t);
}

static bool set_slots(struct flow_paths *t, unsigned int bits)
{
	size_t bytes = slots_bytes(bits);
	uint32_t *slots = os_heap_grow(t->heap, NULL, 0, &bytes);

	if (!slots)
		return false;
	memset(slots, 0xff, slots_bytes(bits));
	if (t->slots)
		os_heap_free(t->heap, t->slots, slots_bytes(64 - t->shift));
	t->slots = slots;
	t->shift = 64 - bits;
	return true;
}

bool flow_paths_init(struct flow_paths *t, struct os_heap *heap)
{
	*t = (struct flow_paths){.heap = heap};
	return set_slots(t, FIRST_BITS);
}

void flow_paths_clear(struct flow_paths *t)
{
	t->all.nr = t->words.nr = t->pushed.nr = 0;
	memset(t->slots, 0xff, slots_bytes(64 - t->shift));
}

size_t flow_paths_bytes(const struct flow_paths *t)
{
	return t->all.nr * (sizeof(*t->all.data) + 2 * sizeof(*t->slots)) +
	       t->words.nr * sizeof(*t->words.data) + t->pushed.nr * sizeof(*t->pushed.data);
}

static void put(struct flow *f, uint32_t nr)
{
	struct flow_paths *t = &f->paths;
	const struct flow_path *p = &t->all.data[nr];
	const struct flow_block *b = &f->blocks.all.data[p->from >> 1];
	size_t at = flow_path_slot(t, b->space, flow_block_place(b), p->key, p->to), i = 0;

	/* Where too many meet, the last one gives way: it will be walked again. */
	while (i + 1 < FLOW_PATH_PROBES && t->slots[at + i] != FLOW_NO_PATH)
		i++;
	t->slots[at + i] = nr;
}

static bool grow(struct flow *f)
{
	struct flow_paths *t = &f->paths;
	unsigned int bits = 64 - t->shift;

	if (t->all.nr * 2 < (size_t)1 << bits || bits == MAX_BITS)
		return true;
	if (!set_slots(t, bits + 2)) {
		flow_fail(f, CLEW_NO_MEMORY);
		return false;
	}
	for (size_t i = 0; i < t->all.nr; i++)
		put(f, (uint32_t)i);
	return true;
}

/* --- the walk --- */

struct walk {
	struct flow *f;
	uint32_t at; /* FLOW_NO_BLOCK: after the last item */
	uint32_t nr_insns;
	uint32_t *items;
	unsigned int nr_items, nr_own, most_own;
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
	if (!w->nr_own)
		return false;
	w->at = flow_return_block(w->f, &w->own[--w->nr_own]);
	return w->at != FLOW_NO_BLOCK;
}

static bool push_own(struct walk *w, uint32_t call)
{
	const struct flow_block *b = &w->f->blocks.all.data[call];
	struct flow_return r = {b->start + b->bytes, call, b->isa};

	if (w->nr_own == FLOW_STACK_DEPTH)
		return false;
	w->own[w->nr_own++] = r;
	if (w->most_own < w->nr_own)
		w->most_own = w->nr_own;
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
		isa = flow_target_isa(b);
	}
	next = block_at(f, isa, address);
	if (next != FLOW_NO_BLOCK)
		*flow_link_of(f, at, is_taken) = next;
	return next != FLOW_NO_BLOCK;
}

/** One branch that does more than to lead on, or to a block that is not looked up yet. @return
 * false: that is for the plain walk, or begins a path of its own. */
static bool step(struct walk *w, bool is_taken)
{
	struct flow *f = w->f;
	struct flow_block b;
	uint32_t at, next = FLOW_NO_BLOCK;

	if (w->at == FLOW_NO_BLOCK && !pop_own(w))
		return false;
	at = w->at;
	b = f->blocks.all.data[at];
	if (b.kind == INSN_PLAIN || (is_taken && b.flags & INSN_ERET && f->rules.has_eret_events))
		return false;
	if (!is_taken || b.kind != INSN_INDIRECT) {
		next = *flow_link_of(f, at, is_taken);
		if (next == FLOW_NO_BLOCK && !look_after(f, at, is_taken))
			return false;
		next = *flow_link_of(f, at, is_taken);
	}
	if (is_taken && b.flags & INSN_LINK && f->rules.has_return_stack && !push_own(w, at))
		return false;
	w->nr_insns += b.nr_insns;
	w->items[w->nr_items++] = at << 1 | is_taken;
	w->at = next;
	return true;
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

	for (; ret->nr_bytes < nr; ret->nr_bytes++, key >>= 8) {
		const struct flow_letter a = w->f->rules.letters[key & 0xff];

		for (unsigned int i = 0; i < a.nr; i++) {
			uint32_t at = w->at, e = a.bits >> i & 1;

			if (at != FLOW_NO_BLOCK && b->links.data[at].next[e] != FLOW_NO_BLOCK) {
				w->items[w->nr_items++] = at << 1 | e;
				w->nr_insns += b->links.data[at].nr_insns;
				w->at = b->links.data[at].next[e];
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
				    .nr_pushed = (uint8_t)w->nr_own,
				    .most_pushed = (uint8_t)w->most_own};

	memcpy(t->pushed.data + t->pushed.nr, w->own, w->nr_own * sizeof(w->own[0]));
	t->pushed.nr += w->nr_own;
	memcpy(t->words.data + t->words.nr, &c, sizeof(c));
	t->words.nr += FLOW_CALLS_WORDS;
}

static void keep_more(struct flow *f, const struct walk *w, struct flow_path *p,
		      struct flow_path_more *more)
{
	struct flow_paths *t = &f->paths;
	uint32_t *words = t->words.data + t->words.nr;

	more->nr_insns = w->nr_insns;
	more->nr_items = (uint8_t)w->nr_items;
	if (!f->items && w->nr_items) {
		words[FLOW_MORE_WORDS] = w->items[w->nr_items - 1];
		more->nr_items = 1;
	}
	memcpy(words, more, sizeof(*more));
	p->more |= (uint32_t)t->words.nr << FLOW_PATH_FLAG_BITS;
	t->words.nr += FLOW_MORE_WORDS + more->nr_items;
	if (w->most_own)
		keep_pushed(t, w);
}

static struct flow_path *keep(struct flow *f, const struct walk *w, struct flow_path p,
			      struct flow_path_more *more)
{
	struct flow_paths *t = &f->paths;

	p.next = w->at;
	p.more |= w->most_own ? FLOW_PATH_CALLS : 0;
	p.more |= p.next == FLOW_NO_BLOCK ? FLOW_PATH_LEAVES : 0;
	if (f->items || p.more)
		keep_more(f, w, &p, more);
	t->all.data[t->all.nr++] = p;
	put(f, (uint32_t)t->all.nr - 1);
	return &t->all.data[t->all.nr - 1];
}

struct flow_path *flow_path_walk(struct flow *f, uint32_t from, uint64_t key, unsigned int nr,
				 uint64_t to)
{
	struct walk w;
	struct flow_path p = {.key = key, .to = to, .from = from};
	struct flow_path_more more = {0};
	const struct flow_rules *rules = &f->rules;
	enum isa isa = (enum isa)rules->isas[from & 1][to & rules->place_bit];

	if (!has_room(f))
		return NULL;
	w.f = f;
	w.at = from >> 1;
	w.items = f->paths.words.data + f->paths.words.nr + FLOW_MORE_WORDS;
	w.nr_insns = w.nr_items = w.nr_own = w.most_own = 0;
	if (take_letters(&w, key, nr, &more) && !f->err) {
		if (to != FLOW_NO_ADDRESS)
			w.at = block_at(f, isa, to & ~(uint64_t)rules->place_bit);
	} else {
		p.more = FLOW_PATH_IS_CUT;
		if (!w.nr_items)
			return NULL;
	}
	return f->err || !grow(f) ? NULL : keep(f, &w, p, &more);
}
