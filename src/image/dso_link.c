/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <elf.h>
#include <string.h>

#include "image/dso_code_priv.h"
#include "image/dso_source.h"

static struct dso *own(const struct dso *d)
{
	return d->store->dsos.data[d->id];
}

static bool has_code_image(const struct dso *d)
{
	return d->code_image && d->code_image->is_usable;
}

/** The kernel image with the linked addresses that count, and what to add to a run-time address;
 * NULL: none was found. A copy of kcore was never linked. */
static const struct elf_file *kernel_image(struct dso *d, uint64_t *ret_delta)
{
	if (has_code_image(d) && d->code.elf.type != ET_CORE) {
		*ret_delta = d->code_image->delta;
		return &d->code.elf;
	}
	if (!d->has_asked)
		dso_find_sym(d, 0);
	*ret_delta = d->kernel_delta;
	return d->kernel && d->kernel->vmlinux.elf.elf ? &d->kernel->vmlinux.elf : NULL;
}

static const struct elf_file *linked_file(struct dso *d)
{
	uint64_t delta;

	switch (d->kind) {
	case DSO_USER:
	case DSO_VDSO:
		return dso_code_file(d);
	case DSO_KERNEL:
		return kernel_image(d, &delta);
	case DSO_MODULE:
		return has_code_image(d) ? &d->code.elf : NULL;
	case DSO_JIT:
	case DSO_NO_CODE:
		break;
	}
	return NULL;
}

bool dso_has_linked(const struct dso *d)
{
	return linked_file(own(d));
}

/** Each section of a module's file begins at 0: only those of .text are recorded. */
static bool module_address(const struct dso *d, uint64_t rel, uint64_t *ret)
{
	uint64_t at = rel - d->load_start;
	struct elf_section of;

	if (!has_code_image(d))
		return false;
	vec_for_each (&d->code_image->sections, s) {
		if (at < s->start || at - s->start >= s->size)
			continue;
		*ret = at - s->start;
		return elf_file_section_at(&d->code.elf, s->index, &of) &&
		       !strcmp(elf_file_section_name(&d->code.elf, &of.h), ".text");
	}
	return false;
}

bool dso_link_address(const struct dso *shown, uint64_t rel, uint64_t *ret)
{
	struct dso *d = own(shown);
	const struct elf_file *f;
	uint64_t delta, address = 0;
	bool is_there;

	if (d->kind == DSO_MODULE) {
		is_there = module_address(d, rel, &address);
	} else if (d->kind == DSO_KERNEL) {
		is_there = kernel_image(d, &delta) != NULL;
		address = rel + delta;
	} else {
		f = linked_file(d);
		is_there = f && elf_file_vaddr(f, rel, &address);
	}
	if (is_there)
		*ret = address;
	return is_there;
}

uint64_t dso_link_base(const struct dso *d)
{
	const struct elf_file *f = linked_file(own(d));

	for (size_t i = 0; f && i < f->nr_segments; i++) {
		if (f->segments[i].is_load)
			return f->segments[i].vaddr;
	}
	return 0;
}

bool dso_file_offset(const struct dso *d, uint64_t address, uint64_t *ret)
{
	const struct elf_file *f = linked_file(own(d));

	for (size_t i = 0; f && i < f->nr_segments; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (!s->is_load || !s->is_code || address < s->vaddr ||
		    address - s->vaddr >= s->file_bytes)
			continue;
		*ret = address - s->vaddr + s->offset;
		return true;
	}
	return false;
}

size_t dso_linked_bytes(const struct dso *d, uint64_t address, const uint8_t **ret,
			uint16_t *ret_machine)
{
	const struct elf_file *f = linked_file(own(d));

	for (size_t i = 0; f && f->type != ET_REL && i < f->nr_segments; i++) {
		const struct elf_segment *s = &f->segments[i];
		uint64_t at = address - s->vaddr;

		if (!s->is_load || address < s->vaddr || at >= s->file_bytes ||
		    s->offset > f->size || s->file_bytes > f->size - s->offset)
			continue;
		*ret = f->data + s->offset + at;
		*ret_machine = f->machine;
		return s->file_bytes - at;
	}
	return 0;
}

struct dso_build_id dso_file_id(const struct dso *d)
{
	const struct dso *o = dso_owner(own(d));

	if (d->build_id.size || !linked_file(own(d)))
		return d->build_id;
	return dso_file_build_id(o->code.elf.elf ? &o->code : &o->kernel->vmlinux);
}

bool dso_walk_symbols(const struct dso *d, bool (*take)(void *ctx, const struct elf_sym_entry *s),
		      void *ctx)
{
	const struct elf_file *f = linked_file(own(d));

	return !f || elf_sym_walk(f, take, ctx);
}
