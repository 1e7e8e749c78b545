/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_WRITER_H
#define PERFDATA_PERF_WRITER_H

#include "base/buf.h"
#include "base/sink.h"
#include "perfdata/perf_evlist.h"

/**
 * Writes perf.data, in the host's byte order, so that perf of any version since 4.x reads it.
 *
 * File mode: open writes a header with a data size of 0; commit updates the size to what has been
 * written so far, so that a killed recording stays readable (perf takes a size of 0 for an empty
 * file); finish appends the features and corrects the sizes through rewrite(). Pipe mode (rewrite
 * NULL): attrs and features are records, and nothing is rewritten.
 */
struct perf_writer;

struct perf_writer_out {
	struct clew_sink sink; /* appends */
	/* Overwrite @p size bytes at the absolute @p offset; the append position stays. NULL: pipe
	 * mode. */
	enum clew_err (*rewrite)(void *ctx, uint64_t offset, const void *data, size_t size);
};

struct perf_writer_opts {
	int zstd_level; /* 0: not compressed; 1-22: records go out in COMPRESSED records */
	uint32_t
		mmap_bytes; /* data ring size, for the COMPRESSED feature: a reader's buffer size */
};

/** Writes the header and the attrs with their ids. @p evlist borrowed for the call; names must be
 * set. */
enum clew_err perf_writer_open(struct perf_writer **ret, const struct perf_writer_out *out,
			       const struct perf_evlist *evlist,
			       const struct perf_writer_opts *opts);

/**
 * Give a feature's section. File mode: kept (copied) until finish. Pipe mode: written at once as
 * HEADER_FEATURE (features perf does not take from a pipe are omitted). perf_features_write.h
 * makes the contents.
 */
enum clew_err perf_writer_feature(struct perf_writer *w, enum perf_feature feature,
				  const void *data, size_t size);

/** Append whole records, 8-byte aligned sizes, compressed when asked for. */
enum clew_err perf_writer_records(struct perf_writer *w, const void *data, size_t size);

/** Append whole records that stay uncompressed (FINISHED_ROUND, AUXTRACE with its payload,
 * HEADER_*). */
enum clew_err perf_writer_plain(struct perf_writer *w, const void *data, size_t size);

/** AUXTRACE record with its trace bytes, padded to 8; enters the AUXTRACE feature's index in file
 * mode. */
enum clew_err perf_writer_auxtrace(struct perf_writer *w, const void *record, size_t record_size,
				   const struct bytes *parts, size_t nr_parts);

/** File mode: the header now counts all records written so far. One small rewrite(). Pipe mode:
 * nothing. The caller has seen to it that the sink's bytes are in the file. */
enum clew_err perf_writer_commit(struct perf_writer *w);

/** Bytes given to the sink so far. */
uint64_t perf_writer_size(const struct perf_writer *w);

/** File mode: features and final header. The writer can then only be freed. */
enum clew_err perf_writer_finish(struct perf_writer *w);

/**
 * File mode, after the sink failed (a full disk): end the file at @p size, a place between records
 * that reached it. The caller has cut the file there already. @p has_features false: the header
 * alone, which needs no space.
 */
enum clew_err perf_writer_cut(struct perf_writer *w, uint64_t size, bool has_features);

void perf_writer_free(struct perf_writer *w);

#endif
