/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/tracepoint.h"

#include <event-parse.h>
#include <limits.h>
#include <stdlib.h>
#include <trace-seq.h>

#include "base/mem.h"
#include "format/script/tracepoint_check.h"

enum {
	MAX_FORMAT_BYTES = 1 << 20, /* of one event; the kernel's largest are some 16 KiB */
	MAX_FORMATS = 1 << 16,
	MAGIC_BYTES = 10,
	MAX_PAYLOAD_BYTES = 1 << 16, /* a sample's raw data has 16 bits of size */
	ZERO_TAIL_BYTES = 64,        /* ends the longest string there is */
};

struct tracepoints {
	struct tep_handle *tep;
	struct trace_seq seq;
	tracepoint_resolve_fn *resolve;
	void *resolve_ctx;
	struct buf name;
	struct buf payload; /* of the event being printed */
};

static bool take_text(struct bytes *b, const char **ret)
{
	const uint8_t *end = memchr(b->pos, 0, bytes_left(b));

	if (!end)
		return false;
	*ret = (const char *)b->pos;
	b->pos = end + 1;
	return true;
}

/* "0.5", byte order, size of long, page size; then the ring buffer's own two formats. */
static bool take_header(struct tracepoints *t, struct bytes *b, bool *ret_swap)
{
	static const char magic[MAGIC_BYTES] = "\x17\x08\x44tracing";
	const char *text;
	uint8_t is_big, long_bytes;
	uint32_t page_bytes;
	uint16_t one = 1;
	uint64_t size;

	if (bytes_left(b) < MAGIC_BYTES || memcmp(b->pos, magic, MAGIC_BYTES) != 0)
		return false;
	b->pos += MAGIC_BYTES;
	if (!take_text(b, &text) || !bytes_u8(b, &is_big) || !bytes_u8(b, &long_bytes))
		return false;
	*ret_swap = is_big != !*(uint8_t *)&one;
	if (!bytes_u32(b, *ret_swap, &page_bytes))
		return false;
	tep_set_file_bigendian(t->tep, is_big ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(t->tep, *(uint8_t *)&one ? TEP_LITTLE_ENDIAN : TEP_BIG_ENDIAN);
	tep_set_long_size(t->tep, long_bytes == 4 ? 4 : 8);
	tep_set_page_size(t->tep, page_bytes < INT_MAX ? (int)page_bytes : 4096);
	for (int i = 0; i < 2; i++) {
		if (!take_text(b, &text) || !bytes_u64(b, *ret_swap, &size) || !bytes_skip(b, size))
			return false;
	}
	return true;
}

static bool take_formats(struct tracepoints *t, struct bytes *b, bool swap, uint32_t nr,
			 const char *system)
{
	for (uint32_t i = 0; i < nr; i++) {
		struct bytes format;
		uint64_t size;

		if (i == MAX_FORMATS || !bytes_u64(b, swap, &size) || size > MAX_FORMAT_BYTES ||
		    !bytes_take(b, size, &format))
			return false;
		/* A format that cannot be parsed is as good as a missing one. */
		if (tracepoint_format_is_sane(format))
			tep_parse_event(t->tep, (const char *)format.pos, size, system);
	}
	return true;
}

static bool take_systems(struct tracepoints *t, struct bytes *b, bool swap)
{
	uint32_t nr, nr_formats;
	const char *system;

	if (!bytes_u32(b, swap, &nr) || !take_formats(t, b, swap, nr, "ftrace") ||
	    !bytes_u32(b, swap, &nr))
		return false;
	for (uint32_t i = 0; i < nr; i++) {
		if (!take_text(b, &system) || !bytes_u32(b, swap, &nr_formats) ||
		    !take_formats(t, b, swap, nr_formats, system))
			return false;
	}
	return true;
}

/* Lines of `0xADDR : "text"`, which bprintk-like formats refer to. */
static void take_printk(struct tracepoints *t, struct bytes text)
{
	while (bytes_left(&text)) {
		const uint8_t *end = memchr(text.pos, '\n', bytes_left(&text));
		size_t len = end ? (size_t)(end - text.pos) : bytes_left(&text);
		char *line = mem_strndup((const char *)text.pos, len), *colon;

		colon = line ? strchr(line, ':') : NULL;
		/* libtraceevent looks for a quote and \n at the end without asking for the length.
		 */
		if (colon && colon[1] == ' ' && colon[2] == '"' && strlen(colon + 3) >= 3) {
			unsigned long long addr = strtoull(line, NULL, 16);

			tep_register_print_string(t->tep, colon + 2, addr);
		}
		mem_free(line);
		text.pos += len + (end ? 1 : 0);
	}
}

static void take_all(struct tracepoints *t, struct bytes *b, bool swap)
{
	struct bytes text;
	uint32_t size;

	if (!take_systems(t, b, swap))
		return;
	/* kallsyms: empty in what perf writes; names come from the resolver. */
	if (!bytes_u32(b, swap, &size) || !bytes_skip(b, size) || !bytes_u32(b, swap, &size))
		return;
	if (bytes_take(b, size, &text))
		take_printk(t, text);
}

struct tracepoints *tracepoints_new(struct bytes data)
{
	struct tracepoints *t = mem_zalloc(sizeof(*t));
	bool swap;

	if (!t)
		return NULL;
	tep_set_loglevel(TEP_LOG_NONE);
	t->tep = tep_alloc();
	trace_seq_init(&t->seq);
	if (!t->tep || !take_header(t, &data, &swap)) {
		tracepoints_free(t);
		return NULL;
	}
	take_all(t, &data, swap);
	return t;
}

void tracepoints_free(struct tracepoints *t)
{
	if (!t)
		return;
	trace_seq_destroy(&t->seq);
	tep_free(t->tep);
	buf_done(&t->name);
	buf_done(&t->payload);
	mem_free(t);
}

static char *resolve(void *ctx, unsigned long long *addr, char **module)
{
	struct tracepoints *t = ctx;
	uint64_t start = *addr;
	const char *name = t->resolve(t->resolve_ctx, *addr, &start);

	*module = NULL;
	if (!name)
		return NULL;
	*addr = start;
	return (char *)(uintptr_t)name;
}

void tracepoints_set_resolver(struct tracepoints *t, tracepoint_resolve_fn *fn, void *ctx)
{
	t->resolve = fn;
	t->resolve_ctx = ctx;
	tep_set_function_resolver(t->tep, resolve, t);
}

static struct tep_event *find(const struct tracepoints *t, uint64_t id)
{
	return id > INT_MAX ? NULL : tep_find_event(t->tep, (int)id);
}

bool tracepoint_wants_symbols(const struct tracepoints *t, uint64_t id)
{
	struct tep_event *e = find(t, id);
	const char *p = e ? e->print_fmt.format : NULL;

	while (p && (p = strstr(p, "%p")) != NULL) {
		if (strchr("sSfFB", p[2]) && p[2])
			return true;
		p += 2;
	}
	return false;
}

const char *tracepoint_name(struct tracepoints *t, uint64_t id)
{
	struct tep_event *e = find(t, id);

	if (!e)
		return NULL;
	buf_clear(&t->name);
	buf_printf(&t->name, "%s:%s", e->system, e->name);
	return buf_cstr(&t->name);
}

/* Where a field's bytes are: in place, or where its offset and length word points. */
static bool field_bytes(const struct tep_format_field *f, struct bytes raw, struct tep_handle *tep,
			struct bytes *ret)
{
	size_t at = (size_t)f->offset, size = (size_t)f->size, nr = bytes_left(&raw);

	if (f->offset < 0 || f->size < 0 || !range_fits(at, size, nr))
		return false;
	if (f->flags & TEP_FIELD_IS_DYNAMIC && size == 4) {
		uint64_t word = tep_read_number(tep, raw.pos + at, 4);

		at = (word & 0xffff) +
		     (f->flags & TEP_FIELD_IS_RELATIVE ? (size_t)f->offset + 4 : 0);
		size = word >> 16;
		if (!range_fits(at, size, nr))
			return false;
	}
	*ret = bytes_of(raw.pos + at, size);
	return true;
}

/*
 * libtraceevent trusts a payload to be what its format says. Give it a copy that is: long enough
 * for every field, with no variable part outside, and zeros at the end.
 */
static bool make_safe(struct tracepoints *t, const struct tep_event *e, struct bytes raw)
{
	size_t need = bytes_left(&raw);
	struct bytes copy, unused;

	for (const struct tep_format_field *f = e->format.fields; f; f = f->next) {
		if (f->offset < 0 || f->size < 0 || f->offset > MAX_PAYLOAD_BYTES ||
		    f->size > MAX_PAYLOAD_BYTES)
			return false;
		if ((size_t)f->offset + (size_t)f->size > need)
			need = (size_t)f->offset + (size_t)f->size;
	}
	buf_clear(&t->payload);
	buf_add(&t->payload, raw.pos, bytes_left(&raw));
	buf_fill(&t->payload, '\0', need - bytes_left(&raw) + ZERO_TAIL_BYTES);
	if (t->payload.is_failed)
		return false;
	copy = bytes_of(t->payload.data, need);
	for (const struct tep_format_field *f = e->format.fields; f; f = f->next) {
		if (!field_bytes(f, copy, t->tep, &unused))
			memset(t->payload.data + f->offset, 0, (size_t)f->size);
	}
	return true;
}

bool tracepoint_add_text(struct tracepoints *t, uint64_t id, uint32_t cpu, struct bytes raw,
			 struct buf *ret)
{
	struct tep_event *e = find(t, id);
	struct tep_record record = {.cpu = (int)cpu};

	if (!e || !make_safe(t, e, raw))
		return false;
	record.data = t->payload.data;
	record.size = (int)(t->payload.nr - ZERO_TAIL_BYTES);
	trace_seq_reset(&t->seq);
	tep_print_event(t->tep, &t->seq, &record, "%s", TEP_PRINT_INFO);
	if (t->seq.state == TRACE_SEQ__GOOD)
		buf_add(ret, t->seq.buffer, t->seq.len);
	return true;
}

static void describe(const struct tep_format_field *f, struct tep_handle *tep, struct bytes b,
		     struct tracepoint_field *ret)
{
	size_t size = bytes_left(&b);

	*ret = (struct tracepoint_field){.name = f->name, .bytes = b, .kind = TRACEPOINT_BYTES};
	if (f->flags & TEP_FIELD_IS_STRING) {
		ret->kind = TRACEPOINT_TEXT;
		ret->bytes.end = b.pos + strnlen((const char *)b.pos, size);
		return;
	}
	if (f->flags & TEP_FIELD_IS_ARRAY || (size != 1 && size != 2 && size != 4 && size != 8))
		return;
	ret->kind = f->flags & TEP_FIELD_IS_SIGNED ? TRACEPOINT_SIGNED : TRACEPOINT_UNSIGNED;
	ret->number = (int64_t)tep_read_number(tep, b.pos, (int)size);
	if (ret->kind == TRACEPOINT_SIGNED && size < 8) {
		unsigned int up = 64 - 8 * (unsigned int)size;

		ret->number = (int64_t)((uint64_t)ret->number << up) >> up;
	}
}

bool tracepoint_add_field_names(struct tracepoints *t, uint64_t id, struct buf *ret)
{
	struct tep_event *e = find(t, id);

	for (struct tep_format_field *f = e ? e->format.fields : NULL; f; f = f->next) {
		buf_str(ret, f->name);
		if (f->next)
			buf_char(ret, ',');
	}
	return e != NULL;
}

bool tracepoint_each_field(struct tracepoints *t, uint64_t id, struct bytes raw,
			   void (*each)(void *ctx, const struct tracepoint_field *f), void *ctx)
{
	struct tep_event *e = find(t, id);

	if (!e)
		return false;
	for (struct tep_format_field *f = e->format.fields; f; f = f->next) {
		struct tracepoint_field field;
		struct bytes b;

		if (!field_bytes(f, raw, t->tep, &b))
			continue;
		describe(f, t->tep, b, &field);
		each(ctx, &field);
	}
	return true;
}
