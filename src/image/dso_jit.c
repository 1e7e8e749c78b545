/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "elf/perf_map.h"
#include "image/dso_priv.h"
#include "os/proc.h"

enum { MAP_MAX_BYTES = 256 * 1024 * 1024 };

/** The map lies in the process' own /tmp, named by the pid it has there. */
static void map_path(struct dso *d, struct buf *ret)
{
	dso_proc_root(d, ret);
	if (ret->nr)
		buf_printf(ret, "/tmp/perf-%u.map", os_pid_inside(d->pid));
	else if (!strncmp(d->path, "/tmp/perf-", 10))
		buf_str(ret, d->path);
	else
		buf_printf(ret, "/tmp/perf-%u.map", d->pid);
}

/** The text is charged as long as it is needed. @return why not. */
static const char *read_map(struct dso_store *s, int fd, const char *path, char **text,
			    size_t *size)
{
	uint64_t left = budget_left(s->opts.budget);
	size_t most = left < MAP_MAX_BYTES ? (size_t)left : MAP_MAX_BYTES;
	enum clew_err err;

	if (fd == -EPERM)
		return "perf-PID.map belongs to another user; -f reads it anyway";
	if (fd == -EINVAL)
		return "perf-PID.map is not a regular file";
	if (fd < 0)
		return "no /tmp/perf-PID.map: the program names no run-time generated code";
	err = os_read_fd(fd, most, text, size, NULL);
	if (err == CLEW_LIMIT && most == MAP_MAX_BYTES)
		return "perf-PID.map is larger than 256 MiB";
	if (err == CLEW_LIMIT || (!err && !budget_take(s->opts.budget, *size)))
		return dso_refuse_symbols(s, path);
	return err ? "perf-PID.map cannot be read" : NULL;
}

static void load_perf_map(struct dso *d)
{
	clew_auto(buf_done) struct buf path = {0};
	clew_auto(mem_free_at) char *text = NULL;
	size_t size;
	int fd;

	if (dso_where(d) == DSO_ELSEWHERE_CLOSED || dso_where(d) == DSO_ELSEWHERE_ENDED) {
		d->why = "of another mount namespace: its perf-PID.map is not accessible";
		return;
	}
	map_path(d, &path);
	fd = os_open_trusted(buf_cstr(&path), dso_jit_owner(d));
	d->why = read_map(d->store, fd, buf_cstr(&path), &text, &size);
	os_close(fd);
	if (d->why)
		return;
	sym_table_init(&d->table, NULL, 0);
	d->table.budget = d->store->opts.budget;
	if (perf_map_collect(&d->table, bytes_of(text, size))) {
		d->why = d->table.is_over_budget ? dso_refuse_symbols(d->store, buf_cstr(&path))
						 : "out of memory";
		sym_table_done(&d->table);
	} else if (!dso_finish_table(d, SYM_FILL_NONE, buf_cstr(&path)) && !d->why) {
		d->why = "perf-PID.map is empty";
	}
	budget_give(d->store->opts.budget, size);
}

/** The dumps that this process mapped, newest first, until one has an answer. */
static bool load_dumps(struct dso *d)
{
	clew_auto(buf_done) struct buf path = {0};

	uint64_t *newest = map_u64_get(&d->store->jitdumps, d->pid);

	for (struct dso *dump = newest ? (struct dso *)(uintptr_t)*newest : NULL; dump;
	     dump = dump->older_jitdump) {
		buf_clear(&path);
		dso_proc_root(dump, &path);
		buf_str(&path, dump->path);
		if (dso_load_jitdump(d, buf_cstr(&path)))
			return true;
	}
	return false;
}

void dso_load_jit(struct dso *d)
{
	load_perf_map(d);
	if (d->why && load_dumps(d))
		d->why = NULL;
}
