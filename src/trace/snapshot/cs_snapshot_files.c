/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "os/file.h"
#include "os/file_time.h"
#include "trace/snapshot/cs_snapshot_impl.h"

enum { MAX_NOTES = 200, MAX_INI_BYTES = 16 << 20 };

bool cs_snapshot_say(struct cs_snapshot *s, const char *format, ...)
{
	char text[512];
	const char *copy;
	va_list args;
	int n;

	if (s->notes.nr >= MAX_NOTES)
		return true;
	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n < 0)
		return true;
	copy = arena_strndup(&s->arena, text, strlen(text));
	return copy && vec_push(&s->notes, copy);
}

static enum clew_err identify(const char *path, struct os_file_identity *ret,
			      struct clew_diag *diag)
{
	int err = os_file_identity(path, ret);

	if (err == -EINVAL)
		return clew_fail(diag, CLEW_UNSUPPORTED, 0, "not a regular file");
	return err ? clew_fail_os(diag, -err, "stat") : CLEW_OK;
}

/** Names are taken as given: sets share files through "../". What they lead to is mapped if it is a
 * regular file, and read as trace or code only. */
static enum clew_err find_named(const struct cs_snapshot *s, const char *name, struct buf *path,
				struct os_file_identity *ret, struct clew_diag *diag)
{
	const char *dir = *name == '/' ? "" : s->dir;
	enum clew_err err;

	buf_printf(path, "%s%s%s", dir, *dir ? "/" : "", name);
	buf_char(path, '\0');
	if (path->is_failed)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	err = identify(path->data, ret, diag);
	if (err != CLEW_OS || diag->os_errno != ENOENT || !strchr(name, '\\'))
		return err;
	for (size_t i = strlen(dir); i < path->nr; i++) /* written on Windows */
		path->data[i] = path->data[i] == '\\' ? '/' : path->data[i];
	return identify(path->data, ret, diag);
}

static uint64_t key_of(const struct os_file_identity *id)
{
	return hash_bytes(id, sizeof(*id));
}

static enum clew_err charge(struct cs_snapshot *s, uint64_t bytes, const char *what,
			    const char *name, struct clew_diag *diag)
{
	if (!budget_take_for(s->budget, bytes, what, name))
		return clew_fail(diag, CLEW_LIMIT, 0, "the memory budget has no room for it");
	s->charged += bytes;
	return CLEW_OK;
}

/** Trace is read from one end to the other, and its pages are given back: it is not charged. */
static enum clew_err map_file(struct cs_snapshot *s, const char *of, struct cs_file *f,
			      struct clew_diag *diag)
{
	clew_auto(buf_done) struct buf path = {0};
	struct os_file_identity id;
	enum clew_err err = find_named(s, f->name, &path, &id, diag);
	uint64_t *known = err ? NULL : map_u64_get(&s->maps, key_of(&id));

	if (known) {
		f->map = s->files.data[*known].map;
		f->is_known = true;
		return CLEW_OK;
	}
	if (!err && strcmp(of, "trace") != 0)
		err = charge(s, id.size, "the memory dump", f->name, diag);
	if (!err)
		err = os_map_file(path.data, &f->map, diag);
	if (!err && !map_u64_put(&s->maps, key_of(&id), s->files.nr))
		err = clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	return err;
}

static const char *words_of(const struct clew_diag *d)
{
	return d->code == CLEW_OS ? strerror(d->os_errno) : d->what;
}

bool cs_snapshot_file(struct cs_snapshot *s, const char *name, const char *of, uint32_t *ret)
{
	struct cs_file f = {.name = name};
	struct clew_diag diag = {0};

	*ret = UINT32_MAX;
	vec_for_each (&s->files, known) {
		if (strcmp(known->name, name))
			continue;
		if (!known->is_missing)
			*ret = (uint32_t)(known - s->files.data);
		return true;
	}
	f.is_missing = map_file(s, of, &f, &diag);
	if (diag.code == CLEW_NO_MEMORY) {
		os_map_done(&f.map);
		return false;
	}
	if (f.is_missing && !cs_snapshot_say(s, "%s (%s): %s", name, of, words_of(&diag)))
		return false;
	if (!vec_push(&s->files, f)) {
		if (!f.is_known)
			os_map_done(&f.map);
		return false;
	}
	if (!f.is_missing)
		*ret = (uint32_t)(s->files.nr - 1);
	return true;
}

enum clew_err cs_snapshot_read_ini(struct cs_snapshot *s, const char *name, struct cs_ini *ret,
				   struct clew_diag *diag)
{
	clew_auto(buf_done) struct buf path = {0};
	struct os_file_identity id;
	struct os_map map = {0};
	enum clew_err err = find_named(s, name, &path, &id, diag);

	*ret = (struct cs_ini){0};
	if (!err && id.size > MAX_INI_BYTES)
		err = clew_fail(diag, CLEW_LIMIT, 0, "larger than 16 MiB: not an .ini file");
	if (!err) /* its words are kept */
		err = charge(s, id.size, "the .ini file", name, diag);
	if (!err)
		err = os_map_file(path.data, &map, diag);
	if (!err && !cs_ini_parse(ret, bytes_of(map.data, map.size), &s->arena))
		err = clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	os_map_done(&map);
	return err;
}

bool cs_snapshot_ini_is_known(struct cs_snapshot *s, const char *name)
{
	clew_auto(buf_done) struct buf path = {0};
	struct os_file_identity id;
	struct clew_diag diag = {0};

	if (find_named(s, name, &path, &id, &diag))
		return false;
	if (map_u64_get(&s->inis, key_of(&id)))
		return true;
	map_u64_put(&s->inis, key_of(&id), 1); /* without memory it is read again */
	return false;
}

bool cs_snapshot_ini_file(struct cs_snapshot *s, const char *name, struct cs_ini *ret,
			  bool *ret_is_there)
{
	struct clew_diag diag = {0};
	enum clew_err err = cs_snapshot_read_ini(s, name, ret, &diag);

	*ret_is_there = !err;
	if (err == CLEW_NO_MEMORY)
		return false;
	if (err)
		return cs_snapshot_say(s, "%s: %s", name, words_of(&diag));
	if (ret->is_cut &&
	    !cs_snapshot_say(s, "%s: only the first %u lines were read", name, CS_INI_MAX_LINES))
		return false;
	return !ret->nr_bad ||
	       cs_snapshot_say(s, "%s: %u lines that are not 'key=value' were skipped", name,
			       ret->nr_bad);
}
