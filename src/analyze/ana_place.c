/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "analyze/ana_impl.h"
#include "perfdata/perf_feature_lists.h"

static const char kernel_name[] = "[kernel.kallsyms]";

enum { MAP_HUGETLB_FLAG = 0x40000, PROT_EXEC_FLAG = 4 };

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool is_anonymous(const struct who_map *m)
{
	return m->flags & MAP_HUGETLB_FLAG || !strcmp(m->path, "//anon") ||
	       starts(m->path, "/dev/zero") || starts(m->path, "/anon_hugepage");
}

static bool has_no_code(const char *path)
{
	return starts(path, "[stack") || starts(path, "/SYSV") || !strcmp(path, "[heap]");
}

static const struct dso_build_id *build_id_of_path(struct analyze *a, const char *path)
{
	uint32_t n =
		intern_has(&a->build_id_paths, path) ? intern_str(&a->build_id_paths, path) : 0;

	/* Number 0 is the empty name, which is in every table; a mapping may have it. */
	return n && n <= a->build_ids.nr ? &a->build_ids.data[n - 1] : NULL;
}

static struct ana_place *place_new(struct analyze *a, const struct dso_key *key, bool is_absolute)
{
	struct ana_place *p = arena_zalloc(&a->memory, sizeof(*p));

	if (!p)
		return NULL;
	p->dso = dso_store_get(a->dsos, key);
	p->is_absolute = is_absolute;
	return p->dso ? p : NULL;
}

static struct ana_place *place_of_user_map(struct analyze *a, const struct who_map *m)
{
	struct dso_build_id id = {.size = m->build_id_bytes};
	const uint64_t *mnt_ns = map_u64_get(&a->mnt_ns, m->pid);
	char jit_path[32];
	struct dso_key key = {
		.kind = DSO_USER,
		.path = m->path,
		.build_id = &id,
		.pid = m->pid,
		.mnt_ns_ino = mnt_ns ? *mnt_ns : 0,
		.maj = m->maj,
		.min = m->min,
		.ino = m->ino,
		.ino_generation = m->ino_generation,
	};

	memcpy(id.bytes, m->build_id, sizeof(id.bytes));
	if (!id.size)
		key.build_id = build_id_of_path(a, m->path);
	if (!strcmp(m->path, "[vdso]") || !strcmp(m->path, "[vdso32]") ||
	    !strcmp(m->path, "[vdsox32]")) {
		key.kind = DSO_VDSO;
	} else if (is_anonymous(m)) {
		snprintf(jit_path, sizeof(jit_path), "/tmp/perf-%u.map", m->pid);
		key.kind = m->prot & PROT_EXEC_FLAG ? DSO_JIT : DSO_NO_CODE;
		key.path = key.kind == DSO_JIT ? jit_path : m->path;
	} else if (has_no_code(m->path)) {
		key.kind = DSO_NO_CODE;
	}
	return place_new(a, &key, key.kind == DSO_JIT || key.kind == DSO_NO_CODE);
}

/* KSYMBOL: a program of the kernel's own JIT; its one symbol is its name. */
static struct ana_place *place_of_ksymbol(struct analyze *a, const struct who_map *m)
{
	struct dso_key key = {.kind = DSO_NO_CODE, .path = m->path};
	struct ana_place *p = place_new(a, &key, true);
	struct dso_sym *sym = arena_alloc(&a->memory, sizeof(*sym));

	if (!p || !sym)
		return NULL;
	*sym = (struct dso_sym){m->start, m->end, m->path, m->path};
	p->only_sym = sym;
	return p;
}

static struct ana_place *place_of_kernel_map(struct analyze *a, const struct who_map *m)
{
	struct dso_key key = {.kind = DSO_MODULE, .path = m->path, .load_start = m->start};
	struct dso_build_id id = {.size = m->build_id_bytes};

	if (m->flags == WHO_MAP_IS_KSYMBOL)
		return place_of_ksymbol(a, m);
	memcpy(id.bytes, m->build_id, sizeof(id.bytes));
	key.build_id = id.size ? &id : build_id_of_path(a, m->path);
	if (starts(m->path, kernel_name)) {
		key.kind = DSO_KERNEL;
		key.path = kernel_name;
		if (!key.build_id)
			key.build_id = build_id_of_path(a, kernel_name);
		/* "[kernel.kallsyms]_text", with _text's address as the page offset */
		key.kernel_ref_name =
			m->path[strlen(kernel_name)] ? m->path + strlen(kernel_name) : NULL;
		key.kernel_ref_addr = m->pgoff;
	}
	return place_new(a, &key, true);
}

struct ana_place *ana_kernel_place(struct analyze *a)
{
	struct dso_key key = {.kind = DSO_KERNEL, .path = kernel_name};

	if (!a->kernel_place) {
		key.build_id = build_id_of_path(a, kernel_name);
		a->kernel_place = place_new(a, &key, true);
	}
	return a->kernel_place;
}

struct ana_place *ana_place_of(struct analyze *a, struct who_map *m)
{
	if (!m->owner_data)
		m->owner_data = m->is_kernel ? place_of_kernel_map(a, m) : place_of_user_map(a, m);
	return m->owner_data;
}

enum clew_err ana_take_build_id(struct analyze *a, const struct perf_build_id_record *b)
{
	struct dso_build_id id = {.size = b->build_id_bytes};
	uint32_t n;

	memcpy(id.bytes, b->build_id, sizeof(id.bytes));
	if (!*b->filename || intern_has(&a->build_id_paths, b->filename) ||
	    !ana_charge(a, strlen(b->filename) + sizeof(id), "build ids of"))
		return CLEW_OK;
	n = intern_str(&a->build_id_paths, b->filename);
	if (n == INTERN_FAILED || !vec_push(&a->build_ids, id))
		return CLEW_NO_MEMORY;
	return CLEW_OK;
}

enum clew_err ana_take_build_ids(struct analyze *a)
{
	struct perf_build_id_record b;
	struct perf_list list;
	uint16_t misc;
	enum clew_err err;

	if (!perf_features_build_ids(perf_file_features(a->file), &list))
		return CLEW_OK;
	while (perf_build_id_next(&list, &b, &misc)) {
		err = ana_take_build_id(a, &b);
		if (err != CLEW_OK)
			return err;
	}
	return CLEW_OK;
}
