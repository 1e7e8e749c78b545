/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "os/perf/cgroup_root.h"
#include "os/proc.h"
#include "record/running/sideband.h"

enum { MAX_CGROUPS = 100000, PATH_BYTES = 4096 };

/* Directories still to be listed, as paths below the root; a stack, so that no depth of nesting
 * recurses. */
struct pending {
	char root[1024];
	struct arena memory;
	struct {
		VEC(const char *);
	} paths;
};

static bool push(struct pending *p, const char *path)
{
	const char *copy = arena_strndup(&p->memory, path, strlen(path));

	return copy && vec_push(&p->paths, copy);
}

static void add_cgroup(struct rec_sideband *s, const char *root, const char *path)
{
	char full[PATH_BYTES + 1024];
	struct os_file_id id;
	size_t at;

	snprintf(full, sizeof(full), "%s%s", root, path);
	if (os_file_id(full, &id))
		return; /* removed meanwhile */
	at = rec_sideband_begin(s, PERF_RECORD_CGROUP, 0);
	rec_sideband_u64(s, id.ino); /* the number the kernel puts into samples */
	rec_sideband_text(s, path[0] ? path : "/", path[0] ? strlen(path) : 1);
	rec_sideband_end(s, at, 0, 0);
}

static void list(struct pending *p, const char *path)
{
	char full[PATH_BYTES + 1024], child[PATH_BYTES];
	struct os_dir *d;
	const char *name;

	snprintf(full, sizeof(full), "%s%s", p->root, path);
	d = os_dir_open(full, NULL);
	while (d && (name = os_dir_next_directory(d))) {
		if ((size_t)snprintf(child, sizeof(child), "%s/%s", path, name) < sizeof(child))
			push(p, child);
	}
	os_dir_close(d);
}

void rec_sideband_cgroups(struct rec_sideband *s)
{
	struct pending p = {0};

	if (!os_cgroup_root(p.root, sizeof(p.root)))
		return;
	push(&p, "");
	for (unsigned int nr = 0; p.paths.nr && nr < MAX_CGROUPS && s->err == CLEW_OK; nr++) {
		const char *path = p.paths.data[--p.paths.nr];

		add_cgroup(s, p.root, path);
		list(&p, path);
	}
	vec_done(&p.paths);
	arena_done(&p.memory);
}
