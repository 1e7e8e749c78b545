/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "elf/elf_debugdata.h"
#include "elf/elf_sym.h"
#include "image/dso_priv.h"

/** What the search has met so far. */
struct search {
	struct dso *d;
	struct dso_build_id id; /* the recording's, or the file's own */
	bool has_file, has_mismatch;
	bool has_unproven;     /* a file of its name, which the process may only have named */
	const char *why_other; /* the file of its name is not the recorded one */
	bool has_bad_link;     /* its debug link names a file with another checksum */
	bool takes_unproven;   /* separate files that nothing proves to belong to it */
};

/** The file itself: without a build id in the recording it may be another, and its own leads to its
 * debug file. @return false: it is another. */
static bool look_at_itself(struct search *s, const char *root)
{
	clew_auto(dso_file_done) struct dso_file f = {0};
	clew_auto(buf_done) struct buf path = {0};
	struct dso_build_id id;
	const char *why;

	s->d->link_name = NULL;
	if (!dso_place_path(s->d, DSO_AT_ITSELF, root, &s->id, &path) ||
	    dso_file_open(&f, buf_cstr(&path)))
		return true;
	id = dso_file_build_id(&f);
	if (s->id.size && !dso_same_build_id(&id, &s->id))
		return true;
	if (!s->id.size) {
		switch (dso_identify(s->d, buf_cstr(&path), &why)) {
		case DSO_IS_OTHER:
			s->why_other = why;
			return false;
		case DSO_IS_UNCHECKED:
			s->d->unchecked = why;
			break;
		case DSO_IS_RECORDED:
			break;
		}
		s->id = id;
	}
	dso_take_debuglink(s->d, &f);
	return true;
}

static bool is_separate(enum dso_place place)
{
	return place != DSO_AT_ITSELF && place != DSO_AT_CACHE;
}

/** Build ids prove more than the checksum, which costs a look at each byte of the file. */
static bool fits(struct search *s, enum dso_place place, const struct dso_file *f)
{
	struct dso_build_id id = dso_file_build_id(f);
	struct dso *d = s->d;

	if (id.size && s->id.size)
		return dso_same_build_id(&id, &s->id);
	if (!is_separate(place))
		return !s->id.size;
	if (d->link_name) {
		if (elf_debuglink_crc(f->map.data, f->map.size) == d->link_crc)
			return true;
		s->has_bad_link = true;
		return false;
	}
	return s->takes_unproven && !s->id.size;
}

/** Keep @p f where it has symbols, or is what was mapped. */
static void offer(struct dso *d, struct dso_file *f)
{
	bool is_syms = !d->syms && elf_has_symtab(&f->elf);
	bool is_runtime = !d->runtime && elf_has_dynsym(&f->elf);
	struct dso_file *slot = d->files[0].elf.elf ? &d->files[1] : &d->files[0];

	if (!is_syms && !is_runtime) {
		dso_file_done(f);
		return;
	}
	if (!dso_file_charge(d->store, f)) {
		dso_file_done(f);
		d->why = dso_over_budget;
		return;
	}
	*slot = *f;
	if (is_syms)
		d->syms = slot;
	if (is_runtime)
		d->runtime = slot;
}

static void search_each(struct search *s, const char *root)
{
	struct dso *d = s->d;
	clew_auto(buf_done) struct buf path = {0};

	for (int place = 0; place < DSO_NR_PLACES && (!d->syms || !d->runtime); place++) {
		struct dso_file f = {0};

		if (s->takes_unproven && !is_separate((enum dso_place)place))
			continue;
		buf_clear(&path);
		if (!dso_place_path(d, (enum dso_place)place, root, &s->id, &path) ||
		    dso_file_open(&f, buf_cstr(&path)))
			continue;
		if (!fits(s, (enum dso_place)place, &f)) {
			s->has_mismatch |= place == DSO_AT_ITSELF;
			dso_file_done(&f);
			continue;
		}
		s->has_file |= place == DSO_AT_ITSELF;
		offer(d, &f);
	}
}

static void search_places(struct search *s, const char *root)
{
	if (!look_at_itself(s, root))
		return;
	search_each(s, root);
	if (s->d->syms || s->d->link_name || s->id.size)
		return;
	s->takes_unproven = true;
	search_each(s, root);
	s->takes_unproven = false;
	if (s->d->syms && !s->d->unchecked)
		s->d->unchecked = "its separate debug file has neither a build id nor a checksum";
}

/** What a process that still runs has mapped. */
static void search_mapped(struct search *s)
{
	struct dso *d = s->d;
	struct dso_file f = {0};

	if (!dso_file_open_mapped(&f, d))
		return;
	s->id = dso_file_build_id(&f);
	s->has_file = true;
	d->unchecked = NULL;
	offer(d, &f);
}

/** The path of a process that sees other files than we do: ours must be proven to be that one. */
static void search_proven(struct search *s)
{
	clew_auto(buf_done) struct buf path = {0};
	struct dso_file f = {0};

	if (s->id.size) {
		search_places(s, "");
		return;
	}
	if (!dso_place_path(s->d, DSO_AT_ITSELF, "", &s->id, &path) ||
	    dso_file_open(&f, buf_cstr(&path)))
		return;
	if (dso_is_mapped_file(s->d, &f)) {
		s->has_file = true;
		offer(s->d, &f);
	} else {
		s->has_unproven = true;
		dso_file_done(&f);
	}
}

static bool has_found(const struct search *s)
{
	return s->d->syms || s->d->runtime;
}

static void search(struct search *s)
{
	bool is_here = dso_where(s->d) == DSO_HERE;
	clew_auto(buf_done) struct buf root = {0};

	s->id = s->d->build_id;
	dso_proc_root(s->d, &root);
	if (root.nr)
		search_places(s, buf_cstr(&root));
	if (is_here)
		search_places(s, "");
	if (!has_found(s))
		search_mapped(s);
	if (!has_found(s) && !is_here)
		search_proven(s);
}

/** Stripped, but with a packed symbol table of its own. */
static void take_debugdata(struct dso *d)
{
	struct dso_file n = {.path = mem_strdup(d->runtime->path)};

	if (n.path && !elf_debugdata_unpack(&d->runtime->elf, &n.unpacked, NULL) &&
	    !elf_file_open(&n.elf, n.unpacked.data, n.unpacked.nr, NULL) &&
	    elf_has_symtab(&n.elf)) {
		n.elf.budget = d->runtime->elf.budget;
		d->files[1] = n; /* the run-time file is files[0] */
		d->syms = &d->files[1];
	} else {
		budget_give(d->runtime->elf.budget, n.unpacked.nr);
		n.unpacked.nr = 0;
		dso_file_done(&n);
	}
}

static const char *why_stripped(const struct search *s)
{
	return s->has_bad_link
		     ? "stripped: no symbol table, and the checksum of its debug link differs"
		     : "stripped: no symbol table";
}

static const char *why_nothing(const struct search *s)
{
	enum dso_where where = dso_where(s->d);

	if (s->has_file)
		return why_stripped(s);
	if (where == DSO_ELSEWHERE_CLOSED)
		return "in another mount namespace: its files are not safe to open without "
		       "openat2 (Linux 5.6)";
	if (where == DSO_ELSEWHERE_ENDED && (s->has_mismatch || s->has_unproven))
		return "in the mount namespace of a process that has ended: the file of that name "
		       "here may be another one";
	if (s->why_other)
		return s->why_other;
	if (s->has_unproven)
		return "not found in its mount namespace: the file of that name here is a different one";
	if (s->has_mismatch)
		return "build id differs from the recording's";
	if (where != DSO_HERE)
		return "not found in its mount namespace";
	return dso_is_deleted(s->d) ? "file was deleted or replaced while it was mapped"
				    : "file not found, or not an ELF file";
}

void dso_load_user(struct dso *d)
{
	struct search s = {.d = d};

	if (d->path[0] != '/') {
		d->why = "not a file";
		return;
	}
	search(&s);
	if (!d->syms && !d->runtime) {
		d->why = d->why ? d->why : why_nothing(&s);
		return;
	}
	d->why = NULL;
	if (!d->syms)
		take_debugdata(d);
	if (!d->syms) {
		d->syms = d->runtime;
		d->note = s.has_bad_link ? "stripped: only exported functions have names, and the "
					   "checksum of its debug link differs"
					 : "stripped: only exported functions have names";
	}
	if (!d->runtime)
		d->runtime = d->syms;
	sym_table_init(&d->table, NULL, 0);
	d->table.budget = d->store->opts.budget;
	if (elf_sym_collect(&d->table, &d->syms->elf, &d->runtime->elf,
			    d->syms->unpacked.nr ? ELF_SYM_OFFSETS_BOTH : ELF_SYM_OFFSETS, NULL)) {
		d->why = d->table.is_over_budget ? dso_refuse_symbols(d->store, d->syms->path)
						 : "damaged symbol table";
		sym_table_done(&d->table);
		return;
	}
	if (dso_finish_table(d, SYM_FILL_ELF, d->syms->path))
		dso_owner_loaded(d);
	else if (!d->why)
		d->why = why_stripped(&s);
}

static bool keep_code(struct dso *d, struct dso_file *f)
{
	if (!dso_file_charge(d->store, f)) {
		dso_file_done(f);
		return false;
	}
	d->code = *f;
	return true;
}

/** Is @p f, at @p path, the file that was mapped? */
static bool is_recorded(struct dso *d, const char *root, const char *path, const struct dso_file *f)
{
	struct dso_build_id id = dso_file_build_id(f);
	const char *why;

	if (d->build_id.size)
		return dso_same_build_id(&id, &d->build_id);
	if (!root[0] && dso_where(d) != DSO_HERE)
		return dso_is_mapped_file(d, f);
	return dso_identify(d, path, &why) != DSO_IS_OTHER;
}

static bool open_code(struct dso *d, const char *root, enum dso_place place)
{
	clew_auto(buf_done) struct buf path = {0};
	struct dso_file f = {0};

	if (!dso_place_path(d, place, root, &d->build_id, &path) ||
	    dso_file_open(&f, buf_cstr(&path)))
		return false;
	if (is_recorded(d, root, buf_cstr(&path), &f))
		return keep_code(d, &f);
	dso_file_done(&f);
	return false;
}

static bool open_mapped_code(struct dso *d)
{
	struct dso_file f = {0};

	return dso_file_open_mapped(&f, d) && keep_code(d, &f);
}

const struct elf_file *dso_code_file(struct dso *d)
{
	clew_auto(buf_done) struct buf root = {0};

	d = dso_owner(d);
	if (d->kind == DSO_VDSO && !d->has_asked) {
		d->has_asked = true;
		dso_load_vdso(d);
	}
	if (d->has_asked_code || d->kind != DSO_USER)
		return d->code.elf.elf ? &d->code.elf : NULL;
	d->has_asked_code = true;
	dso_proc_root(d, &root);
	if ((root.nr && open_code(d, buf_cstr(&root), DSO_AT_ITSELF)) ||
	    open_code(d, "", DSO_AT_ITSELF) || open_code(d, "", DSO_AT_CACHE) ||
	    open_mapped_code(d))
		return &d->code.elf;
	return NULL;
}

const uint8_t *dso_code_bytes(struct dso *d, size_t *ret_size)
{
	const struct elf_file *f = dso_code_file(d);

	*ret_size = f ? f->size : 0;
	return f ? f->data : NULL;
}

size_t dso_read(struct dso *d, uint64_t rel, void *ret, size_t size)
{
	const struct elf_file *f = dso_code_file(d);

	if (!f || rel >= f->size)
		return 0;
	if (size > f->size - rel)
		size = (size_t)(f->size - rel);
	memcpy(ret, f->data + rel, size);
	return size;
}
