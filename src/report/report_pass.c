/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/report_pass.h"

#include <stdlib.h>

enum clew_err report_pass_init(struct report_pass *p, const struct report_tree *tree,
			       const uint32_t *group_of, uint32_t nr_groups)
{
	size_t nr = tree->nodes.nr;

	*p = (struct report_pass){.tree = tree};
	p->self = mem_calloc(nr, sizeof(*p->self));
	p->total = mem_calloc(nr, sizeof(*p->total));
	p->nr = mem_calloc(nr, sizeof(*p->nr));
	p->stamp = mem_calloc(nr, sizeof(*p->stamp));
	if (p->self && p->total && p->nr && p->stamp &&
	    report_nest_make(&p->nest, tree, group_of, nr_groups))
		return CLEW_OK;
	report_pass_done(p);
	return CLEW_NO_MEMORY;
}

void report_pass_done(struct report_pass *p)
{
	mem_free(p->self);
	mem_free(p->total);
	mem_free(p->nr);
	mem_free(p->stamp);
	report_nest_done(&p->nest);
	vec_done(&p->active);
	*p = (struct report_pass){0};
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The node and its callers up to the first that is known already. */
static bool activate(struct report_pass *p, uint32_t node)
{
	for (; node != REPORT_ROOT && !report_pass_has(p, node);
	     node = p->tree->nodes.data[node].parent) {
		p->stamp[node] = p->load;
		p->self[node] = p->total[node] = p->nr[node] = 0;
		if (!vec_push(&p->active, node))
			return false;
	}
	return true;
}

enum clew_err report_pass_load(struct report_pass *p, const struct report_weights *w, size_t first,
			       size_t *ret_next)
{
	uint32_t key = w->all.data[first].key;
	size_t i;

	p->load++;
	p->active.nr = 0;
	for (i = first; i < w->all.nr && w->all.data[i].key == key; i++) {
		const struct report_weight *x = &w->all.data[i];

		if (!activate(p, x->node))
			return CLEW_NO_MEMORY;
		p->self[x->node] += x->period;
		p->nr[x->node] += x->nr;
	}
	if (p->active.nr)
		qsort(p->active.data, p->active.nr, sizeof(uint32_t), ascending);
	for (size_t n = p->active.nr; n-- > 0;) {
		uint32_t node = p->active.data[n], parent = p->tree->nodes.data[node].parent;

		p->total[node] += p->self[node];
		p->total[parent] += p->total[node]; /* the root's is not used */
	}
	*ret_next = i;
	return CLEW_OK;
}
