/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ROWS_FEED_OPS_H
#define ROWS_FEED_OPS_H

#include "base/intern.h"
#include "rows/report_ops.h"

/** A cell: operations that are alike in all that rows are made of. */
struct feed_op_cell {
	uint64_t a;
	uint32_t b, c;
	struct report_op_sum sum;
};

struct feed_op_cells {
	struct {
		VEC(struct feed_op_cell);
	} all;
	uint32_t *slots; /* number + 1; 0: empty */
	size_t cap;      /* a power of two */
};

struct feed_ops {
	struct feed_op_cells code;  /* source, key, frame */
	struct feed_op_cells lines; /* address, pid, frame */
	struct intern sources;
	struct report_ops ret;
	struct report_op_source last_source;
	uint32_t last_source_id;
	uint64_t last_offset, last_ip; /* of the operation counted last */
	uint32_t last_cpu;
	bool has_last;
};

enum clew_err feed_take_op(struct report_feed *f, struct report_event *ev,
			   const struct ana_event *e);
enum clew_err feed_ops_finish(struct report_feed *f);
void feed_ops_done(struct feed_ops *o);

#endif
