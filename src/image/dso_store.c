/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/path_name.h"
#include "image/dso_code_priv.h"
#include "image/dso_kcore.h"
#include "os/proc.h"

static const char not_kept[] = "[not kept]";

struct dso_store *dso_store_new(const struct dso_store_opts *opts)
{
	struct dso_store *s = mem_zalloc(sizeof(*s));

	if (s && opts)
		s->opts = *opts;
	if (s)
		s->named.budget = s->opts.budget;
	if (s)
		s->own_mnt_ns = os_mnt_ns(0);
	return s;
}

static void dso_free(struct dso *d)
{
	dso_lines_free(d->lines);
	dso_code_image_free(d->code_image);
	dso_jit_done(d);
	dso_old_done(d);
	sym_table_done(&d->table);
	dso_file_done(&d->files[0]);
	dso_file_done(&d->files[1]);
	dso_file_done(&d->code);
	map_u64_done(&d->found);
}

void dso_store_free(struct dso_store *s)
{
	if (!s)
		return;
	vec_for_each (&s->dsos, d)
		dso_free(*d);
	while (s->kernels) {
		struct kernel_syms *next = s->kernels->next;

		kernel_syms_free(s->kernels);
		s->kernels = next;
	}
	dso_kcore_free(s->kcore);
	vec_done(&s->dsos);
	map_u64_done(&s->by_key);
	map_u64_done(&s->by_file);
	map_u64_done(&s->by_build_id);
	map_u64_done(&s->mapped);
	budget_account_done(&s->named);
	budget_give(s->opts.budget, s->charged);
	buf_done(&s->scratch);
	arena_done(&s->text);
	mem_free(s);
}

static uint32_t pid_in_key(const struct dso_key *k)
{
	return k->kind == DSO_JIT ? k->pid : 0;
}

static uint64_t key_hash(const struct dso_key *k)
{
	uint64_t h = hash_bytes(k->path, strlen(k->path));

	if (k->build_id && k->build_id->size)
		h = hash_two(h, hash_bytes(k->build_id->bytes, k->build_id->size));
	h = hash_two(hash_two(h, hash_two(k->ino, k->ino_generation)), hash_two(k->maj, k->min));
	h = hash_two(h, k->guest);
	return hash_two(hash_two(h, k->program), (uint64_t)k->kind << 32 | pid_in_key(k));
}

static bool is_key_of(const struct dso *d, const struct dso_key *k)
{
	static const struct dso_build_id none;
	const struct dso_build_id *id = k->build_id ? k->build_id : &none;

	return d->kind == k->kind && d->guest == k->guest && d->program == k->program &&
	       d->build_id.size == id->size && !memcmp(d->build_id.bytes, id->bytes, id->size) &&
	       d->ino == k->ino && d->ino_generation == k->ino_generation && d->maj == k->maj &&
	       d->min == k->min && (d->kind != DSO_JIT || d->pid == k->pid) &&
	       !strcmp(d->path, k->path);
}

/** perf's: the last component; modules and what is no path are in brackets. */
static char *short_name_of(struct dso_store *s, const struct dso_key *k, const char *path)
{
	const char *base = path_name(path);
	char name[256];
	size_t len;

	if (k->kind != DSO_MODULE || path[0] == '[')
		return dso_keep(s, base);
	len = strcspn(base, ".");
	if (len > sizeof(name) - 3)
		len = sizeof(name) - 3;
	snprintf(name, sizeof(name), "[%.*s]", (int)len, base);
	for (char *c = name; *c; c++)
		*c = *c == '-' ? '_' : *c;
	return dso_keep(s, name);
}

static struct dso *dso_new(struct dso_store *s, const struct dso_key *k)
{
	struct dso *d = arena_zalloc(&s->text, sizeof(*d));

	if (!d)
		return NULL;
	d->store = s;
	d->id = (uint32_t)s->dsos.nr;
	d->kind = k->kind;
	d->pid = k->pid;
	d->guest = k->guest;
	d->program = k->program;
	d->mnt_ns_ino = k->mnt_ns_ino;
	d->maj = k->maj;
	d->min = k->min;
	d->ino = k->ino;
	d->ino_generation = k->ino_generation;
	d->load_start = k->load_start;
	d->ref_addr = k->kernel_ref_addr;
	if (k->build_id && k->build_id->size <= sizeof(k->build_id->bytes))
		d->build_id = *k->build_id;
	if (k->kernel_ref_name && !(d->ref_name = dso_keep(s, k->kernel_ref_name)))
		return NULL;
	d->path = dso_keep(s, k->path);
	d->short_name = d->path ? short_name_of(s, k, d->path) : NULL;
	return d->short_name ? d : NULL;
}

/* What is known of a file before it is asked for anything. */
static bool has_room(struct dso_store *s, const struct dso_key *k)
{
	return k->path == not_kept ||
	       budget_account_take(&s->named,
				   sizeof(struct dso) + 2 * strlen(k->path) + BUDGET_TABLE_BYTES,
				   "files named in");
}

void dso_store_set_machine(struct dso_store *s, const char *os_release, const char *host)
{
	struct os_uname here;

	if ((s->release.is_known || !os_release) && (s->host.is_known || !host))
		return;
	os_uname(&here);
	s->release.is_known = os_release;
	s->release.is_same = os_release && !strcmp(os_release, here.release);
	s->host.is_known = host;
	s->host.is_same = host && !strcmp(host, here.node);
}

/* Stands for all files there was no room for. */
static struct dso *others(struct dso_store *s)
{
	return dso_store_get(s, &(struct dso_key){.kind = DSO_NO_CODE, .path = not_kept});
}

bool dso_store_knows_guest_kernels(const struct dso_store *s)
{
	const struct dso_store_opts *o = &s->opts;

	return o->guest_mount || o->guest_vmlinux || o->guest_kallsyms;
}

struct dso *dso_store_get(struct dso_store *s, const struct dso_key *key)
{
	uint64_t h = key_hash(key), *at;
	struct dso *d;

	/* Two keys of one hash: the second goes to the next free number. */
	for (; (at = map_u64_get(&s->by_key, h)); h++) {
		d = s->dsos.data[*at];
		if (is_key_of(d, key))
			return d;
	}
	if (!has_room(s, key))
		return others(s);
	d = dso_new(s, key);
	if (!d || !vec_reserve(&s->dsos, s->dsos.nr + 1) || !map_u64_put(&s->by_key, h, d->id))
		return NULL;
	s->dsos.data[s->dsos.nr++] = d;
	return d;
}

void dso_store_set_clock(struct dso_store *s, const struct dso_clock *clock)
{
	s->clock = *clock;
}

struct dso *dso_store_at(struct dso_store *s, size_t index)
{
	return index < s->dsos.nr ? s->dsos.data[index] : NULL;
}

uint32_t dso_id(const struct dso *d)
{
	return d->id;
}

const char *dso_path(const struct dso *d)
{
	return d->path;
}

const char *dso_short_name(const struct dso *d)
{
	return d->short_name;
}

uint64_t dso_load_start(const struct dso *d)
{
	return d->load_start;
}

enum dso_kind dso_kind(const struct dso *d)
{
	return d->kind;
}

const struct dso_build_id *dso_build_id(const struct dso *d)
{
	return &d->build_id;
}

/** What has the answers, if any were asked for. */
static const struct dso *asked(const struct dso *d)
{
	return d->same ? d->same : d;
}

const char *dso_why_no_symbols(const struct dso *d)
{
	return asked(d)->why;
}

const char *dso_note(const struct dso *d)
{
	return asked(d)->note;
}

const char *dso_unchecked(const struct dso *d)
{
	const struct dso *a = asked(d);

	return a->why ? NULL : a->unchecked;
}

const char *dso_symbol_file(const struct dso *d)
{
	return asked(d)->symbol_file;
}
