/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SFRAME_JSON_H
#define FORMAT_SFRAME_JSON_H

#include "base/buf.h"
#include "unwind/sframe.h"

/*
 * A section as JSON, one object per line: the head, then each function with its rows. Locations are
 * spelled as in sframe_text.h; man clew-sframe lists the members.
 */
void sframe_json_head(struct buf *out, const char *file, const struct sframe *s);

/** As sframe_text_function(); one that cannot be read to its end has a member "error". */
enum clew_err sframe_json_function(struct buf *out, const struct sframe *s, uint32_t i,
				   uint64_t *left, struct clew_diag *diag);

#endif
