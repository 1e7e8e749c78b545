/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <elf.h>
#include <string.h>

#include "image/dso_code_priv.h"
#include "image/dso_kcore.h"
#include "os/path.h"

/*
 * Code of the kernel, out of vmlinux, a copy of kcore, or /proc/kcore. What the kernel patches in
 * itself while it runs (alternatives, static keys, probes) is in kcore only.
 */

/** A copy of kcore has run-time addresses; vmlinux is moved as its reference symbol was. */
static bool find_delta(struct dso *d, const struct elf_file *f, uint64_t *ret)
{
	uint64_t linked, now = d->ref_addr ? d->ref_addr : d->load_start;

	*ret = 0;
	if (f->type == ET_CORE || !d->ref_name || !now)
		return true;
	if (!elf_sym_address(f, d->ref_name, &linked))
		return false;
	*ret = linked - now;
	return true;
}

static bool is_right_build(struct dso *d, const struct dso_file *f)
{
	struct dso_build_id id = dso_file_build_id(f);

	return !d->build_id.size || !id.size || dso_same_build_id(&id, &d->build_id);
}

static void open_image(struct dso *d)
{
	clew_auto(buf_done) struct buf path = {0};
	struct dso_code_image *c = d->code_image;
	const struct dso_store_opts *o = &d->store->opts;
	const char *given = d->guest ? o->guest_vmlinux : o->vmlinux;

	if (given)
		buf_str(&path, given);
	else if (!dso_kcore_copy(d, &path) && !dso_guest_vmlinux(d, &path) &&
		 !dso_find_vmlinux(d, &path))
		return;
	if (dso_file_open(&d->code, buf_cstr(&path)) || !dso_file_charge(d->store, &d->code)) {
		dso_file_done(&d->code);
		d->why_no_code = "the kernel image cannot be read";
		return;
	}
	if (!is_right_build(d, &d->code))
		d->why_no_code = "the kernel image is of another build";
	else if (!find_delta(d, &d->code.elf, &c->delta))
		d->why_no_code = "the kernel image has no symbol for its load address";
	else
		c->is_usable = true;
}

bool dso_kcore_copy(const struct dso *d, struct buf *ret)
{
	const char *dir = d->store->opts.kcore_dir;

	if (!dir || d->guest)
		return false;
	buf_printf(ret, "%s/kcore", dir);
	if (os_exists(buf_cstr(ret)))
		return true;
	buf_clear(ret);
	return false;
}

bool dso_find_segment_code(struct dso *d, uint64_t rel, struct code_region *ret)
{
	const struct dso_code_image *c = d->code_image;
	const struct elf_file *f = &d->code.elf;

	rel += c->delta;
	for (size_t i = 0; i < f->nr_segments; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (!s->is_load || rel < s->vaddr || rel - s->vaddr >= s->file_bytes ||
		    !range_fits(s->offset, s->file_bytes, f->size))
			continue;
		*ret = (struct code_region){s->vaddr - c->delta,
					    s->vaddr - c->delta + s->file_bytes,
					    f->data + s->offset};
		return true;
	}
	d->why_no_code = "not in the kernel image";
	return false;
}

bool dso_find_running_code(struct dso *d, uint64_t rel, struct code_region *ret)
{
	struct dso_code_image *c = d->code_image;

	if (!c->has_delta)
		c->why_not_running = dso_running_delta(d, &c->delta);
	c->has_delta = true;
	d->why_no_code = c->why_not_running;
	if (!d->why_no_code)
		d->why_no_code = dso_kcore_find(d->store, rel + c->delta, ret);
	if (d->why_no_code)
		return false;
	ret->start -= c->delta;
	ret->end -= c->delta;
	return true;
}

bool dso_find_kernel_code(struct dso *d, uint64_t rel, struct code_region *ret)
{
	struct dso_code_image *c = d->code_image;

	if (!d->has_asked_code) {
		d->has_asked_code = true;
		d->why_no_code = NULL;
		open_image(d);
		c->is_running = !c->is_usable && !d->why_no_code;
	}
	if (c->is_running)
		return dso_find_running_code(d, rel, ret);
	return c->is_usable && dso_find_segment_code(d, rel, ret);
}
