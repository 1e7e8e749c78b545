/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANNOTATE_ANN_IMPL_H
#define ANNOTATE_ANN_IMPL_H

#include "annotate/annotation.h"

/**
 * Split the function's bytes into instructions, as far as there are any: *ret_end is where they
 * end. *ret_delta: what to add to an address of the dso to get a linked one. @return false when
 * memory is short; so does the next.
 */
bool ann_code_add(struct annotation *a, struct dso *d, const struct ann_counts *c,
		  const struct ann_symbol *s, const struct annotation_opts *opts, uint64_t *ret_end,
		  uint64_t *ret_delta);

/** The source line of each instruction. */
bool ann_lines_add(struct annotation *a, struct dso *d);

#endif
