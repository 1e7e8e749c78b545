/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf_sink.h"

static enum clew_err add(void *ctx, const void *data, size_t size)
{
	struct buf *b = ctx;

	buf_add(b, data, size);
	return b->is_failed ? CLEW_NO_MEMORY : CLEW_OK;
}

struct clew_sink buf_sink(struct buf *b)
{
	return (struct clew_sink){add, b};
}
