/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_features_write.h"

#include "base/bytes.h"

enum {
	STRING_ALIGN = 64,
	MISC_BUILD_ID_SIZE = 1 << 15, /* the size byte after the id counts */
	BUILD_ID_MAX = 20,
	BUILD_ID_FIELD = 24, /* id, u8 size, three bytes of nothing */
	ZSTD_TYPE = 1,
};

void perf_put_string(struct buf *b, const char *s)
{
	size_t len = strlen(s) + 1, padded = align_up(len, STRING_ALIGN);

	buf_u32(b, (uint32_t)padded);
	buf_add(b, s, len);
	buf_fill(b, '\0', padded - len);
}

void perf_put_cmdline(struct buf *b, const char *exe, const char *const *words, size_t nr)
{
	buf_u32(b, (uint32_t)nr + 1);
	perf_put_string(b, exe);
	for (size_t i = 0; i < nr; i++)
		perf_put_string(b, words[i]);
}

uint32_t perf_file_attr_size(const struct perf_evlist *l)
{
	uint32_t size = PERF_ATTR_SIZE_VER7;

	for (size_t i = 0; i < l->evsels.nr; i++) {
		const struct perf_attr *a = &l->evsels.data[i]->attr;

		if (a->config3 && size < PERF_ATTR_SIZE_VER8)
			size = PERF_ATTR_SIZE_VER8;
		if (a->config4)
			size = PERF_ATTR_SIZE_VER9;
	}
	return size;
}

void perf_put_attr(struct buf *b, const struct perf_attr *attr, uint32_t size)
{
	struct perf_attr copy = *attr;
	uint8_t bytes[PERF_ATTR_SIZE_VER9];

	copy.size = size;
	perf_attr_for_kernel(&copy, bytes);
	buf_add(b, bytes, size);
}

void perf_put_event_desc(struct buf *b, const struct perf_evlist *l)
{
	uint32_t size = perf_file_attr_size(l);

	buf_u32(b, (uint32_t)l->evsels.nr);
	buf_u32(b, size);
	for (size_t i = 0; i < l->evsels.nr; i++) {
		const struct perf_evsel *e = l->evsels.data[i];

		perf_put_attr(b, &e->attr, size);
		buf_u32(b, e->nr_ids);
		perf_put_string(b, e->name);
		buf_add(b, e->ids, e->nr_ids * sizeof(*e->ids));
	}
}

uint32_t perf_put_group_desc(struct buf *b, const struct perf_evlist *l)
{
	size_t at = b->nr;
	uint32_t nr = 0;

	buf_u32(b, 0);
	for (size_t i = 0; i < l->evsels.nr; i++) {
		const struct perf_evsel *e = l->evsels.data[i];

		if (e->nr_group < 2)
			continue;
		nr++;
		perf_put_string(b, e->group_name ? e->group_name : "{anon_group}");
		buf_u32(b, e->index);
		buf_u32(b, e->nr_group);
	}
	if (!b->is_failed)
		memcpy(b->data + at, &nr, sizeof(nr));
	return nr;
}

void perf_put_compressed(struct buf *b, int level, uint32_t ratio, uint32_t mmap_bytes)
{
	buf_u32(b, 1); /* version */
	buf_u32(b, ZSTD_TYPE);
	buf_u32(b, (uint32_t)level);
	buf_u32(b, ratio);
	buf_u32(b, mmap_bytes);
}

void perf_put_cache(struct buf *b, const struct perf_cache_level *levels, uint32_t nr)
{
	buf_u32(b, 1); /* version */
	buf_u32(b, nr);
	for (uint32_t i = 0; i < nr; i++) {
		const struct perf_cache_level *c = &levels[i];

		buf_u32(b, c->level);
		buf_u32(b, c->line_bytes);
		buf_u32(b, c->sets);
		buf_u32(b, c->ways);
		perf_put_string(b, c->type);
		perf_put_string(b, c->size);
		perf_put_string(b, c->cpus);
	}
}

void perf_put_build_id(struct buf *b, uint32_t type, bool is_kernel, int32_t pid,
		       const uint8_t *build_id, size_t build_id_bytes, const char *filename)
{
	size_t name = strlen(filename) + 1, padded = align_up(name, STRING_ALIGN);
	struct perf_event_header header = {
		.type = type,
		.misc = (uint16_t)(MISC_BUILD_ID_SIZE |
				   (is_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER)),
		.size = (uint16_t)(sizeof(header) + sizeof(pid) + BUILD_ID_FIELD + padded),
	};
	uint8_t field[BUILD_ID_FIELD] = {0};

	if (build_id_bytes > BUILD_ID_MAX)
		build_id_bytes = BUILD_ID_MAX;
	memcpy(field, build_id, build_id_bytes);
	field[BUILD_ID_MAX] = (uint8_t)build_id_bytes;
	buf_add(b, &header, sizeof(header));
	buf_add(b, &pid, sizeof(pid));
	buf_add(b, field, sizeof(field));
	buf_add(b, filename, name);
	buf_fill(b, '\0', padded - name);
}
