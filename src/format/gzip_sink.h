/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_GZIP_SINK_H
#define FORMAT_GZIP_SINK_H

#include "base/sink.h"

/**
 * A sink that compresses (gzip, without time and name: equal input gives equal bytes) into another,
 * which it borrows.
 */
struct gzip_sink;

/** @p level: of zlib, 1 the fastest to 9. NULL: no memory. */
struct gzip_sink *gzip_sink_new(const struct clew_sink *to, int level);
/** Borrowed; lives as long as @p g. */
const struct clew_sink *gzip_sink_of(struct gzip_sink *g);
/** Write the rest. What comes after it is an error. */
enum clew_err gzip_sink_end(struct gzip_sink *g);
void gzip_sink_free(struct gzip_sink *g);

#endif
