/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/unw_store.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "elf/elf_packed.h"
#include "image/code_file.h"
#include "unwind/unw_cache.h"
#include "unwind/unw_compile.h"

struct unw_entry {
	struct unw_code code;
	struct os_file_identity id; /* of get_file() */
	void *block;                /* the table, if it was made here */
	struct code_file file;
};

struct unw_store {
	struct unw_store_opts opts;
	struct {
		VEC(struct unw_entry *);
	} entries;
	struct file_cache *cache; /* NULL: none */
	struct map_u64 by_hash;   /* of id, or the next free number -> index */
	const struct unw_code *vdso;
	size_t bytes;        /* of tables */
	uint64_t copy_bytes; /* of files that were read */
};

const char unw_over_budget[] = "it needs more than the memory budget has left";

/* While a table is made there are lists of functions, rows and rules: so many bytes for one of the
 * section at most that a compiler would write. */
enum { COMPILE_FACTOR = 16 };

static const struct unw_code no_room = {.why_none = "too many binaries"};

struct unw_store *unw_store_new(const struct unw_store_opts *opts)
{
	struct unw_store *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	if (opts)
		s->opts = *opts;
	if (s->opts.cache_dir)
		s->cache = file_cache_new(s->opts.cache_dir, UNW_CACHE_MAX_BYTES);
	if (!s->opts.cache_dir || s->cache)
		return s;
	mem_free(s);
	return NULL;
}

static void entry_free(struct unw_entry *e)
{
	if (!e)
		return;
	code_file_done(&e->file);
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
	budget_give(s->opts.budget, s->bytes);
	map_u64_done(&s->by_hash);
	file_cache_free(s->cache);
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
static void set_code(struct unw_code *c, const struct unw_image *i, const uint8_t *data,
		     size_t size)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (size_t n = 0; n < i->nr_segments; n++) {
		const struct unw_segment *s = &i->segments[n];

		if (s->offset < start)
			start = s->offset;
		if (s->offset + s->size > end)
			end = s->offset + s->size;
	}
	if (end > size) /* a file that was cut off */
		end = size;
	if (start >= end)
		return;
	c->code = data + start;
	c->code_bytes = end - start;
	c->code_start = start;
}

/** A binary being loaded, with what is only open for that long. */
struct source {
	struct elf_file elf, debug_elf;
	struct code_file debug;
	struct unw_image image;
	struct buf unpacked; /* .debug_frame of elf, where it is packed */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_bytes;
};

static void source_done(struct source *x)
{
	elf_file_done(&x->debug_elf);
	elf_file_done(&x->elf);
	buf_done(&x->unpacked);
	code_file_done(&x->debug);
}

/** As Go's linker packs it. */
static void unpack_debug_frame(struct unw_store *s, struct source *x)
{
	uint64_t left = budget_left(s->opts.budget);
	size_t max = left < UNW_MAX_SECTION_BYTES ? (size_t)left : UNW_MAX_SECTION_BYTES;
	struct elf_section section;

	if (!x->image.debug_frame.bytes && elf_file_section(&x->elf, ".debug_frame", &section) &&
	    elf_packed_section(&x->elf, &section, max, &x->unpacked) && x->unpacked.nr)
		x->image.debug_frame =
			(struct unw_section){(const uint8_t *)x->unpacked.data, x->unpacked.nr, 0};
}

/** .debug_frame may be in a separate file, packed; its addresses are those of the binary. */
static void add_debug_frame(struct unw_store *s, struct source *x)
{
	const char *dir = s->opts.debug_dir ? s->opts.debug_dir : "/usr/lib/debug";
	struct elf_section section;
	struct bytes b;

	if (x->image.debug_frame.bytes || !x->build_id_bytes ||
	    code_file_open_debug(&x->debug, dir, x->build_id, x->build_id_bytes) ||
	    elf_file_open(&x->debug_elf, x->debug.map.data, x->debug.map.size, NULL))
		return;
	x->debug_elf.budget = s->opts.budget;
	if (x->debug_elf.is_64 && x->debug_elf.machine == x->elf.machine &&
	    elf_file_section(&x->debug_elf, ".debug_frame", &section) &&
	    elf_file_unpack(&x->debug_elf, &section, &b) && bytes_left(&b))
		x->image.debug_frame = (struct unw_section){b.pos, bytes_left(&b), 0};
}

static uint64_t section_bytes(const struct unw_image *i)
{
	return (uint64_t)i->eh_frame.size + i->debug_frame.size + i->sframe.size;
}

/** @return why not; NULL: the table is in e->block. */
static const char *compile(struct unw_store *s, struct unw_entry *e, struct source *x,
			   size_t *ret_bytes)
{
	clew_auto(buf_done) struct buf name = {0};
	bool has_name =
		s->cache && unw_cache_name(&x->image, x->build_id, x->build_id_bytes, &name);
	enum clew_err err;

	if (has_name &&
	    unw_cache_load(s->cache, buf_cstr(&name), x->image.arch, &e->block, ret_bytes)) {
		e->code.was_cached = true;
		return NULL;
	}
	err = unw_compile(&x->image, &e->block, ret_bytes);
	if (!err && has_name)
		file_cache_store(s->cache, buf_cstr(&name), e->block, *ret_bytes);
	return err ? why_of(err) : NULL;
}

static const char *load_source(struct unw_store *s, struct unw_entry *e, struct source *x,
			       const void *data, size_t size)
{
	uint64_t scratch;
	size_t bytes = 0;
	const char *why;

	if (elf_file_open(&x->elf, data, size, NULL))
		return "not an ELF file";
	if (unw_image_of_elf(&x->image, &x->elf))
		return "code of another machine";
	set_code(&e->code, &x->image, data, size);
	x->build_id_bytes = elf_file_build_id(&x->elf, x->build_id);
	unpack_debug_frame(s, x);
	add_debug_frame(s, x);
	scratch = section_bytes(&x->image) * COMPILE_FACTOR;
	if (!budget_take(s->opts.budget, scratch))
		return unw_over_budget;
	why = compile(s, e, x, &bytes);
	budget_give(s->opts.budget, scratch);
	if (why)
		return why;
	if (!budget_take(s->opts.budget, bytes)) {
		mem_free(e->block);
		e->block = NULL;
		return unw_over_budget;
	}
	unw_table_of_checked(&e->code.table, e->block);
	s->bytes += bytes;
	return NULL;
}

static void load(struct unw_store *s, struct unw_entry *e, const void *data, size_t size)
{
	uint64_t from = code_clock_ns();
	struct source x = {0};

	e->code.why_none = load_source(s, e, &x, data, size);
	source_done(&x);
	e->code.compile_ns = code_clock_ns() - from;
}

/** The entry of @p id, or its free place in by_hash. */
static struct unw_entry *find(const struct unw_store *s, const struct os_file_identity *id,
			      uint64_t *ret_hash)
{
	uint64_t hash = hash_bytes(id, sizeof(*id));
	uint64_t *at;

	for (; (at = map_u64_get(&s->by_hash, hash)); hash++) {
		struct unw_entry *e = s->entries.data[*at];

		if (!memcmp(&e->id, id, sizeof(*id)))
			return e;
	}
	*ret_hash = hash;
	return NULL;
}

/** A new one that is not found again. */
static struct unw_entry *entry_new(struct unw_store *s)
{
	struct unw_entry *e = mem_zalloc(sizeof(*e));

	if (!e || vec_push(&s->entries, e))
		return e;
	entry_free(e);
	return NULL;
}

/** A new one of the file @p id, at @p hash. */
static struct unw_entry *file_entry_new(struct unw_store *s, const struct os_file_identity *id,
					uint64_t hash)
{
	struct unw_entry *e;

	if (!map_u64_put(&s->by_hash, hash, s->entries.nr))
		return NULL;
	e = entry_new(s);
	if (e)
		e->id = *id;
	else
		map_u64_remove(&s->by_hash, hash);
	return e;
}

const struct unw_code *unw_store_get_bytes(struct unw_store *s, const void *data, size_t size)
{
	struct unw_entry *e = entry_new(s);

	if (!e)
		return NULL;
	load(s, e, data, size);
	return &e->code;
}

static bool is_full(const struct unw_store *s)
{
	return s->entries.nr >= UNW_STORE_MAX_FILES ||
	       s->bytes + s->copy_bytes >= UNW_STORE_MAX_BYTES;
}

const struct unw_code *unw_store_get_copy(struct unw_store *s, const void *data, size_t size)
{
	struct unw_entry *e;

	if (is_full(s))
		return &no_room;
	e = entry_new(s);
	if (!e)
		return NULL;
	load(s, e, data, size);
	e->code.code = NULL;
	e->code.code_bytes = 0;
	return &e->code;
}

/** Map @p path, unless the file was seen before. */
static const struct unw_code *get_new_file(struct unw_store *s, const char *path)
{
	static const struct unw_code no_file = {.why_none = "no such file"};
	struct code_file file = {0};
	struct unw_entry *e;
	enum clew_err err;
	uint64_t hash;

	if (is_full(s))
		return &no_room;
	err = code_file_open(&file, path);
	if (err)
		return err == CLEW_NO_MEMORY ? NULL : &no_file;
	e = find(s, &file.id, &hash);
	if (e) {
		code_file_done(&file);
		return &e->code;
	}
	e = file_entry_new(s, &file.id, hash);
	if (!e) {
		code_file_done(&file);
		return NULL;
	}
	e->file = file;
	s->copy_bytes += file.copy ? file.map.size : 0;
	load(s, e, file.map.data, file.map.size);
	return &e->code;
}

const struct unw_code *unw_store_get_file(struct unw_store *s, const char *path)
{
	struct os_file_identity id = {0};
	uint64_t hash;
	struct unw_entry *e = code_file_id(path, &id) ? find(s, &id, &hash) : NULL;

	return e ? &e->code : get_new_file(s, path);
}

const struct unw_code *unw_store_get_vdso(struct unw_store *s)
{
	const void *data;
	size_t size;
	struct unw_entry *e;

	if (s->vdso)
		return s->vdso;
	e = entry_new(s);
	if (!e)
		return NULL;
	if (code_own_vdso(&data, &size))
		load(s, e, data, size);
	else
		e->code.why_none = "no vdso on this machine";
	s->vdso = &e->code;
	return s->vdso;
}
