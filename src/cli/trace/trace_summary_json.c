/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/trace/trace_summary_impl.h"
#include "format/json_put.h"
#include "trace/etm_decoder.h"
#include "trace/pt_decoder.h"
#include "trace/spe_decoder.h"

static void json_lost(struct json_put *j, const struct trace_unit_summary *m)
{
	json_key(j, "sync_lost");
	json_open(j, '[');
	for (size_t i = 0; i < m->nr_lost; i++) {
		const struct trace_lost *l = &m->lost[i];

		json_open(j, '{');
		json_put_string(j, "reason", flow_no_sync_text((enum flow_no_sync)l->reason));
		json_put_string(j, "what", l->what);
		json_put_u64(j, "times", l->nr);
		json_put_u64(j, "first_offset", l->first_offset);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_gaps(struct json_put *j, const struct trace_summary *s,
		      const struct trace_gaps *gaps)
{
	json_key(j, "missing_code");
	json_open(j, '[');
	vec_for_each (gaps, g) {
		const char *owner = trace_gap_owner(s, g);

		json_open(j, '{');
		json_put_hex(j, "start", g->start << TRACE_PAGE_BITS);
		json_put_hex(j, "end", g->end << TRACE_PAGE_BITS);
		json_put_u64(j, "times", g->nr);
		if (owner) {
			json_put_string(j, "file", owner);
		}
		if (trace_gap_why(s, g)) {
			json_put_string(j, "why", trace_gap_why(s, g));
		}
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_ops(struct json_put *j, const struct trace_ops_counts *c)
{
	json_put_string(j, "protocol", "SPE");
	json_put_u64(j, "bytes", c->nr_bytes);
	json_put_u64(j, "padding_bytes", c->nr_padding_bytes);
	json_put_u64(j, "records", c->nr_records);
	json_put_u64(j, "damaged", c->nr_damaged);
	json_put_u64(j, "cut", c->nr_cut);
	json_put_u64(j, "skipped_bytes", c->nr_skipped_bytes);
}

void trace_summary_json(const struct trace_summary *s, struct buf *out, size_t i)
{
	const struct trace_unit *u = &s->command->etm.trace->units[i];
	struct trace_unit_summary *m = &s->units[i];
	struct json_put j = {.out = out};

	json_open(&j, '{');
	json_put_string(&j, "name", u->name);
	if (!pt_config_of(u))
		json_put_hex(&j, "id", u->id);
	if (u->cpu != UINT32_MAX)
		json_put_u64(&j, "cpu", u->cpu);
	json_put_u64(&j, "session", u->session);
	json_put_bool(&j, "decoded", u->is_decodable);
	if (u->is_decodable && trace_unit_is_of_ops(u)) {
		json_ops(&j, &m->ops);
		if (spe_config_of(u) && spe_config_of(u)->why_unnamed)
			json_put_string(&j, "unnamed_sources", spe_config_of(u)->why_unnamed);
	} else if (u->is_decodable) {
		if (pt_config_of(u)) {
			json_put_string(&j, "protocol", "Intel PT");
			if (u->why_points)
				json_put_string(&j, "instructions_unknown", u->why_points);
		} else {
			json_put_string(&j, "protocol", etm_config_of(u)->is_ete ? "ETE" : "ETMv4");
			json_put_hex(&j, "version", etm_config_of(u)->version);
			json_put_hex(&j, "config", etm_config_of(u)->regs.configr);
		}
		json_put_u64(&j, "bytes", m->totals.nr_bytes);
		json_put_u64(&j, "packets", m->totals.nr_packets);
		json_put_u64(&j, "instructions", m->totals.nr_insns);
		json_put_u64(&j, "ranges", m->totals.nr_ranges);
		json_put_u64(&j, "exceptions", m->totals.nr_exceptions);
		json_put_u64(&j, "timestamps", m->nr_timestamps);
		json_put_u64(&j, "unreadable", m->totals.nr_nacc);
		json_put_u64(&j, "atoms_dropped", m->totals.nr_dropped);
		json_lost(&j, m);
		trace_gaps_merge(s, &m->gaps);
		json_gaps(&j, s, &m->gaps);
	} else {
		json_put_string(&j, "why", u->why.what);
	}
	if (s->command->etm.trace->cut.code)
		json_put_u64(&j, "cut_at", s->command->etm.trace->cut.offset);
	json_close(&j, '}');
	buf_char(out, '\n');
}
