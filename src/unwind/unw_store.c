/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/unw_store.h"

#include <string.h>

#include "base/hash.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "image/code_file.h"
#include "unwind/unw_compile.h"

struct unw_entry {
	struct unw_code code;
	struct os_file_identity id; /* of get_file() */
	void *key;                  /* of get_bytes(), size 0: none */
	size_t key_bytes;
	void *block; /* the table, if it was made here */
	struct code_file file;
};

struct unw_store {
	struct unw_store_opts opts;
	struct {
		VEC(struct unw_entry *);
	} entries;
	struct map_u64 by_hash; /* of id or key, or the next free number -> index */
	const struct unw_code *vdso;
	size_t bytes;
};

struct unw_store *unw_store_new(const struct unw_store_opts *opts)
{
	struct unw_store *s = mem_zalloc(sizeof(*s));

	if (s && opts)
		s->opts = *opts;
	return s;
}

static void entry_free(struct unw_entry *e)
{
	if (!e)
		return;
	code_file_done(&e->file);
	mem_free(e->key);
	mem_free(e->block);
	mem_free(e);
}

void unw_store_free(struct unw_store *s)
{
	if (!s)
		return;
	vec_for_each (&s->entries, e)
		entry_free(*e);
	vec_done(&s->entries);
	map_u64_done(&s->by_hash);
	mem_free(s);
}

size_t unw_store_bytes(const struct unw_store *s)
{
	return s->bytes;
}

static const char *why_of(enum clew_err err)
{
	switch ((int)err) {
	case CLEW_NO_MEMORY:
		return "out of memory";
	case CLEW_LIMIT:
		return "more than 65535 distinct rules";
	case CLEW_NOT_FOUND:
		return "no unwind information";
	case CLEW_UNSUPPORTED:
		return "code spans more than 4 GiB";
	default:
		return "damaged unwind information";
	}
}

/** The executable part of the file: from the first such segment to the end of the last. */
static void set_code(struct unw_code *c, const struct unw_image *i, const uint8_t *data)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (size_t n = 0; n < i->nr_segments; n++) {
		const struct unw_segment *s = &i->segments[n];

		if (s->offset < start)
			start = s->offset;
		if (s->offset + s->size > end)
			end = s->offset + s->size;
	}
	if (start >= end)
		return;
	c->code = data + start;
	c->code_bytes = end - start;
	c->code_start = start;
}

static void compile(struct unw_store *s, struct unw_entry *e, const void *data, size_t size)
{
	struct unw_code *c = &e->code;
	struct elf_file f = {0};
	struct unw_image image;
	size_t bytes = 0;
	enum clew_err err;

	if (elf_file_open(&f, data, size, NULL)) {
		c->why_none = "not an ELF file";
		return;
	}
	if (unw_image_of_elf(&image, &f)) {
		c->why_none = "code of another machine";
		elf_file_done(&f);
		return;
	}
	set_code(c, &image, data);
	err = unw_compile(&image, &s->opts, &e->block, &bytes);
	if (!err)
		err = unw_table_of_block(&c->table, e->block, bytes);
	c->why_none = err ? why_of(err) : NULL;
	s->bytes += err ? 0 : bytes;
	elf_file_done(&f);
}

static void load(struct unw_store *s, struct unw_entry *e, const void *data, size_t size)
{
	uint64_t from = code_clock_ns();

	compile(s, e, data, size);
	e->code.compile_ns = code_clock_ns() - from;
}

/** The entry's place in by_hash by its key, taken or free. */
static struct unw_entry *find(const struct unw_store *s, const struct unw_entry *like,
			      uint64_t *ret_hash)
{
	uint64_t hash = like->key_bytes ? hash_bytes(like->key, like->key_bytes)
					: hash_bytes(&like->id, sizeof(like->id));
	uint64_t *at;

	for (; (at = map_u64_get(&s->by_hash, hash)); hash++) {
		struct unw_entry *e = s->entries.data[*at];

		if (e->key_bytes == like->key_bytes && !memcmp(&e->id, &like->id, sizeof(e->id)) &&
		    (!e->key_bytes || !memcmp(e->key, like->key, e->key_bytes)))
			return e;
	}
	*ret_hash = hash;
	return NULL;
}

static bool add(struct unw_store *s, struct unw_entry *e, uint64_t hash, bool is_findable)
{
	if (is_findable && !map_u64_put(&s->by_hash, hash, s->entries.nr))
		return false;
	if (vec_push(&s->entries, e))
		return true;
	if (is_findable)
		map_u64_remove(&s->by_hash, hash);
	return false;
}

/** A new one with the id or key of @p like, under @p hash where it has any. */
static struct unw_entry *entry_new(struct unw_store *s, const struct unw_entry *like, uint64_t hash)
{
	struct unw_entry *e = mem_zalloc(sizeof(*e));

	if (!e)
		return NULL;
	e->id = like->id;
	e->key_bytes = like->key_bytes;
	if (like->key_bytes) {
		e->key = mem_alloc(like->key_bytes);
		if (e->key)
			memcpy(e->key, like->key, like->key_bytes);
	}
	if ((!e->key && e->key_bytes) || !add(s, e, hash, e->key_bytes || e->id.ino)) {
		entry_free(e);
		return NULL;
	}
	return e;
}

const struct unw_code *unw_store_get_bytes(struct unw_store *s, const void *key, size_t key_bytes,
					   const void *data, size_t size)
{
	struct unw_entry like = {.key = (void *)(uintptr_t)key, .key_bytes = key_bytes};
	struct unw_entry *e = NULL;
	uint64_t hash = 0;

	if (key_bytes)
		e = find(s, &like, &hash);
	if (e)
		return &e->code;
	e = entry_new(s, &like, hash);
	if (!e)
		return NULL;
	load(s, e, data, size);
	return &e->code;
}

/** Map @p path, unless the file was seen before. */
static const struct unw_code *get_new_file(struct unw_store *s, const char *path)
{
	static const struct unw_code no_file = {.why_none = "no such file"};
	struct unw_entry like = {0}, *e;
	struct code_file file = {0};
	uint64_t hash;

	if (code_file_open(&file, path))
		return &no_file;
	like.id = file.id;
	e = find(s, &like, &hash);
	if (e) {
		code_file_done(&file);
		return &e->code;
	}
	e = entry_new(s, &like, hash);
	if (!e) {
		code_file_done(&file);
		return NULL;
	}
	e->file = file;
	load(s, e, file.map.data, file.map.size);
	return &e->code;
}

const struct unw_code *unw_store_get_file(struct unw_store *s, const char *path)
{
	struct unw_entry like = {0}, *e;
	uint64_t hash;

	e = code_file_id(path, &like.id) ? find(s, &like, &hash) : NULL;
	return e ? &e->code : get_new_file(s, path);
}

const struct unw_code *unw_store_get_vdso(struct unw_store *s)
{
	const void *data;
	size_t size;
	struct unw_entry like = {0}, *e;

	if (s->vdso)
		return s->vdso;
	e = entry_new(s, &like, 0);
	if (!e)
		return NULL;
	if (code_own_vdso(&data, &size))
		load(s, e, data, size);
	else
		e->code.why_none = "no vdso on this machine";
	s->vdso = &e->code;
	return s->vdso;
}
