/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef EXPORT_DUCK_TABLE_H
#define EXPORT_DUCK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/err.h>

#include "base/buf.h"

/*
 * One table, written as Parquet by libduckdb, which is loaded when needed. Rows go to a database of
 * our own in a temporary directory, so that memory does not grow with them.
 *
 *	duck_table_new(&t, columns, nr, &why);
 *	duck_put_u64(t, 0, 7); duck_put_text(t, 1, "x", 1); duck_end_row(t); ...
 *	duck_table_write(t, take, ctx);
 *	duck_table_free(t);
 *
 * A column without a value in a row is NULL there. Errors stick: check duck_end_row().
 */
#define DUCK_LIBRARY "libduckdb.so"

enum duck_type { DUCK_U32, DUCK_U64, DUCK_TEXT, DUCK_TEXTS };

struct duck_column {
	const char *name; /* a word */
	enum duck_type type;
};

struct duck_table;
enum { DUCK_MAX_COLUMNS = 16 };

/** @p columns and @p why live as long as the table. CLEW_UNSUPPORTED: no such library, or one
 * without the functions of version 1.0; CLEW_OS: no temporary directory, or the library fails. With
 * each CLEW_OS, @p why gets the first cause that is known, as the system or the library words it.
 */
enum clew_err duck_table_new(struct duck_table **ret, const struct duck_column *columns, size_t nr,
			     struct buf *why);
void duck_table_free(struct duck_table *t);

void duck_put_u32(struct duck_table *t, size_t column, uint32_t v);
void duck_put_u64(struct duck_table *t, size_t column, uint64_t v);
/** UTF-8. */
void duck_put_text(struct duck_table *t, size_t column, const char *s, size_t size);
/** Of a column of texts, one after the other. */
void duck_put_item(struct duck_table *t, size_t column, const char *s, size_t size);
/** CLEW_OS: the library fails: mostly, the disk is full. */
enum clew_err duck_end_row(struct duck_table *t);

/** The file's bytes, in pieces. CLEW_OS as above; the error of @p take. */
enum clew_err duck_table_write(struct duck_table *t,
			       enum clew_err (*take)(void *ctx, const void *data, size_t size),
			       void *ctx);

#endif
