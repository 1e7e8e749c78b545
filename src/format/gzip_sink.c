/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/gzip_sink.h"

#include <stdint.h>
#define ZLIB_CONST /* of next_in */
#include <zlib.h>

#include "base/mem.h"

enum { OUT_BYTES = 64 << 10, GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8, MAX_PIECE = 1 << 30 };

struct gzip_sink {
	struct clew_sink own;
	const struct clew_sink *to;
	z_stream z;
	uint8_t out[OUT_BYTES];
};

/* Until all input is taken; with Z_FINISH until the end is written. */
static enum clew_err run(struct gzip_sink *g, int flush)
{
	enum clew_err err = CLEW_OK;
	int status;

	do {
		g->z.next_out = g->out;
		g->z.avail_out = OUT_BYTES;
		status = deflate(&g->z, flush);
		if (status == Z_STREAM_ERROR)
			return CLEW_INVALID;
		if (g->z.avail_out < OUT_BYTES)
			err = g->to->write(g->to->ctx, g->out, OUT_BYTES - g->z.avail_out);
	} while (err == CLEW_OK && (flush == Z_FINISH ? status != Z_STREAM_END : g->z.avail_in));
	return err;
}

static enum clew_err put(void *ctx, const void *data, size_t size)
{
	struct gzip_sink *g = ctx;
	const uint8_t *at = data;
	enum clew_err err = CLEW_OK;

	for (size_t n; size && err == CLEW_OK; at += n, size -= n) {
		n = size < MAX_PIECE ? size : MAX_PIECE;
		g->z.next_in = at;
		g->z.avail_in = (unsigned int)n;
		err = run(g, Z_NO_FLUSH);
	}
	return err;
}

struct gzip_sink *gzip_sink_new(const struct clew_sink *to, int level)
{
	struct gzip_sink *g = mem_zalloc(sizeof(*g));

	if (!g)
		return NULL;
	g->to = to;
	g->own = (struct clew_sink){put, g};
	if (deflateInit2(&g->z, level, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) ==
	    Z_OK)
		return g;
	mem_free(g);
	return NULL;
}

const struct clew_sink *gzip_sink_of(struct gzip_sink *g)
{
	return &g->own;
}

enum clew_err gzip_sink_end(struct gzip_sink *g)
{
	g->z.avail_in = 0;
	return run(g, Z_FINISH);
}

void gzip_sink_free(struct gzip_sink *g)
{
	if (!g)
		return;
	deflateEnd(&g->z);
	mem_free(g);
}
