/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/report_slices.h"

#include "unit/tap.h"

/* Calls as slices, of stacks one after the other. */

enum { MAIN, WORK, LEAF, IDLE };

static uint32_t node_of(struct report_tree *t, const uint32_t *frames, size_t nr)
{
	uint32_t node = REPORT_ROOT;

	for (size_t i = 0; i < nr; i++)
		report_tree_child(t, node, frames[i], &node);
	return node;
}

/* Ends what @p node has not, appending "node from-to " each, and begins the rest. */
static void go_to(struct report_slices *s, const struct report_tree *t, uint32_t node,
		  uint64_t time, char *to, size_t size)
{
	size_t keep = report_slices_common(s, t, node), nr = strlen(to);
	const struct report_slice *x;

	while ((x = report_slices_end(s, keep)))
		nr += (size_t)snprintf(to + nr, size - nr, "%u %u-%u ",
				       t->nodes.data[x->node].frame, (unsigned int)x->from,
				       (unsigned int)time);
	CHECK(report_slices_begin(s, t, node, time), "at %u, %zu are open", (unsigned int)time,
	      s->open.nr);
}

int main(void)
{
	static const uint32_t leaf[] = {MAIN, WORK, LEAF}, again[] = {MAIN, WORK, WORK, LEAF},
			      idle[] = {MAIN, IDLE}, other[] = {LEAF, WORK};
	struct report_tree t;
	struct report_slices s = {0};
	char text[200] = "";

	CHECK(report_tree_init(&t, 0) == CLEW_OK, "a tree");
	go_to(&s, &t, node_of(&t, leaf, 3), 0, text, sizeof(text));
	CHECK_STR(text, "", "all begin at the first stack");
	go_to(&s, &t, node_of(&t, leaf, 2), 10, text, sizeof(text));
	CHECK_STR(text, "2 0-10 ", "a return");
	go_to(&s, &t, node_of(&t, leaf, 2), 15, text, sizeof(text));
	CHECK_STR(text, "2 0-10 ", "the same stack");
	go_to(&s, &t, node_of(&t, idle, 2), 20, text, sizeof(text));
	CHECK_STR(text, "2 0-10 1 0-20 ", "another callee");
	text[0] = 0;
	go_to(&s, &t, node_of(&t, again, 4), 30, text, sizeof(text));
	go_to(&s, &t, node_of(&t, leaf, 3), 40, text, sizeof(text));
	CHECK_STR(text, "3 20-30 2 30-40 1 30-40 ", "a recursion ends, its caller does not");
	text[0] = 0;
	go_to(&s, &t, node_of(&t, other, 2), 50, text, sizeof(text));
	CHECK_STR(text, "2 40-50 1 30-50 0 0-50 ", "nothing in common");
	CHECK(report_slices_common(&s, &t, REPORT_ROOT) == 0, "nor with no stack");
	report_slices_done(&s);
	report_tree_done(&t);
	return tap_done();
}
