/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script_dump.h"

#include "format/script_parts.h"

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

void script_dump_record(struct buf *out, const struct perf_record *r)
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
	for (size_t at = 0; at < r->size; at += LINE_BYTES)
		add_line(out, r->data + at, at,
			 r->size - at < LINE_BYTES ? r->size - at : LINE_BYTES);
}
