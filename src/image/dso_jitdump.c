/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "image/dso_priv.h"

/** It is read again. What was handed out of it lives as long as the store. */
static bool forget(struct dso *d)
{
	struct dso_old *n = mem_zalloc(sizeof(*n));

	if (!n)
		return false;
	*n = (struct dso_old){d->old, d->jit, d->table};
	d->old = n;
	d->jit = NULL;
	d->table = (struct sym_table){0};
	map_u64_done(&d->found);
	d->why = d->note = d->symbol_file = NULL;
	d->has_asked = d->has_missed = false;
	return true;
}

static bool add_dump(struct dso *d, const struct dso_dump *dump)
{
	struct dso_dump *n;

	for (n = d->dumps; n; n = n->older) {
		if (n->file == dump->file && n->is_inherited == dump->is_inherited)
			return true;
	}
	if (d->nr_dumps >= DSO_MAX_DUMPS)
		return true;
	n = arena_alloc(&d->store->text, sizeof(*n));
	if (!n)
		return false;
	*n = *dump;
	n->older = d->dumps;
	d->dumps = n;
	d->nr_dumps++;
	return !d->has_asked || forget(d);
}

bool dso_jit_add_dump(struct dso *d, struct dso *file, const struct dso_mapped *when)
{
	return add_dump(d, &(struct dso_dump){.file = file, .when = *when});
}

bool dso_jit_inherit(struct dso *d, const struct dso *parent)
{
	for (const struct dso_dump *n = parent->dumps; n; n = n->older) {
		struct dso_dump own = *n;

		own.is_inherited = true;
		if (!add_dump(d, &own))
			return false;
	}
	return true;
}

bool dso_jit_has_dumps(const struct dso *d)
{
	return d->dumps;
}

void dso_jit_done(struct dso *d)
{
	jit_code_free(d->jit);
	d->jit = NULL;
}

void dso_old_done(struct dso *d)
{
	while (d->old) {
		struct dso_old *next = d->old->next;

		jit_code_free(d->old->jit);
		sym_table_done(&d->old->table);
		mem_free(d->old);
		d->old = next;
	}
}

/** Its path may name another file by now: that of the next process of that number. */
static bool is_recorded_file(const struct dso *file, int fd)
{
	struct os_file_identity id;

	return !file->ino || (file->store->opts.symfs && file->store->opts.symfs[0]) ||
	       (!os_fd_identity(fd, &id) && id.ino == file->ino);
}

static bool dump_path(struct dso *file, struct buf *ret)
{
	enum dso_where where = dso_where(file);

	if (where == DSO_ELSEWHERE_CLOSED || where == DSO_ELSEWHERE_ENDED)
		return false;
	dso_proc_root(file, ret);
	if (!ret->nr && file->store->opts.symfs)
		buf_str(ret, file->store->opts.symfs);
	buf_str(ret, file->path);
	return true;
}

static const char *why_closed(int error)
{
	return error == -EPERM  ? "jit-PID.dump belongs to another user; -f reads it anyway"
	     : error == -EINVAL ? "jit-PID.dump is not a regular file"
				: "its jit-PID.dump is missing";
}

static const char *open_dump(struct dso *d, struct dso *file, struct os_map *map)
{
	clew_auto(buf_done) struct buf path = {0};
	const char *why = NULL;
	int fd;

	if (!dump_path(file, &path))
		return "of another mount namespace: its jit-PID.dump is not accessible";
	fd = os_open_trusted(buf_cstr(&path), dso_jit_owner(d));
	if (fd < 0)
		return why_closed(fd);
	if (!is_recorded_file(file, fd))
		why = "jit-PID.dump is another file by now than the one that was mapped";
	else if (os_map_fd(fd, map, NULL))
		why = "jit-PID.dump cannot be read";
	else if (map->size > JIT_MAX_BYTES)
		why = "jit-PID.dump is larger than 1 GiB";
	os_close(fd);
	if (why)
		os_map_done(map);
	return why;
}

static const char *read_dump(struct dso *d, const struct dso_dump *dump)
{
	const struct jit_wanted wanted = {d->pid, dump->is_inherited, dump->when};
	struct os_map map = {0};
	bool has_others = true;
	const char *why;

	if (dump->is_inherited && dump->file->is_own_dump)
		return NULL;
	why = open_dump(d, dump->file, &map);
	if (why)
		return why;
	if (!jit_code_read(d->jit, &map, &d->store->clock, &wanted, &has_others))
		why = d->jit->is_over_budget ? dso_refuse_symbols(d->store, dump->file->path)
					     : "jit-PID.dump is no jitdump file";
	dump->file->is_own_dump = !has_others;
	if (!why && !d->symbol_file)
		d->symbol_file = dump->file->path;
	return why;
}

static void note_clock(struct dso *d)
{
	if (d->jit->nr_omitted)
		d->note = "a jitdump file has more functions than are read";
	if (d->jit->is_shifted && d->jit->nr_reused)
		d->note = "times of a jitdump file are not of the recording's clock: they are "
			  "counted from when it was mapped";
	if (d->jit->has_untimed && d->jit->nr_reused)
		d->note = "times of a jitdump file cannot be compared with the recording's "
			  "('record -k mono'): code at an address that was used again has the "
			  "last name it had";
}

const char *dso_load_jitdumps(struct dso *d)
{
	struct {
		VEC(const struct dso_dump *);
	} oldest_last = {0};
	const char *why = NULL;

	d->jit = d->dumps ? jit_code_new(d->store->opts.budget) : NULL;
	for (const struct dso_dump *n = d->jit ? d->dumps : NULL; n; n = n->older)
		vec_push(&oldest_last, n);
	for (size_t i = oldest_last.nr; i > 0; i--) {
		const char *failed = read_dump(d, oldest_last.data[i - 1]);

		why = failed ? failed : why;
	}
	vec_done(&oldest_last);
	if (d->jit && (!jit_code_close(d->jit) || !d->jit->funcs.nr)) {
		if (d->jit->is_over_budget)
			why = dso_over_budget;
		dso_jit_done(d);
	}
	if (!d->jit)
		d->symbol_file = NULL;
	else
		note_clock(d);
	return d->jit ? NULL : why;
}

static const struct jit_func *find(struct dso *d, uint64_t *rel)
{
	bool is_gone;

	if (!d->has_asked)
		dso_find_sym(d, *rel);
	return d->jit ? jit_code_find(d->jit, rel, &is_gone) : NULL;
}

bool dso_jit_find_code(struct dso *d, uint64_t rel, struct code_region *ret, uint16_t *ret_machine)
{
	const struct jit_func *f = find(d, &rel);

	if (!f)
		return false;
	*ret = (struct code_region){f->rel, f->rel + f->size, f->bytes};
	*ret_machine = f->machine;
	return true;
}

size_t dso_jit_find_lines(struct dso *d, uint64_t rel, const struct dso_sym *sym,
			  struct dso_line *ret, size_t max)
{
	const struct jit_func *f = find(d, &rel);
	const struct jit_line *line = f && sym ? jit_code_line(d->jit, f, rel) : NULL;

	if (!line || !max)
		return 0;
	ret[0] = (struct dso_line){
		.file = line->file, .line = line->line, .link_name = sym->link_name};
	return 1;
}

const struct code_patches *dso_jit_patches(struct dso *d)
{
	if (!d->has_asked)
		dso_find_sym(d, 0);
	return d->jit ? d->jit->patches : NULL;
}

static __attribute__((noinline)) uint64_t address_of_hidden(const struct dso *d, uint64_t rel)
{
	uint64_t at = rel;
	bool is_gone;
	const struct jit_func *f = jit_code_find(d->jit, &at, &is_gone);

	return f ? f->addr + (rel - f->rel) : rel;
}

uint64_t dso_address(const struct dso *d, uint64_t rel)
{
	return rel >= JIT_HIDDEN && d && d->jit ? address_of_hidden(d, rel) : rel;
}
