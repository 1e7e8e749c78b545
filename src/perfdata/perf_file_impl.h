/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_FILE_IMPL_H
#define PERFDATA_PERF_FILE_IMPL_H

#include <zstd.h>

#include "perfdata/perf_file.h"

/* Inside of the reader: perf_file.c reads records, perf_header.c the header, perf_unpack.c
 * compressed records, perf_map_bit.c judges what misc says of a mapping. */

/** --- perf_block.c --- */
struct perf_block {
	uint32_t refs;
	size_t nr, cap;        /* bytes filled, bytes there */
	struct budget *budget; /* holds cap bytes of it; outlives the block */
	uint8_t data[];
};

struct perf_block *perf_block_new(struct budget *budget, size_t cap);

/* A window that slides over the input: the whole mapped file, or the part of a pipe that is in
 * memory. */
struct perf_window {
	const uint8_t *pos, *end;
	uint64_t offset;          /* of pos in the input */
	struct perf_block *block; /* owns the bytes; NULL: the caller's */
	bool is_last;             /* nothing comes after end */
};

struct perf_file {
	struct perf_input in;
	bool is_pipe, swap, is_unfinished, is_over, is_version1;
	struct perf_file_section data;
	uint64_t limit; /* offset where the records end */
	struct perf_window main;

	ZSTD_DStream *zstd;
	struct perf_window unpacked; /* decompressed records not yet delivered */

	struct perf_evlist own, *evlist; /* evlist: own, or that of the file's first reader */
	struct perf_features features;
	struct perf_who_facts who;
	struct perf_file_counts counts;
	struct arena memory; /* features that came through a pipe */
};

/** Make @p n bytes from main.pos on readable. @return CLEW_END: no byte is left; CLEW_TRUNCATED:
 * fewer than n are. */
enum clew_err perf_file_need(struct perf_file *f, uint64_t n, struct clew_diag *diag);

/** Version 1: find the byte order, by numbers that are small in one. @return false: in neither. */
bool perf_header_find_order(struct perf_file *f);

/** File mode: magic, attrs, features. */
enum clew_err perf_header_read(struct perf_file *f, struct clew_diag *diag);

/** File mode: to the first record. */
void perf_header_seek_first(struct perf_file *f);

/** A pipe's header record, taken into evlist and features. Records that are malformed are omitted.
 */
enum clew_err perf_header_take_record(struct perf_file *f, const struct perf_record *r);

/** Names and groups out of EVENT_DESC and GROUP_DESC. */
void perf_header_name_events(struct perf_file *f);

/** misc of the MMAP2 record @p r: without MISC_MMAP_BUILD_ID where it holds no build id. O(1). */
uint16_t perf_file_true_misc(const struct perf_file *f, const struct perf_record *r);

/** Add the content of a COMPRESSED or COMPRESSED2 record to f->unpacked. */
enum clew_err perf_unpack(struct perf_file *f, const struct perf_record *r, struct clew_diag *diag);

#endif
