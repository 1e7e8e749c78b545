/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/running/tracing_data.h"

#include <stdio.h>
#include <string.h>

#include "os/file.h"
#include "os/proc.h"

enum { FILE_LIMIT = 64 * 1024 * 1024 };

static const char *tracefs(void)
{
	return os_exists("/sys/kernel/tracing/events") ? "/sys/kernel/tracing"
						       : "/sys/kernel/debug/tracing";
}

static void put_u8(struct buf *b, uint8_t v)
{
	buf_add(b, &v, 1);
}

/* u64 (or u32) size, then the content of a file; an unreadable file is an empty one. */
static void put_file(struct buf *b, const char *name, size_t size_bytes)
{
	char path[512];
	size_t at = b->nr;
	uint64_t size;
	long n;

	buf_fill(b, '\0', size_bytes);
	snprintf(path, sizeof(path), "%s/%s", tracefs(), name);
	n = os_read_into(path, FILE_LIMIT, b);
	size = n > 0 ? (uint64_t)n : 0;
	if (!b->is_failed)
		memcpy(b->data + at, &size, size_bytes); /* little-endian hosts: low bytes first */
}

static void put_format(struct buf *b, const struct rec_event *e)
{
	char name[512];

	snprintf(name, sizeof(name), "events/%s/%s/format", e->tp_system, e->tp_name);
	put_file(b, name, 8);
}

static bool is_first(const struct rec_event_list *l, const struct rec_event *e, bool by_name)
{
	for (const struct rec_event *p = l->events.data; p < e; p++)
		if (p->is_tracepoint && !strcmp(p->tp_system, e->tp_system) &&
		    (!by_name || !strcmp(p->tp_name, e->tp_name)))
			return false;
	return true;
}

/* Formats of one system: u32 how many, then each; every tracepoint once. */
static void put_system(struct buf *b, const struct rec_event_list *l, const char *system)
{
	size_t at = b->nr;
	uint32_t nr = 0;

	buf_u32(b, 0);
	vec_for_each (&l->events, e) {
		if (!e->is_tracepoint || strcmp(e->tp_system, system) != 0 || !is_first(l, e, true))
			continue;
		put_format(b, e);
		nr++;
	}
	if (!b->is_failed)
		memcpy(b->data + at, &nr, sizeof(nr));
}

static void put_systems(struct buf *b, const struct rec_event_list *l)
{
	size_t at = b->nr;
	uint32_t nr = 0;

	buf_u32(b, 0);
	vec_for_each (&l->events, e) {
		/* ftrace's own events have a section of their own before this one. */
		if (!e->is_tracepoint || !strcmp(e->tp_system, "ftrace") || !is_first(l, e, false))
			continue;
		buf_add(b, e->tp_system, strlen(e->tp_system) + 1);
		put_system(b, l, e->tp_system);
		nr++;
	}
	if (!b->is_failed)
		memcpy(b->data + at, &nr, sizeof(nr));
}

bool rec_tracing_data(struct buf *b, const struct rec_event_list *events)
{
	static const char magic[] = "\x17\x08\x44tracing", version[] = "0.6";
	bool any = false;

	vec_for_each (&events->events, e)
		any |= e->is_tracepoint;
	if (!any)
		return false;
	buf_add(b, magic, sizeof(magic) - 1);
	buf_add(b, version, sizeof(version));
	put_u8(b, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	put_u8(b, sizeof(long));
	buf_u32(b, os_page_bytes());
	buf_add(b, "header_page", 12);
	put_file(b, "events/header_page", 8);
	buf_add(b, "header_event", 13);
	put_file(b, "events/header_event", 8);
	put_system(b, events, "ftrace");
	put_systems(b, events);
	buf_u32(b, 0); /* kallsyms: a reader has them from the maps */
	put_file(b, "printk_formats", 4);
	put_file(b, "saved_cmdlines", 8);
	return true;
}
