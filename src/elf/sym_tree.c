/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/sym_tree.h"

#include "base/mem.h"

enum { NIL = 0 }; /* node 0 is the black leaf; node i + 1 is symbol i */

struct node {
	uint32_t child[2]; /* left, right */
	uint32_t parent;
	bool is_red;
};

struct tree {
	struct node *n;
	const struct sym_new *syms;
	uint32_t root;
};

static int side_of(const struct tree *t, uint32_t x)
{
	return t->n[t->n[x].parent].child[1] == x;
}

/** Put @p y where @p x hangs. */
static void replace(struct tree *t, uint32_t x, uint32_t y)
{
	uint32_t parent = t->n[x].parent;

	if (parent == NIL)
		t->root = y;
	else
		t->n[parent].child[side_of(t, x)] = y;
	t->n[y].parent = parent;
}

/** @p x goes down to @p side, its other child takes its place. */
static void rotate(struct tree *t, uint32_t x, int side)
{
	uint32_t y = t->n[x].child[!side], inner = t->n[y].child[side];

	t->n[x].child[!side] = inner;
	if (inner != NIL)
		t->n[inner].parent = x;
	replace(t, x, y);
	t->n[y].child[side] = x;
	t->n[x].parent = y;
}

static void insert_fixup(struct tree *t, uint32_t x)
{
	while (t->n[t->n[x].parent].is_red) {
		uint32_t parent = t->n[x].parent, grand = t->n[parent].parent;
		int side = side_of(t, parent);
		uint32_t uncle = t->n[grand].child[!side];

		if (t->n[uncle].is_red) {
			t->n[parent].is_red = t->n[uncle].is_red = false;
			t->n[grand].is_red = true;
			x = grand;
			continue;
		}
		if (side_of(t, x) != side) {
			rotate(t, parent, side);
			x = parent;
		}
		t->n[t->n[x].parent].is_red = false;
		t->n[grand].is_red = true;
		rotate(t, grand, !side);
	}
	t->n[t->root].is_red = false;
}

static void insert(struct tree *t, uint32_t x)
{
	uint32_t at = t->root, parent = NIL;
	uint64_t start = t->syms[x - 1].s.start;
	int side = 0;

	while (at != NIL) {
		parent = at;
		side = start >= t->syms[at - 1].s.start;
		at = t->n[at].child[side];
	}
	t->n[x] = (struct node){.parent = parent, .is_red = true};
	if (parent == NIL)
		t->root = x;
	else
		t->n[parent].child[side] = x;
	insert_fixup(t, x);
}

static void remove_fixup(struct tree *t, uint32_t x)
{
	while (x != t->root && !t->n[x].is_red) {
		uint32_t parent = t->n[x].parent;
		int side = t->n[parent].child[1] == x;
		uint32_t sib = t->n[parent].child[!side];

		if (t->n[sib].is_red) {
			t->n[sib].is_red = false;
			t->n[parent].is_red = true;
			rotate(t, parent, side);
			sib = t->n[parent].child[!side];
		}
		if (!t->n[t->n[sib].child[0]].is_red && !t->n[t->n[sib].child[1]].is_red) {
			t->n[sib].is_red = true;
			x = parent;
			continue;
		}
		if (!t->n[t->n[sib].child[!side]].is_red) {
			t->n[t->n[sib].child[side]].is_red = false;
			t->n[sib].is_red = true;
			rotate(t, sib, !side);
			sib = t->n[parent].child[!side];
		}
		t->n[sib].is_red = t->n[parent].is_red;
		t->n[parent].is_red = false;
		t->n[t->n[sib].child[!side]].is_red = false;
		rotate(t, parent, side);
		x = t->root;
	}
	t->n[x].is_red = false;
}

static void tree_remove(struct tree *t, uint32_t x)
{
	uint32_t next = x, moved;
	bool was_red = t->n[x].is_red;

	if (t->n[x].child[0] != NIL && t->n[x].child[1] != NIL) {
		for (next = t->n[x].child[1]; t->n[next].child[0] != NIL;)
			next = t->n[next].child[0];
		was_red = t->n[next].is_red;
		moved = t->n[next].child[1];
		if (t->n[next].parent == x) {
			t->n[moved].parent = next; /* also for NIL: the fixup climbs from it */
		} else {
			replace(t, next, moved);
			t->n[next].child[1] = t->n[x].child[1];
			t->n[t->n[next].child[1]].parent = next;
		}
		replace(t, x, next);
		t->n[next].child[0] = t->n[x].child[0];
		t->n[t->n[next].child[0]].parent = next;
		t->n[next].is_red = t->n[x].is_red;
	} else {
		moved = t->n[x].child[t->n[x].child[0] == NIL];
		replace(t, x, moved);
	}
	if (!was_red)
		remove_fixup(t, moved);
	t->n[NIL] = (struct node){0};
}

/** What is still to do: the subtree @p x answers for [lo, hi). */
struct todo {
	uint32_t x;
	bool is_own; /* the node's own range, not its subtree */
	uint64_t lo, hi;
};

enum { MAX_DEPTH = 80, TODO_MAX = 3 * MAX_DEPTH }; /* a red-black tree of 2^32 nodes: depth <= 64 */

static size_t flatten(const struct tree *t, struct sym_range *ret)
{
	struct todo stack[TODO_MAX] = {
		{t->root, false, 0, UINT64_MAX}
        };
	size_t depth = 1, nr = 0;

	while (depth) {
		struct todo d = stack[--depth];
		const struct sym *s;
		uint64_t end;

		if (d.x == NIL)
			continue;
		s = &t->syms[d.x - 1].s;
		end = s->end == s->start ? s->end + 1 : s->end; /* size 0 covers its start */
		if (d.is_own) {
			if (s->start > d.lo)
				d.lo = s->start;
			if (end < d.hi)
				d.hi = end;
			if (d.lo < d.hi)
				ret[nr++] = (struct sym_range){d.lo, d.hi, d.x - 1};
			continue;
		}
		if (d.lo >= d.hi)
			continue;
		stack[depth++] =
			(struct todo){t->n[d.x].child[1], false, end > d.lo ? end : d.lo, d.hi};
		stack[depth++] = (struct todo){d.x, true, d.lo, d.hi};
		stack[depth++] = (struct todo){t->n[d.x].child[0], false, d.lo,
					       s->start < d.hi ? s->start : d.hi};
	}
	return nr;
}

bool sym_tree_flatten(const struct sym_new *added, size_t nr, size_t nr_early, const uint32_t *dead,
		      size_t nr_dead, struct sym_range **ret, size_t *ret_nr)
{
	struct tree t = {mem_calloc(nr + 1, sizeof(*t.n)), added, NIL};
	struct sym_range *ranges = mem_calloc(nr, sizeof(*ranges));

	if (!t.n || !ranges) {
		mem_free(t.n);
		mem_free(ranges);
		return false;
	}
	for (size_t i = 0; i < nr_early; i++)
		insert(&t, (uint32_t)i + 1);
	for (size_t i = 0; i < nr_dead; i++)
		tree_remove(&t, dead[i] + 1);
	for (size_t i = nr_early; i < nr; i++)
		insert(&t, (uint32_t)i + 1);
	*ret_nr = flatten(&t, ranges);
	*ret = ranges;
	mem_free(t.n);
	return true;
}
