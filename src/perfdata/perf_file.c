/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/err.h"
#include "base/mem.h"
#include "perfdata/perf_file_impl.h"
#include "perfdata/perf_grown.h"

enum {
	PIPE_BLOCK_BYTES = 1 << 20,
	MAX_PAYLOAD = 1 << 30, /* trace or tracing data after one record of a pipe */
};

/* Read until the window holds @p n bytes or the pipe ends. What records point to stays: bytes are
 * added after it, or go to another block. */
static enum clew_err refill(struct perf_file *f, size_t n, struct clew_diag *diag)
{
	struct perf_window *w = &f->main;
	size_t rest = (size_t)(w->end - w->pos), cap = n > PIPE_BLOCK_BYTES ? n : PIPE_BLOCK_BYTES;
	struct perf_block *b = w->block;

	if (!b || b->cap - (size_t)(w->pos - b->data) < n) {
		b = perf_block_new(f->in.budget, cap);
		if (!b)
			return clew_fail(diag, CLEW_NO_MEMORY, w->offset, "out of memory");
		if (rest)
			memcpy(b->data, w->pos, rest);
		b->nr = rest;
		perf_block_release(w->block);
		w->block = b;
		w->pos = b->data;
	}
	while (!w->is_last && b->nr - (size_t)(w->pos - b->data) < n) {
		long got = f->in.read(f->in.ctx, b->data + b->nr, b->cap - b->nr);

		if (got < 0)
			return clew_fail_os(diag, (int)-got, "read");
		w->is_last = got == 0;
		b->nr += (size_t)got;
	}
	w->end = b->data + b->nr;
	return CLEW_OK;
}

enum clew_err perf_file_need(struct perf_file *f, uint64_t n, struct clew_diag *diag)
{
	struct perf_window *w = &f->main;
	size_t want;
	enum clew_err err;

	if (n > MAX_PAYLOAD && !f->in.data)
		return clew_fail(diag, CLEW_LIMIT, w->offset,
				 "over 1 GiB of trace after one record of a pipe");
	if (n > PIPE_BLOCK_BYTES && !f->in.data && n > budget_part(f->in.budget, UINT64_MAX))
		return clew_fail(diag, CLEW_LIMIT, w->offset,
				 "a record of a pipe is over a quarter of --max-memory");
	while ((uint64_t)(w->end - w->pos) < n && !w->is_last) {
		/* Twice what is there, at most: a lying size costs no more memory than the input
		 * has bytes. */
		want = 2 * (size_t)(w->end - w->pos) + PIPE_BLOCK_BYTES / 2;
		err = refill(f, n < want ? (size_t)n : want, diag);
		if (err != CLEW_OK)
			return err;
	}
	if ((uint64_t)(w->end - w->pos) >= n)
		return CLEW_OK;
	return w->end == w->pos
		     ? CLEW_END
		     : clew_fail(diag, CLEW_TRUNCATED, w->offset, "the file ends inside a record");
}

static void advance(struct perf_window *w, uint64_t n)
{
	w->pos += n;
	w->offset += n;
}

/* The record at the start of @p w, which holds its header. @return CLEW_TRUNCATED: not all of it is
 * there. */
static enum clew_err peek_record(const struct perf_file *f, const struct perf_window *w,
				 struct perf_record *ret, struct clew_diag *diag)
{
	size_t left = (size_t)(w->end - w->pos);

	if (left < sizeof(struct perf_event_header))
		return CLEW_TRUNCATED;
	*ret = (struct perf_record){
		.data = w->pos,
		.type = load_u32(w->pos, f->swap),
		.misc = load_u16(w->pos + 4, f->swap),
		.size = load_u16(w->pos + 6, f->swap),
		.swap = f->swap,
		.offset = w->offset,
		.block = w->block,
	};
	if (ret->size < sizeof(struct perf_event_header))
		return clew_fail(diag, CLEW_BAD_FILE, w->offset,
				 "a record claims an impossible size");
	return ret->size <= left ? CLEW_OK : CLEW_TRUNCATED;
}

/* Bytes that follow a record without being part of its size. */
static uint64_t payload_bytes(const struct perf_file *f, const struct perf_record *r)
{
	if (r->type == PERF_RECORD_AUXTRACE && r->size >= 16)
		return load_u64(r->data + 8, r->swap);
	if (r->type == PERF_RECORD_HEADER_TRACING_DATA && f->is_pipe && r->size >= 12)
		return align_up(load_u32(r->data + 8, r->swap), 8);
	return 0;
}

static enum clew_err take_payload(struct perf_file *f, struct perf_record *r,
				  struct clew_diag *diag)
{
	uint64_t size = payload_bytes(f, r), total;
	enum clew_err err;

	if (!size)
		return CLEW_OK;
	if (__builtin_add_overflow(size, r->size, &total))
		return clew_fail(diag, CLEW_BAD_FILE, r->offset,
				 "trace data claims an impossible size");
	err = perf_file_need(f, total, diag);
	if (err != CLEW_OK)
		return err;
	r->data = f->main.pos; /* the window may have moved */
	r->block = f->main.block;
	r->payload = bytes_of(r->data + r->size, size);
	return CLEW_OK;
}

static enum clew_err next_main(struct perf_file *f, struct perf_record *ret, struct clew_diag *diag)
{
	enum clew_err err;

	if (f->main.offset >= f->limit)
		return CLEW_END;
	err = perf_file_need(f, sizeof(struct perf_event_header), diag);
	if (err == CLEW_END && !f->is_pipe && !f->is_unfinished)
		return clew_fail(diag, CLEW_TRUNCATED, f->main.offset,
				 "the file ends before its data does");
	if (err == CLEW_OK)
		err = peek_record(f, &f->main, ret, diag);
	if (err == CLEW_TRUNCATED) { /* the header is there, or nothing more is */
		if (f->main.end - f->main.pos >= (long)sizeof(struct perf_event_header))
			err = perf_file_need(f, ret->size, diag);
		if (err == CLEW_OK)
			err = peek_record(f, &f->main, ret, diag);
	}
	if (err == CLEW_OK)
		err = take_payload(f, ret, diag);
	if (err == CLEW_OK)
		advance(&f->main, ret->size + bytes_left(&ret->payload));
	return err;
}

/* What is left of the unpacked stream when the packed one ends. */
static enum clew_err end_of_unpacked(struct perf_file *f, struct clew_diag *diag)
{
	if (f->unpacked.pos == f->unpacked.end)
		return CLEW_END;
	return clew_fail(diag, CLEW_TRUNCATED, f->unpacked.offset,
			 "the file ends inside a compressed record");
}

static enum clew_err next_any(struct perf_file *f, struct perf_record *ret, struct clew_diag *diag)
{
	enum clew_err err;

	for (;;) {
		err = peek_record(f, &f->unpacked, ret, diag);
		if (err == CLEW_OK)
			f->unpacked.pos += ret->size;
		if (err != CLEW_TRUNCATED)
			return err;
		err = next_main(f, ret, diag);
		if (err == CLEW_END)
			return end_of_unpacked(f, diag);
		if (err != CLEW_OK)
			return err;
		if (ret->type != PERF_RECORD_COMPRESSED && ret->type != PERF_RECORD_COMPRESSED2)
			return CLEW_OK;
		f->counts.by_type[ret->type]++;
		err = perf_unpack(f, ret, diag);
		if (err != CLEW_OK)
			return err;
	}
}

static void count(struct perf_file *f, uint32_t type)
{
	f->counts.nr_records++;
	if (perf_record_type_name(type))
		f->counts.by_type[type]++;
	else
		f->counts.nr_unknown++;
}

enum clew_err perf_file_next(struct perf_file *f, struct perf_record *ret, struct clew_diag *diag)
{
	enum clew_err err;

	if (f->is_over)
		return CLEW_END;
	err = next_any(f, ret, diag);
	if (err != CLEW_OK) {
		f->is_over = true;
		return err;
	}
	count(f, ret->type);
	if (ret->type == PERF_RECORD_HEADER_EVENT_TYPE &&
	    perf_who_facts_take(&f->who, ret) == CLEW_NO_MEMORY)
		return clew_fail(diag, CLEW_NO_MEMORY, ret->offset, "out of memory");
	if (ret->type == PERF_RECORD_MMAP2)
		ret->misc = perf_file_true_misc(f, ret);
	if (ret->type >= PERF_RECORD_KSYMBOL && ret->type <= PERF_RECORD_TEXT_POKE)
		ret->size = perf_grown_true_size(f->evlist, ret);
	if (f->is_pipe && (ret->type >= PERF_RECORD_HEADER_ATTR))
		return perf_header_take_record(f, ret) == CLEW_NO_MEMORY
			     ? clew_fail(diag, CLEW_NO_MEMORY, ret->offset, "out of memory")
			     : CLEW_OK;
	return CLEW_OK;
}

/* Version 1 is text, in both byte orders. */
static bool is_magic1(const uint8_t magic[8])
{
	return load_le64(magic) == PERF_MAGIC1;
}

bool perf_file_has_magic(const uint8_t magic[8])
{
	uint64_t v = load_le64(magic);

	return is_magic1(magic) || v == PERF_MAGIC2 || v == __builtin_bswap64(PERF_MAGIC2);
}

static enum clew_err read_magic(struct perf_file *f, struct clew_diag *diag)
{
	enum clew_err err = perf_file_need(f, PERF_PIPE_HEADER_SIZE, diag);
	uint64_t magic, size;

	if (err == CLEW_END)
		return clew_fail(diag, CLEW_BAD_FILE, 0, "the file is empty");
	if (err != CLEW_OK)
		return clew_fail(diag, err == CLEW_TRUNCATED ? CLEW_BAD_FILE : err, 0,
				 "not a perf.data file");
	if (!perf_file_has_magic(f->main.pos))
		return clew_fail(
			diag, CLEW_BAD_FILE, 0,
			memcmp(f->main.pos, "PERF", 4) != 0
				? "not a perf.data file"
				: "a perf.data file of a version this program cannot read");
	magic = load_u64(f->main.pos, false);
	f->is_version1 = is_magic1(f->main.pos);
	f->swap = magic == __builtin_bswap64(PERF_MAGIC2);
	if (f->is_version1 && !perf_header_find_order(f))
		return clew_fail(diag, CLEW_BAD_FILE, 8,
				 "a perf.data file of version 1 without a byte order");
	size = load_u64(f->main.pos + 8, f->swap);
	f->is_pipe = size == PERF_PIPE_HEADER_SIZE;
	f->features.swap = f->swap;
	return CLEW_OK;
}

/* `clew record` says who it is in its first record, at most after that on compression. */
static void look_ahead(struct perf_file *f)
{
	enum { NEAR = 4 };
	struct perf_window w = f->main;
	struct perf_record r;

	for (int i = 0; i < NEAR && peek_record(f, &w, &r, NULL) == CLEW_OK; i++) {
		if (perf_who_facts_take(&f->who, &r) != CLEW_END)
			return;
		advance(&w, r.size);
	}
}

static enum clew_err open_file(struct perf_file *f, struct clew_diag *diag)
{
	enum clew_err err = read_magic(f, diag);

	if (err != CLEW_OK)
		return err;
	if (f->is_pipe) {
		advance(&f->main, PERF_PIPE_HEADER_SIZE);
		f->limit = UINT64_MAX;
		return CLEW_OK;
	}
	if (!f->in.data)
		return clew_fail(diag, CLEW_UNSUPPORTED, 0,
				 "a recording made into a file cannot be read from a pipe");
	err = perf_file_need(f, PERF_FILE_HEADER_SIZE, diag);
	if (err != CLEW_OK)
		return clew_fail(diag, CLEW_TRUNCATED, f->in.size,
				 "the file ends inside its header");
	err = perf_header_read(f, diag);
	if (err == CLEW_OK)
		look_ahead(f);
	return err;
}

enum clew_err perf_file_open(struct perf_file **ret, const struct perf_input *in,
			     struct clew_diag *diag)
{
	struct perf_file *f = mem_zalloc(sizeof(*f));
	enum clew_err err;

	if (!f)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	f->in = *in;
	f->evlist = &f->own;
	f->own.account.budget = in->budget;
	if (in->data)
		f->main = (struct perf_window){in->data, in->data + in->size, 0, NULL, true};
	f->main.is_last = !in->read;
	err = open_file(f, diag);
	if (err == CLEW_OK)
		*ret = f;
	else
		perf_file_free(f);
	return err;
}

enum clew_err perf_file_reopen(struct perf_file **ret, const struct perf_file *first,
			       struct clew_diag *diag)
{
	struct perf_file *f;

	if (first->is_pipe)
		return perf_file_open(ret, &first->in, diag);
	f = mem_zalloc(sizeof(*f));
	if (!f)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	f->in = first->in;
	f->swap = first->swap;
	f->is_version1 = first->is_version1;
	f->is_unfinished = first->is_unfinished;
	f->data = first->data;
	f->limit = first->limit;
	f->evlist = first->evlist;
	f->features = first->features;
	perf_header_seek_first(f);
	look_ahead(f);
	*ret = f;
	return CLEW_OK;
}

bool perf_file_is_pipe(const struct perf_file *f)
{
	return f->is_pipe;
}

unsigned int perf_file_version(const struct perf_file *f)
{
	return f->is_version1 ? 1 : 2;
}

bool perf_file_is_swapped(const struct perf_file *f)
{
	return f->swap;
}

bool perf_file_is_unfinished(const struct perf_file *f)
{
	return f->is_unfinished;
}

struct perf_file_section perf_file_data(const struct perf_file *f)
{
	return f->data;
}

uint64_t perf_file_pos(const struct perf_file *f)
{
	return f->main.offset;
}

struct perf_evlist *perf_file_evlist(struct perf_file *f)
{
	return f->evlist;
}

const struct perf_features *perf_file_features(const struct perf_file *f)
{
	return &f->features;
}

const struct perf_file_counts *perf_file_counts(const struct perf_file *f)
{
	return &f->counts;
}

const struct perf_who_facts *perf_file_who_facts(const struct perf_file *f)
{
	return &f->who;
}

void perf_file_free(struct perf_file *f)
{
	if (!f)
		return;
	perf_block_release(f->main.block);
	perf_block_release(f->unpacked.block);
	ZSTD_freeDStream(f->zstd);
	perf_who_facts_done(&f->who);
	perf_evlist_done(&f->own);
	arena_done(&f->memory);
	mem_free(f);
}
