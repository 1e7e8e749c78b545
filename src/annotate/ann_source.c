/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "annotate/ann_source.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "os/file.h"
#include "os/file_time.h"
#include "os/path.h"

enum { MAX_FILE_BYTES = 16 << 20 };

void ann_sources_done(struct ann_sources *s)
{
	vec_for_each (&s->files, f) {
		if (f->text)
			budget_give(s->budget, 2 * (uint64_t)f->lines[f->nr_lines]);
		mem_free(f->name);
		mem_free(f->path);
		mem_free(f->text);
		mem_free(f->lines);
	}
	vec_done(&s->files);
	map_u64_done(&s->by_name);
}

static bool split(struct ann_file *f, size_t size)
{
	uint32_t nr = 0, at = 0;

	for (size_t i = 0; i < size; i++)
		nr += f->text[i] == '\n' || i + 1 == size;
	f->lines = mem_calloc((size_t)nr + 1, sizeof(*f->lines));
	if (!f->lines)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (f->text[i] == '\n')
			f->lines[++at] = (uint32_t)i + 1;
	}
	f->nr_lines = nr;
	f->lines[nr] = (uint32_t)size;
	return true;
}

/** Only regular files: others may block, or do something. */
static bool read_at(struct ann_sources *s, struct ann_file *f, const char *path)
{
	size_t size;
	char *text;

	if (!os_is_regular(path) || os_read_file(path, MAX_FILE_BYTES, &text, &size, NULL))
		return false;
	if (!budget_take_for(s->budget, 2 * (uint64_t)size, "the source file", path)) {
		mem_free(text);
		return false;
	}
	f->text = text;
	f->path = mem_strdup(path);
	if (f->path && split(f, size))
		return true;
	budget_give(s->budget, 2 * (uint64_t)size);
	mem_free(f->text);
	mem_free(f->path);
	f->text = f->path = NULL;
	return false;
}

static bool read_below(struct ann_sources *s, struct ann_file *f)
{
	for (const char *rest = f->name; rest; rest = strchr(rest, '/')) {
		clew_auto(buf_done) struct buf path = {0};

		rest += strspn(rest, "/");
		buf_printf(&path, "%s/%s", s->dir, rest);
		/* A name that leads out of the directory is none below it. */
		if (*rest && !strstr(rest, "../") && read_at(s, f, buf_cstr(&path)))
			return true;
	}
	return false;
}

static void find(struct ann_sources *s, struct ann_file *f, int64_t built)
{
	int64_t changed;

	if (!(s->dir && read_below(s, f)) && !(f->name[0] == '/' && read_at(s, f, f->name)))
		return;
	f->is_newer = !os_file_changed(f->path, &changed) && changed > built;
}

static struct ann_file *file_of(struct ann_sources *s, const char *name, int64_t built)
{
	uint64_t key = hash_bytes(name, strlen(name)), *at;
	struct ann_file f = {0};

	while ((at = map_u64_get(&s->by_name, key))) {
		if (!strcmp(s->files.data[*at].name, name))
			return &s->files.data[*at];
		key++;
	}
	f.name = mem_strdup(name);
	if (!f.name || !vec_push(&s->files, f)) {
		mem_free(f.name);
		return NULL;
	}
	if (!map_u64_put(&s->by_name, key, s->files.nr - 1))
		return NULL;
	find(s, &s->files.data[s->files.nr - 1], built);
	return &s->files.data[s->files.nr - 1];
}

bool ann_sources_add(struct ann_sources *s, struct annotation *a, int64_t built)
{
	vec_for_each (&a->lines, l) {
		const struct ann_file *f;

		if (!l->file)
			continue;
		f = file_of(s, l->file, built);
		if (!f)
			return false;
		if (!f->text || !l->line || l->line > f->nr_lines)
			continue;
		l->text = f->text + f->lines[l->line - 1];
		l->text_bytes = f->lines[l->line] - f->lines[l->line - 1];
		while (l->text_bytes && strchr("\r\n", l->text[l->text_bytes - 1]))
			l->text_bytes--;
	}
	return true;
}
