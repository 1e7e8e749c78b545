/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "export/duck_table.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "os/file.h"
#include "os/library.h"
#include "os/temp_dir.h"

/* As the library's documentation has them: "C API", "Overview", "Data Chunks", "Appender" (DuckDB
 * 1.0 and later). Handles are pointers. */
enum { STATE_OK = 0, TYPE_U32 = 8, TYPE_U64 = 9, TYPE_TEXT = 17 };

struct duck_result {
	uint64_t counts[3];
	void *columns;
	char *message;
	void *internal;
};

struct duck_list {
	uint64_t offset, length;
};

struct functions {
	int (*open)(const char *path, void **ret_db);
	void (*close)(void **db);
	int (*connect)(void *db, void **ret_connection);
	void (*disconnect)(void **connection);
	int (*query)(void *connection, const char *sql, struct duck_result *ret);
	const char *(*result_error)(struct duck_result *r);
	void (*destroy_result)(struct duck_result *r);
	void *(*create_logical_type)(int type);
	void *(*create_list_type)(void *of);
	void (*destroy_logical_type)(void **type);
	void *(*create_data_chunk)(void **types, uint64_t nr);
	void (*destroy_data_chunk)(void **chunk);
	void *(*data_chunk_get_vector)(void *chunk, uint64_t column);
	void (*data_chunk_set_size)(void *chunk, uint64_t rows);
	uint64_t (*vector_size)(void);
	void *(*vector_get_data)(void *vector);
	void (*vector_ensure_validity_writable)(void *vector);
	uint64_t *(*vector_get_validity)(void *vector);
	void (*vector_assign_string_element_len)(void *vector, uint64_t row, const char *s,
						 uint64_t size);
	void *(*list_vector_get_child)(void *vector);
	int (*list_vector_reserve)(void *vector, uint64_t items);
	int (*list_vector_set_size)(void *vector, uint64_t items);
	int (*appender_create)(void *connection, const char *schema, const char *table,
			       void **ret_appender);
	int (*append_data_chunk)(void *appender, void *chunk);
	const char *(*appender_error)(void *appender);
	int (*appender_flush)(void *appender);
	int (*appender_close)(void *appender);
	int (*appender_destroy)(void **appender);
};

struct column {
	void *vector, *data, *child;
	uint64_t *validity;
	uint64_t nr_items, cap_items; /* of the chunk */
};

struct duck_table {
	struct functions f;
	const struct duck_column *columns;
	size_t nr_columns;
	char dir[OS_TEMP_DIR_BYTES];
	bool has_dir, has_failed;
	struct buf *why;
	void *db, *connection, *appender, *chunk;
	void *types[DUCK_MAX_COLUMNS];
	struct column at[DUCK_MAX_COLUMNS];
	uint64_t row, max_rows; /* of the chunk */
	uint64_t text_bytes;    /* of rows that the library has in memory, and of the chunk */
};

/* Then they go to the database: by itself, the library counts rows alone. */
enum { MAX_TEXT_BYTES = 64 << 20, TEXT_BYTES = 16 /* besides its characters */ };

/* --- the library --- */

static bool load(struct functions *f)
{
	const struct {
		const char *name;
		void *ret;
	} all[] = {
		{"duckdb_open",                             &f->open                            },
		{"duckdb_close",                            &f->close                           },
		{"duckdb_connect",                          &f->connect                         },
		{"duckdb_disconnect",                       &f->disconnect                      },
		{"duckdb_query",                            &f->query                           },
		{"duckdb_result_error",                     &f->result_error                    },
		{"duckdb_destroy_result",                   &f->destroy_result                  },
		{"duckdb_create_logical_type",              &f->create_logical_type             },
		{"duckdb_create_list_type",                 &f->create_list_type                },
		{"duckdb_destroy_logical_type",             &f->destroy_logical_type            },
		{"duckdb_create_data_chunk",                &f->create_data_chunk               },
		{"duckdb_destroy_data_chunk",               &f->destroy_data_chunk              },
		{"duckdb_data_chunk_get_vector",            &f->data_chunk_get_vector           },
		{"duckdb_data_chunk_set_size",              &f->data_chunk_set_size             },
		{"duckdb_vector_size",                      &f->vector_size                     },
		{"duckdb_vector_get_data",                  &f->vector_get_data                 },
		{"duckdb_vector_ensure_validity_writable",  &f->vector_ensure_validity_writable },
		{"duckdb_vector_get_validity",              &f->vector_get_validity             },
		{"duckdb_vector_assign_string_element_len", &f->vector_assign_string_element_len},
		{"duckdb_list_vector_get_child",            &f->list_vector_get_child           },
		{"duckdb_list_vector_reserve",              &f->list_vector_reserve             },
		{"duckdb_list_vector_set_size",             &f->list_vector_set_size            },
		{"duckdb_appender_create",                  &f->appender_create                 },
		{"duckdb_append_data_chunk",                &f->append_data_chunk               },
		{"duckdb_appender_error",                   &f->appender_error                  },
		{"duckdb_appender_flush",                   &f->appender_flush                  },
		{"duckdb_appender_close",                   &f->appender_close                  },
		{"duckdb_appender_destroy",                 &f->appender_destroy                },
	};
	struct os_library *l = os_library_load(DUCK_LIBRARY);

	for (size_t i = 0; l && i < sizeof(all) / sizeof(*all); i++) {
		if (!os_library_function(l, all[i].name, all[i].ret))
			return false;
	}
	return l;
}

/* The first cause alone, and its first line. */
static bool fail(struct duck_table *t, const char *why)
{
	if (why && !t->why->nr)
		buf_add(t->why, why, strcspn(why, "\n"));
	return false;
}

static bool query(struct duck_table *t, const char *sql)
{
	struct duck_result r = {0};
	bool ok = t->f.query(t->connection, sql, &r) == STATE_OK || fail(t, t->f.result_error(&r));

	t->f.destroy_result(&r);
	return ok;
}

/* With our directory between @p before and @p after; its name needs no quoting. */
static bool query_in_dir(struct duck_table *t, const char *before, const char *after)
{
	struct buf sql = {0};
	bool ok;

	buf_printf(&sql, "%s%s%s", before, t->dir, after);
	ok = !sql.is_failed && query(t, buf_cstr(&sql));
	buf_done(&sql);
	return ok;
}

/* --- the table --- */

static bool make_type(struct duck_table *t, size_t i)
{
	static const int of[] = {[DUCK_U32] = TYPE_U32,
				 [DUCK_U64] = TYPE_U64,
				 [DUCK_TEXT] = TYPE_TEXT,
				 [DUCK_TEXTS] = TYPE_TEXT};
	void *type = t->f.create_logical_type(of[t->columns[i].type]);

	t->types[i] = type;
	if (type && t->columns[i].type == DUCK_TEXTS) {
		t->types[i] = t->f.create_list_type(type);
		t->f.destroy_logical_type(&type);
	}
	return t->types[i];
}

static bool create(struct duck_table *t)
{
	static const char *const words[] = {[DUCK_U32] = "UINTEGER",
					    [DUCK_U64] = "UBIGINT",
					    [DUCK_TEXT] = "VARCHAR",
					    [DUCK_TEXTS] = "VARCHAR[]"};
	struct buf sql = {0};
	bool ok = true;

	buf_str(&sql, "CREATE TABLE t(");
	for (size_t i = 0; i < t->nr_columns; i++) {
		buf_printf(&sql, "%s\"%s\" %s", i ? "," : "", t->columns[i].name,
			   words[t->columns[i].type]);
		ok = ok && make_type(t, i);
	}
	buf_str(&sql, ")");
	ok = ok && !sql.is_failed && query(t, buf_cstr(&sql));
	buf_done(&sql);
	return ok;
}

static bool open_database(struct duck_table *t)
{
	struct buf path = {0};
	int os_err = os_temp_dir_make(t->dir);
	bool ok;

	t->has_dir = !os_err;
	if (os_err)
		return fail(t, strerror(-os_err));
	buf_printf(&path, "%s/rows", t->dir);
	ok = !path.is_failed && t->f.open(buf_cstr(&path), &t->db) == STATE_OK &&
	     t->f.connect(t->db, &t->connection) == STATE_OK;
	if (!ok)
		buf_printf(t->why, "libduckdb cannot make the file %s", buf_cstr(&path));
	buf_done(&path);
	/* One thread: the same bytes each time, and less memory. */
	return ok && query(t, "SET threads=1") && query(t, "SET memory_limit='128MB'") &&
	       query_in_dir(t, "SET temp_directory='", "'") && create(t) &&
	       t->f.appender_create(t->connection, NULL, "t", &t->appender) == STATE_OK;
}

enum clew_err duck_table_new(struct duck_table **ret, const struct duck_column *columns, size_t nr,
			     struct buf *why)
{
	struct duck_table *t = mem_zalloc(sizeof(*t));
	enum clew_err err = CLEW_OK;

	if (!t)
		return CLEW_NO_MEMORY;
	t->columns = columns;
	t->nr_columns = nr;
	t->why = why;
	if (!load(&t->f))
		err = CLEW_UNSUPPORTED;
	else if (nr > DUCK_MAX_COLUMNS || !open_database(t))
		err = CLEW_OS;
	if (err != CLEW_OK) {
		duck_table_free(t);
		return err;
	}
	t->max_rows = t->f.vector_size();
	*ret = t;
	return CLEW_OK;
}

void duck_table_free(struct duck_table *t)
{
	if (!t)
		return;
	if (t->chunk)
		t->f.destroy_data_chunk(&t->chunk);
	for (size_t i = 0; i < t->nr_columns; i++) {
		if (t->types[i])
			t->f.destroy_logical_type(&t->types[i]);
	}
	if (t->appender)
		t->f.appender_destroy(&t->appender);
	if (t->connection)
		t->f.disconnect(&t->connection);
	if (t->db)
		t->f.close(&t->db);
	if (t->has_dir)
		os_temp_dir_remove(t->dir);
	mem_free(t);
}

/* --- rows --- */

static void begin_column(struct duck_table *t, size_t i)
{
	struct column *c = &t->at[i];

	*c = (struct column){.vector = t->f.data_chunk_get_vector(t->chunk, i)};
	c->data = t->f.vector_get_data(c->vector);
	t->f.vector_ensure_validity_writable(c->vector);
	c->validity = t->f.vector_get_validity(c->vector);
	memset(c->validity, 0, (t->max_rows + 63) / 64 * 8); /* all NULL */
	if (t->columns[i].type == DUCK_TEXTS) {
		c->child = t->f.list_vector_get_child(c->vector);
		memset(c->data, 0, t->max_rows * sizeof(struct duck_list));
	}
}

static bool begin_chunk(struct duck_table *t)
{
	if (t->chunk || t->has_failed)
		return !t->has_failed;
	t->chunk = t->f.create_data_chunk(t->types, t->nr_columns);
	t->has_failed = !t->chunk;
	t->row = 0;
	for (size_t i = 0; t->chunk && i < t->nr_columns; i++)
		begin_column(t, i);
	return t->chunk;
}

static struct column *value(struct duck_table *t, size_t i)
{
	struct column *c = &t->at[i];

	if (!begin_chunk(t))
		return NULL;
	c->validity[t->row / 64] |= UINT64_C(1) << t->row % 64;
	return c;
}

void duck_put_u32(struct duck_table *t, size_t column, uint32_t v)
{
	struct column *c = value(t, column);

	if (c)
		((uint32_t *)c->data)[t->row] = v;
}

void duck_put_u64(struct duck_table *t, size_t column, uint64_t v)
{
	struct column *c = value(t, column);

	if (c)
		((uint64_t *)c->data)[t->row] = v;
}

void duck_put_text(struct duck_table *t, size_t column, const char *s, size_t size)
{
	struct column *c = value(t, column);

	if (!c)
		return;
	t->text_bytes += size + TEXT_BYTES;
	t->f.vector_assign_string_element_len(c->vector, t->row, s, size);
}

static bool has_item_room(struct duck_table *t, struct column *c)
{
	if (c->nr_items < c->cap_items)
		return true;
	c->cap_items = c->cap_items ? 2 * c->cap_items : t->max_rows;
	t->has_failed = t->f.list_vector_reserve(c->vector, c->cap_items) != STATE_OK;
	return !t->has_failed;
}

void duck_put_item(struct duck_table *t, size_t column, const char *s, size_t size)
{
	struct column *c = value(t, column);
	struct duck_list *list = c ? &((struct duck_list *)c->data)[t->row] : NULL;

	if (!c || !has_item_room(t, c))
		return;
	if (!list->length)
		list->offset = c->nr_items;
	list->length++;
	t->text_bytes += size + TEXT_BYTES;
	t->f.vector_assign_string_element_len(c->child, c->nr_items++, s, size);
}

static enum clew_err end_chunk(struct duck_table *t)
{
	if (t->has_failed || !t->chunk)
		return t->has_failed ? CLEW_OS : CLEW_OK;
	for (size_t i = 0; i < t->nr_columns; i++) {
		if (t->columns[i].type == DUCK_TEXTS)
			t->f.list_vector_set_size(t->at[i].vector, t->at[i].nr_items);
	}
	t->f.data_chunk_set_size(t->chunk, t->row);
	t->has_failed = t->f.append_data_chunk(t->appender, t->chunk) != STATE_OK &&
			!fail(t, t->f.appender_error(t->appender));
	t->f.destroy_data_chunk(&t->chunk);
	return t->has_failed ? CLEW_OS : CLEW_OK;
}

static enum clew_err flush(struct duck_table *t)
{
	enum clew_err err = end_chunk(t);

	t->text_bytes = 0;
	if (err == CLEW_OK && t->f.appender_flush(t->appender) != STATE_OK) {
		t->has_failed = !fail(t, t->f.appender_error(t->appender));
		err = CLEW_OS;
	}
	return err;
}

enum clew_err duck_end_row(struct duck_table *t)
{
	if (!begin_chunk(t))
		return CLEW_OS;
	t->row++;
	if (t->text_bytes >= MAX_TEXT_BYTES)
		return flush(t);
	return t->row == t->max_rows ? end_chunk(t) : CLEW_OK;
}

/* --- the file --- */

static enum clew_err read_file(const struct duck_table *t,
			       enum clew_err (*take)(void *ctx, const void *data, size_t size),
			       void *ctx)
{
	struct buf path = {0};
	struct os_map map = {0};
	enum clew_err err = CLEW_NO_MEMORY;

	buf_printf(&path, "%s/out", t->dir);
	if (!path.is_failed)
		err = os_map_file(buf_cstr(&path), &map, NULL);
	if (err == CLEW_OK)
		err = take(ctx, map.data, map.size);
	os_map_done(&map);
	buf_done(&path);
	return err;
}

enum clew_err duck_table_write(struct duck_table *t,
			       enum clew_err (*take)(void *ctx, const void *data, size_t size),
			       void *ctx)
{
	enum clew_err err = end_chunk(t);

	if (err != CLEW_OK)
		return err;
	if (t->f.appender_close(t->appender) != STATE_OK) {
		fail(t, t->f.appender_error(t->appender));
		return CLEW_OS;
	}
	if (t->f.appender_destroy(&t->appender) != STATE_OK ||
	    !query_in_dir(t, "COPY t TO '",
			  "/out' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 32768, "
			  "USE_TMP_FILE false)"))
		return CLEW_OS;
	return read_file(t, take, ctx);
}
