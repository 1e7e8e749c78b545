/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/hash.h"
#include "image/dso_priv.h"
#include "os/file.h"

static enum clew_err open_with(struct dso_file *f, const char *path,
			       enum clew_err (*map)(const char *, struct os_map *,
						    struct clew_diag *))
{
	struct dso_file n = {0};
	enum clew_err err;

	n.path = mem_strdup(path);
	err = n.path ? map(path, &n.map, NULL) : CLEW_NO_MEMORY;

	if (err == CLEW_OK)
		err = elf_file_open(&n.elf, n.map.data, n.map.size, NULL);
	if (err == CLEW_OK)
		*f = n;
	else
		dso_file_done(&n);
	return err;
}

enum clew_err dso_file_open(struct dso_file *f, const char *path)
{
	return open_with(f, path, os_map_file);
}

enum clew_err dso_file_open_private(struct dso_file *f, const char *path)
{
	return open_with(f, path, os_map_file_private);
}

bool dso_file_charge(struct dso_store *s, struct dso_file *f)
{
	struct os_file_identity id;
	uint64_t key, *nr;

	f->elf.budget = s->opts.budget;
	f->elf.name = f->path;
	if (!s->opts.budget || os_file_identity(f->path, &id))
		return true;
	key = hash_bytes(&id, sizeof(id));
	nr = map_u64_get(&s->mapped, key);
	if (!nr && !budget_take_for(s->opts.budget, f->map.size, "the file", f->path))
		return false;
	if (!map_u64_put(&s->mapped, key, nr ? *nr + 1 : 1)) {
		budget_give(s->opts.budget, nr ? 0 : f->map.size);
		return true;
	}
	f->charged = s;
	f->charge_key = key;
	f->charged_bytes = f->map.size;
	return true;
}

/** The last mapping of a file gives back what the first one took. */
static void uncharge(struct dso_file *f)
{
	struct map_u64 *m = f->charged ? &f->charged->mapped : NULL;
	uint64_t *nr = m ? map_u64_get(m, f->charge_key) : NULL;

	if (!nr || --*nr)
		return;
	map_u64_remove(m, f->charge_key);
	budget_give(f->charged->opts.budget, f->charged_bytes);
}

void dso_file_done(struct dso_file *f)
{
	uncharge(f);
	if (f->unpacked.nr)
		budget_give(f->elf.budget, f->unpacked.nr);
	elf_file_done(&f->elf);
	os_map_done(&f->map);
	buf_done(&f->unpacked);
	mem_free(f->path);
	*f = (struct dso_file){0};
}

/** Recordings that give no size fill up to 20 bytes with zeros. */
static bool is_padded(const struct dso_build_id *id, uint8_t size)
{
	if (!size || id->size != sizeof(id->bytes))
		return false;
	for (size_t i = size; i < id->size; i++) {
		if (id->bytes[i])
			return false;
	}
	return true;
}

bool dso_same_build_id(const struct dso_build_id *a, const struct dso_build_id *b)
{
	uint8_t size = a->size < b->size ? a->size : b->size;

	if (memcmp(a->bytes, b->bytes, size) != 0)
		return false;
	return a->size == b->size || is_padded(a->size > size ? a : b, size);
}

struct dso_build_id dso_file_build_id(const struct dso_file *f)
{
	struct dso_build_id id = {0};

	id.size = (uint8_t)elf_file_build_id(&f->elf, id.bytes);
	return id;
}
