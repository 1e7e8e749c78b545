/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "export/duck_table.h"
#include "export/export_spool.h"
#include "format/export/export_formats.h"
#include "format/export/export_name.h"

/* A table of samples, a row each. Spec: apache/parquet-format, by libduckdb. */

enum column {
	TIME,
	CPU,
	PID,
	TID,
	COMM,
	EVENT,
	PERIOD,
	IP,
	SYM,
	DSO,
	LEVEL,
	CGROUP,
	STACK,
	NR_COLUMNS
};

static const struct duck_column columns[NR_COLUMNS] = {
	[TIME] = {"time",   DUCK_U64  },
          [CPU] = {"cpu",    DUCK_U32  },
	[PID] = {"pid",    DUCK_U32  },
          [TID] = {"tid",    DUCK_U32  },
	[COMM] = {"comm",   DUCK_TEXT },
          [EVENT] = {"event",  DUCK_TEXT },
	[PERIOD] = {"period", DUCK_U64  },
          [IP] = {"ip",     DUCK_U64  },
	[SYM] = {"sym",    DUCK_TEXT },
          [DSO] = {"dso",    DUCK_TEXT },
	[LEVEL] = {"level",  DUCK_TEXT },
          [CGROUP] = {"cgroup", DUCK_TEXT },
	[STACK] = {"stack",  DUCK_TEXTS},
};

/* Of a sample; its texts are in the tables. */
struct row {
	struct clew_perf_ns time;
	uint64_t ip, period;
	uint32_t event, key, node;
};

struct parquet {
	struct export_spool spool; /* one series of rows */
	struct export_spool_reader reader;
	const struct row *at, *end; /* of its piece */
	struct buf why;             /* it could not be written */
};

static enum clew_err begin(struct export *x)
{
	(void)x;
	return duck_is_there() ? CLEW_OK : CLEW_UNSUPPORTED;
}

static enum clew_err sample(struct export *x, const struct export_sample *s)
{
	struct parquet *p = export_state(x);
	const struct row r = {s->time, s->ip, s->period, s->event, s->key, s->node};

	return export_spool_add(&p->spool, 0, &r, sizeof(r));
}

/* --- a row --- */

enum { CUT_BYTES = 64 }; /* for the frame that says so */

static void put_u32(struct duck_rows *r, enum column c, uint32_t v)
{
	if (v != UINT32_MAX)
		duck_put_u32(r, c, v);
}

static void put_cstr(struct duck_rows *r, enum column c, const char *s)
{
	duck_put_text(r, c, s, strlen(s));
}

static void put_text(struct duck_rows *r, enum column c, const struct export *x, uint32_t text)
{
	if (text)
		put_cstr(r, c, export_text(export_tables(x), text));
}

static void put_owner(struct export *x, struct duck_rows *r, const struct export_key *k)
{
	const struct export_thread *thread = export_thread_at(x, k->thread);

	put_u32(r, CPU, k->cpu);
	put_u32(r, PID, thread->pid);
	put_u32(r, TID, thread->tid);
	put_text(r, COMM, x, k->comm);
	put_text(r, CGROUP, x, k->cgroup);
	put_cstr(r, LEVEL, export_level_name(k->level));
}

static void put_leaf(struct export *x, struct duck_rows *r, uint32_t function)
{
	const struct export_function *f = &export_tables(x)->functions.data[function];

	put_text(r, SYM, x, f->name);
	if (f->binary != EXPORT_NONE)
		put_cstr(r, DSO, export_path_of(x, f->binary));
}

static enum clew_err put_stack(struct export *x, struct duck_rows *r,
			       const struct export_stack *stack)
{
	static const char cut[] = "[cut: names too long]";
	clew_auto(buf_done) struct buf name = {0};

	for (size_t i = 0; i < stack->nr; i++) {
		buf_clear(&name);
		export_put_function(&name, x, stack->at[i]);
		if (name.is_failed)
			return CLEW_NO_MEMORY;
		if (!duck_has_room(r, name.nr + CUT_BYTES)) {
			duck_put_item(r, STACK, cut, sizeof(cut) - 1);
			export_count_cut(x);
			break;
		}
		duck_put_item(r, STACK, name.data, name.nr);
	}
	return CLEW_OK;
}

static enum clew_err put_row(struct export *x, struct duck_rows *r, const struct row *row)
{
	struct export_stack stack;

	if (!export_stack(x, row->node, &stack))
		return CLEW_NO_MEMORY;
	if (clew_perf_ns_is_known(row->time))
		duck_put_u64(r, TIME, row->time.ns);
	put_owner(x, r, export_key_at(x, row->key));
	put_text(r, EVENT, x, export_event_at(x, row->event)->name);
	duck_put_u64(r, PERIOD, row->period);
	duck_put_u64(r, IP, row->ip);
	put_leaf(x, r, stack.at[0]);
	return put_stack(x, r, &stack);
}

/* --- the file --- */

static enum clew_err next_row(void *ctx, struct duck_rows *r, bool *ret_has)
{
	struct export *x = ctx;
	struct parquet *p = export_state(x);

	*ret_has = false;
	if (p->at == p->end) {
		const void *data;
		size_t size;
		enum clew_err err = export_spool_next(&p->spool, &p->reader, &data, &size);

		if (err != CLEW_OK || !size)
			return err;
		p->at = data;
		p->end = p->at + size / sizeof(*p->at);
	}
	*ret_has = true;
	return put_row(x, r, p->at++);
}

static enum clew_err put_file(void *x, const void *data, size_t size)
{
	const struct clew_sink *to = export_sink(x);

	return to->write(to->ctx, data, size);
}

static enum clew_err end(struct export *x)
{
	struct parquet *p = export_state(x);
	const struct duck_source rows = {columns, NR_COLUMNS, next_row, x};

	return duck_table_write(&rows, put_file, x, &p->why);
}

static void done(struct export *x)
{
	struct parquet *p = export_state(x);

	export_spool_reader_done(&p->reader);
	export_spool_done(&p->spool);
	buf_done(&p->why);
}

static const char *why(struct export *x)
{
	struct parquet *p = export_state(x);

	return p->why.nr ? buf_cstr(&p->why) : export_spool_why(&p->spool);
}

const struct export_format export_parquet = {
	.name = "parquet",
	.summary = "a table of samples, a row each: DuckDB, pandas, Spark; written by libduckdb",
	.is_binary = true,
	.by_function = true,
	.library = DUCK_LIBRARY,
	.keys = EXPORT_BY_PID | EXPORT_BY_TID | EXPORT_BY_CPU | EXPORT_BY_CGROUP | EXPORT_BY_COMM |
		EXPORT_BY_LEVEL,
	.state_bytes = sizeof(struct parquet),
	.begin = begin,
	.sample = sample,
	.end = end,
	.done = done,
	.why = why,
};
