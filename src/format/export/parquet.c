/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "export/duck_table.h"
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

struct parquet {
	struct duck_table *table;
	struct buf why; /* it could not be written */
};

static enum clew_err begin(struct export *x)
{
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
	struct parquet *p = export_state(x);

	return duck_table_new(&p->table, columns, NR_COLUMNS, &p->why);
}

static void put_u32(struct duck_table *t, enum column c, uint32_t v)
{
	if (v != UINT32_MAX)
		duck_put_u32(t, c, v);
}

static void put_cstr(struct duck_table *t, enum column c, const char *s)
{
	duck_put_text(t, c, s, strlen(s));
}

static void put_text(struct duck_table *t, enum column c, const struct export *x, uint32_t text)
{
	if (text)
		put_cstr(t, c, export_text(export_tables(x), text));
}

static void put_owner(struct export *x, struct duck_table *t, const struct export_key *k)
{
	const struct export_thread *thread = export_thread_at(x, k->thread);

	put_u32(t, CPU, k->cpu);
	put_u32(t, PID, thread->pid);
	put_u32(t, TID, thread->tid);
	put_text(t, COMM, x, k->comm);
	put_text(t, CGROUP, x, k->cgroup);
	put_cstr(t, LEVEL, export_level_name(k->level));
}

static void put_leaf(struct export *x, struct duck_table *t, uint32_t function)
{
	const struct export_function *f = &export_tables(x)->functions.data[function];

	put_text(t, SYM, x, f->name);
	if (f->binary != EXPORT_NONE)
		put_cstr(t, DSO, export_path_of(x, f->binary));
}

static bool put_stack(struct export *x, struct duck_table *t, const struct export_stack *stack)
{
	clew_auto(buf_done) struct buf name = {0};

	for (size_t i = 0; i < stack->nr; i++) {
		buf_clear(&name);
		export_put_function(&name, x, stack->at[i]);
		duck_put_item(t, STACK, name.data, name.nr);
	}
	return !name.is_failed;
}

static enum clew_err sample(struct export *x, const struct export_sample *s)
{
	struct parquet *p = export_state(x);
	struct duck_table *t = p->table;
	struct export_stack stack;

	if (!export_stack(x, s->node, &stack))
		return CLEW_NO_MEMORY;
	if (clew_perf_ns_is_known(s->time))
		duck_put_u64(t, TIME, s->time.ns);
	put_owner(x, t, export_key_at(x, s->key));
	put_text(t, EVENT, x, export_event_at(x, s->event)->name);
	duck_put_u64(t, PERIOD, s->period);
	duck_put_u64(t, IP, s->ip);
	put_leaf(x, t, stack.at[0]);
	return put_stack(x, t, &stack) ? duck_end_row(t) : CLEW_NO_MEMORY;
}

static enum clew_err put_file(void *x, const void *data, size_t size)
{
	const struct clew_sink *to = export_sink(x);

	return to->write(to->ctx, data, size);
}

static enum clew_err end(struct export *x)
{
	struct parquet *p = export_state(x);

	return duck_table_write(p->table, put_file, x);
}

static void done(struct export *x)
{
	struct parquet *p = export_state(x);

	duck_table_free(p->table);
	buf_done(&p->why);
}

static const char *why(struct export *x)
{
	struct parquet *p = export_state(x);

	return p->why.nr ? buf_cstr(&p->why) : NULL;
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
