/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image/code_file.h"

#include <string.h>

#include "base/mem.h"
#include "image/dso_priv.h"
#include "os/clock.h"
#include "os/proc.h"

bool code_file_id(const char *path, struct os_file_identity *ret)
{
	return !os_file_identity(path, ret);
}

static enum clew_err read_copy(struct code_file *f, const char *path)
{
	size_t size;
	enum clew_err err = os_read_file(path, CODE_FILE_MAX_COPY, &f->copy, &size, NULL);

	if (!err)
		f->map = (struct os_map){(const uint8_t *)f->copy, size};
	return err;
}

enum clew_err code_file_open(struct code_file *f, const char *path)
{
	struct code_file n = {0};
	enum clew_err err;

	if (!code_file_id(path, &n.id))
		return CLEW_NOT_FOUND;
	err = os_file_is_roots(path) || n.id.size > CODE_FILE_MAX_COPY
		    ? os_map_file(path, &n.map, NULL)
		    : read_copy(&n, path);
	if (!err)
		*f = n;
	return err;
}

enum clew_err code_file_open_debug(struct code_file *f, const char *dir, const uint8_t *build_id,
				   size_t build_id_bytes)
{
	clew_auto(buf_done) struct buf path = {0};
	struct dso_build_id id = {.size = (uint8_t)build_id_bytes};
	struct code_file n = {0};
	enum clew_err err;

	if (build_id_bytes > sizeof(id.bytes))
		return CLEW_INVALID;
	memcpy(id.bytes, build_id, build_id_bytes);
	if (!dso_build_id_path(dir, &id, ".debug", &path) || !code_file_id(buf_cstr(&path), &n.id))
		return CLEW_NOT_FOUND;
	err = os_map_file_private(buf_cstr(&path), &n.map, NULL);
	if (!err)
		*f = n;
	return err;
}

void code_file_done(struct code_file *f)
{
	if (f->copy)
		mem_free(f->copy);
	else
		os_map_done(&f->map);
	*f = (struct code_file){0};
}

bool code_own_vdso(const void **ret, size_t *ret_size)
{
	return os_own_vdso(ret, ret_size);
}

uint64_t code_clock_ns(void)
{
	return os_clock_ns();
}
