/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_places.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/analyze.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path_name.h"
#include "os/clock.h"
#include "perfdata/map_name.h"
#include "perfdata/perf_clock.h"
#include "perfdata/perf_feature_lists.h"
#include "who/who_guests.h"

static const char kernel_name[] = "[kernel.kallsyms]";

enum {
	PROT_EXEC_FLAG = 4,
};

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool has_no_code(const char *path)
{
	return starts(path, "[stack") || starts(path, "/SYSV") || !strcmp(path, "[heap]");
}

static const struct dso_build_id *build_id_of_path(struct ana_places *p, const char *path)
{
	uint32_t n =
		intern_has(&p->build_id_paths, path) ? intern_str(&p->build_id_paths, path) : 0;

	/* Number 0 is the empty name, which is in every table; a mapping may have it. */
	return n && n <= p->build_ids.nr ? &p->build_ids.data[n - 1] : NULL;
}

static void set_machine(struct ana_places *p)
{
	const struct perf_features *f = perf_file_features(p->file);

	dso_store_set_machine(p->dsos, perf_features_string(f, PERF_FEAT_OSRELEASE),
			      perf_features_string(f, PERF_FEAT_HOSTNAME));
}

static struct ana_place *place_new(struct ana_places *p, const struct dso_key *key,
				   bool is_absolute)
{
	struct ana_place *place = arena_zalloc(&p->memory, sizeof(*place));

	if (!place)
		return NULL;
	set_machine(p);
	place->dso = dso_store_get(p->dsos, key);
	place->is_absolute = is_absolute;
	return place->dso ? place : NULL;
}

/* A guest's map, with its machine before the path (who_play.c). 0: the host's. */
static uint32_t guest_of(const struct who_map *m)
{
	return m->pid >= WHO_GUEST_FIRST && m->path[0] == '/'
		     ? (uint32_t)strtoul(m->path + 1, NULL, 10)
		     : 0;
}

static struct ana_place *place_of_guest_kernel(struct ana_places *p, const struct who_map *m,
					       const char *end)
{
	struct dso_build_id id = {.size = m->build_id_bytes};
	clew_auto(buf_done) struct buf name = {0};
	struct dso_key key = {.kind = DSO_KERNEL, .guest = guest_of(m), .load_start = m->start};

	memcpy(id.bytes, m->build_id, sizeof(id.bytes));
	buf_printf(&name, "/%u/%s", key.guest, kernel_name);
	key.path = buf_cstr(&name);
	key.build_id = id.size ? &id : build_id_of_path(p, key.path);
	key.kernel_ref_name = *end ? end : NULL;
	key.kernel_ref_addr = m->pgoff;
	return place_new(p, &key, true);
}

/* "/PID/[/lib/modules/NAME.ko]" */
static struct ana_place *place_of_guest_module(struct ana_places *p, const struct who_map *m,
					       const char *name)
{
	clew_auto(buf_done) struct buf path = {0};
	struct dso_key key = {.kind = DSO_MODULE, .guest = guest_of(m), .load_start = m->start};

	buf_printf(&path, "/%u/%.*s", key.guest, (int)strcspn(name, "]"), name);
	key.path = buf_cstr(&path);
	return place_new(p, &key, true);
}

/* Kernels of guests: NULL: it is none, or nothing is said of where their symbols are. */
static struct ana_place *place_in_guest_kernel(struct ana_places *p, const struct who_map *m)
{
	const char *name = guest_of(m) ? strstr(m->path, "/[") : NULL;

	if (!name || !dso_store_knows_guest_kernels(p->dsos))
		return NULL;
	name += 2;
	if ((starts(name, "kernel.kallsyms") || starts(name, "guest.kernel.kallsyms")) &&
	    strchr(name, ']'))
		return place_of_guest_kernel(p, m, strchr(name, ']') + 1);
	return strstr(name, ".ko") ? place_of_guest_module(p, m, name) : NULL;
}

/* As long as nothing else is known: what the last program of the process made. */
static struct ana_place *place_of_jit(struct ana_places *p, const struct who_map *m)
{
	uint32_t program = ana_program_at(&p->programs, m->pid, clew_perf_ns_none());
	struct ana_place *place = arena_zalloc(&p->memory, sizeof(*place));

	if (program == ANA_NO_PROGRAM) /* there was no room for it */
		return place_new(p, &(struct dso_key){.kind = DSO_NO_CODE, .path = m->path}, true);
	if (!place)
		return NULL;
	place->dso = ana_program_dso(&p->programs, program);
	place->is_absolute = place->is_jit = true;
	return place->dso ? place : NULL;
}

static struct ana_place *place_of_user_map(struct ana_places *p, const struct who_map *m)
{
	struct dso_build_id id = {.size = m->build_id_bytes};
	const uint64_t *mnt_ns = map_u64_get(&p->mnt_ns, m->pid);
	struct dso_key key = {
		.kind = DSO_USER,
		.path = m->path,
		.build_id = &id,
		.pid = m->pid,
		.guest = guest_of(m),
		.mnt_ns_ino = mnt_ns ? *mnt_ns : 0,
		.maj = m->maj,
		.min = m->min,
		.ino = m->ino,
		.ino_generation = m->ino_generation,
	};

	struct ana_place *place = place_in_guest_kernel(p, m);
	bool is_code = m->prot & PROT_EXEC_FLAG;
	bool is_anonymous = map_name_is_anonymous(m->path, m->flags);

	if (place)
		return place;
	memcpy(id.bytes, m->build_id, sizeof(id.bytes));
	if (!id.size)
		key.build_id = build_id_of_path(p, m->path);
	if (!strcmp(m->path, "[vdso]") || !strcmp(m->path, "[vdso32]") ||
	    !strcmp(m->path, "[vdsox32]")) {
		key.kind = DSO_VDSO;
	} else if (is_anonymous && is_code) {
		return place_of_jit(p, m);
	} else if (is_anonymous || has_no_code(m->path)) {
		key.kind = DSO_NO_CODE;
	}
	place = place_new(p, &key, key.kind == DSO_NO_CODE);
	if (place)
		place->is_jit = is_code && !key.guest && map_name_may_be_made(m->path);
	return place;
}

/* KSYMBOL: a program of the kernel's own JIT; its one symbol is its name. */
static struct ana_place *place_of_ksymbol(struct ana_places *p, const struct who_map *m)
{
	struct dso_key key = {.kind = DSO_NO_CODE, .path = m->path};
	struct ana_place *place = place_new(p, &key, true);
	struct dso_sym *sym = arena_alloc(&p->memory, sizeof(*sym));

	if (!place || !sym)
		return NULL;
	*sym = (struct dso_sym){m->start, m->end, m->path, m->path};
	place->only_sym = sym;
	return place;
}

static struct ana_place *place_of_kernel_map(struct ana_places *p, const struct who_map *m)
{
	struct dso_key key = {.kind = DSO_MODULE, .path = m->path, .load_start = m->start};
	struct dso_build_id id = {.size = m->build_id_bytes};

	if (m->flags == WHO_MAP_IS_KSYMBOL)
		return place_of_ksymbol(p, m);
	/* What proves the kernel proves its modules. */
	if (!starts(m->path, kernel_name) && p->kernel.is_known && !ana_kernel_place(p))
		return NULL;
	memcpy(id.bytes, m->build_id, sizeof(id.bytes));
	key.build_id = id.size ? &id : build_id_of_path(p, m->path);
	if (starts(m->path, kernel_name)) {
		key.kind = DSO_KERNEL;
		key.path = kernel_name;
		if (!key.build_id)
			key.build_id = build_id_of_path(p, kernel_name);
		/* "[kernel.kallsyms]_text", with _text's address as the page offset */
		key.kernel_ref_name =
			m->path[strlen(kernel_name)] ? m->path + strlen(kernel_name) : NULL;
		key.kernel_ref_addr = m->pgoff;
	}
	return place_new(p, &key, true);
}

struct ana_place *ana_kernel_place(struct ana_places *p)
{
	struct dso_key key = {.kind = DSO_KERNEL, .path = kernel_name};

	if (!p->kernel_place) {
		key.build_id = p->kernel.id.size ? &p->kernel.id : build_id_of_path(p, kernel_name);
		key.kernel_ref_name = p->kernel.ref_name;
		key.kernel_ref_addr = p->kernel.ref_addr;
		key.load_start = p->kernel.start;
		p->kernel_place = place_new(p, &key, true);
	}
	return p->kernel_place;
}

struct ana_place *ana_place_of(struct ana_places *p, struct who_map *m)
{
	if (!m->owner_data)
		m->owner_data = m->is_kernel ? place_of_kernel_map(p, m) : place_of_user_map(p, m);
	return m->owner_data;
}

enum clew_err ana_places_find(struct ana_places *p, const struct ana_place *place,
			      const struct who_map *map, uint32_t pid, struct jit_when when,
			      uint64_t ip, struct ana_spot *ret)
{
	struct ana_jit_place jit;

	*ret = (struct ana_spot){place->dso, ip, false};
	if (!place->is_absolute && map)
		ret->rel = ip - map->start + map->pgoff;
	if (!place->is_jit)
		return CLEW_OK;
	if (!ana_programs_find(&p->programs, pid, map->pid, when, ip, &jit))
		return CLEW_NO_MEMORY;
	if (jit.is_known || dso_kind(place->dso) == DSO_JIT)
		*ret = (struct ana_spot){jit.dso, jit.rel, !jit.is_known};
	return CLEW_OK;
}

bool ana_places_add_lines(const struct ana_places *p, struct dso *dso, uint64_t rel,
			  struct arena *memory, struct ana_loc *loc)
{
	struct dso_line lines[DSO_MAX_LEVELS], *copy;
	size_t nr = p->wants_lines ? dso_find_lines(dso, rel, lines, DSO_MAX_LEVELS) : 0;

	if (!nr)
		return true;
	copy = arena_alloc(memory, nr * sizeof(*copy));
	if (!copy)
		return false;
	memcpy(copy, lines, nr * sizeof(*copy));
	loc->lines = copy;
	loc->nr_lines = (uint32_t)nr;
	return true;
}

static bool charge(struct ana_places *p, uint64_t bytes, const char *what)
{
	return budget_account_take(&p->account, bytes + BUDGET_TABLE_BYTES, what);
}

enum clew_err ana_places_take_build_id(struct ana_places *p, const struct perf_build_id_record *b)
{
	struct dso_build_id id = {.size = b->build_id_bytes};
	uint32_t n;

	memcpy(id.bytes, b->build_id, sizeof(id.bytes));
	if (!*b->filename || intern_has(&p->build_id_paths, b->filename) ||
	    !charge(p, strlen(b->filename) + sizeof(id), "build ids of"))
		return CLEW_OK;
	n = intern_str(&p->build_id_paths, b->filename);
	if (n == INTERN_FAILED || !vec_push(&p->build_ids, id))
		return CLEW_NO_MEMORY;
	return CLEW_OK;
}

/* A guest's file has its machine before its path (who_play.c). */
static enum clew_err take_build_id_of(struct ana_places *p, struct perf_build_id_record *b,
				      unsigned int mode)
{
	clew_auto(buf_done) struct buf path = {0};

	if (mode != PERF_RECORD_MISC_GUEST_KERNEL && mode != PERF_RECORD_MISC_GUEST_USER)
		return ana_places_take_build_id(p, b);
	buf_printf(&path, "/%u%s%s", b->pid, *b->filename == '/' ? "" : "/", b->filename);
	b->filename = buf_cstr(&path);
	return path.is_failed ? CLEW_NO_MEMORY : ana_places_take_build_id(p, b);
}

static enum clew_err take_build_ids(struct ana_places *p, struct perf_file *file)
{
	struct perf_build_id_record b;
	struct perf_list list;
	uint16_t misc;
	enum clew_err err;

	if (!perf_features_build_ids(perf_file_features(file), &list))
		return CLEW_OK;
	while (perf_build_id_next(&list, &b, &misc)) {
		err = take_build_id_of(p, &b, misc & PERF_RECORD_MISC_CPUMODE_MASK);
		if (err != CLEW_OK)
			return err;
	}
	return CLEW_OK;
}

enum { LINK_BYTES = 16, MNT_LINK = 5 };

enum clew_err ana_places_take_namespaces(struct ana_places *p, const struct perf_record *r)
{
	struct perf_namespaces n;
	uint64_t ino;

	if (perf_namespaces_parse(r, &n) != CLEW_OK || n.nr <= MNT_LINK)
		return CLEW_OK;
	if (!map_u64_get(&p->mnt_ns, n.pid) && !charge(p, 0, "namespaces of"))
		return CLEW_OK;
	ino = load_u64(n.links.pos + MNT_LINK * LINK_BYTES + 8, r->swap);
	return map_u64_put(&p->mnt_ns, n.pid, ino) ? CLEW_OK : CLEW_NO_MEMORY;
}

/* "[kernel.kallsyms]_text", with _text's address as the page offset. */
enum clew_err ana_places_take_kernel(struct ana_places *p, const struct perf_record *r)
{
	struct perf_mmap m;
	const char *ref;

	if (p->kernel.is_known ||
	    (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_KERNEL ||
	    perf_mmap_parse(r, &m) != CLEW_OK || !starts(m.filename, kernel_name))
		return CLEW_OK;
	ref = m.filename + strlen(kernel_name);
	p->kernel.is_known = true;
	p->kernel.start = m.start;
	p->kernel.ref_addr = m.pgoff;
	p->kernel.id.size = m.build_id_bytes;
	memcpy(p->kernel.id.bytes, m.build_id, sizeof(p->kernel.id.bytes));
	if (*ref && !(p->kernel.ref_name = arena_strndup(&p->memory, ref, strlen(ref))))
		return CLEW_NO_MEMORY;
	return CLEW_OK;
}

/* "jit-PID.dump" */
static bool is_jitdump(const char *path)
{
	const char *name = path_name(path);
	size_t digits = starts(name, "jit-") ? strspn(name + 4, "0123456789") : 0;

	return digits && !strcmp(name + 4 + digits, ".dump");
}

static enum clew_err take_map(struct ana_places *p, const struct perf_record *r,
			      struct clew_perf_ns time, uint32_t *ret_pid)
{
	struct dso_key key = {.kind = DSO_USER};
	struct dso_build_id id;
	struct perf_mmap m;
	const uint64_t *mnt_ns;
	struct dso *file;

	if (perf_mmap_parse(r, &m) != CLEW_OK || !is_jitdump(m.filename))
		return CLEW_OK;
	mnt_ns = map_u64_get(&p->mnt_ns, m.pid);
	id.size = m.build_id_bytes;
	memcpy(id.bytes, m.build_id, sizeof(id.bytes));
	key.path = m.filename;
	key.build_id = &id;
	key.pid = m.pid;
	key.mnt_ns_ino = mnt_ns ? *mnt_ns : 0;
	key.maj = m.maj;
	key.min = m.min;
	key.ino = m.ino;
	key.ino_generation = m.ino_generation;
	file = dso_store_get(p->dsos, &key);
	*ret_pid = m.pid;
	return file && ana_program_maps(&p->programs, m.pid, time, file) ? CLEW_OK : CLEW_NO_MEMORY;
}

enum clew_err ana_places_take_program(struct ana_places *p, const struct perf_record *r,
				      struct clew_perf_ns time, uint32_t *ret_pid)
{
	*ret_pid = 0;
	if (r->type == PERF_RECORD_MMAP || r->type == PERF_RECORD_MMAP2)
		return ana_places_take_kernel(p, r) ? CLEW_NO_MEMORY
						    : take_map(p, r, time, ret_pid);
	return ana_programs_take(&p->programs, r, time, ret_pid);
}

static bool of_ticks(const void *ctx, uint64_t ticks, struct clew_perf_ns *ret)
{
	const struct ana_places *p = ctx;

	return perf_ns_of_ticks(&p->time_conv, (struct clew_ticks){ticks}, ret);
}

void ana_places_set_clock(struct ana_places *p, const struct perf_evlist *events)
{
	struct dso_clock clock = {.ctx = p};
	bool is_perfs = true;

	vec_for_each (&events->evsels, e) {
		bool is_chosen = perf_attr_has(&(*e)->attr, PERF_ATTR_USE_CLOCKID);

		is_perfs &= !is_chosen;
		clock.is_monotonic |= is_chosen && (*e)->attr.clockid == CLOCK_MONOTONIC;
	}
	if (is_perfs && perf_time_conv_is_usable(&p->time_conv))
		clock.of_tsc = of_ticks;
	dso_store_set_clock(p->dsos, &clock);
}

void ana_places_take_time_conv(struct ana_places *p, const struct perf_record *r)
{
	struct perf_time_conv conv;

	if (!perf_time_conv_parse(r, &conv))
		p->time_conv = conv;
}

/*
 * When programs began, as files' times say it: the recorder wrote it beside a clock that was
 * chosen. Other clocks count from the boot; what they stood still in suspend makes the time too
 * early, never too late.
 */
static void find_wall(struct ana_places *p, const struct dso_store_opts *opts,
		      struct perf_file *file)
{
	struct ana_wall *w = &p->programs.wall;
	struct perf_clock_data clock;
	uint64_t now, ignored;

	if (perf_features_clock_data(perf_file_features(file), &clock)) {
		*w = (struct ana_wall){.offset = clock.wall_clock_ns - clock.clockid_ns,
				       .is_known = true};
		return;
	}
	if ((opts && opts->no_proc_root) || !os_clock_read(CLOCK_BOOTTIME, &now, &ignored))
		return;
	w->boot = w->offset = os_wall_ns() - now;
	w->is_known = true;
}

enum clew_err ana_places_init(struct ana_places *p, const struct dso_store_opts *opts,
			      struct dso_store *dsos, struct perf_file *file, struct budget *budget)
{
	*p = (struct ana_places){.account.budget = budget, .file = file};
	if (!dsos)
		dsos = p->own = dso_store_new(opts);
	p->dsos = dsos;
	p->programs.dsos = dsos;
	p->programs.mnt_ns = &p->mnt_ns;
	p->programs.account = &p->account;
	find_wall(p, opts, file);
	if (perf_kept_maps_parse(perf_file_features(file), &p->programs.kept) == CLEW_NO_MEMORY)
		return CLEW_NO_MEMORY;
	return p->dsos ? take_build_ids(p, file) : CLEW_NO_MEMORY;
}

void ana_places_done(struct ana_places *p)
{
	ana_programs_done(&p->programs);
	intern_done(&p->build_id_paths);
	vec_done(&p->build_ids);
	map_u64_done(&p->mnt_ns);
	dso_store_free(p->own);
	arena_done(&p->memory);
	budget_account_done(&p->account);
}
