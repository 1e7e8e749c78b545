/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "trace/snapshot/cs_snapshot_impl.h"

/* Some dumps are the ELF file that was loaded: those have symbols. Others are bare memory, which
 * counts as code of no file, at its run-time addresses. */

static bool is_elf(const struct os_map *m)
{
	return m->size > 4 && !memcmp(m->data, "\177ELF", 4);
}

/** NULL: out of memory. */
static struct dso *binary_of(struct cs_snapshot *s, struct cs_file *f)
{
	clew_auto(buf_done) struct buf path = {0};
	struct dso_key key = {.kind = is_elf(&f->map) ? DSO_USER : DSO_JIT};

	if (f->dso)
		return f->dso;
	if (!s->binaries)
		s->binaries = dso_store_new(
			&(struct dso_store_opts){.budget = s->budget, .no_proc_root = true});
	buf_printf(&path, "%s/%s", s->dir, f->name);
	key.path = buf_cstr(&path);
	if (s->binaries && !path.is_failed)
		f->dso = dso_store_get(s->binaries, &key);
	return f->dso;
}

bool cs_snapshot_resolve(struct cs_snapshot *s, uint32_t space, struct ana_loc *loc)
{
	uint64_t ip = loc->ip - loc->is_return;

	/* Which core's code it is is not asked for. */
	if (!s->has_one_code)
		return true;
	vec_for_each (&s->dumps, d) {
		struct dso *binary;

		if (ip < d->address || ip - d->address >= d->size ||
		    !(d->seen_by >> (space % CS_NR_SPACES) & 1))
			continue;
		binary = binary_of(s, &s->files.data[d->file]);
		loc->dso = binary;
		if (!binary || dso_kind(binary) == DSO_JIT)
			return binary != NULL;
		loc->rel = loc->ip - d->address + d->offset;
		loc->sym = dso_find_sym(binary, loc->rel - loc->is_return);
		return true;
	}
	return true;
}
