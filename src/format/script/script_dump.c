/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_dump.h"

#include "format/script/script_parts.h"
#include "perfdata/perf_deferred.h"
#include "unwind/unw_rule.h"

enum { LINE_BYTES = 16 };

static void add_line(struct buf *b, const uint8_t *p, size_t at, size_t nr)
{
	buf_str(b, "  ");
	buf_hex(b, at, 4, '0');
	buf_char(b, ' ');
	for (size_t i = 0; i < LINE_BYTES; i++) {
		buf_char(b, ' ');
		if (i < nr)
			buf_hex(b, p[i], 2, '0');
		else
			buf_str(b, "  ");
	}
	buf_str(b, "  ");
	for (size_t i = 0; i < nr; i++)
		buf_char(b, p[i] >= 0x20 && p[i] < 0x7f ? (char)p[i] : '.');
	buf_char(b, '\n');
}

/* What follows the frames of a deferred stack: how each was found, and why the stack ends. */
static void add_trailer(struct buf *b, const struct perf_record *r,
			const struct perf_evlist *events, uint32_t nr)
{
	const struct perf_evsel *evsel =
		perf_evlist_of_record(events, r->type, perf_record_body(r), r->swap);
	struct perf_deferred_trailer t;
	struct perf_sample_id id;

	if (!evsel ||
	    perf_sample_id_parse(perf_record_body(r), r->swap, &evsel->attr, &id) != CLEW_OK ||
	    !perf_deferred_trailer(r, id.size_bytes, &t))
		return;
	buf_printf(b, ", stop %s", unw_stop_name(t.stop < NR_UNW_STOPS ? t.stop : UNW_STOP_NONE));
	if (t.stop == UNW_STOP_UNREPRESENTABLE)
		buf_printf(b, " (%s)", unw_why_name((enum unw_why)t.why));
	if (t.method == UNW_NO_ORIGIN)
		return;
	for (uint32_t i = 0, same = 0; i < nr; i += same) {
		uint8_t method = perf_deferred_method(&t, i);

		for (same = 1; i + same < nr && perf_deferred_method(&t, i + same) == method;)
			same++;
		buf_printf(b, "%s%u %s", i ? ", " : "; found by: ", same,
			   (method & PERF_DEFERRED_ORIGIN) ? unw_origin_name((enum unw_origin)(
								     method & PERF_DEFERRED_ORIGIN))
							   : "its registers");
		if (method & PERF_DEFERRED_EXACT)
			buf_str(b, " (interrupted)");
	}
}

static void add_deferred(struct buf *b, const struct perf_record *r,
			 const struct perf_evlist *events)
{
	struct perf_callchain_deferred c;

	if (perf_callchain_deferred_parse(r, &c) != CLEW_OK)
		return;
	buf_str(b, "  PERF_RECORD_CALLCHAIN_DEFERRED cookie 0x");
	buf_hex(b, c.cookie, 0, ' ');
	buf_printf(b, ", %u frames", (unsigned int)c.nr);
	add_trailer(b, r, events, (uint32_t)c.nr);
	buf_char(b, '\n');
	for (uint64_t i = 0; i < c.nr; i++) {
		buf_str(b, "    ");
		buf_hex(b, load_u64(c.ips + 8 * i, r->swap), 16, ' ');
		buf_char(b, '\n');
	}
}

void script_dump_record(struct buf *out, const struct perf_record *r,
			const struct perf_evlist *events)
{
	const char *name = perf_record_type_name(r->type);
	struct buf text = {0};

	buf_str(out, "0x");
	buf_hex(out, r->offset, 0, ' ');
	buf_str(out, " [0x");
	buf_hex(out, r->size, 0, ' ');
	buf_str(out, "]: ");
	if (name)
		buf_str(out, name);
	else
		buf_printf(out, "type %u", r->type);
	buf_printf(out, " misc 0x%x\n", r->misc);
	if (script_record_text(&text, UINT32_MAX, r)) {
		buf_str(out, "  ");
		buf_add(out, text.data, text.nr);
	}
	buf_done(&text);
	if (r->type == PERF_RECORD_CALLCHAIN_DEFERRED)
		add_deferred(out, r, events);
	for (size_t at = 0; at < r->size; at += LINE_BYTES)
		add_line(out, r->data + at, at,
			 r->size - at < LINE_BYTES ? r->size - at : LINE_BYTES);
}
