/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/err.h"
#include "base/mem.h"
#include "perfdata/perf_file_impl.h"

/*
 * A compressed record is below 64 KiB; zstd's best case is far below this factor for real records.
 * A block that wants more is cut into several deliveries by the caller running out of it first, so
 * this only bounds hostile input.
 */
enum { MAX_UNPACKED = 64 << 20, FIRST_UNPACKED = 256 << 10 };

/* COMPRESSED: the rest of the record. COMPRESSED2: u64 size, then so many bytes, then padding to 8.
 */
static bool find_payload(const struct perf_record *r, struct bytes *ret)
{
	struct bytes body = perf_record_body(r);
	uint64_t size;

	*ret = body;
	if (r->type == PERF_RECORD_COMPRESSED)
		return true;
	return bytes_u64(&body, r->swap, &size) && size <= bytes_left(&body) &&
	       bytes_take(&body, size, ret);
}

static struct perf_block *block_with_rest(struct budget *budget, const struct perf_window *w,
					  size_t cap)
{
	size_t rest = (size_t)(w->end - w->pos);
	struct perf_block *b = perf_block_new(budget, rest + cap);

	if (!b)
		return NULL;
	if (rest)
		memcpy(b->data, w->pos, rest);
	b->nr = rest;
	return b;
}

static bool grow(struct perf_block **b)
{
	struct perf_block *more = perf_block_new((*b)->budget, (*b)->cap * 2);

	if (!more)
		return false;
	memcpy(more->data, (*b)->data, (*b)->nr);
	more->nr = (*b)->nr;
	perf_block_release(*b);
	*b = more;
	return true;
}

/* A record may wait long for its turn, and holds the block: give back what a small one left. */
static struct perf_block *shrink(struct perf_block *b)
{
	struct perf_block *less;

	if (b->nr > b->cap / 2)
		return b;
	less = mem_realloc_array(b, 1, sizeof(*b) + b->nr);
	if (!less)
		return b;
	budget_let_go(less->budget, less->cap - less->nr);
	less->cap = less->nr;
	return less;
}

static enum clew_err inflate(struct perf_file *f, struct bytes from, struct perf_block **b,
			     uint64_t offset, struct clew_diag *diag)
{
	ZSTD_inBuffer in = {from.pos, bytes_left(&from), 0};

	for (;;) {
		ZSTD_outBuffer out = {(*b)->data, (*b)->cap, (*b)->nr};
		size_t code = ZSTD_decompressStream(f->zstd, &out, &in);

		if (ZSTD_isError(code))
			return clew_fail(diag, CLEW_BAD_FILE, offset,
					 "compressed record does not decompress");
		(*b)->nr = out.pos;
		if (out.pos < out.size) { /* everything that can come out has */
			if (in.pos == in.size)
				return CLEW_OK;
			continue;
		}
		if ((*b)->cap > MAX_UNPACKED)
			return clew_fail(diag, CLEW_LIMIT, offset,
					 "compressed record holds over 64 MiB");
		if (!grow(b))
			return clew_fail(diag, CLEW_NO_MEMORY, offset, "out of memory");
	}
}

enum clew_err perf_unpack(struct perf_file *f, const struct perf_record *r, struct clew_diag *diag)
{
	struct perf_window *w = &f->unpacked;
	struct perf_block *b;
	struct bytes from;
	enum clew_err err;

	if (!find_payload(r, &from))
		return clew_fail(diag, CLEW_BAD_FILE, r->offset,
				 "compressed record is larger than itself");
	if (!f->zstd) {
		f->zstd = ZSTD_createDStream();
		if (!f->zstd || ZSTD_isError(ZSTD_initDStream(f->zstd)))
			return clew_fail(diag, CLEW_NO_MEMORY, r->offset, "out of memory");
	}
	b = block_with_rest(f->in.budget, w, FIRST_UNPACKED);
	if (!b)
		return clew_fail(diag, CLEW_NO_MEMORY, r->offset, "out of memory");
	f->counts.decompressed_bytes -= b->nr;
	err = inflate(f, from, &b, r->offset, diag);
	f->counts.compressed_bytes += bytes_left(&from);
	f->counts.decompressed_bytes += b->nr;
	if (err != CLEW_OK) {
		perf_block_release(b);
		return err;
	}
	b = shrink(b);
	perf_block_release(w->block);
	*w = (struct perf_window){b->data, b->data + b->nr, r->offset, b, false};
	return CLEW_OK;
}
