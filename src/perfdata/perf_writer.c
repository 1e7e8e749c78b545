/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_writer.h"

#include <zstd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "perfdata/perf_features_write.h"

enum {
	SECTION_BYTES = 16,
	RECORD_MAX = 65528, /* the largest record with a size that is a multiple of 8 */
	RECORD_HEADER = 8,
	/* Bytes compressed into one zstd frame. Frames stand alone, so that damage stays local and
	 * a reader may decompress several at once; 256 KiB keeps most of what a longer window
	 * gains. */
	FRAME_BYTES = 256 * 1024,
	SKIPPABLE_HEADER = 8,
	PAD_ROOM = 16, /* after a frame, for a skippable frame that makes the size a multiple of 8
			*/
	DATA_SIZE_AT = 48,   /* of the file's header: the data section's size */
	FEATURE_HEADER = 16, /* of HEADER_FEATURE: record header, u64 feature */
};

#define ZSTD_SKIPPABLE 0x184D2A50u

struct index_entry { /* of the AUXTRACE feature */
	uint64_t file_offset, size;
};

struct perf_writer {
	struct perf_writer_out out;
	uint32_t attr_size;
	uint64_t attrs_offset, attrs_bytes, data_offset;
	uint64_t size, raw_size;
	int zstd_level;
	uint32_t mmap_bytes;
	ZSTD_CCtx *zstd;
	uint8_t *packed; /* a COMPRESSED record being made */
	struct buf features[PERF_FEAT_BITS];
	uint64_t feature_bits[PERF_FEAT_BITS / 64];
	struct {
		VEC(struct index_entry);
	} auxtrace;
};

static bool is_pipe(const struct perf_writer *w)
{
	return w->out.rewrite == NULL;
}

static enum clew_err append(struct perf_writer *w, const void *data, size_t size)
{
	enum clew_err err;

	if (!size)
		return CLEW_OK;
	err = w->out.sink.write(w->out.sink.ctx, data, size);
	if (err == CLEW_OK)
		w->size += size;
	return err;
}

static enum clew_err append_buf(struct perf_writer *w, struct buf *b)
{
	enum clew_err err = b->is_failed ? CLEW_NO_MEMORY : append(w, b->data, b->nr);

	buf_done(b);
	return err;
}

static void put_section(struct buf *b, uint64_t offset, uint64_t size)
{
	buf_u64(b, offset);
	buf_u64(b, size);
}

/* Spec: perf.data-file-format.txt, "struct perf_header". */
static void put_file_header(struct buf *b, const struct perf_writer *w, uint64_t data_bytes)
{
	buf_u64(b, PERF_MAGIC2);
	buf_u64(b, PERF_FILE_HEADER_SIZE);
	buf_u64(b, w->attr_size + SECTION_BYTES);
	put_section(b, w->attrs_offset, w->attrs_bytes);
	put_section(b, w->data_offset, data_bytes);
	put_section(b, 0, 0); /* event types: not used since 3.x */
	buf_add(b, w->feature_bits, sizeof(w->feature_bits));
}

static enum clew_err open_file(struct perf_writer *w, const struct perf_evlist *l)
{
	uint64_t ids_at = PERF_FILE_HEADER_SIZE, nr_ids = 0;
	struct buf head = {0}, attrs = {0}, ids = {0};

	for (size_t i = 0; i < l->evsels.nr; i++) {
		const struct perf_evsel *e = l->evsels.data[i];

		perf_put_attr(&attrs, &e->attr, w->attr_size);
		put_section(&attrs, ids_at + 8 * nr_ids, 8 * (uint64_t)e->nr_ids);
		buf_add(&ids, e->ids, 8 * (size_t)e->nr_ids);
		nr_ids += e->nr_ids;
	}
	w->attrs_offset = ids_at + ids.nr;
	w->attrs_bytes = attrs.nr;
	w->data_offset = w->attrs_offset + attrs.nr;
	put_file_header(&head, w, 0);
	buf_add(&head, ids.data, ids.nr);
	buf_add(&head, attrs.data, attrs.nr);
	head.is_failed |= attrs.is_failed || ids.is_failed;
	buf_done(&attrs);
	buf_done(&ids);
	return append_buf(w, &head);
}

static enum clew_err put_header_attr(struct perf_writer *w, const struct perf_evsel *e)
{
	uint64_t size = RECORD_HEADER + w->attr_size + 8 * (uint64_t)e->nr_ids;
	struct perf_event_header header = {.type = PERF_RECORD_HEADER_ATTR, .size = (uint16_t)size};
	struct buf b = {0};

	if (size > RECORD_MAX)
		return CLEW_LIMIT;
	buf_add(&b, &header, sizeof(header));
	perf_put_attr(&b, &e->attr, w->attr_size);
	buf_add(&b, e->ids, 8 * (size_t)e->nr_ids);
	return append_buf(w, &b);
}

static enum clew_err open_pipe(struct perf_writer *w, const struct perf_evlist *l)
{
	const uint64_t header[2] = {PERF_MAGIC2, PERF_PIPE_HEADER_SIZE};
	enum clew_err err = append(w, header, sizeof(header));

	for (size_t i = 0; i < l->evsels.nr && err == CLEW_OK; i++)
		err = put_header_attr(w, l->evsels.data[i]);
	return err;
}

static enum clew_err put_header_feature(struct perf_writer *w, enum perf_feature feature,
					const void *data, size_t size)
{
	uint64_t total = align_up(FEATURE_HEADER + size, 8);
	struct perf_event_header header = {.type = PERF_RECORD_HEADER_FEATURE,
					   .size = (uint16_t)total};
	struct buf b = {0};

	if (total > RECORD_MAX)
		return CLEW_LIMIT;
	buf_add(&b, &header, sizeof(header));
	buf_u64(&b, feature);
	buf_add(&b, data, size);
	buf_fill(&b, '\0', total - FEATURE_HEADER - size);
	return append_buf(w, &b);
}

/* As a record also in files: if the writer is killed, the features are missing, and a reader needs
 * this to decompress. */
static enum clew_err announce_compression(struct perf_writer *w)
{
	struct buf b = {0};
	enum clew_err err;

	perf_put_compressed(&b, w->zstd_level, 1, w->mmap_bytes);
	err = b.is_failed ? CLEW_NO_MEMORY
			  : put_header_feature(w, PERF_FEAT_COMPRESSED, b.data, b.nr);
	buf_done(&b);
	return err;
}

static enum clew_err open_zstd(struct perf_writer *w)
{
	w->zstd = ZSTD_createCCtx();
	w->packed = mem_alloc(RECORD_MAX);
	if (!w->zstd || !w->packed)
		return CLEW_NO_MEMORY;
	if (ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, w->zstd_level)))
		return CLEW_INVALID;
	return CLEW_OK;
}

enum clew_err perf_writer_open(struct perf_writer **ret, const struct perf_writer_out *out,
			       const struct perf_evlist *evlist,
			       const struct perf_writer_opts *opts)
{
	struct perf_writer *w = mem_zalloc(sizeof(*w));
	enum clew_err err = CLEW_OK;

	if (!w)
		return CLEW_NO_MEMORY;
	w->out = *out;
	w->attr_size = perf_file_attr_size(evlist);
	w->zstd_level = opts->zstd_level;
	w->mmap_bytes = opts->mmap_bytes;
	if (w->zstd_level)
		err = open_zstd(w);
	if (err == CLEW_OK)
		err = is_pipe(w) ? open_pipe(w, evlist) : open_file(w, evlist);
	if (err == CLEW_OK && w->zstd)
		err = announce_compression(w);
	if (err != CLEW_OK) {
		perf_writer_free(w);
		return err;
	}
	*ret = w;
	return CLEW_OK;
}

/* perf reads these at other places of a pipe's stream, or not at all. */
static bool is_taken_from_pipe(enum perf_feature feature)
{
	return feature != PERF_FEAT_TRACING_DATA && feature != PERF_FEAT_BUILD_ID &&
	       feature != PERF_FEAT_AUXTRACE && feature != PERF_FEAT_STAT &&
	       feature != PERF_FEAT_BRANCH_STACK && feature != PERF_FEAT_DIR_FORMAT &&
	       feature < PERF_FEAT_MAX;
}

static enum clew_err pipe_feature(struct perf_writer *w, enum perf_feature feature,
				  const void *data, size_t size)
{
	enum clew_err err;

	if (!is_taken_from_pipe(feature))
		return CLEW_OK;
	err = put_header_feature(w, feature, data, size);
	return err == CLEW_LIMIT ? CLEW_OK : err; /* a pipe does without */
}

static enum clew_err pipe_tracing_data(struct perf_writer *w, const void *data, size_t size)
{
	/* The size field leaves the padding out of the header's size, not out of its own. */
	uint32_t padded = (uint32_t)align_up(size, 8);
	struct perf_event_header header = {.type = PERF_RECORD_HEADER_TRACING_DATA,
					   .size = RECORD_HEADER + sizeof(padded)};
	struct buf b = {0};

	buf_add(&b, &header, sizeof(header));
	buf_u32(&b, padded);
	buf_add(&b, data, size);
	buf_fill(&b, '\0', padded - size);
	return append_buf(w, &b);
}

enum clew_err perf_writer_feature(struct perf_writer *w, enum perf_feature feature,
				  const void *data, size_t size)
{
	struct buf *b = &w->features[feature];

	if (is_pipe(w))
		return feature == PERF_FEAT_TRACING_DATA ? pipe_tracing_data(w, data, size)
							 : pipe_feature(w, feature, data, size);
	buf_clear(b);
	buf_add(b, data, size);
	if (b->is_failed)
		return CLEW_NO_MEMORY;
	w->feature_bits[feature / 64] |= 1ull << feature % 64;
	return CLEW_OK;
}

/* A frame's last record ends on a multiple of 8 by a skippable frame, which decompressors pass
 * over: readers that take records by size need not handle an odd one. */
static size_t pad_frame(uint8_t *packed, size_t size)
{
	uint32_t magic = ZSTD_SKIPPABLE, pad = (uint32_t)(-size & 7);

	if (!pad)
		return size;
	memcpy(packed + size, &magic, 4);
	memcpy(packed + size + 4, &pad, 4);
	memset(packed + size + SKIPPABLE_HEADER, 0, pad);
	return size + SKIPPABLE_HEADER + pad;
}

static enum clew_err write_frame(struct perf_writer *w, const void *data, size_t size)
{
	ZSTD_inBuffer in = {data, size, 0};
	size_t left;

	do {
		ZSTD_outBuffer out = {w->packed, RECORD_MAX - PAD_ROOM, RECORD_HEADER};
		struct perf_event_header header = {.type = PERF_RECORD_COMPRESSED};
		enum clew_err err;

		left = ZSTD_compressStream2(w->zstd, &out, &in, ZSTD_e_end);
		if (ZSTD_isError(left))
			return CLEW_NO_MEMORY; /* parameters were accepted: nothing else is left */
		if (!left)
			out.pos = pad_frame(w->packed, out.pos);
		header.size = (uint16_t)out.pos;
		memcpy(w->packed, &header, sizeof(header));
		err = append(w, w->packed, out.pos);
		if (err != CLEW_OK)
			return err;
	} while (left);
	return CLEW_OK;
}

enum clew_err perf_writer_records(struct perf_writer *w, const void *data, size_t size)
{
	const uint8_t *p = data;
	size_t limit = w->mmap_bytes < FRAME_BYTES ? w->mmap_bytes : FRAME_BYTES;
	enum clew_err err = CLEW_OK;

	if (!w->zstd)
		return perf_writer_plain(w, data, size);
	w->raw_size += size;
	while (size && err == CLEW_OK) {
		size_t n = size < limit ? size : limit;

		err = write_frame(w, p, n);
		p += n;
		size -= n;
	}
	return err;
}

enum clew_err perf_writer_plain(struct perf_writer *w, const void *data, size_t size)
{
	w->raw_size += size;
	return append(w, data, size);
}

enum clew_err perf_writer_auxtrace(struct perf_writer *w, const void *record, size_t record_size,
				   const struct bytes *parts, size_t nr_parts)
{
	static const uint8_t zeros[8];
	struct index_entry entry = {w->size, record_size};
	uint64_t payload = 0;
	enum clew_err err;

	if (!is_pipe(w) && !vec_push(&w->auxtrace, entry))
		return CLEW_NO_MEMORY;
	err = perf_writer_plain(w, record, record_size);
	for (size_t i = 0; i < nr_parts && err == CLEW_OK; i++) {
		payload += bytes_left(&parts[i]);
		err = perf_writer_plain(w, parts[i].pos, bytes_left(&parts[i]));
	}
	if (err == CLEW_OK)
		err = perf_writer_plain(w, zeros, -payload & 7);
	return err;
}

enum clew_err perf_writer_commit(struct perf_writer *w)
{
	uint64_t data_bytes = w->size - w->data_offset;

	if (is_pipe(w))
		return CLEW_OK;
	return w->out.rewrite(w->out.sink.ctx, DATA_SIZE_AT, &data_bytes, sizeof(data_bytes));
}

uint64_t perf_writer_size(const struct perf_writer *w)
{
	return w->size;
}

static enum clew_err add_own_features(struct perf_writer *w, uint64_t data_bytes)
{
	struct buf b = {0};
	enum clew_err err = CLEW_OK;

	if (w->zstd) {
		uint64_t ratio = data_bytes ? w->raw_size / data_bytes : 1;

		perf_put_compressed(&b, w->zstd_level, (uint32_t)(ratio ? ratio : 1),
				    w->mmap_bytes);
		err = perf_writer_feature(w, PERF_FEAT_COMPRESSED, b.data, b.nr);
		buf_clear(&b);
	}
	if (w->auxtrace.nr && err == CLEW_OK) {
		buf_u64(&b, w->auxtrace.nr);
		buf_add(&b, w->auxtrace.data, w->auxtrace.nr * sizeof(*w->auxtrace.data));
		err = perf_writer_feature(w, PERF_FEAT_AUXTRACE, b.data, b.nr);
	}
	if (b.is_failed)
		err = CLEW_NO_MEMORY;
	buf_done(&b);
	return err;
}

static bool has_feature(const struct perf_writer *w, unsigned int feature)
{
	return w->feature_bits[feature / 64] >> feature % 64 & 1;
}

/* After the data: one section for each bit, in the order of the bits, then the contents. */
static enum clew_err write_features(struct perf_writer *w)
{
	struct buf table = {0};
	uint64_t at = w->size;
	enum clew_err err;

	for (unsigned int i = 0; i < PERF_FEAT_BITS; i++)
		at += has_feature(w, i) ? SECTION_BYTES : 0;
	for (unsigned int i = 0; i < PERF_FEAT_BITS; i++) {
		if (!has_feature(w, i))
			continue;
		put_section(&table, at, w->features[i].nr);
		at += w->features[i].nr;
	}
	err = append_buf(w, &table);
	for (unsigned int i = 0; i < PERF_FEAT_BITS && err == CLEW_OK; i++)
		if (has_feature(w, i))
			err = append(w, w->features[i].data, w->features[i].nr);
	return err;
}

static enum clew_err rewrite_header(struct perf_writer *w, uint64_t data_bytes)
{
	struct buf b = {0};
	enum clew_err err;

	put_file_header(&b, w, data_bytes);
	err = b.is_failed ? CLEW_NO_MEMORY : w->out.rewrite(w->out.sink.ctx, 0, b.data, b.nr);
	buf_done(&b);
	return err;
}

enum clew_err perf_writer_finish(struct perf_writer *w)
{
	uint64_t data_bytes = w->size - w->data_offset;
	enum clew_err err;

	if (is_pipe(w))
		return CLEW_OK;
	err = add_own_features(w, data_bytes);
	if (err == CLEW_OK)
		err = write_features(w);
	return err == CLEW_OK ? rewrite_header(w, data_bytes) : err;
}

enum clew_err perf_writer_cut(struct perf_writer *w, uint64_t size, bool has_features)
{
	uint64_t data_bytes = size - w->data_offset;

	if (is_pipe(w) || size < w->data_offset)
		return CLEW_INVALID;
	w->size = size;
	while (w->auxtrace.nr && w->auxtrace.data[w->auxtrace.nr - 1].file_offset >= size)
		w->auxtrace.nr--;
	if (has_features)
		return perf_writer_finish(w);
	memset(w->feature_bits, 0, sizeof(w->feature_bits));
	return rewrite_header(w, data_bytes);
}

void perf_writer_free(struct perf_writer *w)
{
	if (!w)
		return;
	ZSTD_freeCCtx(w->zstd);
	mem_free(w->packed);
	for (unsigned int i = 0; i < PERF_FEAT_BITS; i++)
		buf_done(&w->features[i]);
	vec_done(&w->auxtrace);
	mem_free(w);
}
