/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image/dso_code.h"

#include <elf.h>
#include <string.h>

#include "image/dso_code_priv.h"

static bool is_of(const struct elf_file *f, enum code_arch arch)
{
	if (arch == CODE_X86)
		return f->machine == EM_X86_64 || f->machine == EM_386;
	return f->machine == EM_AARCH64 || f->machine == EM_ARM;
}

/** No ELF file: code that lies bare in it, or an archive with a library in its middle. */
static bool open_bare(struct dso *d)
{
	clew_auto(buf_done) struct buf path = {0};
	struct dso_code_image *c = d->code_image;
	const char *why;

	if (d->kind != DSO_USER || d->path[0] != '/' || d->build_id.size)
		return false;
	if (!c->is_bare_asked) {
		c->is_bare_asked = true;
		if (dso_where(d) == DSO_HERE &&
		    dso_place_path(d, DSO_AT_ITSELF, "", &d->build_id, &path) &&
		    dso_identify(d, buf_cstr(&path), &why) != DSO_IS_OTHER &&
		    !os_map_file(buf_cstr(&path), &d->code.map, NULL) &&
		    !dso_store_charge(d->store, d->code.map.size, "the file", buf_cstr(&path)))
			dso_file_done(&d->code);
	}
	/* A damaged ELF file is none. */
	return d->code.map.size >= SELFMAG && memcmp(d->code.map.data, ELFMAG, SELFMAG) != 0;
}

static bool find_in_file(struct dso *d, enum code_arch arch, uint64_t rel, struct code_region *ret)
{
	const struct elf_file *f = dso_code_file(d);

	if (!f && open_bare(d)) {
		*ret = (struct code_region){0, d->code.map.size, d->code.map.data};
		return rel < d->code.map.size;
	}
	if (!f) {
		d->why_no_code = "file not found, or another build of it";
		return false;
	}
	if (!is_of(f, arch)) {
		d->why_no_code = arch == CODE_X86 ? "the file found is not for an x86 machine"
						  : "the file found is not for an Arm machine";
		return false;
	}
	*ret = (struct code_region){0, f->size, f->data};
	return rel < f->size;
}

/** One file's code is that of all its names. */
static bool find_owners_code(struct dso *d, enum code_arch arch, uint64_t rel,
			     struct code_region *ret)
{
	bool is_there = dso_find_code(d->same, arch, rel, ret);

	d->why_no_code = d->same->why_no_code;
	return is_there;
}

bool dso_find_code(struct dso *d, enum code_arch arch, uint64_t rel, struct code_region *ret)
{
	if (dso_owner(d) != d)
		return find_owners_code(d, arch, rel, ret);
	if (!d->code_image)
		d->code_image = mem_zalloc(sizeof(*d->code_image));
	if (!d->code_image) {
		d->why_no_code = "out of memory";
		return false;
	}
	switch (d->kind) {
	case DSO_USER:
	case DSO_VDSO:
		return find_in_file(d, arch, rel, ret);
	case DSO_KERNEL:
		return dso_find_kernel_code(d, rel, ret);
	case DSO_MODULE:
		if (d->guest) {
			d->why_no_code = "a module of a virtual machine";
			return false;
		}
		return dso_find_module_code(d, rel, ret);
	case DSO_JIT:
		d->why_no_code = "code made at run time, without a jitdump file";
		return false;
	case DSO_NO_CODE:
		d->why_no_code = "memory that holds no code";
		return false;
	}
	return false;
}

const char *dso_why_no_code(const struct dso *d)
{
	return d->why_no_code;
}
