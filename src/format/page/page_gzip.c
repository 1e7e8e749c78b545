/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/page/page_gzip.h"

#include <zlib.h>

#include "base/mem.h"

enum {
	LEVEL = 6,
	WINDOW_BITS = 15 + 16, /* with the header of gzip */
	MEM_LEVEL = 8,
	PACKED_BYTES = 48 << 10, /* a multiple of 3: each batch is base64 of its own */
	BLOCK_BATCHES = 1024     /* 64 MiB of text, as browsers limit the length of one */
};

struct page_gzip {
	const struct clew_sink *sink;
	z_stream z;
	uint8_t packed[PACKED_BYTES];
	struct buf text;
	uint32_t nr_batches, nr_blocks;
};

struct page_gzip *page_gzip_new(const struct clew_sink *sink)
{
	struct page_gzip *z = mem_zalloc(sizeof(*z));

	if (!z)
		return NULL;
	z->sink = sink;
	z->z.next_out = z->packed;
	z->z.avail_out = PACKED_BYTES;
	if (deflateInit2(&z->z, LEVEL, Z_DEFLATED, WINDOW_BITS, MEM_LEVEL, Z_DEFAULT_STRATEGY) ==
	    Z_OK)
		return z;
	mem_free(z);
	return NULL;
}

void page_gzip_free(struct page_gzip *z)
{
	if (!z)
		return;
	deflateEnd(&z->z);
	buf_done(&z->text);
	mem_free(z);
}

static void put_base64(struct buf *to, const uint8_t *data, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		size_t n = size - i < 3 ? size - i : 3;
		uint32_t v = (uint32_t)data[i] << 16 | (n > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
			     (n > 2 ? data[i + 2] : 0);
		char four[4] = {digits[v >> 18], digits[v >> 12 & 63],
				n > 1 ? digits[v >> 6 & 63] : '=', n > 2 ? digits[v & 63] : '='};

		buf_add(to, four, sizeof(four));
	}
}

static enum clew_err flush(struct page_gzip *z, bool is_end)
{
	size_t size = PACKED_BYTES - z->z.avail_out;

	buf_clear(&z->text);
	if (z->nr_batches % BLOCK_BATCHES == 0) {
		buf_printf(&z->text, "%s<script type=\"application/octet-stream\" id=\"data-%u\">",
			   z->nr_blocks ? "</script>\n" : "", z->nr_blocks);
		z->nr_blocks++;
	}
	put_base64(&z->text, z->packed, size);
	if (is_end)
		buf_str(&z->text, "</script>\n");
	z->nr_batches++;
	z->z.next_out = z->packed;
	z->z.avail_out = PACKED_BYTES;
	return z->text.is_failed ? CLEW_NO_MEMORY
				 : z->sink->write(z->sink->ctx, z->text.data, z->text.nr);
}

static enum clew_err pack(struct page_gzip *z, int how)
{
	enum clew_err err = CLEW_OK;
	int status;

	do {
		status = deflate(&z->z, how);
		if (!z->z.avail_out)
			err = flush(z, false);
	} while (err == CLEW_OK && (z->z.avail_in || (how == Z_FINISH && status == Z_OK)));
	return err;
}

enum clew_err page_gzip_add(struct page_gzip *z, const void *data, size_t size)
{
	z->z.next_in = (uint8_t *)(uintptr_t)data;
	z->z.avail_in = (uInt)size;
	return size ? pack(z, Z_NO_FLUSH) : CLEW_OK;
}

enum clew_err page_gzip_end(struct page_gzip *z)
{
	enum clew_err err = pack(z, Z_FINISH);

	return err == CLEW_OK ? flush(z, true) : err;
}
