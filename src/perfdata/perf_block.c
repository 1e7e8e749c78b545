/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mem.h"
#include "perfdata/perf_file_impl.h"

struct perf_block *perf_block_new(struct budget *budget, size_t cap)
{
	struct perf_block *b = mem_alloc(sizeof(*b) + cap);

	if (!b)
		return NULL;
	*b = (struct perf_block){.refs = 1, .cap = cap, .budget = budget};
	budget_hold(budget, cap);
	return b;
}

void perf_block_hold(struct perf_block *b)
{
	if (b)
		b->refs++;
}

void perf_block_release(struct perf_block *b)
{
	if (!b || --b->refs)
		return;
	budget_let_go(b->budget, b->cap);
	mem_free(b);
}
