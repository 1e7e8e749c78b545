/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "elf/demangle.h"
#include "image/dso_code_priv.h"
#include "os/proc.h"

#define LINE_NUMBER ((uint64_t)1 << 63) /* a bit that no number in a table has */

static const char not_kept[] = "[not kept]";

const char dso_over_budget[] = "it needs more than the memory budget has left";

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
	dso_jit_lines_free(d->jit_lines);
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
	vec_done(&s->dsos);
	map_u64_done(&s->jitdumps);
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

char *dso_keep(struct dso_store *s, const char *text)
{
	return arena_strndup(&s->text, text, strlen(text));
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
	h = hash_two(hash_two(h, k->ino), hash_two(k->maj, k->min));
	h = hash_two(h, k->guest);
	return hash_two(h, (uint64_t)k->kind << 32 | pid_in_key(k));
}

static bool is_key_of(const struct dso *d, const struct dso_key *k)
{
	static const struct dso_build_id none;
	const struct dso_build_id *id = k->build_id ? k->build_id : &none;

	return d->kind == k->kind && d->guest == k->guest && d->build_id.size == id->size &&
	       !memcmp(d->build_id.bytes, id->bytes, id->size) && d->ino == k->ino &&
	       d->maj == k->maj && d->min == k->min && (d->kind != DSO_JIT || d->pid == k->pid) &&
	       !strcmp(d->path, k->path);
}

/** perf's: the last component; modules and what is no path are in brackets. */
static char *short_name_of(struct dso_store *s, const struct dso_key *k, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash && slash[1] ? slash + 1 : path;
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
	d->mnt_ns_ino = k->mnt_ns_ino;
	d->maj = k->maj;
	d->min = k->min;
	d->ino = k->ino;
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

/** A JIT compiler maps its jit-PID.dump so that the recording names it. */
static bool is_jitdump(const struct dso *d)
{
	size_t digits =
		strspn(d->short_name + (strncmp(d->short_name, "jit-", 4) ? 0 : 4), "0123456789");

	return d->kind == DSO_USER && !strncmp(d->short_name, "jit-", 4) && digits &&
	       !strcmp(d->short_name + 4 + digits, ".dump");
}

static bool add_jitdump(struct dso_store *s, struct dso *d)
{
	uint64_t *newest = map_u64_get(&s->jitdumps, d->pid);

	d->older_jitdump = newest ? (struct dso *)(uintptr_t)*newest : NULL;
	return map_u64_put(&s->jitdumps, d->pid, (uintptr_t)d);
}

/* What is known of a file before it is asked for anything. */
static bool has_room(struct dso_store *s, const struct dso_key *k)
{
	return k->path == not_kept ||
	       budget_account_take(&s->named,
				   sizeof(struct dso) + 2 * strlen(k->path) + BUDGET_TABLE_BYTES,
				   "files named in");
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
	return !is_jitdump(d) || add_jitdump(s, d) ? d : NULL;
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

const char *dso_symbol_file(const struct dso *d)
{
	return asked(d)->symbol_file;
}

static bool wants_demangled(const struct dso *d)
{
	switch (d->kind) {
	case DSO_KERNEL:
	case DSO_MODULE:
		return d->store->opts.demangle_kernel;
	case DSO_JIT:
		return false; /* the compiler wrote what it wants to be shown */
	case DSO_USER:
	case DSO_VDSO:
	case DSO_NO_CODE:
		break;
	}
	return !d->store->opts.no_demangle;
}

static const char *shown_name(void *ctx, const char *name)
{
	struct dso *d = ctx;

	buf_clear(&d->store->scratch);
	return demangle(name, &d->store->scratch) ? buf_cstr(&d->store->scratch) : name;
}

bool dso_store_charge(struct dso_store *s, uint64_t bytes, const char *what, const char *path)
{
	if (!budget_take_for(s->opts.budget, bytes, what, path))
		return false;
	s->charged += bytes;
	return true;
}

const char *dso_refuse_symbols(struct dso_store *s, const char *path)
{
	budget_refuse(s->opts.budget, 0, "the symbols of", path);
	return dso_over_budget;
}

bool dso_finish_table(struct dso *d, enum sym_fill fill, const char *from)
{
	if (wants_demangled(d)) {
		d->table.shown_name = shown_name;
		d->table.shown_ctx = d;
	}
	if (!sym_table_finish(&d->table, fill)) {
		d->why = d->table.is_over_budget ? dso_refuse_symbols(d->store, from)
						 : "out of memory";
		return false;
	}
	if (!d->table.nr)
		return false;
	d->symbol_file = dso_keep(d->store, from);
	return true;
}

static void load(struct dso *d)
{
	d->has_asked = true;
	switch (d->kind) {
	case DSO_USER:
		dso_load_user(d);
		break;
	case DSO_KERNEL:
	case DSO_MODULE:
		dso_load_kernel(d);
		break;
	case DSO_VDSO:
		dso_load_vdso(d);
		break;
	case DSO_JIT:
		dso_load_jit(d);
		break;
	case DSO_NO_CODE:
		d->why = "memory that holds no code";
		break;
	}
}

/** A symbol by its number in its table, or by the place of its line among the kernel's. */
struct found {
	uint64_t number, start, end;
};

static const struct dso_sym *seen_sym(const struct dso *d, uint64_t number)
{
	uint64_t *at = map_u64_get(&d->found, number);

	return at ? (const struct dso_sym *)(uintptr_t)*at : NULL;
}

/** The symbol in the form callers see, made when first asked for. */
static const struct dso_sym *shown_sym(struct dso *d, const struct found *f, const char *name)
{
	struct dso_sym *n = arena_zalloc(&d->store->text, sizeof(*n));

	if (!n)
		return NULL;
	n->start = f->start - d->kernel_delta;
	n->end = f->end - d->kernel_delta;
	n->link_name = n->name = name;
	if (wants_demangled(d)) {
		const char *shown = shown_name(d, n->link_name);

		if (shown != n->link_name && !(n->name = dso_keep(d->store, shown)))
			return NULL;
	}
	return map_u64_put(&d->found, f->number, (uintptr_t)n) ? n : NULL;
}

/** The owner's symbol as one of this name: rows and branches distinguish files by it. */
static const struct dso_sym *own_sym(struct dso *d, const struct dso_sym *of)
{
	const struct dso_sym *seen = of ? seen_sym(d, (uintptr_t)of) : NULL;
	struct dso_sym *n;

	if (!of || seen)
		return seen;
	n = arena_alloc(&d->store->text, sizeof(*n));
	if (!n || !map_u64_put(&d->found, (uintptr_t)of, (uintptr_t)n))
		return NULL;
	*n = *of;
	return n;
}

static const struct dso_sym *sym_in_table(struct dso *d, const struct sym_table *t, uint64_t addr)
{
	const struct sym *s = sym_table_find(t, addr);
	const struct dso_sym *seen;

	if (!s || (d->kernel && s->module != d->module))
		return NULL;
	seen = seen_sym(d, (uint64_t)(s - t->syms));
	return seen ? seen
		    : shown_sym(d, &(struct found){(uint64_t)(s - t->syms), s->start, s->end},
				sym_name(t, s));
}

static const struct dso_sym *sym_of_line(struct dso *d, const struct kallsyms_line *l, uint64_t end)
{
	uint64_t at = (uint64_t)((const uint8_t *)l->name - d->kernel->index.lines.pos);
	struct found f = {at | LINE_NUMBER, l->addr, end};
	const struct dso_sym *seen;
	char *name;

	if (d->module)
		return NULL;
	seen = seen_sym(d, f.number);
	if (seen)
		return seen;
	name = arena_strndup(&d->store->text, l->name, l->name_bytes);
	return name ? shown_sym(d, &f, name) : NULL;
}

const struct dso_sym *dso_find_sym(struct dso *d, uint64_t rel)
{
	struct kallsyms_line line;
	uint64_t end;

	if (dso_owner(d) != d)
		return own_sym(d, dso_find_sym(d->same, rel));
	if (!d->has_asked)
		load(d);
	rel += d->kernel_delta;
	if (!d->kernel)
		return sym_in_table(d, &d->table, rel);
	if (kallsyms_index_find(&d->kernel->index, rel, &line, &end))
		return sym_of_line(d, &line, end);
	return sym_in_table(d, &d->kernel->table, rel);
}
