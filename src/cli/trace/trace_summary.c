/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "analyze/analyze.h"
#include "base/escape.h"
#include "cli/common/message.h"
#include "cli/trace/trace_summary_impl.h"
#include "format/trace/etm_frames_text.h"
#include "format/trace/etm_packet_text.h"
#include "format/windows_text.h"
#include "image/dso.h"
#include "trace/etm_decoder.h"
#include "trace/pt_decoder.h"
#include "trace/spe_decoder.h"

enum {
	MERGE_PAGES = 16, /* pages without code this near are one gap */
	MAX_PAGES = 1 << 20,
	NR_SHOWN = 5
};

/* --- gathering --- */

static bool count_page(struct trace_gaps *gaps, const struct flow_event *e, uint32_t unit)
{
	uint64_t page = e->address >> TRACE_PAGE_BITS, *known = map_u64_get(&gaps->index, page);

	if (known) {
		gaps->data[*known].nr++;
		return true;
	}
	if (gaps->nr >= MAX_PAGES)
		return true;
	return map_u64_put(&gaps->index, page, gaps->nr) &&
	       vec_push(gaps, (struct trace_gap){page, page + 1, 1, e->address, e->space, unit});
}

static void gaps_done(struct trace_gaps *gaps)
{
	map_u64_done(&gaps->index);
	vec_done(gaps);
}

static void note_lost(struct trace_unit_summary *u, const struct flow_event *e)
{
	for (size_t i = 0; i < u->nr_lost; i++) {
		if (u->lost[i].reason == e->reason && u->lost[i].what == e->what) {
			u->lost[i].nr++;
			return;
		}
	}
	if (u->nr_lost < NR_REASONS_KEPT)
		u->lost[u->nr_lost++] = (struct trace_lost){e->reason, e->what, 1, e->offset};
}

static bool take_event(struct trace_summary *s, uint32_t unit, const struct flow_event *e)
{
	struct trace_unit_summary *u = &s->units[unit];

	if (e->kind == FLOW_EV_NACC)
		return count_page(s->command->is_json ? &u->gaps : &s->gaps, e, unit);
	if (e->kind == FLOW_EV_NO_SYNC && e->reason != FLOW_NO_SYNC_INIT)
		note_lost(u, e);
	u->nr_timestamps += e->kind == FLOW_EV_TIMESTAMP;
	return true;
}

static enum clew_err take_batch(void *ctx, size_t unit, const struct flow_batch *b)
{
	struct trace_summary *s = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		uint32_t item = b->items[i];

		if (item & FLOW_ITEM_EVENT &&
		    !take_event(s, (uint32_t)unit, &b->events[item & ~(uint32_t)FLOW_ITEM_EVENT]))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

static enum clew_err take_end(void *ctx, size_t unit, struct flow *flow)
{
	((struct trace_summary *)ctx)->units[unit].totals = *flow_totals(flow);
	return CLEW_OK;
}

static enum clew_err take_frames(void *ctx, const struct cs_leftover *f)
{
	((struct trace_summary *)ctx)->frames = *f;
	return CLEW_OK;
}

/* --- code that is missing --- */

static int by_start(const void *a, const void *b)
{
	const struct trace_gap *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int by_count(const void *a, const void *b)
{
	const struct trace_gap *x = a, *y = b;

	return x->nr > y->nr ? -1 : x->nr < y->nr ? 1 : by_start(a, b);
}

/** The name of what was mapped there, where the input has it. */
const char *trace_gap_owner(const struct trace_summary *s, const struct trace_gap *g)
{
	struct trace_input *t = s->command->etm.trace;
	const struct ana_loc *loc = t->ops->locate(t, g->space, g->address);

	return loc && loc->dso ? dso_path(loc->dso) : NULL;
}

/** Why there is no code, in words; NULL: unknown. */
const char *trace_gap_why(const struct trace_summary *s, const struct trace_gap *g)
{
	const struct code_source *code = s->command->etm.trace->units[g->unit].code;

	return code->why ? code->why(code->ctx, g->space, g->address) : NULL;
}

static void put_gap(const struct trace_summary *s, struct buf *out, const struct trace_gap *g)
{
	const char *owner = trace_gap_owner(s, g), *why = trace_gap_why(s, g);

	buf_printf(out, "  0x%llx-0x%llx  %llu time%s",
		   (unsigned long long)g->start << TRACE_PAGE_BITS,
		   (unsigned long long)g->end << TRACE_PAGE_BITS, (unsigned long long)g->nr,
		   g->nr == 1 ? "" : "s");
	if (owner)
		escape_printf(out, "  %s", owner);
	if (why)
		escape_printf(out, "%s%s", owner ? ": " : "  ", why);
	buf_char(out, '\n');
}

static bool is_one(const struct trace_summary *s, const struct trace_gap *a,
		   const struct trace_gap *b)
{
	const char *x, *y;

	if (b->start - a->end > MERGE_PAGES)
		return false;
	x = trace_gap_owner(s, a);
	y = trace_gap_owner(s, b);
	return x == y || (x && y && !strcmp(x, y));
}

/** Near pages become one, by number of times. The index means nothing afterwards. */
void trace_gaps_merge(const struct trace_summary *s, struct trace_gaps *gaps)
{
	size_t nr = 0;

	if (!gaps->nr)
		return;
	qsort(gaps->data, gaps->nr, sizeof(*gaps->data), by_start);
	for (size_t i = 1; i < gaps->nr; i++) {
		struct trace_gap *last = &gaps->data[nr], *g = &gaps->data[i];

		if (!is_one(s, last, g)) {
			gaps->data[++nr] = *g;
			continue;
		}
		last->end = g->end;
		last->nr += g->nr;
	}
	gaps->nr = nr + 1;
	qsort(gaps->data, gaps->nr, sizeof(*gaps->data), by_count);
}

static void put_gaps(const struct trace_summary *s, struct buf *out, const struct trace_gaps *gaps)
{
	uint64_t left = 0;

	if (!gaps->nr)
		return;
	buf_str(out, "\nExecuted code that is missing:\n");
	for (size_t i = 0; i < gaps->nr; i++) {
		const struct trace_gap *g = &gaps->data[i];

		if (i >= NR_SHOWN) {
			left += g->nr;
			continue;
		}
		put_gap(s, out, g);
	}
	if (left)
		buf_printf(out, "  %zu other place%s  %llu time%s\n", gaps->nr - NR_SHOWN,
			   gaps->nr - NR_SHOWN == 1 ? "" : "s", (unsigned long long)left,
			   left == 1 ? "" : "s");
	if (s->command->etm.raw.file)
		buf_str(out, "Execution there is unknown. Give it with --memory=FILE@ADDRESS.\n");
	else if (s->command->etm.in.is_snapshot)
		buf_str(out, "Execution there is unknown. Add memory dumps of these addresses to "
			     "the core's .ini file:\n  [dumpN] file=NAME address=0x...\n");
	else
		buf_str(out, "Execution there is unknown. The binaries that were mapped there are "
			     "looked up\nunder --symfs=DIR and in the build-id cache; the kernel's "
			     "code in --vmlinux=FILE or kcore.\n");
}

static enum clew_err take_ops_end(void *ctx, size_t unit, const struct trace_ops_counts *c)
{
	struct trace_summary *s = ctx;

	s->units[unit].ops = *c;
	return CLEW_OK;
}

/* --- one unit --- */

static void put_config(struct buf *out, const struct etm_config *c)
{
	const struct {
		bool is_on;
		const char *name;
	} parts[] = {
		{c->has_branch_broadcast, "branch broadcast"},
		{c->has_cycle_counts,     "cycle counts"    },
		{c->has_cid,              "context IDs"     },
		{c->has_vmid,             "VMIDs"           },
		{c->has_timestamps,       "timestamps"      },
		{c->has_return_stack,     "return stack"    },
	};

	etm_version_text(out, c);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i].is_on)
			buf_printf(out, ", %s", parts[i].name);
}

static void put_count(struct buf *out, uint64_t nr, const char *one, const char *many)
{
	buf_printf(out, "%llu %s", (unsigned long long)nr, nr == 1 ? one : many);
}

static void put_lost(struct buf *out, const struct trace_lost *l)
{
	buf_str(out, "  sync lost ");
	put_count(out, l->nr, "time", "times");
	buf_printf(out, ": %s", flow_no_sync_text((enum flow_no_sync)l->reason));
	if (l->what)
		buf_printf(out, " (%s)", l->what);
	buf_printf(out, ", first at byte 0x%llx\n", (unsigned long long)l->first_offset);
}

static void put_ops(struct buf *out, const struct trace_ops_counts *c)
{
	buf_str(out, "SPE\n  ");
	put_count(out, c->nr_bytes, "byte", "bytes");
	buf_printf(out, " (%llu of padding), ", (unsigned long long)c->nr_padding_bytes);
	put_count(out, c->nr_records, "record", "records");
	if (c->nr_damaged || c->nr_cut || c->nr_skipped_bytes)
		buf_printf(out, ", %llu damaged, %llu cut off, %llu bytes skipped",
			   (unsigned long long)c->nr_damaged, (unsigned long long)c->nr_cut,
			   (unsigned long long)c->nr_skipped_bytes);
	buf_char(out, '\n');
}

bool trace_unit_is_of_ops(const struct trace_unit *u)
{
	return u->decoder->ops;
}

static void put_unit(const struct trace_summary *s, struct buf *out, size_t i)
{
	const struct trace_unit *u = &s->command->etm.trace->units[i];
	const struct trace_unit_summary *m = &s->units[i];
	const struct flow_totals *t = &m->totals;

	escape_printf(out, "%s", u->name);
	if (!pt_config_of(u))
		buf_printf(out, "  ID %x", u->id);
	if (u->cpu != UINT32_MAX && strncmp(u->name, "cpu ", 4) != 0)
		buf_printf(out, "  CPU %u", u->cpu);
	if (u->session)
		buf_printf(out, "  session %u", u->session + 1);
	buf_str(out, "  ");
	if (!u->is_decodable) {
		escape_printf(out, "not decoded: %s\n", u->why.what);
		return;
	}
	if (trace_unit_is_of_ops(u)) {
		put_ops(out, &m->ops);
		if (spe_config_of(u) && spe_config_of(u)->why_unnamed)
			buf_printf(out, "  data sources have no names: %s\n",
				   spe_config_of(u)->why_unnamed);
		return;
	}
	if (pt_config_of(u))
		buf_str(out, "Intel PT");
	else
		put_config(out, etm_config_of(u));
	buf_str(out, "\n  ");
	put_count(out, t->nr_bytes, "byte", "bytes");
	buf_str(out, ", ");
	put_count(out, t->nr_packets, "packet", "packets");
	buf_str(out, ", ");
	put_count(out, t->nr_insns, "instruction", "instructions");
	buf_str(out, " in ");
	put_count(out, t->nr_ranges, "range", "ranges");
	buf_str(out, ", ");
	put_count(out, t->nr_exceptions, "exception", "exceptions");
	buf_char(out, '\n');
	if (u->why_points)
		buf_printf(out, "  instructions unknown: %s\n", u->why_points);
	if (t->nr_nacc) {
		buf_str(out, "  code missing ");
		put_count(out, t->nr_nacc, "time", "times");
		buf_char(out, '\n');
	}
	if (t->nr_dropped) {
		buf_str(out, "  ");
		put_count(out, t->nr_dropped, "branch", "branches");
		buf_str(out, " not followed: no address was known\n");
	}
	for (size_t k = 0; k < m->nr_lost; k++)
		put_lost(out, &m->lost[k]);
}

static bool is_silent(const struct trace_summary *s, size_t unit)
{
	return s->command->etm.trace->units[unit].is_decodable && !s->units[unit].totals.nr_bytes &&
	       !s->units[unit].ops.nr_bytes;
}

static enum clew_err put_all(struct trace_summary *s)
{
	struct trace_command *c = s->command;
	struct buf out = {0};
	size_t nr_silent = 0;
	enum clew_err err;

	for (size_t i = 0; i < c->etm.trace->nr_units; i++) {
		if (c->etm.skips[i])
			continue;
		if (c->is_json)
			trace_summary_json(s, &out, i);
		else if (is_silent(s, i))
			nr_silent++;
		else
			put_unit(s, &out, i);
	}
	if (nr_silent)
		buf_printf(&out, "%s%zu trace unit%s without a byte of trace\n",
			   out.nr ? "and " : "", nr_silent, nr_silent == 1 ? "" : "s");
	if (c->is_json) {
		etm_frames_json(&out, &s->frames);
	} else {
		trace_gaps_merge(s, &s->gaps);
		put_gaps(s, &out, &s->gaps);
		etm_frames_text(&out, &s->frames);
	}
	windows_put(&out, trace_input_windows(c->etm.trace), c->is_json);
	err = trace_write(c, &out);
	buf_done(&out);
	return err;
}

enum clew_err trace_print_summary(struct trace_command *c, struct clew_diag *diag)
{
	struct trace_summary s = {.command = c};
	const struct cs_listener frames = {.frames = take_frames, .ctx = &s};
	struct trace_decode_opts opts = trace_opts_of(c, true);
	enum clew_err err;

	s.units = mem_calloc(c->etm.trace->nr_units, sizeof(*s.units));
	if (!s.units)
		return CLEW_NO_MEMORY;
	opts.batch = take_batch;
	opts.unit_end = take_end;
	opts.ops_end = take_ops_end;
	opts.coresight = &frames;
	opts.ctx = &s;
	err = trace_decode(c->etm.trace, &opts, diag);
	if (!err)
		err = put_all(&s);
	for (size_t i = 0; i < c->etm.trace->nr_units; i++)
		gaps_done(&s.units[i].gaps);
	gaps_done(&s.gaps);
	mem_free(s.units);
	return err;
}
