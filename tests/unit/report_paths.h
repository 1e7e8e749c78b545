/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_UNIT_REPORT_PATHS_H
#define TESTS_UNIT_REPORT_PATHS_H

#include "base/buf.h"
#include "report/report_graph.h"
#include "unit/tap.h"

/*
 * Reports of paths written down: "mab 3 mac 2" is 3 samples of m calling a calling b, each of
 * period 10, and 2 of m calling a calling c. Letters are frames; a digit before a path is its key,
 * 0 where there is none: "1mab 3".
 */
enum { NR_FRAMES = 128, PERIOD = 10 };

struct paths {
	struct report_tree tree;
	struct report_weights weights;
	struct report_pass pass;
	struct report_rows rows;
	struct report_graphs graphs;
	struct report_grouping grouping;
	uint32_t group_of[NR_FRAMES], rank[NR_FRAMES];
	uint64_t total;
	enum clew_err err; /* of the tree, when it was full */
};

static inline void paths_add(struct paths *p, uint32_t key, const char *path, size_t len,
			     uint64_t nr)
{
	uint32_t node = REPORT_ROOT;

	for (size_t i = 0; i < len && p->err == CLEW_OK; i++)
		p->err = report_tree_child(&p->tree, node, (uint8_t)path[i], &node);
	if (p->err == CLEW_OK)
		p->err = report_weights_add(&p->weights, &p->tree, key, node, nr, nr * PERIOD);
	p->total += nr * PERIOD;
}

/* Letters of upper case are in the group of their lower case where @p folds_case. */
static inline void paths_init(struct paths *p, const char *text, bool folds_case)
{
	*p = (struct paths){0};
	report_tree_init(&p->tree, 0);
	for (uint32_t i = 0; i < NR_FRAMES; i++) {
		p->rank[i] = i;
		p->group_of[i] = folds_case && i >= 'A' && i <= 'Z' ? i + 32 : i;
	}
	p->grouping = (struct report_grouping){p->group_of, p->rank, p->rank, NR_FRAMES};
	while (*text) {
		uint32_t key = *text >= '0' && *text <= '9' ? (uint32_t)(*text++ - '0') : 0;
		size_t len = strcspn(text, " ");
		char *end;

		paths_add(p, key, text, len, strtoull(text + len, &end, 10));
		text = end + strspn(end, " ");
	}
	report_weights_sort(&p->weights);
	report_pass_init(&p->pass, &p->tree, p->group_of, NR_FRAMES);
}

static inline void paths_done(struct paths *p)
{
	report_graphs_done(&p->graphs);
	report_rows_done(&p->rows);
	report_pass_done(&p->pass);
	report_weights_done(&p->weights);
	report_tree_done(&p->tree);
}

/* Rows as "key group total/self", in samples. */
static inline void paths_rows(struct paths *p, bool by_total, struct buf *out)
{
	const struct report_weights *weights = &p->weights;

	report_rows_make(&p->rows, &p->pass, &weights, 1, &p->grouping, by_total);
	buf_clear(out);
	vec_for_each (&p->rows.rows, r) {
		const struct report_value *v = report_row_value(&p->rows, r, 0);

		if (out->nr)
			buf_char(out, ' ');
		if (r->key)
			buf_dec(out, r->key, 0, ' ');
		buf_char(out, (char)r->group);
		buf_printf(out, "%d/%d", (int)(v->total / PERIOD), (int)(v->self / PERIOD));
	}
}

#endif
