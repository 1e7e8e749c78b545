/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "elf/perf_map.h"
#include "image/dso_priv.h"
#include "os/proc.h"

enum {
	MAP_MAX_BYTES = 256 * 1024 * 1024,
	SLACK_NS = 20 * 1000 * 1000 /* times of files, and of starts, are those of the last tick */
};

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

/** A file that others wrote before the program began, or after it ended, is not its map. */
static const char *why_not_its(const struct dso *d, int fd)
{
	const struct dso_life *l = &d->life;
	struct os_file_identity id;

	if (d->store->opts.force || os_fd_identity(fd, &id))
		return NULL;
	if (l->from && id.mtime_ns >= l->since && id.mtime_ns + SLACK_NS < l->from)
		return "perf-PID.map is older than the process; -f reads it anyway";
	if (l->to && id.mtime_ns > l->to + SLACK_NS)
		return "perf-PID.map was written after the process had ended, by another of that "
		       "number; -f reads it anyway";
	return NULL;
}

static void collect(struct dso *d, const char *text, size_t size, const char *path)
{
	sym_table_init(&d->table, NULL, 0);
	d->table.budget = d->store->opts.budget;
	if (perf_map_collect(&d->table, bytes_of(text, size))) {
		d->why = d->table.is_over_budget ? dso_refuse_symbols(d->store, path)
						 : "out of memory";
		sym_table_done(&d->table);
	} else if (!dso_finish_table(d, SYM_FILL_LATEST, path) && !d->why) {
		d->why = "perf-PID.map is empty";
	}
}

bool dso_jit_keep_map(struct dso *d, const struct dso_kept_map *m)
{
	size_t size = bytes_left(&m->packed);
	uint8_t *copy;

	if (d->kept.bytes || !dso_store_charge(d->store, size, "perf-PID.map of", d->path))
		return true;
	copy = arena_alloc(&d->store->text, size);
	if (!copy)
		return false;
	memcpy(copy, m->packed.pos, size);
	d->kept = *m;
	d->kept.packed = bytes_of(copy, size);
	return true;
}

static void load_kept_map(struct dso *d)
{
	clew_auto(mem_free_at) char *text = NULL;
	struct budget *budget = d->store->opts.budget;

	d->why = NULL;
	if (!budget_take(budget, d->kept.bytes)) {
		d->why = dso_refuse_symbols(d->store, d->path);
		return;
	}
	text = mem_alloc(d->kept.bytes);
	if (!text)
		d->why = "out of memory";
	else if (!d->kept.unpack(d->kept.packed, text, d->kept.bytes))
		d->why = "the recording's copy of perf-PID.map is damaged";
	else
		collect(d, text, d->kept.bytes, d->path);
	budget_give(budget, d->kept.bytes);
}

static void load_perf_map(struct dso *d)
{
	clew_auto(buf_done) struct buf path = {0};
	clew_auto(mem_free_at) char *text = NULL;
	size_t size;
	int fd;

	if (d->kept.bytes) {
		load_kept_map(d);
		return;
	}
	if (dso_where(d) == DSO_ELSEWHERE_CLOSED || dso_where(d) == DSO_ELSEWHERE_ENDED) {
		d->why = "of another mount namespace: its perf-PID.map is not accessible";
		return;
	}
	map_path(d, &path);
	fd = os_open_trusted(buf_cstr(&path), dso_jit_owner(d));
	d->why = fd < 0 ? NULL : why_not_its(d, fd);
	if (!d->why)
		d->why = read_map(d->store, fd, buf_cstr(&path), &text, &size);
	os_close(fd);
	if (d->why)
		return;
	collect(d, text, size, buf_cstr(&path));
	budget_give(d->store->opts.budget, size);
}

/** jitdump files first: they have times, and the map what they do not know. */
void dso_load_jit(struct dso *d)
{
	const char *why_no_dump = dso_load_jitdumps(d), *dump = d->symbol_file;

	load_perf_map(d);
	if (why_no_dump && d->why)
		d->why = why_no_dump;
	if (d->jit) {
		d->why = NULL;
		d->symbol_file = dump;
	}
}

void dso_jit_set_life(struct dso *d, const struct dso_life *life)
{
	d->life = *life;
}

bool dso_jit_find(struct dso *d, struct jit_when when, uint64_t addr, uint64_t *ret_rel)
{
	const struct jit_func *f = NULL;
	bool is_gone = false;

	*ret_rel = addr;
	if (!d->has_asked)
		dso_find_sym(d, addr);
	if (d->jit)
		f = jit_code_at(d->jit, when, addr, ret_rel, &is_gone);
	if (f || (!is_gone && sym_table_find(&d->table, addr)))
		return true;
	d->has_missed = true;
	return false;
}

void dso_jit_span(struct dso *d, struct clew_perf_ns time, struct clew_perf_ns *ret_from,
		  struct clew_perf_ns *ret_to)
{
	*ret_from = (struct clew_perf_ns){0};
	*ret_to = (struct clew_perf_ns){UINT64_MAX};
	if (!d->has_asked)
		dso_find_sym(d, 0);
	if (d->jit)
		jit_code_span(d->jit, time, ret_from, ret_to);
}
