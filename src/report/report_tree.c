/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/report_tree.h"

#include <stdlib.h>

#include "base/hash.h"

enum {
	FIRST_SLOTS = 1024,
	DEFAULT_LIMIT = 4 << 20,
	/* A node's part of the arrays that double, and of those that a report needs in the end. */
	NODE_BYTES = 2 * sizeof(struct report_node) + 128,
	WEIGHT_BYTES = 2 * sizeof(struct report_weight) + 64 + 224, /* and its row */
};

static uint64_t pair(uint32_t a, uint32_t b)
{
	return hash_u64((uint64_t)a << 32 | b);
}

enum clew_err report_tree_init(struct report_tree *t, uint32_t limit)
{
	*t = (struct report_tree){.limit = limit ? limit : DEFAULT_LIMIT, .cap = FIRST_SLOTS};
	t->slots = mem_calloc(t->cap, sizeof(*t->slots));
	if (!t->slots || !vec_push(&t->nodes, (struct report_node){REPORT_NONE, REPORT_NONE, 0})) {
		report_tree_done(t);
		return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

void report_tree_done(struct report_tree *t)
{
	vec_done(&t->nodes);
	mem_free(t->slots);
	budget_account_done(&t->account);
	*t = (struct report_tree){0};
}

static uint32_t *node_slot(const struct report_tree *t, uint32_t parent, uint32_t frame)
{
	size_t i = pair(parent, frame) & (t->cap - 1);

	for (; t->slots[i]; i = (i + 1) & (t->cap - 1)) {
		const struct report_node *n = &t->nodes.data[t->slots[i]];

		if (n->parent == parent && n->frame == frame)
			break;
	}
	return &t->slots[i];
}

static bool grow_tree(struct report_tree *t)
{
	struct report_tree next = *t;

	next.cap *= 2;
	next.slots = mem_calloc(next.cap, sizeof(*next.slots));
	if (!next.slots)
		return false;
	for (uint32_t i = 1; i < t->nodes.nr; i++)
		*node_slot(&next, t->nodes.data[i].parent, t->nodes.data[i].frame) = i;
	mem_free(t->slots);
	*t = next;
	return true;
}

enum clew_err report_tree_child(struct report_tree *t, uint32_t parent, uint32_t frame,
				uint32_t *ret)
{
	uint32_t last = t->nodes.data[parent].last_child, *slot;

	if (last && t->nodes.data[last].frame == frame) {
		*ret = last;
		return CLEW_OK;
	}
	slot = node_slot(t, parent, frame);
	if (*slot) {
		*ret = t->nodes.data[parent].last_child = *slot;
		return CLEW_OK;
	}
	if (t->nodes.nr >= t->limit ||
	    !budget_account_take(&t->account, NODE_BYTES, "call paths of"))
		return CLEW_LIMIT;
	if (t->nodes.nr * 2 >= t->cap) {
		if (!grow_tree(t))
			return CLEW_NO_MEMORY;
		slot = node_slot(t, parent, frame);
	}
	if (!vec_push(&t->nodes, (struct report_node){parent, frame, 0}))
		return CLEW_NO_MEMORY;
	*slot = (uint32_t)t->nodes.nr - 1;
	*ret = t->nodes.data[parent].last_child = *slot;
	return CLEW_OK;
}

static uint32_t *weight_slot(const struct report_weights *w, uint32_t key, uint32_t node)
{
	size_t i = pair(key, node) & (w->cap - 1);

	for (; w->slots[i]; i = (i + 1) & (w->cap - 1)) {
		const struct report_weight *x = &w->all.data[w->slots[i] - 1];

		if (x->key == key && x->node == node)
			break;
	}
	return &w->slots[i];
}

static bool grow_weights(struct report_weights *w)
{
	struct report_weights next = *w;

	next.cap = w->cap ? w->cap * 2 : FIRST_SLOTS;
	next.slots = mem_calloc(next.cap, sizeof(*next.slots));
	if (!next.slots)
		return false;
	for (uint32_t i = 0; i < w->all.nr; i++)
		*weight_slot(&next, w->all.data[i].key, w->all.data[i].node) = i + 1;
	mem_free(w->slots);
	*w = next;
	return true;
}

enum clew_err report_weights_add(struct report_weights *w, struct report_tree *t, uint32_t key,
				 uint32_t node, uint64_t nr, uint64_t period)
{
	struct report_weight *x;
	uint32_t *slot;

	if (w->all.nr * 2 >= w->cap && !grow_weights(w))
		return CLEW_NO_MEMORY;
	slot = weight_slot(w, key, node);
	if (!*slot) {
		if (!budget_account_take(&t->account, WEIGHT_BYTES, "rows of the report of"))
			return CLEW_LIMIT;
		if (w->all.nr >= UINT32_MAX - 1 ||
		    !vec_push(&w->all, (struct report_weight){key, node, 0, 0}))
			return CLEW_NO_MEMORY;
		*slot = (uint32_t)w->all.nr;
	}
	x = &w->all.data[*slot - 1];
	x->nr += nr;
	x->period += period;
	return CLEW_OK;
}

static int by_key(const void *a, const void *b)
{
	const struct report_weight *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

void report_weights_sort(struct report_weights *w)
{
	mem_free(w->slots);
	w->slots = NULL;
	w->cap = 0;
	if (w->all.nr)
		qsort(w->all.data, w->all.nr, sizeof(*w->all.data), by_key);
}

void report_weights_done(struct report_weights *w)
{
	vec_done(&w->all);
	mem_free(w->slots);
	*w = (struct report_weights){0};
}
