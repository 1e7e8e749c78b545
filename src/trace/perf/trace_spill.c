/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/trace_spill.h"

#include "os/create.h"

static bool open_file(struct trace_spill *s)
{
	s->fd = os_create_unnamed();
	s->is_open = s->fd >= 0;
	return s->is_open;
}

static uint64_t put(void *ctx, const void *data, size_t bytes)
{
	struct trace_spill *s = ctx;
	uint64_t at = s->nr_bytes;

	if (s->has_failed || (!s->is_open && !open_file(s)) || os_write_all(s->fd, data, bytes)) {
		s->has_failed = true;
		return UINT64_MAX;
	}
	s->nr_bytes += bytes;
	return at;
}

static const uint8_t *map(void *ctx)
{
	struct trace_spill *s = ctx;

	return os_map_fd(s->fd, &s->map, NULL) ? NULL : s->map.data;
}

static void rest(void *ctx)
{
	const struct trace_spill *s = ctx;

	os_map_release(&s->map, 0, s->map.size);
}

struct who_spill trace_spill_of(struct trace_spill *s)
{
	return (struct who_spill){put, map, rest, s};
}

void trace_spill_done(struct trace_spill *s)
{
	os_map_done(&s->map);
	if (s->is_open)
		os_close(s->fd);
}
