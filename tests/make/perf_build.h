/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_PERF_BUILD_H
#define TESTS_MAKE_PERF_BUILD_H

#include <zstd.h>

#include "base/vec.h"
#include "make/perf_encode.h"
#include "perfdata/perf_features.h"

/*
 * Builds perf.data in memory, for tests:
 *
 *	struct perf_build b = {.opts = {.big = true}};
 *	struct perf_attr attr = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME};
 *	perf_build_event(&b, &attr, "cycles", (uint64_t[]){7}, 1);
 *	perf_build_feature_string(&b, PERF_FEAT_HOSTNAME, "box");
 *	perf_build_view(&b, PERF_RECORD_COMM, 0, &(union perf_view){.comm = {1, 1, "sh"}}, NULL);
 *	perf_build_sample(&b, 0, &(struct perf_sample){.ip = 0x1000, .time = 5});
 *	struct bytes file = perf_build_finish(&b);
 *	...
 *	perf_build_done(&b);
 *
 * Add all events before the first record. In pipe mode events and features become records at once,
 * so add them first. Every record is also kept in the log, as a reader has to deliver it.
 */
struct perf_build_opts {
	bool pipe;
	bool big;              /* big-endian */
	bool is_unfinished;    /* data size 0 in the header and no features, as after kill -9 */
	uint32_t attr_bytes;   /* of each attr in the file; 0: 144 */
	bool is_version1;      /* "PERFFILE" */
	bool has_32bit_words;  /* feature bits as of a 32-bit machine */
	bool simpleperf_index; /* AUXTRACE feature without the count */
};

struct perf_build_event {
	struct perf_attr attr;
	const char *name; /* borrowed until finish */
	uint64_t *ids;
	uint32_t nr_ids;
};

/** A record as it has to come out of the reader. */
struct perf_build_record {
	size_t at, size;      /* in perf_build.plain, header included */
	size_t payload_bytes; /* of the trace bytes after it in plain */
	uint64_t offset;      /* from the start of the records' section (file) or the input (pipe);
				 of no meaning when compressed */
	bool is_compressed;
};

struct perf_build {
	struct perf_build_opts opts;
	struct {
		VEC(struct perf_build_event);
	} events;
	struct perf_put data;               /* the records' section; in a pipe all after 16 bytes */
	struct buf features[PERF_FEAT_MAX]; /* contents */
	bool has_feature[PERF_FEAT_MAX];
	struct perf_put auxtrace_index;
	uint64_t nr_auxtrace;
	struct buf plain;
	struct {
		VEC(struct perf_build_record);
	} log;
	uint32_t compress_type; /* COMPRESSED or COMPRESSED2 while records are collected, else 0 */
	ZSTD_CStream *zstd;
	struct buf pending;
	uint64_t data_offset; /* finished: of the records' section */
	struct perf_put out;
};

/** @p attr->size 0: opts.attr_bytes. @return the event's index. */
uint32_t perf_build_event(struct perf_build *b, const struct perf_attr *attr, const char *name,
			  const uint64_t *ids, uint32_t nr_ids);

/** A feature's content; with perf_put helpers: build it in a perf_put of the same byte order. */
void perf_build_feature(struct perf_build *b, enum perf_feature feature, struct bytes content);
void perf_build_feature_string(struct perf_build *b, enum perf_feature feature, const char *text);
void perf_build_feature_u64(struct perf_build *b, enum perf_feature feature, uint64_t v);

/** EVENT_DESC of the events added so far. */
void perf_build_event_desc(struct perf_build *b);

/** A record by its view; the trailer (if @p id) after event 0's attr. */
void perf_build_view(struct perf_build *b, uint32_t type, uint16_t misc, const union perf_view *v,
		     const struct perf_sample_id *id);
void perf_build_sample(struct perf_build *b, uint32_t event, const struct perf_sample *s);
void perf_build_raw(struct perf_build *b, uint32_t type, uint16_t misc, struct bytes body);
void perf_build_round(struct perf_build *b); /* FINISHED_ROUND */

/** Whole records already encoded, or bytes that are meant to be broken (then not in the log). */
void perf_build_bytes(struct perf_build *b, struct bytes raw, bool is_record);

/** AUXTRACE with its trace, v->size set to match; enters the index. */
void perf_build_auxtrace(struct perf_build *b, const struct perf_auxtrace *v, struct bytes trace);

/** HEADER_TRACING_DATA (pipes) or the TRACING_DATA feature (files). */
void perf_build_tracing_data(struct perf_build *b, struct bytes data);

/**
 * Between these calls records are collected, then packed into records of @p type with at most
 * @p chunk bytes of zstd stream each: with a small chunk records straddle blocks.
 */
void perf_build_compress(struct perf_build *b, uint32_t type);
void perf_build_compress_end(struct perf_build *b, size_t chunk);

/** The file. Lives until perf_build_done(). */
struct bytes perf_build_finish(struct perf_build *b);
void perf_build_done(struct perf_build *b);

#endif
