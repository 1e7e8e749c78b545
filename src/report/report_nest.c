/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/report_nest.h"

struct walk {
	const struct report_tree *tree;
	const uint32_t *group_of;
	uint32_t *first_child, *next_sibling; /* by node; REPORT_ROOT: none */
	uint32_t *innermost; /* by group: the node that is open now; REPORT_ROOT: none */
};

static uint32_t parent_of(const struct walk *w, uint32_t node)
{
	return w->tree->nodes.data[node].parent;
}

static uint32_t *innermost(const struct walk *w, uint32_t node)
{
	return &w->innermost[w->group_of[w->tree->nodes.data[node].frame]];
}

static void link_children(struct walk *w)
{
	for (uint32_t n = (uint32_t)w->tree->nodes.nr - 1; n > 0; n--) {
		uint32_t *first = &w->first_child[parent_of(w, n)];

		w->next_sibling[n] = *first;
		*first = n;
	}
}

/* Depth first, without recursion: a path may have thousands of frames. */
static void visit_all(struct walk *w, struct report_nest *ret)
{
	for (uint32_t n = w->first_child[REPORT_ROOT]; n != REPORT_ROOT;) {
		uint32_t parent = parent_of(w, n);

		ret->depth[n] = parent == REPORT_ROOT ? 0 : ret->depth[parent] + 1;
		ret->outer[n] = *innermost(w, n);
		*innermost(w, n) = n;
		if (w->first_child[n] != REPORT_ROOT) {
			n = w->first_child[n];
			continue;
		}
		while (n != REPORT_ROOT) {
			*innermost(w, n) = ret->outer[n];
			if (w->next_sibling[n] != REPORT_ROOT) {
				n = w->next_sibling[n];
				break;
			}
			n = parent_of(w, n);
		}
	}
}

bool report_nest_make(struct report_nest *ret, const struct report_tree *tree,
		      const uint32_t *group_of, uint32_t nr_groups)
{
	size_t nr = tree->nodes.nr;
	struct walk w = {.tree = tree, .group_of = group_of};
	bool ok;

	*ret = (struct report_nest){mem_calloc(nr, sizeof(uint32_t)),
				    mem_calloc(nr, sizeof(uint32_t))};
	w.first_child = mem_calloc(nr, sizeof(uint32_t));
	w.next_sibling = mem_calloc(nr, sizeof(uint32_t));
	w.innermost = mem_calloc(nr_groups, sizeof(uint32_t));
	ok = ret->outer && ret->depth && w.first_child && w.next_sibling && w.innermost;
	if (ok) {
		link_children(&w);
		visit_all(&w, ret);
	} else {
		report_nest_done(ret);
	}
	mem_free(w.first_child);
	mem_free(w.next_sibling);
	mem_free(w.innermost);
	return ok;
}

void report_nest_done(struct report_nest *n)
{
	mem_free(n->outer);
	mem_free(n->depth);
	*n = (struct report_nest){0};
}
