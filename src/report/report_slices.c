/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/report_slices.h"

static size_t depth_of(const struct report_tree *t, uint32_t node)
{
	size_t depth = 0;

	for (; node != REPORT_ROOT; node = t->nodes.data[node].parent)
		depth++;
	return depth;
}

size_t report_slices_common(const struct report_slices *s, const struct report_tree *t,
			    uint32_t node)
{
	size_t depth = depth_of(t, node), n = depth < s->open.nr ? depth : s->open.nr;

	for (; depth > n; depth--)
		node = t->nodes.data[node].parent;
	for (; n && s->open.data[n - 1].node != node; n--)
		node = t->nodes.data[node].parent;
	return n;
}

const struct report_slice *report_slices_end(struct report_slices *s, size_t keep)
{
	return s->open.nr > keep ? &s->open.data[--s->open.nr] : NULL;
}

bool report_slices_begin(struct report_slices *s, const struct report_tree *t, uint32_t node,
			 uint64_t from)
{
	size_t depth = depth_of(t, node), nr = s->open.nr;

	if (!vec_reserve(&s->open, depth))
		return false;
	for (s->open.nr = depth; depth > nr; node = t->nodes.data[node].parent)
		s->open.data[--depth] = (struct report_slice){node, from};
	return true;
}

void report_slices_done(struct report_slices *s)
{
	vec_done(&s->open);
}
