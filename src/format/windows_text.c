/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/windows_text.h"

static void put_place(struct buf *out, const struct ana_window *w)
{
	if (w->cpu != UINT32_MAX)
		buf_printf(out, "CPU %u", w->cpu);
	else if (w->tid != UINT32_MAX)
		buf_printf(out, "thread %u", w->tid);
	else
		buf_str(out, "no CPU");
}

static void put_span(struct buf *out, struct clew_perf_ns from, struct clew_perf_ns to)
{
	if (!clew_perf_ns_is_known(to)) {
		buf_str(out, "at unknown times");
		return;
	}
	if (!clew_perf_ns_is_known(from))
		buf_str(out, "from an unknown time");
	else if (!from.ns)
		buf_str(out, "complete from the start");
	else
		buf_str(out, "complete from ");
	if (from.ns && clew_perf_ns_is_known(from))
		buf_seconds(out, from.ns);
	buf_str(out, " to ");
	buf_seconds(out, to.ns);
}

static void put_window(struct buf *out, const struct ana_window *w)
{
	buf_str(out, "    ");
	put_place(out, w);
	buf_printf(out, ": offset %llu, %llu bytes, ", (unsigned long long)w->offset,
		   (unsigned long long)w->bytes);
	if (w->is_full)
		buf_str(out, "older ones were overwritten; ");
	put_span(out, w->from, w->to);
	buf_char(out, '\n');
}

static void put_common(struct buf *out, const struct ana_snapshot *s)
{
	bool is_known = clew_perf_ns_is_known(s->from) && clew_perf_ns_is_known(s->to);

	if (s->nr > 1 && is_known && s->from.ns >= s->to.ns) {
		buf_str(out, "no time is in all of them");
		return;
	}
	if (s->nr > 1)
		buf_str(out, "in common ");
	put_span(out, s->from, s->to);
}

void windows_text(struct buf *out, const struct ana_windows *x)
{
	if (x->snapshots.nr)
		buf_str(out, "\nSnapshots of hardware trace:\n");
	for (size_t i = 0; i < x->snapshots.nr; i++) {
		const struct ana_snapshot *s = &x->snapshots.data[i];

		buf_printf(out, "  snapshot %zu: %llu bytes in %zu window%s, ", i + 1,
			   (unsigned long long)s->bytes, s->nr, s->nr == 1 ? "" : "s");
		put_common(out, s);
		buf_char(out, '\n');
		for (size_t k = 0; k < s->nr; k++)
			put_window(out, &x->all.data[s->first + k]);
	}
	if (x->nr_omitted && x->snapshots.nr)
		buf_printf(out, "  and %llu windows or AUX records omitted: over a limit\n",
			   (unsigned long long)x->nr_omitted);
}

static void json_span(struct json_put *j, struct clew_perf_ns from, struct clew_perf_ns to)
{
	if (clew_perf_ns_is_known(from))
		json_put_u64(j, "from", from.ns);
	if (clew_perf_ns_is_known(to))
		json_put_u64(j, "to", to.ns);
}

static void json_window(struct json_put *j, const struct ana_window *w)
{
	json_open(j, '{');
	if (w->cpu != UINT32_MAX)
		json_put_u64(j, "cpu", w->cpu);
	if (w->tid != UINT32_MAX)
		json_put_u64(j, "tid", w->tid);
	json_put_u64(j, "offset", w->offset);
	json_put_u64(j, "bytes", w->bytes);
	json_put_bool(j, "overwritten", w->is_full);
	json_span(j, w->from, w->to);
	json_close(j, '}');
}

void windows_json(struct json_put *j, const struct ana_windows *x)
{
	if (!x->snapshots.nr)
		return;
	json_key(j, "snapshots");
	json_open(j, '[');
	for (size_t i = 0; i < x->snapshots.nr; i++) {
		const struct ana_snapshot *s = &x->snapshots.data[i];

		json_open(j, '{');
		json_put_u64(j, "bytes", s->bytes);
		json_span(j, s->from, s->to);
		json_key(j, "windows");
		json_open(j, '[');
		for (size_t k = 0; k < s->nr; k++)
			json_window(j, &x->all.data[s->first + k]);
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
}

void windows_put(struct buf *out, const struct ana_windows *x, bool is_json)
{
	struct json_put j = {.out = out};

	if (!x || !x->snapshots.nr)
		return;
	if (!is_json) {
		windows_text(out, x);
		return;
	}
	json_open(&j, '{');
	windows_json(&j, x);
	json_close(&j, '}');
	buf_char(out, '\n');
}
