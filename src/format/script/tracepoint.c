/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/tracepoint.h"

#include <event-parse.h>
#include <limits.h>
#include <stdlib.h>
#include <trace-seq.h>

#include "base/mem.h"
#include "perfdata/perf_tracing.h"

enum {
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

struct tracepoints *tracepoints_new(struct bytes data)
{
	struct tracepoints *t = mem_zalloc(sizeof(*t));

	if (!t)
		return NULL;
	t->tep = perf_tracing_parse(data);
	trace_seq_init(&t->seq);
	if (!t->tep) {
		tracepoints_free(t);
		return NULL;
	}
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
