/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef EXPORT_EXPORT_SPOOL_H
#define EXPORT_EXPORT_SPOOL_H

#include "base/buf.h"
#include "base/vec.h"

/*
 * Bytes of many series, which come mixed and are read one series after the other in the end: in an
 * unnamed file, with a chunk of each series in memory. Zeroed struct = empty.
 */
struct export_chunk {
	uint64_t offset;
	uint32_t size;
};

struct export_series {
	struct buf tail; /* not yet in the file */
	struct {
		VEC(struct export_chunk);
	} chunks;
};

struct export_spool {
	struct {
		VEC(struct export_series);
	} series;
	int fd;
	bool is_open;
	int os_errno; /* -errno of a CLEW_OS */
	uint64_t file_bytes;
	size_t tail_bytes; /* of all series */
};

/** Append to series @p n; those below it are made where they are missing. CLEW_NO_MEMORY; CLEW_OS:
 * the file could not be written. */
enum clew_err export_spool_add(struct export_spool *s, uint32_t n, const void *data, size_t size);

/** Where a series is read. {.series = n}: from its start. */
struct export_spool_reader {
	uint32_t series;
	size_t next; /* of its chunks, then its tail */
	struct buf room;
};

/** The next piece: whole items, if all were added so; no bytes: the end. Borrowed until the next
 * call. CLEW_NO_MEMORY, CLEW_OS. */
enum clew_err export_spool_next(struct export_spool *s, struct export_spool_reader *r,
				const void **ret, size_t *ret_size);
void export_spool_reader_done(struct export_spool_reader *r);

/** Each piece of series @p n, in order. */
enum clew_err export_spool_read(struct export_spool *s, uint32_t n,
				enum clew_err (*take)(void *ctx, const void *data, size_t size),
				void *ctx);
/** Of a CLEW_OS, in the system's words; NULL: there was none. */
const char *export_spool_why(const struct export_spool *s);
void export_spool_done(struct export_spool *s);

#endif
