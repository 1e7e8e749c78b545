/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image/file_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/vec.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/file_time.h"
#include "os/output.h"
#include "os/proc.h"

#define TEMP_SUFFIX ".part" FILE_CACHE_SUFFIX

struct file_cache {
	char *dir;
	uint64_t max_bytes;
	uint64_t guess_bytes; /* at least what is there, but for what others store */
	bool has_looked;      /* guess_bytes is worth something */
	uint32_t nr_stored;
};

struct file_cache *file_cache_new(const char *dir, uint64_t max_bytes)
{
	struct file_cache *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->dir = mem_strdup(dir);
	c->max_bytes = max_bytes;
	if (c->dir)
		return c;
	mem_free(c);
	return NULL;
}

void file_cache_free(struct file_cache *c)
{
	if (!c)
		return;
	mem_free(c->dir);
	mem_free(c);
}

/* Where root uses another user's cache (sudo -E), that user could put other directories in place of
 * root's. */
static bool is_ours_alone(const char *dir)
{
	return os_dir_is_private(dir) && os_dir_has_own_way(dir);
}

void *file_cache_load(struct file_cache *c, const char *name, size_t *ret_size)
{
	clew_auto(buf_done) struct buf path = {0};
	char *data = NULL;
	int fd;

	buf_printf(&path, "%s/%s" FILE_CACHE_SUFFIX, c->dir, name);
	if (path.is_failed || !is_ours_alone(c->dir))
		return NULL;
	fd = os_open_trusted(buf_cstr(&path), 0);
	if (fd >= 0)
		os_read_fd(fd, c->max_bytes, &data, ret_size, NULL);
	os_close(fd);
	return data;
}

struct cached_file {
	const char *path;
	struct os_file_identity id;
};

static int by_age(const void *a, const void *b)
{
	const struct cached_file *x = a, *y = b;

	if (x->id.mtime_ns != y->id.mtime_ns)
		return x->id.mtime_ns < y->id.mtime_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

static bool is_ours(const char *name)
{
	size_t n = strlen(name), m = strlen(FILE_CACHE_SUFFIX);

	return n > m && !strcmp(name + n - m, FILE_CACHE_SUFFIX);
}

struct cached_files {
	VEC(struct cached_file);
};

/** All files of the cache, the oldest first. @return their bytes. */
static uint64_t list_files(struct file_cache *c, struct arena *arena, struct cached_files *ret)
{
	struct os_names names = {0};
	uint64_t sum = 0;

	os_dir_names(c->dir, arena, &names, NULL);
	vec_for_each (&names, name) {
		clew_auto(buf_done) struct buf path = {0};
		struct cached_file f = {0};

		if (!is_ours(*name))
			continue;
		buf_printf(&path, "%s/%s", c->dir, *name);
		f.path = arena_strndup(arena, buf_cstr(&path), path.nr);
		if (!f.path || os_file_identity(f.path, &f.id) || !vec_push(ret, f))
			continue;
		sum += f.id.size;
	}
	vec_done(&names);
	if (ret->nr)
		qsort(ret->data, ret->nr, sizeof(*ret->data), by_age);
	return sum;
}

uint64_t file_cache_bytes(struct file_cache *c)
{
	struct cached_files files = {0};
	struct arena arena = {0};
	uint64_t bytes = list_files(c, &arena, &files);

	vec_done(&files);
	arena_done(&arena);
	return bytes;
}

/** Remove the oldest until @p extra more bytes leave a quarter free: not at every file stored. */
static void make_room(struct file_cache *c, uint64_t extra)
{
	struct cached_files files = {0};
	struct arena arena = {0};
	uint64_t sum;

	if (c->has_looked && c->guess_bytes + extra <= c->max_bytes)
		return;
	sum = list_files(c, &arena, &files);
	if (sum + extra > c->max_bytes) {
		vec_for_each (&files, f) {
			if (sum + extra <= c->max_bytes - c->max_bytes / 4)
				break;
			if (!os_unlink(f->path))
				sum -= f->id.size;
		}
	}
	c->guess_bytes = sum;
	c->has_looked = true;
	vec_done(&files);
	arena_done(&arena);
}

static bool write_file(const char *path, const void *data, size_t size)
{
	struct os_output o;
	int err = os_output_create_new(&o, path), err2;

	if (err)
		return false;
	err = os_output_add(&o, data, size);
	err2 = os_output_close(&o);
	return !err && !err2;
}

bool file_cache_store(struct file_cache *c, const char *name, const void *data, size_t size)
{
	clew_auto(buf_done) struct buf part = {0}, path = {0};

	buf_printf(&path, "%s/%s" FILE_CACHE_SUFFIX, c->dir, name);
	/* Of this process, of this cache: no other writes a file of that name. */
	buf_printf(&part, "%s/%s.%d.%zx.%u" TEMP_SUFFIX, c->dir, name, os_pid(), (size_t)c,
		   c->nr_stored++);
	buf_cstr(&path);
	buf_cstr(&part);
	if (path.is_failed || part.is_failed || size > c->max_bytes / 2 ||
	    !os_dir_has_own_way(c->dir) || os_dir_make(c->dir) || !is_ours_alone(c->dir))
		return false;
	make_room(c, size);
	if (!write_file(buf_cstr(&part), data, size) ||
	    os_rename(buf_cstr(&part), buf_cstr(&path))) {
		os_unlink(buf_cstr(&part));
		return false;
	}
	c->guess_bytes += size;
	return true;
}
