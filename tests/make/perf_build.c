/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/perf_build.h"

#include <stdlib.h>

/* Where encoded records go: the file, or what is to be compressed. */
static struct buf *target(struct perf_build *b)
{
	return b->compress_type ? &b->pending : &b->data.buf;
}

static uint64_t position(const struct perf_build *b)
{
	return b->data.buf.nr + (b->opts.pipe ? (uint64_t)PERF_PIPE_HEADER_SIZE : 0);
}

static void add(struct perf_build *b, struct bytes record, struct bytes payload)
{
	struct perf_build_record r = {
		.at = b->plain.nr,
		.size = bytes_left(&record),
		.payload_bytes = bytes_left(&payload),
		.offset = position(b),
		.is_compressed = b->compress_type != 0,
	};

	buf_add(&b->plain, record.pos, bytes_left(&record));
	buf_add(&b->plain, payload.pos, bytes_left(&payload));
	buf_add(target(b), record.pos, bytes_left(&record));
	buf_add(target(b), payload.pos, bytes_left(&payload));
	if (!vec_push(&b->log, r))
		abort();
}

static struct perf_put put_of(const struct perf_build *b)
{
	return (struct perf_put){.big = b->opts.big};
}

static void add_put(struct perf_build *b, struct perf_put *p)
{
	add(b, put_result(p), (struct bytes){0});
	buf_done(&p->buf);
}

static uint32_t attr_bytes(const struct perf_build *b)
{
	return b->opts.attr_bytes ? b->opts.attr_bytes : PERF_ATTR_SIZE_VER9;
}

/* HEADER_ATTR: the attr in its own size, then the ids. */
static void add_attr_record(struct perf_build *b, const struct perf_build_event *e)
{
	struct perf_put body = put_of(b), p = put_of(b);

	perf_encode_attr(&body, &e->attr, e->attr.size);
	for (uint32_t i = 0; i < e->nr_ids; i++)
		put_u64(&body, e->ids[i]);
	perf_encode_raw(&p, PERF_RECORD_HEADER_ATTR, 0, put_result(&body));
	buf_done(&body.buf);
	add_put(b, &p);
}

uint32_t perf_build_event(struct perf_build *b, const struct perf_attr *attr, const char *name,
			  const uint64_t *ids, uint32_t nr_ids)
{
	struct perf_build_event e = {.attr = *attr, .name = name, .nr_ids = nr_ids};

	if (!e.attr.size)
		e.attr.size = attr_bytes(b);
	e.ids = mem_calloc(nr_ids, sizeof(*ids));
	if (!e.ids || !vec_push(&b->events, e))
		abort();
	if (nr_ids)
		memcpy(e.ids, ids, nr_ids * sizeof(*ids));
	if (b->opts.pipe)
		add_attr_record(b, &e);
	return (uint32_t)b->events.nr - 1;
}

void perf_build_feature(struct perf_build *b, enum perf_feature feature, struct bytes content)
{
	union perf_view v = {
		.feature = {feature, content}
        };

	b->has_feature[feature] = true;
	buf_clear(&b->features[feature]);
	buf_add(&b->features[feature], content.pos, bytes_left(&content));
	if (b->opts.pipe)
		perf_build_view(b, PERF_RECORD_HEADER_FEATURE, 0, &v, NULL);
}

void perf_build_feature_string(struct perf_build *b, enum perf_feature feature, const char *text)
{
	struct perf_put p = put_of(b);

	put_name(&p, text);
	perf_build_feature(b, feature, put_result(&p));
	buf_done(&p.buf);
}

void perf_build_feature_u64(struct perf_build *b, enum perf_feature feature, uint64_t v)
{
	struct perf_put p = put_of(b);

	put_u64(&p, v);
	perf_build_feature(b, feature, put_result(&p));
	buf_done(&p.buf);
}

void perf_build_event_desc(struct perf_build *b)
{
	struct perf_put p = put_of(b);

	put_u32(&p, (uint32_t)b->events.nr);
	put_u32(&p, attr_bytes(b));
	vec_for_each (&b->events, e) {
		perf_encode_attr(&p, &e->attr, attr_bytes(b));
		put_u32(&p, e->nr_ids);
		put_name(&p, e->name);
		for (uint32_t i = 0; i < e->nr_ids; i++)
			put_u64(&p, e->ids[i]);
	}
	perf_build_feature(b, PERF_FEAT_EVENT_DESC, put_result(&p));
	buf_done(&p.buf);
}

void perf_build_view(struct perf_build *b, uint32_t type, uint16_t misc, const union perf_view *v,
		     const struct perf_sample_id *id)
{
	struct perf_put p = put_of(b);

	perf_encode_record(&p, type, misc, v, b->events.nr ? &b->events.data[0].attr : NULL, id);
	add_put(b, &p);
}

void perf_build_sample(struct perf_build *b, uint32_t event, const struct perf_sample *s)
{
	struct perf_put p = put_of(b);

	perf_encode_sample(&p, &b->events.data[event].attr, s);
	add_put(b, &p);
}

void perf_build_raw(struct perf_build *b, uint32_t type, uint16_t misc, struct bytes body)
{
	struct perf_put p = put_of(b);

	perf_encode_raw(&p, type, misc, body);
	add_put(b, &p);
}

void perf_build_round(struct perf_build *b)
{
	perf_build_raw(b, PERF_RECORD_FINISHED_ROUND, 0, (struct bytes){0});
}

void perf_build_bytes(struct perf_build *b, struct bytes raw, bool is_record)
{
	if (is_record)
		add(b, raw, (struct bytes){0});
	else
		buf_add(target(b), raw.pos, bytes_left(&raw));
}

void perf_build_auxtrace(struct perf_build *b, const struct perf_auxtrace *v, struct bytes trace)
{
	struct perf_put p = put_of(b), padded = put_of(b);
	union perf_view view = {.auxtrace = *v};

	put_bytes(&padded, trace);
	put_align(&padded, 0, 8);
	view.auxtrace.size = padded.buf.nr;
	perf_encode_record(&p, PERF_RECORD_AUXTRACE, 0, &view, NULL, NULL);
	b->nr_auxtrace++;
	b->auxtrace_index.big = b->opts.big;
	put_u64(&b->auxtrace_index, position(b)); /* made absolute by finish */
	put_u64(&b->auxtrace_index, p.buf.nr + padded.buf.nr);
	add(b, put_result(&p), put_result(&padded));
	buf_done(&p.buf);
	buf_done(&padded.buf);
}

void perf_build_tracing_data(struct perf_build *b, struct bytes data)
{
	struct perf_put p = put_of(b), body = put_of(b), padded = put_of(b);

	if (!b->opts.pipe) {
		perf_build_feature(b, PERF_FEAT_TRACING_DATA, data);
		return;
	}
	put_bytes(&padded, data);
	put_align(&padded, 0, 8);
	put_u32(&body, (uint32_t)padded.buf.nr);
	perf_encode_raw(&p, PERF_RECORD_HEADER_TRACING_DATA, 0, put_result(&body));
	add(b, put_result(&p), put_result(&padded));
	buf_done(&p.buf);
	buf_done(&body.buf);
	buf_done(&padded.buf);
}

void perf_build_compress(struct perf_build *b, uint32_t type)
{
	b->compress_type = type;
	if (!b->zstd) {
		b->zstd = ZSTD_createCStream();
		ZSTD_initCStream(b->zstd, 1);
	}
}

static void add_compressed(struct perf_build *b, uint32_t type, struct bytes packed)
{
	struct perf_put body = put_of(b);

	if (type == PERF_RECORD_COMPRESSED2)
		put_u64(&body, bytes_left(&packed));
	put_bytes(&body, packed);
	if (type == PERF_RECORD_COMPRESSED2)
		put_align(&body, 0, 8);
	b->data.big = b->opts.big;
	perf_encode_raw(&b->data, type, 0, put_result(&body));
	buf_done(&body.buf);
}

/* One zstd frame runs through all compressed records of a file; each batch is flushed. */
void perf_build_compress_end(struct perf_build *b, size_t chunk)
{
	ZSTD_inBuffer in = {b->pending.data, b->pending.nr, 0};
	size_t cap = ZSTD_compressBound(b->pending.nr) + 1024;
	char *packed = mem_alloc(cap);
	ZSTD_outBuffer out = {packed, cap, 0};
	uint32_t type = b->compress_type;

	if (!packed)
		abort();
	while (in.pos < in.size)
		ZSTD_compressStream(b->zstd, &out, &in);
	ZSTD_flushStream(b->zstd, &out);
	b->compress_type = 0;
	for (size_t at = 0; at < out.pos; at += chunk)
		add_compressed(b, type,
			       bytes_of(packed + at, out.pos - at < chunk ? out.pos - at : chunk));
	buf_clear(&b->pending);
	mem_free(packed);
}

static void put_section(struct perf_put *p, uint64_t offset, uint64_t size)
{
	put_u64(p, offset);
	put_u64(p, size);
}

/* The index was collected with offsets from the start of the section. */
static void finish_auxtrace_index(struct perf_build *b)
{
	struct perf_put p = put_of(b);
	bool swap = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != b->opts.big;

	if (!b->nr_auxtrace || b->has_feature[PERF_FEAT_AUXTRACE])
		return;
	if (!b->opts.simpleperf_index)
		put_u64(&p, b->nr_auxtrace);
	for (uint64_t i = 0; i < b->nr_auxtrace; i++) {
		const char *e = b->auxtrace_index.buf.data + 16 * i;

		put_section(&p, load_u64(e, swap) + b->data_offset, load_u64(e + 8, swap));
	}
	perf_build_feature(b, PERF_FEAT_AUXTRACE, put_result(&p));
	buf_done(&p.buf);
}

/* Version 1 does not say its byte order. */
static void put_magic(struct perf_build *b)
{
	if (b->opts.is_version1)
		put_bytes(&b->out, bytes_of("PERFFILE", 8));
	else
		put_u64(&b->out, PERF_MAGIC2);
}

static void put_file_header(struct perf_build *b, uint64_t ids_bytes)
{
	uint64_t entry = attr_bytes(b) + sizeof(struct perf_file_section);
	uint64_t bits[PERF_FEAT_BITS / 64] = {0};
	struct perf_put *p = &b->out;

	put_magic(b);
	put_u64(p, PERF_FILE_HEADER_SIZE);
	put_u64(p, entry);
	put_section(p, PERF_FILE_HEADER_SIZE + ids_bytes, entry * b->events.nr);
	put_section(p, b->data_offset, b->opts.is_unfinished ? 0 : b->data.buf.nr);
	put_section(p, 0, 0);
	for (unsigned int i = 0; i < PERF_FEAT_MAX; i++)
		bits[i / 64] |= (uint64_t)b->has_feature[i] << i % 64;
	for (unsigned int i = 0; i < PERF_FEAT_BITS / 64; i++) {
		uint64_t v = b->opts.is_unfinished ? 0 : bits[i];

		put_u64(p, b->opts.has_32bit_words && b->opts.big ? v << 32 | v >> 32 : v);
	}
}

static void put_attrs(struct perf_build *b)
{
	uint64_t ids_at = PERF_FILE_HEADER_SIZE;

	vec_for_each (&b->events, e) {
		for (uint32_t i = 0; i < e->nr_ids; i++)
			put_u64(&b->out, e->ids[i]);
	}
	vec_for_each (&b->events, e) {
		perf_encode_attr(&b->out, &e->attr, attr_bytes(b));
		put_section(&b->out, ids_at, 8 * (uint64_t)e->nr_ids);
		ids_at += 8 * (uint64_t)e->nr_ids;
	}
}

static void put_features(struct perf_build *b)
{
	uint64_t nr = 0, at;

	for (unsigned int i = 0; i < PERF_FEAT_MAX; i++)
		nr += b->has_feature[i];
	at = b->out.buf.nr + nr * sizeof(struct perf_file_section);
	for (unsigned int i = 0; i < PERF_FEAT_MAX; i++) {
		if (!b->has_feature[i])
			continue;
		put_section(&b->out, at, b->features[i].nr);
		at += b->features[i].nr;
	}
	for (unsigned int i = 0; i < PERF_FEAT_MAX; i++) {
		if (b->has_feature[i])
			buf_add(&b->out.buf, b->features[i].data, b->features[i].nr);
	}
}

struct bytes perf_build_finish(struct perf_build *b)
{
	uint64_t ids_bytes = 0;

	b->out.big = b->opts.big;
	if (b->opts.pipe) {
		put_magic(b);
		put_u64(&b->out, PERF_PIPE_HEADER_SIZE);
		put_bytes(&b->out, put_result(&b->data));
		return put_result(&b->out);
	}
	vec_for_each (&b->events, e)
		ids_bytes += 8 * (uint64_t)e->nr_ids;
	b->data_offset = PERF_FILE_HEADER_SIZE + ids_bytes +
			 b->events.nr * (attr_bytes(b) + sizeof(struct perf_file_section));
	finish_auxtrace_index(b);
	put_file_header(b, ids_bytes);
	put_attrs(b);
	put_bytes(&b->out, put_result(&b->data));
	if (!b->opts.is_unfinished)
		put_features(b);
	return put_result(&b->out);
}

void perf_build_done(struct perf_build *b)
{
	vec_for_each (&b->events, e)
		mem_free(e->ids);
	vec_done(&b->events);
	vec_done(&b->log);
	for (unsigned int i = 0; i < PERF_FEAT_MAX; i++)
		buf_done(&b->features[i]);
	buf_done(&b->data.buf);
	buf_done(&b->auxtrace_index.buf);
	buf_done(&b->plain);
	buf_done(&b->pending);
	buf_done(&b->out.buf);
	ZSTD_freeCStream(b->zstd);
	*b = (struct perf_build){0};
}
