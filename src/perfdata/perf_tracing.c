/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_tracing.h"

#include <event-parse.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "perfdata/perf_tracing_check.h"

enum {
	MAX_FORMAT_BYTES = 1 << 20, /* of one event; the kernel's largest are some 16 KiB */
	MAX_FORMATS = 1 << 16,
	MAGIC_BYTES = 10,
};

struct reader {
	struct tep_handle *tep;
	struct bytes b;
	bool swap;
	const char *only; /* the first line of the one format that is wanted, or NULL */
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
static bool take_header(struct reader *r)
{
	static const char magic[MAGIC_BYTES] = "\x17\x08\x44tracing";
	struct bytes *b = &r->b;
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
	r->swap = is_big != !*(uint8_t *)&one;
	if (!bytes_u32(b, r->swap, &page_bytes))
		return false;
	tep_set_file_bigendian(r->tep, is_big ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(r->tep, *(uint8_t *)&one ? TEP_LITTLE_ENDIAN : TEP_BIG_ENDIAN);
	tep_set_long_size(r->tep, long_bytes == 4 ? 4 : 8);
	tep_set_page_size(r->tep, page_bytes < INT_MAX ? (int)page_bytes : 4096);
	for (int i = 0; i < 2; i++) {
		if (!take_text(b, &text) || !bytes_u64(b, r->swap, &size) || !bytes_skip(b, size))
			return false;
	}
	return true;
}

static bool is_wanted(const struct reader *r, struct bytes format)
{
	size_t n = r->only ? strlen(r->only) : 0;

	return bytes_left(&format) >= n && (!n || !memcmp(format.pos, r->only, n));
}

static bool take_formats(struct reader *r, uint32_t nr, const char *system)
{
	for (uint32_t i = 0; i < nr; i++) {
		struct bytes format;
		uint64_t size;

		if (i == MAX_FORMATS || !bytes_u64(&r->b, r->swap, &size) ||
		    size > MAX_FORMAT_BYTES || !bytes_take(&r->b, size, &format))
			return false;
		/* A format that cannot be parsed is as good as a missing one. */
		if (is_wanted(r, format) && perf_tracing_format_is_sane(format))
			tep_parse_event(r->tep, (const char *)format.pos, size, system);
	}
	return true;
}

static bool take_systems(struct reader *r)
{
	uint32_t nr, nr_formats;
	const char *system;

	if (!bytes_u32(&r->b, r->swap, &nr) || !take_formats(r, nr, "ftrace") ||
	    !bytes_u32(&r->b, r->swap, &nr))
		return false;
	for (uint32_t i = 0; i < nr; i++) {
		if (!take_text(&r->b, &system) || !bytes_u32(&r->b, r->swap, &nr_formats) ||
		    !take_formats(r, nr_formats, system))
			return false;
	}
	return true;
}

/* Lines of `0xADDR : "text"`, which bprintk-like formats refer to. */
static void take_printk(struct tep_handle *tep, struct bytes text)
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

			tep_register_print_string(tep, colon + 2, addr);
		}
		mem_free(line);
		text.pos += len + (end ? 1 : 0);
	}
}

static void take_all(struct reader *r)
{
	struct bytes text;
	uint32_t size;

	if (!take_systems(r))
		return;
	/* kallsyms: empty in what perf writes; names come from the resolver. */
	if (!bytes_u32(&r->b, r->swap, &size) || !bytes_skip(&r->b, size) ||
	    !bytes_u32(&r->b, r->swap, &size))
		return;
	if (bytes_take(&r->b, size, &text))
		take_printk(r->tep, text);
}

static struct tep_handle *parse(struct bytes data, const char *only)
{
	struct reader r = {.b = data, .only = only};

	tep_set_loglevel(TEP_LOG_NONE);
	r.tep = tep_alloc();
	if (!r.tep || !take_header(&r)) {
		tep_free(r.tep);
		return NULL;
	}
	take_all(&r);
	return r.tep;
}

struct tep_handle *perf_tracing_parse(struct bytes data)
{
	return parse(data, NULL);
}

static uint32_t offset_of(struct tep_event *e, const char *name)
{
	const struct tep_format_field *f = name ? tep_find_field(e, name) : NULL;

	return f && f->size == 4 && f->offset >= 0 ? (uint32_t)f->offset : (uint32_t)PERF_NO_FIELD;
}

/** Fields: names; NULL: none. @return false: @p data has no format of it. */
static bool find(struct bytes data, const char *system, const char *name,
		 const char *const fields[PERF_TRACEPOINT_FIELDS], struct perf_tracepoint *ret)
{
	char first_line[64];
	struct tep_handle *tep;
	struct tep_event *e;

	if (!data.pos)
		return false;
	snprintf(first_line, sizeof(first_line), "name: %s\n", name);
	tep = parse(data, first_line);
	e = tep ? tep_find_event_by_name(tep, system, name) : NULL;
	if (e) {
		ret->id = (uint64_t)e->id;
		for (unsigned int i = 0; i < PERF_TRACEPOINT_FIELDS; i++)
			ret->offsets[i] = offset_of(e, fields[i]);
	}
	tep_free(tep);
	return e;
}

bool perf_sched_switch_find(struct bytes data, struct perf_tracepoint *ret)
{
	static const char *const fields[] = {"prev_pid", "next_pid"};

	return find(data, "sched", "sched_switch", fields, ret) &&
	       ret->offsets[0] != PERF_NO_FIELD && ret->offsets[1] != PERF_NO_FIELD;
}

bool perf_kvm_find(struct bytes data, struct perf_tracepoint *ret_entry,
		   struct perf_tracepoint *ret_exit)
{
	static const char *const fields[PERF_TRACEPOINT_FIELDS] = {"vcpu_id"};

	return find(data, "kvm", "kvm_entry", fields, ret_entry) &&
	       find(data, "kvm", "kvm_exit", fields, ret_exit);
}

bool perf_tracepoint_u32(struct bytes raw, uint32_t offset, bool swap, uint32_t *ret)
{
	if (bytes_left(&raw) < sizeof(*ret) || offset > bytes_left(&raw) - sizeof(*ret))
		return false;
	*ret = load_u32(raw.pos + offset, swap);
	return true;
}
