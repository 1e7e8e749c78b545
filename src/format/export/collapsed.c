/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/collapsed_put.h"
#include "format/export/export_formats.h"
#include "format/export/export_name.h"

static void put_frame(struct buf *out, const char *text)
{
	size_t at = out->nr;

	buf_str(out, text);
	collapsed_end_frame(out, at);
}

/* "comm-PID/TID": the parts that are asked for. */
static void put_thread(struct export *x, const struct export_key *k)
{
	struct buf *out = export_out(x);
	uint32_t by = export_opts(x)->keys;
	const struct export_thread *t = export_thread_at(x, k->thread);

	put_frame(out, export_text(export_tables(x), k->comm));
	if (by & (EXPORT_BY_PID | EXPORT_BY_TID)) {
		buf_char(out, '-');
		export_put_id(out, t->pid);
	}
	if (by & EXPORT_BY_TID) {
		buf_char(out, '/');
		export_put_id(out, t->tid);
	}
}

static void put_key(struct export *x, const struct export_key *k)
{
	struct buf *out = export_out(x);
	uint32_t by = export_opts(x)->keys;

	if (by & EXPORT_BY_CGROUP && k->cgroup) {
		put_frame(out, export_text(export_tables(x), k->cgroup));
		buf_char(out, ';');
	}
	if (by & EXPORT_BY_CPU && k->cpu != UINT32_MAX) {
		buf_printf(out, "CPU %u;", k->cpu);
	}
	put_thread(x, k);
}

static enum clew_err put_stack(struct export *x, const struct export_sample *s)
{
	struct buf *out = export_out(x);
	struct export_stack stack;

	if (!export_stack(x, s->node, &stack))
		return CLEW_NO_MEMORY;
	put_key(x, export_key_at(x, s->key));
	for (size_t i = stack.nr; i-- > 0;) {
		size_t at;

		buf_char(out, ';');
		at = out->nr;
		export_put_function(out, x, stack.at[i]);
		collapsed_end_frame(out, at);
	}
	collapsed_end_line(out, export_weight(export_opts(x), s));
	return CLEW_OK;
}

static enum clew_err end(struct export *x)
{
	(void)x;
	return CLEW_OK;
}

const struct export_format export_collapsed = {
	.name = "collapsed",
	.summary =
		"a line per stack, for flame graphs: flamegraph.pl, speedscope, Firefox Profiler",
	.has_one_event = true,
	.has_sums = true,
	.by_function = true,
	.keys = EXPORT_BY_COMM,
	.more_keys = EXPORT_BY_PID | EXPORT_BY_TID | EXPORT_BY_CPU | EXPORT_BY_CGROUP,
	.sample = put_stack,
	.end = end,
};
