/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_SINK_H
#define BASE_SINK_H

#include <stddef.h>

#include <clew/err.h>

/**
 * Where a writer's bytes go. The library opens nothing: the caller owns the file, socket or buffer
 * that @p ctx stands for.
 *
 * write() takes all @p size bytes or fails; it must not keep @p data. It is called from one thread
 * at a time, with large batches (tens of KiB), so it need not buffer.
 */
struct clew_sink {
	enum clew_err (*write)(void *ctx, const void *data, size_t size);
	void *ctx;
};

#endif
