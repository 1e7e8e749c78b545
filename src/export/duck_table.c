/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "export/duck_table.h"

#include <string.h>

#include "os/create.h"
#include "os/file.h"
#include "os/library.h"

/* As the library's documentation has them: "C API", "Overview", "Table Functions", "Data Chunks"
 * (DuckDB 1.0 and later). Handles are pointers. */
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
	void *(*create_table_function)(void);
	void (*destroy_table_function)(void **function);
	void (*table_function_set_name)(void *function, const char *name);
	void (*table_function_set_extra_info)(void *function, void *extra, void (*destroy)(void *));
	void (*table_function_set_bind)(void *function, void (*bind)(void *info));
	void (*table_function_set_init)(void *function, void (*init)(void *info));
	void (*table_function_set_function)(void *function, void (*fill)(void *info, void *chunk));
	int (*register_table_function)(void *connection, void *function);
	void *(*bind_get_extra_info)(void *info);
	void (*bind_add_result_column)(void *info, const char *name, void *type);
	void *(*function_get_extra_info)(void *info);
	void (*function_set_error)(void *info, const char *why);
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
};

struct column {
	void *vector, *data, *child;
	uint64_t *validity;
	uint64_t nr_items, cap_items; /* of the chunk */
};

/* A chunk, which the library asks for: it writes a group of rows when it has enough of them. */
struct duck_rows {
	struct functions f;
	const struct duck_source *source;
	struct buf *why;
	enum clew_err err; /* of the source, or of us */
	void *db, *connection;
	int fd;
	struct column at[DUCK_MAX_COLUMNS];
	uint64_t row, max_rows;
	uint64_t chunk_bytes, row_bytes; /* of texts */
};

/* In memory there are a chunk, and a group of rows with what it is packed into. */
enum { MAX_CHUNK_BYTES = 4 << 20, TEXT_BYTES = 16 /* besides its characters */ };
#define GROUP_LIMITS "ROW_GROUP_SIZE 32768, ROW_GROUP_SIZE_BYTES '16MB'"
#define MEMORY_LIMIT "'128MB'"

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
		{"duckdb_create_table_function",            &f->create_table_function           },
		{"duckdb_destroy_table_function",           &f->destroy_table_function          },
		{"duckdb_table_function_set_name",          &f->table_function_set_name         },
		{"duckdb_table_function_set_extra_info",    &f->table_function_set_extra_info   },
		{"duckdb_table_function_set_bind",          &f->table_function_set_bind         },
		{"duckdb_table_function_set_init",          &f->table_function_set_init         },
		{"duckdb_table_function_set_function",      &f->table_function_set_function     },
		{"duckdb_register_table_function",          &f->register_table_function         },
		{"duckdb_bind_get_extra_info",              &f->bind_get_extra_info             },
		{"duckdb_bind_add_result_column",           &f->bind_add_result_column          },
		{"duckdb_function_get_extra_info",          &f->function_get_extra_info         },
		{"duckdb_function_set_error",               &f->function_set_error              },
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
	};
	struct os_library *l = os_library_load(DUCK_LIBRARY);

	for (size_t i = 0; l && i < sizeof(all) / sizeof(*all); i++) {
		if (!os_library_function(l, all[i].name, all[i].ret))
			return false;
	}
	return l;
}

bool duck_is_there(void)
{
	struct functions f;

	return load(&f);
}

/* The first cause alone, and its first line. An error of the source has its own. */
static bool fail(struct duck_rows *r, const char *why)
{
	if (why && !r->why->nr)
		buf_add(r->why, why, strcspn(why, "\n"));
	return false;
}

static bool query(struct duck_rows *r, const char *sql)
{
	struct duck_result result = {0};
	bool ok = r->f.query(r->connection, sql, &result) == STATE_OK ||
		  fail(r, r->err ? NULL : r->f.result_error(&result));

	r->f.destroy_result(&result);
	return ok;
}

/* --- values --- */

static struct column *value(struct duck_rows *r, size_t i)
{
	struct column *c = &r->at[i];

	c->validity[r->row / 64] |= UINT64_C(1) << r->row % 64;
	return c;
}

void duck_put_u32(struct duck_rows *r, size_t column, uint32_t v)
{
	((uint32_t *)value(r, column)->data)[r->row] = v;
}

void duck_put_u64(struct duck_rows *r, size_t column, uint64_t v)
{
	((uint64_t *)value(r, column)->data)[r->row] = v;
}

bool duck_has_room(const struct duck_rows *r, size_t size)
{
	return size + TEXT_BYTES <= DUCK_MAX_ROW_BYTES - r->row_bytes;
}

static bool take_room(struct duck_rows *r, size_t size)
{
	if (!duck_has_room(r, size))
		return false;
	r->row_bytes += size + TEXT_BYTES;
	return true;
}

void duck_put_text(struct duck_rows *r, size_t column, const char *s, size_t size)
{
	if (take_room(r, size))
		r->f.vector_assign_string_element_len(value(r, column)->vector, r->row, s, size);
}

static bool has_item_room(struct duck_rows *r, struct column *c)
{
	if (c->nr_items < c->cap_items)
		return true;
	c->cap_items = c->cap_items ? 2 * c->cap_items : r->max_rows;
	if (r->f.list_vector_reserve(c->vector, c->cap_items) != STATE_OK)
		r->err = CLEW_NO_MEMORY;
	return !r->err;
}

void duck_put_item(struct duck_rows *r, size_t column, const char *s, size_t size)
{
	struct column *c = value(r, column);
	struct duck_list *list = &((struct duck_list *)c->data)[r->row];

	if (!take_room(r, size) || !has_item_room(r, c))
		return;
	if (!list->length)
		list->offset = c->nr_items;
	list->length++;
	r->f.vector_assign_string_element_len(c->child, c->nr_items++, s, size);
}

/* --- what the library calls --- */

/* The library's own functions say what table it asks for. */
static struct duck_rows *rows_of(void *info, const char *getter)
{
	void *(*get)(void *info) = NULL;

	os_library_function(os_library_load(DUCK_LIBRARY), getter, &get);
	return get(info);
}

static void add_column(struct duck_rows *r, void *info, const struct duck_column *c)
{
	static const int of[] = {[DUCK_U32] = TYPE_U32,
				 [DUCK_U64] = TYPE_U64,
				 [DUCK_TEXT] = TYPE_TEXT,
				 [DUCK_TEXTS] = TYPE_TEXT};
	void *type = r->f.create_logical_type(of[c->type]), *list = NULL;

	if (c->type == DUCK_TEXTS)
		list = r->f.create_list_type(type);
	r->f.bind_add_result_column(info, c->name, list ? list : type);
	if (list)
		r->f.destroy_logical_type(&list);
	r->f.destroy_logical_type(&type);
}

static void bind(void *info)
{
	struct duck_rows *r = rows_of(info, "duckdb_bind_get_extra_info");

	for (size_t i = 0; i < r->source->nr_columns; i++)
		add_column(r, info, &r->source->columns[i]);
}

static void init(void *info)
{
	(void)info;
}

static void begin_column(struct duck_rows *r, void *chunk, size_t i)
{
	struct column *c = &r->at[i];

	*c = (struct column){.vector = r->f.data_chunk_get_vector(chunk, i)};
	c->data = r->f.vector_get_data(c->vector);
	r->f.vector_ensure_validity_writable(c->vector);
	c->validity = r->f.vector_get_validity(c->vector);
	memset(c->validity, 0, (r->max_rows + 63) / 64 * 8); /* all NULL */
	if (r->source->columns[i].type == DUCK_TEXTS) {
		c->child = r->f.list_vector_get_child(c->vector);
		memset(c->data, 0, r->max_rows * sizeof(struct duck_list));
	}
}

static void end_chunk(struct duck_rows *r, void *chunk)
{
	for (size_t i = 0; i < r->source->nr_columns; i++) {
		if (r->source->columns[i].type == DUCK_TEXTS)
			r->f.list_vector_set_size(r->at[i].vector, r->at[i].nr_items);
	}
	r->f.data_chunk_set_size(chunk, r->row);
}

/* Without a row it is the last one. */
static void fill(void *info, void *chunk)
{
	struct duck_rows *r = rows_of(info, "duckdb_function_get_extra_info");

	for (size_t i = 0; i < r->source->nr_columns; i++)
		begin_column(r, chunk, i);
	r->row = r->chunk_bytes = 0;
	while (r->row < r->max_rows && r->chunk_bytes < MAX_CHUNK_BYTES) {
		bool has_row = false;
		enum clew_err err;

		r->row_bytes = 0;
		err = r->source->row(r->source->ctx, r, &has_row);
		r->err = r->err ? r->err : err;
		if (r->err || !has_row)
			break;
		r->chunk_bytes += r->row_bytes;
		r->row++;
	}
	end_chunk(r, chunk);
	if (r->err)
		r->f.function_set_error(info, "no rows");
}

/* --- the file --- */

static bool add_function(struct duck_rows *r)
{
	void *function = r->f.create_table_function();
	bool ok;

	r->f.table_function_set_name(function, "clew_rows");
	r->f.table_function_set_extra_info(function, r, NULL);
	r->f.table_function_set_bind(function, bind);
	r->f.table_function_set_init(function, init);
	r->f.table_function_set_function(function, fill);
	ok = r->f.register_table_function(r->connection, function) == STATE_OK;
	r->f.destroy_table_function(&function);
	return ok;
}

/* One thread: the rows' order and the same bytes each time, and less memory. No file but ours. */
static bool set_up(struct duck_rows *r)
{
	return query(r, "SET threads=1") && query(r, "SET memory_limit=" MEMORY_LIMIT) &&
	       query(r, "SET temp_directory=''") &&
	       query(r, "SET preserve_insertion_order=false") && add_function(r);
}

static bool open_database(struct duck_rows *r)
{
	bool ok = r->f.open(NULL, &r->db) == STATE_OK &&
		  r->f.connect(r->db, &r->connection) == STATE_OK;

	return ok || fail(r, "libduckdb makes no database");
}

static bool write_file(struct duck_rows *r)
{
	struct buf sql = {0};
	bool ok;

	r->fd = os_create_unnamed();
	if (r->fd < 0)
		return fail(r, strerror(-r->fd));
	buf_printf(&sql,
		   "COPY (SELECT * FROM clew_rows()) TO '/proc/self/fd/%d' (FORMAT parquet, "
		   "COMPRESSION zstd, " GROUP_LIMITS ", USE_TMP_FILE false)",
		   r->fd);
	ok = !sql.is_failed && query(r, buf_cstr(&sql));
	buf_done(&sql);
	return ok;
}

static enum clew_err copy_file(const struct duck_rows *r,
			       enum clew_err (*take)(void *ctx, const void *data, size_t size),
			       void *ctx)
{
	struct os_map map = {0};
	enum clew_err err = os_map_fd(r->fd, &map, NULL);

	if (err == CLEW_OK)
		err = take(ctx, map.data, map.size);
	os_map_done(&map);
	return err;
}

static void close_database(struct duck_rows *r)
{
	if (r->connection)
		r->f.disconnect(&r->connection);
	if (r->db)
		r->f.close(&r->db);
}

enum clew_err duck_table_write(const struct duck_source *source,
			       enum clew_err (*take)(void *ctx, const void *data, size_t size),
			       void *ctx, struct buf *why)
{
	struct duck_rows r = {.source = source, .why = why, .fd = -1};
	enum clew_err err = CLEW_OS;

	if (!load(&r.f))
		return CLEW_UNSUPPORTED;
	if (source->nr_columns > DUCK_MAX_COLUMNS)
		return CLEW_INVALID;
	r.max_rows = r.f.vector_size();
	if (open_database(&r) && set_up(&r) && write_file(&r))
		err = CLEW_OK;
	close_database(&r);
	if (err == CLEW_OK)
		err = copy_file(&r, take, ctx);
	if (r.fd >= 0)
		os_close(r.fd);
	return r.err ? r.err : err;
}
