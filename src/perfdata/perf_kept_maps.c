/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_kept_maps.h"

#include <stdlib.h>
#include <zstd.h>

enum { MAGIC_BYTES = 8, MAP_BYTES = 24, MAX_MAPS = 1 << 16, ALIGN = 8 };

static const uint8_t magic[MAGIC_BYTES] = {'C', 'L', 'E', 'W', 'M', 'A', 'P', 1};

/* --- writing --- */

void perf_put_kept_maps(struct buf *b)
{
	buf_add(b, magic, sizeof(magic));
}

void perf_put_kept_map(struct buf *b, const struct perf_kept_map *m)
{
	size_t packed = bytes_left(&m->packed);

	buf_le32(b, m->pid);
	buf_le32(b, 0);
	buf_le64(b, m->time);
	buf_le32(b, (uint32_t)m->bytes);
	buf_le32(b, (uint32_t)packed);
	buf_add(b, m->packed.pos, packed);
	buf_fill(b, '\0', -packed & (ALIGN - 1));
}

void perf_pack_kept_map(struct buf *b, const char *text, size_t bytes)
{
	size_t bound = ZSTD_compressBound(bytes), packed;

	if (!buf_reserve(b, bound))
		return;
	packed = ZSTD_compress(b->data + b->nr, bound, text, bytes, 1);
	if (ZSTD_isError(packed))
		b->is_failed = true;
	else
		b->nr += packed;
}

/* --- reading --- */

static int by_pid_and_time(const void *x, const void *y)
{
	const struct perf_kept_map *a = x, *b = y;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->packed.pos < b->packed.pos ? -1 : a->packed.pos > b->packed.pos;
}

static bool take_map(struct bytes *b, struct perf_kept_map *ret)
{
	struct bytes head;
	size_t packed;

	if (!bytes_take(b, MAP_BYTES, &head))
		return false;
	packed = load_le32(head.pos + 20);
	*ret = (struct perf_kept_map){.pid = load_le32(head.pos),
				      .time = load_le32(head.pos + 8) |
					      (uint64_t)load_le32(head.pos + 12) << 32,
				      .bytes = load_le32(head.pos + 16)};
	return ret->bytes <= PERF_KEPT_MAP_MAX && bytes_take(b, packed, &ret->packed) &&
	       bytes_skip(b, -packed & (ALIGN - 1));
}

static enum clew_err take_all(struct bytes b, struct perf_kept_maps *ret)
{
	struct bytes head;

	if (!bytes_take(&b, MAGIC_BYTES, &head) || memcmp(head.pos, magic, MAGIC_BYTES - 1) != 0)
		return CLEW_BAD_FILE;
	if (head.pos[MAGIC_BYTES - 1] != magic[MAGIC_BYTES - 1])
		return CLEW_UNSUPPORTED;
	while (bytes_left(&b)) {
		struct perf_kept_map m;

		if (ret->nr == MAX_MAPS || !take_map(&b, &m))
			return CLEW_BAD_FILE;
		if (!vec_push(ret, m))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

enum clew_err perf_kept_maps_parse(const struct perf_features *f, struct perf_kept_maps *ret)
{
	struct bytes section = f->section[PERF_FEAT_CLEW_MAPS];
	enum clew_err err;

	*ret = (struct perf_kept_maps){0};
	if (!section.pos)
		return CLEW_OK;
	err = take_all(section, ret);
	if (ret->nr)
		qsort(ret->data, ret->nr, sizeof(*ret->data), by_pid_and_time);
	return err;
}

void perf_kept_maps_done(struct perf_kept_maps *m)
{
	vec_done(m);
}

bool perf_kept_map_unpack(struct bytes packed, char *text, size_t bytes)
{
	size_t got = ZSTD_decompress(text, bytes, packed.pos, bytes_left(&packed));

	return !ZSTD_isError(got) && got == bytes;
}
