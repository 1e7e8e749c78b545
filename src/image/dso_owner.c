/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/hash.h"
#include "image/dso_priv.h"

/*
 * One file may have many names in a recording: through symbolic links, through mounts, or because
 * it was spelt in 60,000 ways. It is opened and parsed once: for the name that was asked for
 * first, which is the owner. Device, inode, size and time say that it is the same file, and the
 * build ids that were recorded must allow it.
 */

static bool find_file(struct dso *d, const char *root, struct os_file_identity *ret)
{
	clew_auto(buf_done) struct buf path = {0};

	return dso_place_path(d, DSO_AT_ITSELF, root, &d->build_id, &path) &&
	       !os_file_identity(buf_cstr(&path), ret);
}

/** What the recording says is another file has no part in the one here. */
static bool is_other(struct dso *d, const char *root)
{
	clew_auto(buf_done) struct buf path = {0};
	const char *why;

	return !d->build_id.size && dso_place_path(d, DSO_AT_ITSELF, root, &d->build_id, &path) &&
	       dso_identify(d, buf_cstr(&path), &why) == DSO_IS_OTHER;
}

/** Where dso_load_user() looks for the file first. What only has its name is not it. */
static bool identify(struct dso *d)
{
	clew_auto(buf_done) struct buf root = {0};

	dso_proc_root(d, &root);
	return (root.nr || dso_where(d) == DSO_HERE) && find_file(d, buf_cstr(&root), &d->file) &&
	       !is_other(d, buf_cstr(&root));
}

/** The build id in the file that identify() found. */
static struct dso_build_id read_build_id(struct dso *d)
{
	clew_auto(dso_file_done) struct dso_file f = {0};
	clew_auto(buf_done) struct buf root = {0}, path = {0};
	struct dso_build_id id = {0};

	dso_proc_root(d, &root);
	if (dso_place_path(d, DSO_AT_ITSELF, buf_cstr(&root), &d->build_id, &path) &&
	    !dso_file_open(&f, buf_cstr(&path)))
		id = dso_file_build_id(&f);
	return id;
}

static bool fits(const struct dso_build_id *recorded, const struct dso_build_id *file)
{
	return !recorded->size || dso_same_build_id(file, recorded);
}

static bool is_equal(const struct dso_build_id *a, const struct dso_build_id *b)
{
	return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

/** Most recordings have the same for both names; else the file is asked, once. */
static bool is_same_build(struct dso *owner, const struct dso *d)
{
	if (is_equal(&owner->build_id, &d->build_id))
		return true;
	if (!owner->is_checked) {
		owner->is_checked = true;
		owner->file_id = read_build_id(owner);
	}
	return fits(&owner->build_id, &owner->file_id) && fits(&d->build_id, &owner->file_id);
}

/** The place of the file's owner in the table, where there is one: else @p *ret_free is free. */
static uint64_t *owner_at(const struct dso *d, uint64_t *ret_free)
{
	const struct map_u64 *m = &d->store->by_file;
	uint64_t h, *at;

	for (h = hash_bytes(&d->file, sizeof(d->file)); (at = map_u64_get(m, h)); h++) {
		const struct dso *owner = (const struct dso *)(uintptr_t)*at;

		if (!memcmp(&owner->file, &d->file, sizeof(d->file)))
			return at;
	}
	*ret_free = h;
	return NULL;
}

/** @return false: no such file here, or one of another build. */
static bool find_by_file(struct dso *d)
{
	uint64_t free_at, *at;
	struct dso *owner;

	if (!identify(d))
		return false;
	at = owner_at(d, &free_at);
	if (!at) /* without memory the next name is read on its own */
		return map_u64_put(&d->store->by_file, free_at, (uintptr_t)d), true;
	owner = (struct dso *)(uintptr_t)*at;
	if (is_same_build(owner, d)) {
		d->same = owner;
		return true;
	}
	if (!fits(&d->build_id, &owner->file_id))
		return false;
	*at = (uintptr_t)d; /* the recording says of the other name that it was another build */
	return true;
}

/** What a build id leads to was read for another name already. */
static void find_by_build_id(struct dso *d)
{
	const struct dso_build_id *id = &d->build_id;
	uint64_t *at = map_u64_get(&d->store->by_build_id, hash_bytes(id->bytes, id->size));
	struct dso *owner = at ? (struct dso *)(uintptr_t)*at : NULL;

	if (id->size && owner && is_equal(&owner->build_id, id))
		d->same = owner;
}

void dso_owner_loaded(struct dso *d)
{
	const struct dso_build_id *id = &d->build_id;
	struct map_u64 *m = &d->store->by_build_id;

	if (id->size && !map_u64_get(m, hash_bytes(id->bytes, id->size)))
		map_u64_put(m, hash_bytes(id->bytes, id->size), (uintptr_t)d);
}

struct dso *dso_owner(struct dso *d)
{
	if (!d->has_asked_same) {
		d->has_asked_same = true;
		if (d->kind == DSO_USER && d->path[0] == '/' && !find_by_file(d))
			find_by_build_id(d);
	}
	return d->same ? d->same : d;
}
