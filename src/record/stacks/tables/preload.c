/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/stacks/tables/preload.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "os/file.h"

enum { MAX_BINARIES = 256, PATH_BYTES = 4096, MAX_SCRIPTS = 4 };

static bool is_program(const char *path)
{
	int fd = os_open_regular(path);
	uint8_t byte;
	bool ok = fd >= 0 && os_read(fd, &byte, 1) == 1; /* not a directory */

	os_close(fd);
	return ok;
}

bool rec_find_program(const char *name, const char *search_path, char *ret, size_t size)
{
	const char *at = search_path;

	if (strchr(name, '/'))
		return (size_t)snprintf(ret, size, "%s", name) < size && is_program(ret);
	while (at && *at) {
		size_t len = strcspn(at, ":");

		if ((size_t)snprintf(ret, size, "%.*s/%s", (int)len, at, name) < size &&
		    is_program(ret))
			return true;
		at += len + (at[len] == ':');
	}
	return false;
}

struct list {
	struct arena *memory;
	struct rec_paths *paths;
	char lib_dir[PATH_BYTES]; /* where the ELF interpreter really is; "": unknown */
};

static bool add(struct list *l, const char *path)
{
	const char *copy;

	for (size_t i = 0; i < l->paths->nr; i++)
		if (!strcmp(l->paths->data[i], path))
			return true;
	if (l->paths->nr >= MAX_BINARIES)
		return true;
	copy = arena_strndup(l->memory, path, strlen(path));
	return copy && vec_push(l->paths, copy);
}

/* "/lib64/ld-linux-x86-64.so.2" is a link into the directory of this architecture's libraries. */
static void note_lib_dir(struct list *l, const char *interpreter)
{
	char target[PATH_BYTES];
	const char *path = interpreter;
	char *slash;

	if (os_read_link(interpreter, target, sizeof(target)) > 0 && target[0] == '/')
		path = target;
	snprintf(l->lib_dir, sizeof(l->lib_dir), "%s", path);
	slash = strrchr(l->lib_dir, '/');
	if (slash)
		*slash = '\0';
}

static bool add_if_there(struct list *l, const char *prefix, const char *dir, size_t dir_bytes,
			 const char *name)
{
	char path[PATH_BYTES];

	if ((size_t)snprintf(path, sizeof(path), "%s%.*s/%s", prefix, (int)dir_bytes, dir, name) >=
		    sizeof(path) ||
	    !os_exists(path))
		return false;
	add(l, path);
	return true;
}

static bool add_by_runpath(struct list *l, const char *name, const char *origin,
			   const char *runpath)
{
	for (const char *at = runpath; at && *at;) {
		size_t len = strcspn(at, ":"), skip = strncmp(at, "$ORIGIN", 7) ? 0 : 7;

		if (add_if_there(l, skip ? origin : "", at + skip, len - skip, name))
			return true;
		at += len + (at[len] == ':');
	}
	return false;
}

static void add_library(struct list *l, const char *name, const char *origin, const char *runpath)
{
	static const char *const usual[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib",
					    "/usr/local/lib"};

	if (strchr(name, '/')) {
		if (os_exists(name))
			add(l, name);
		return;
	}
	if (add_by_runpath(l, name, origin, runpath) ||
	    (l->lib_dir[0] && add_if_there(l, "", l->lib_dir, strlen(l->lib_dir), name)))
		return;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (add_if_there(l, "", usual[i], strlen(usual[i]), name))
			return;
}

/* A NUL-terminated text of a section. */
static const char *text_at(const struct bytes *b, uint64_t at)
{
	size_t size = bytes_left(b);

	if (at >= size || !memchr(b->pos + at, '\0', size - at))
		return NULL;
	return (const char *)b->pos + at;
}

static void add_needed(struct list *l, const struct elf_file *f, const char *path)
{
	struct elf_section dynamic, strings;
	struct bytes entries, text;
	const char *runpath = NULL;
	char origin[PATH_BYTES];
	char *slash;

	if (!elf_file_section(f, ".dynamic", &dynamic) ||
	    !elf_file_section_at(f, dynamic.h.sh_link, &strings) ||
	    !elf_file_bytes(f, &dynamic, &entries) || !elf_file_bytes(f, &strings, &text))
		return;
	snprintf(origin, sizeof(origin), "%s", path);
	slash = strrchr(origin, '/');
	if (slash)
		*slash = '\0';
	for (int pass = 0; pass < 2; pass++) {
		for (struct bytes b = entries; bytes_left(&b) >= sizeof(Elf64_Dyn);
		     b.pos += sizeof(Elf64_Dyn)) {
			Elf64_Dyn d;
			const char *name;

			memcpy(&d, b.pos, sizeof(d));
			name = text_at(&text, d.d_un.d_val);
			if (!name)
				continue;
			if (!pass && (d.d_tag == DT_RUNPATH || d.d_tag == DT_RPATH))
				runpath = name;
			else if (pass && d.d_tag == DT_NEEDED)
				add_library(l, name, origin, runpath);
		}
	}
}

static void add_interpreter(struct list *l, const struct elf_file *f)
{
	struct elf_section s;
	struct bytes b;
	const char *path;

	if (!elf_file_section(f, ".interp", &s) || !elf_file_bytes(f, &s, &b))
		return;
	path = text_at(&b, 0);
	if (!path || !os_exists(path))
		return;
	note_lib_dir(l, path);
	add(l, path);
}

/* @return false: no ELF file. */
static bool look_into(struct list *l, const char *path)
{
	struct os_map map;
	struct elf_file f;
	bool ok;

	if (os_map_file(path, &map, NULL) != CLEW_OK)
		return false;
	ok = elf_file_open(&f, map.data, map.size, NULL) == CLEW_OK;
	if (ok && f.is_64) {
		add_interpreter(l, &f);
		add_needed(l, &f, path);
	}
	if (ok)
		elf_file_done(&f);
	os_map_done(&map);
	return ok;
}

/* "#!/bin/sh -e": the program that runs it. */
static bool script_interpreter(const char *path, char *ret, size_t size)
{
	char line[256];
	int fd = os_open_regular(path);
	long n = fd >= 0 ? os_read(fd, line, sizeof(line) - 1) : 0;
	char *start;

	os_close(fd);
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	start = line + 2 + strspn(line + 2, " \t");
	start[strcspn(start, " \t\n")] = '\0';
	return (size_t)snprintf(ret, size, "%s", start) < size && os_exists(ret);
}

void rec_preload_list(const char *program, struct arena *memory, struct rec_paths *ret)
{
	struct list l = {.memory = memory, .paths = ret};
	char path[PATH_BYTES], next[PATH_BYTES];

	snprintf(path, sizeof(path), "%s", program);
	for (int i = 0; i < MAX_SCRIPTS && script_interpreter(path, next, sizeof(next)); i++)
		memcpy(path, next, sizeof(path));
	add(&l, path);
	for (size_t i = 0; i < ret->nr; i++) /* grows as libraries name libraries */
		look_into(&l, ret->data[i]);
}
