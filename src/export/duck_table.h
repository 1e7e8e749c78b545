/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef EXPORT_DUCK_TABLE_H
#define EXPORT_DUCK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/err.h>

#include "base/buf.h"

/*
 * One table, written as Parquet by libduckdb, which is loaded when needed. It asks for the rows
 * when it has room for them, and writes to a file without a name, so that memory does not grow with
 * rows, however wide, and nothing remains, whatever ends the process.
 */
#define DUCK_LIBRARY "libduckdb.so"

enum duck_type { DUCK_U32, DUCK_U64, DUCK_TEXT, DUCK_TEXTS };

struct duck_column {
	const char *name; /* a word */
	enum duck_type type;
};

/** Where a row's values go to. */
struct duck_rows;

enum {
	DUCK_MAX_COLUMNS = 16,
	DUCK_MAX_ROW_BYTES = 8 << 20, /* of the texts in one row */
};

struct duck_source {
	const struct duck_column *columns;
	size_t nr_columns;
	/** The values of the next row; *ret_has: there is one. Its error ends the table. */
	enum clew_err (*row)(void *ctx, struct duck_rows *r, bool *ret_has);
	void *ctx;
};

/* A column without a value in a row is NULL there. */

void duck_put_u32(struct duck_rows *r, size_t column, uint32_t v);
void duck_put_u64(struct duck_rows *r, size_t column, uint64_t v);
/** UTF-8. Where it has no room, it stays NULL. */
void duck_put_text(struct duck_rows *r, size_t column, const char *s, size_t size);
/** Of a column of texts, one after the other. Where it has no room, it is skipped. */
void duck_put_item(struct duck_rows *r, size_t column, const char *s, size_t size);
/** Has the row room for a text of this size? */
bool duck_has_room(const struct duck_rows *r, size_t size);

/** Is there such a library, with the functions of version 1.0? */
bool duck_is_there(void);

/**
 * The file's bytes, in pieces. CLEW_UNSUPPORTED: no such library; CLEW_OS: it fails, mostly as the
 * disk is full; @p why gets the first cause that is known, as the system or the library words it;
 * the error of @p source or @p take.
 */
enum clew_err duck_table_write(const struct duck_source *source,
			       enum clew_err (*take)(void *ctx, const void *data, size_t size),
			       void *ctx, struct buf *why);

#endif
