/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "format/json_put.h"
#include "format/report/ops_text.h"

enum { VERSION = 1 };

static void put_latencies(struct json_put *j, const struct report_op_sum *s)
{
	json_key(j, "latency");
	json_open(j, '{');
	for (unsigned int i = 0; i < REPORT_NR_LATENCIES; i++) {
		const struct latency *l = &s->latencies[i];

		if (!l->nr)
			continue;
		json_key(j, report_latency_name((enum report_latency)i));
		json_open(j, '{');
		json_put_u64(j, "count", l->nr);
		json_put_u64(j, "sum", l->sum);
		json_put_u64(j, "min", l->min);
		json_put_u64(j, "p50", latency_percentile(l, 50));
		json_put_u64(j, "p90", latency_percentile(l, 90));
		json_put_u64(j, "p99", latency_percentile(l, 99));
		json_put_u64(j, "max", l->max);
		json_close(j, '}');
	}
	json_close(j, '}');
}

static void put_sum(struct json_put *j, const struct report_op_sum *s, enum report_ops_kind kind)
{
	json_put_u64(j, "count", s->nr);
	if (kind == REPORT_OPS_BRANCHES) {
		json_put_u64(j, "mispredicted", s->nr_mispredicted);
		json_put_u64(j, "not_taken", s->nr_not_taken);
	} else {
		json_put_u64(j, "loads", s->nr_loads);
		json_put_u64(j, "stores", s->nr_stores);
		json_put_u64(j, "remote", s->nr_remote);
		json_put_u64(j, "hitm", s->nr_hitm);
		json_put_u64(j, "remote_hitm", s->nr_remote_hitm);
		json_put_u64(j, "peer", s->nr_peer);
		json_put_u64(j, "tlb_walks", s->nr_walks);
	}
	if (s->nr_not_retired)
		json_put_u64(j, "not_retired", s->nr_not_retired);
	if (s->nr_at_least)
		json_put_u64(j, "saturated", s->nr_at_least);
	put_latencies(j, s);
}

static void put_sources(struct json_put *j, const struct report_ops *o)
{
	clew_auto(buf_done) struct buf name = {0};

	json_key(j, "sources");
	json_open(j, '[');
	for (size_t i = 0; i < o->sources.nr; i++) {
		const struct report_op_source *s = &o->sources.data[o->source_order[i]];

		buf_clear(&name);
		ops_source_text(&name, s);
		json_open(j, '{');
		json_put_string(j, "source", buf_cstr(&name));
		if (s->has_number)
			json_put_u64(j, "number", s->number);
		put_sum(j, &o->by_source[o->source_order[i]], REPORT_OPS_MEMORY);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_frame(struct json_put *j, const struct report_feed *f, uint32_t frame)
{
	struct report_frame_text t = report_feed_frame(f, frame);

	json_put_string(j, "sym", t.sym);
	json_put_string(j, "dso", t.dso);
	if (t.address != UINT64_MAX)
		json_put_hex(j, "address", t.address);
}

static void put_rows(struct json_put *j, const struct report_feed *f, enum report_ops_kind kind)
{
	const struct report_sort *sort = report_feed_sort(f);
	clew_auto(buf_done) struct buf text = {0};

	json_key(j, "rows");
	json_open(j, '[');
	vec_for_each (&report_feed_ops(f)->rows, r) {
		json_open(j, '{');
		json_key(j, "keys");
		json_open(j, '{');
		for (size_t i = 0; i < sort->nr; i++) {
			buf_clear(&text);
			report_feed_row_text(f, &r->row, sort->keys[i], &text);
			json_put_string(j, report_key_name(sort->keys[i]), buf_cstr(&text));
		}
		json_close(j, '}');
		if (kind == REPORT_OPS_BRANCHES)
			put_frame(j, f, r->frame);
		put_sum(j, &r->sum, kind);
		json_close(j, '}');
		buf_char(j->out, '\n');
	}
	json_close(j, ']');
}

static void put_uses(struct json_put *j, const struct report_feed *f,
		     const struct report_op_line *l)
{
	json_key(j, "uses");
	json_open(j, '[');
	for (size_t i = 0; i < l->nr_uses; i++) {
		const struct report_op_use *u = &report_feed_ops(f)->uses.data[l->first_use + i];

		json_open(j, '{');
		json_put_u64(j, "offset", u->address - l->address);
		put_frame(j, f, u->frame);
		put_sum(j, u->sum, REPORT_OPS_MEMORY);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_lines(struct json_put *j, const struct report_feed *f)
{
	json_key(j, "lines");
	json_open(j, '[');
	vec_for_each (&report_feed_ops(f)->lines, l) {
		json_open(j, '{');
		json_put_hex(j, "address", l->address);
		if (l->pid != UINT32_MAX)
			json_put_u64(j, "pid", l->pid);
		put_sum(j, &l->sum, REPORT_OPS_MEMORY);
		put_uses(j, f, l);
		json_close(j, '}');
		buf_char(j->out, '\n');
	}
	json_close(j, ']');
}

void ops_json(struct buf *out, const struct report_feed *f, enum report_ops_kind kind,
	      const struct ana_summary *s)
{
	const struct report_ops *o = report_feed_ops(f);
	struct json_put j = {.out = out};

	json_open(&j, '{');
	json_put_string(&j, "format",
			kind == REPORT_OPS_BRANCHES ? "clew-report-branch" : "clew-report-mem");
	json_put_u64(&j, "version", VERSION);
	json_put_u64(&j, "lost", s->nr_lost);
	if (s->nr_bpf_filtered)
		json_put_u64(&j, "filtered_by_bpf", s->nr_bpf_filtered);
	json_put_u64(&j, "no_room", o->nr_no_room);
	json_key(&j, "all");
	json_open(&j, '{');
	put_sum(&j, &o->all, kind);
	json_close(&j, '}');
	if (kind == REPORT_OPS_MEMORY)
		put_sources(&j, o);
	put_rows(&j, f, kind);
	if (kind == REPORT_OPS_MEMORY)
		put_lines(&j, f);
	json_close(&j, '}');
	buf_char(out, '\n');
}
