/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/unw_cache.h"

#include "base/hash.h"
#include "base/mem.h"

static uint64_t hash_section(uint64_t h, const struct unw_section *s)
{
	h = hash_two(hash_two(h, s->addr), s->bytes ? s->size : 0);
	return s->bytes ? hash_two(h, hash_bytes(s->bytes, s->size)) : h;
}

static uint64_t hash_sources(const struct unw_image *image)
{
	uint64_t h = hash_two(image->arch, image->is_swapped);

	h = hash_section(h, &image->sframe);
	h = hash_section(h, &image->eh_frame);
	h = hash_section(h, &image->debug_frame);
	h = hash_two(h, image->symbols.size); /* a stripped binary keeps its build id */
	for (size_t i = 0; i < image->nr_segments; i++) {
		const struct unw_segment *s = &image->segments[i];

		h = hash_two(hash_two(hash_two(h, s->vaddr), s->size), s->offset);
	}
	return h;
}

bool unw_cache_name(const struct unw_image *image, const uint8_t *build_id, size_t build_id_bytes,
		    struct buf *ret)
{
	if (!build_id_bytes)
		return false;
	for (size_t i = 0; i < build_id_bytes; i++)
		buf_printf(ret, "%02x", build_id[i]);
	buf_printf(ret, "-v%d.%d-", UNW_TABLE_VERSION, UNW_CACHE_VERSION);
	buf_hex(ret, hash_sources(image), 16, '0');
	return !ret->is_failed;
}

bool unw_cache_load(struct file_cache *c, const char *name, enum unw_arch arch, void **ret_block,
		    size_t *ret_size)
{
	struct unw_table t;
	size_t size;
	void *block = file_cache_load(c, name, &size);

	if (!block)
		return false;
	if (unw_table_of_block(&t, block, size) || t.head->arch != arch) {
		mem_free(block);
		return false;
	}
	*ret_block = block;
	*ret_size = size;
	return true;
}
