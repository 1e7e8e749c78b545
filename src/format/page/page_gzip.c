/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/page/page_gzip.h"

#include <string.h>

#include "base/mem.h"
#include "format/gzip_sink.h"

enum {
	LEVEL = 6,
	PACKED_BYTES = 48 << 10, /* a multiple of 3: each batch is base64 of its own */
	BLOCK_BATCHES = 1024     /* 64 MiB of text, as browsers limit the length of one */
};

struct page_gzip {
	const struct clew_sink *sink;
	const char *name;
	struct clew_sink own; /* of what is packed */
	struct gzip_sink *gzip;
	uint8_t packed[PACKED_BYTES];
	size_t nr_packed;
	struct buf text;
	uint32_t nr_batches, nr_blocks;
};

static enum clew_err flush(struct page_gzip *z, bool is_end)
{
	buf_clear(&z->text);
	if (z->nr_batches % BLOCK_BATCHES == 0) {
		buf_printf(&z->text, "%s<script type=\"application/octet-stream\" id=\"%s-%u\">",
			   z->nr_blocks ? "</script>\n" : "", z->name, z->nr_blocks);
		z->nr_blocks++;
	}
	buf_base64(&z->text, z->packed, z->nr_packed);
	if (is_end)
		buf_str(&z->text, "</script>\n");
	z->nr_batches++;
	z->nr_packed = 0;
	return z->text.is_failed ? CLEW_NO_MEMORY
				 : z->sink->write(z->sink->ctx, z->text.data, z->text.nr);
}

static enum clew_err take_packed(void *ctx, const void *data, size_t size)
{
	struct page_gzip *z = ctx;
	const uint8_t *at = data;
	enum clew_err err = CLEW_OK;

	for (size_t n; size && err == CLEW_OK; at += n, size -= n) {
		n = PACKED_BYTES - z->nr_packed;
		n = n < size ? n : size;
		memcpy(z->packed + z->nr_packed, at, n);
		z->nr_packed += n;
		err = z->nr_packed == PACKED_BYTES ? flush(z, false) : CLEW_OK;
	}
	return err;
}

struct page_gzip *page_gzip_new(const struct clew_sink *sink, const char *name)
{
	struct page_gzip *z = mem_zalloc(sizeof(*z));

	if (!z)
		return NULL;
	z->sink = sink;
	z->name = name;
	z->own = (struct clew_sink){take_packed, z};
	z->gzip = gzip_sink_new(&z->own, LEVEL);
	if (z->gzip)
		return z;
	mem_free(z);
	return NULL;
}

void page_gzip_free(struct page_gzip *z)
{
	if (!z)
		return;
	gzip_sink_free(z->gzip);
	buf_done(&z->text);
	mem_free(z);
}

const struct clew_sink *page_gzip_sink(struct page_gzip *z)
{
	return gzip_sink_of(z->gzip);
}

enum clew_err page_gzip_add(struct page_gzip *z, const void *data, size_t size)
{
	const struct clew_sink *to = page_gzip_sink(z);

	return to->write(to->ctx, data, size);
}

enum clew_err page_gzip_end(struct page_gzip *z)
{
	enum clew_err err = gzip_sink_end(z->gzip);

	return err == CLEW_OK ? flush(z, true) : err;
}
