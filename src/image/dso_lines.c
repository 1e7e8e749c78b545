/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "elf/demangle.h"
#include "elf/dwarf_lines.h"
#include "elf/elf_sym.h"
#include "image/dso_priv.h"
#include "image/dso_source.h"
#include "os/path.h"

struct dso_lines {
	struct dwarf_lines *dwarf; /* NULL: none found */
	struct dso_file file, alt;
	struct map_u64 shown; /* address of a linkage name -> the name as shown */
};

void dso_lines_free(struct dso_lines *l)
{
	if (!l)
		return;
	dwarf_lines_free(l->dwarf);
	dso_file_done(&l->alt);
	dso_file_done(&l->file);
	map_u64_done(&l->shown);
	mem_free(l);
}

/** @return false: missing, or of another build. */
static bool open_alt_at(struct dso_lines *l, const char *path, const struct dso_build_id *want)
{
	struct dso_build_id id;

	if (dso_file_open_private(&l->alt, path))
		return false;
	id = dso_file_build_id(&l->alt);
	if (dso_same_build_id(&id, want))
		return true;
	dso_file_done(&l->alt);
	return false;
}

/** dwz keeps what several debug files share in one more file: named relative to this one. */
static void open_alt(struct dso_lines *l, struct dso_store *s, const struct dso_file *f)
{
	clew_auto(buf_done) struct buf path = {0};
	const char *name, *slash = f->path ? strrchr(f->path, '/') : NULL;
	const char *debug_dir = s->opts.debug_dir ? s->opts.debug_dir : "/usr/lib/debug";
	struct dso_build_id want = {0};
	struct bytes b;

	if (!elf_file_debugaltlink(&f->elf, &name, &b) || !bytes_left(&b) ||
	    bytes_left(&b) > sizeof(want.bytes))
		return;
	want.size = (uint8_t)bytes_left(&b);
	memcpy(want.bytes, b.pos, want.size);
	if (slash)
		buf_add(&path, f->path,
			name[0] == '/' ? os_path_root_bytes(f->path)
				       : (size_t)(slash - f->path) + 1);
	buf_str(&path, name);
	if (!open_alt_at(l, buf_cstr(&path), &want)) {
		buf_clear(&path);
		if (!dso_build_id_path(debug_dir, &want, ".debug", &path) ||
		    !open_alt_at(l, buf_cstr(&path), &want))
			return;
	}
	if (!dso_file_charge(s, &l->alt))
		dso_file_done(&l->alt);
}

static bool open_dwarf(struct dso_lines *l, struct dso_store *s, const struct dso_file *f)
{
	if (!f || l->dwarf || !f->path || !f->elf.elf || !dwarf_has_info(&f->elf) ||
	    dso_file_open_private(&l->file, f->path))
		return false;
	if (!dso_file_charge(s, &l->file)) {
		dso_file_done(&l->file);
		return false;
	}
	open_alt(l, s, f);
	l->dwarf = dwarf_lines_open(&l->file.elf, l->alt.elf.elf ? &l->alt.elf : NULL);
	if (!l->dwarf)
		dso_file_done(&l->file);
	return l->dwarf != NULL;
}

static struct dso_lines *open_lines(struct dso *d)
{
	struct dso_lines *l = mem_zalloc(sizeof(*l));

	if (!l)
		return NULL;
	dso_find_sym(d, 0); /* finds the debug file */
	if (!open_dwarf(l, d->store, d->syms) && !open_dwarf(l, d->store, d->runtime) &&
	    !(d->kernel && open_dwarf(l, d->store, &d->kernel->vmlinux)) && dso_code_file(d))
		open_dwarf(l, d->store, &d->code);
	return l;
}

/** Link-time address of @p rel. */
static bool vaddr_of(struct dso *d, uint64_t rel, uint64_t *ret)
{
	const struct elf_file *f = d->runtime ? &d->runtime->elf : dso_code_file(d);

	if (d->kind == DSO_KERNEL) {
		*ret = rel + d->kernel_delta;
		return true;
	}
	return f && elf_file_vaddr(f, rel, ret);
}

/** Demangled once for each name: libdw's texts keep their address. */
static const char *shown_function(struct dso *d, const char *link_name)
{
	uint64_t *at = map_u64_get(&d->lines->shown, (uintptr_t)link_name);
	struct buf *b = &d->store->scratch;
	const char *shown = link_name;

	if (at)
		return (const char *)(uintptr_t)*at;
	buf_clear(b);
	if (!d->store->opts.no_demangle && demangle(link_name, b))
		shown = dso_keep(d->store, buf_cstr(b));
	if (!shown || !map_u64_put(&d->lines->shown, (uintptr_t)link_name, (uintptr_t)shown))
		return link_name;
	return shown;
}

/** NULL: it has no debug information. */
static struct dwarf_lines *dwarf_of(struct dso *d)
{
	if (!d->lines)
		d->lines = open_lines(d);
	return d->lines ? d->lines->dwarf : NULL;
}

static size_t find_lines(struct dso *d, uint64_t vaddr, struct dso_line *ret, size_t max)
{
	struct dwarf_line lines[DSO_MAX_LEVELS];
	size_t nr = dwarf_lines_find(d->lines->dwarf, vaddr, lines,
				     max < DSO_MAX_LEVELS ? max : DSO_MAX_LEVELS);

	for (size_t i = 0; i < nr; i++) {
		ret[i] = (struct dso_line){.file = lines[i].file,
					   .line = lines[i].line,
					   .column = lines[i].column,
					   .link_name = lines[i].name,
					   .decl_file = lines[i].decl_file,
					   .decl_line = lines[i].decl_line,
					   .discriminator = lines[i].discriminator,
					   .copies = lines[i].copies};
		if (lines[i].is_inlined && lines[i].name)
			ret[i].function = shown_function(d, lines[i].name);
	}
	return nr;
}

size_t dso_find_lines(struct dso *d, uint64_t rel, struct dso_line *ret, size_t max)
{
	uint64_t vaddr;

	d = dso_owner(d);
	if (d->kind == DSO_JIT)
		return dso_jit_find_lines(d, rel, dso_find_sym(d, rel), ret, max);
	if (!dwarf_of(d) || !vaddr_of(d, rel, &vaddr))
		return 0;
	return find_lines(d, vaddr, ret, max);
}

/* --- at linked addresses --- */

/** A module's sections all begin at 0 in its file. */
static struct dwarf_lines *linked_dwarf(const struct dso *shown, struct dso **ret_owner)
{
	struct dso *d = dso_owner(shown->store->dsos.data[shown->id]);

	*ret_owner = d;
	return d->kind == DSO_JIT || d->kind == DSO_MODULE ? NULL : dwarf_of(d);
}

size_t dso_find_linked_lines(const struct dso *d, uint64_t address, struct dso_line *ret,
			     size_t max)
{
	struct dso *owner;

	return linked_dwarf(d, &owner) ? find_lines(owner, address, ret, max) : 0;
}

bool dso_walk_source(const struct dso *d, const struct dwarf_walker *w)
{
	struct dso *owner;
	struct dwarf_lines *l = linked_dwarf(d, &owner);

	return !l || dwarf_lines_walk(l, w);
}

bool dso_has_source(const struct dso *d)
{
	struct dso *owner;

	return linked_dwarf(d, &owner);
}

unsigned int dso_line_version(const struct dso *d)
{
	struct dso *owner;
	struct dwarf_lines *l = linked_dwarf(d, &owner);

	return l ? dwarf_lines_version(l) : 0;
}
