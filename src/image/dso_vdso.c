/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "elf/elf_sym.h"
#include "image/dso_running.h"
#include "os/proc.h"

/** Our own vDSO: every process of a kernel has the same one, but for "[vdso32]" and "[vdsox32]". */
static bool open_own(struct dso *d)
{
	const void *data;
	size_t size;
	struct dso_build_id id;

	if (strcmp(d->path, "[vdso]") != 0 || d->store->opts.no_host_kernel)
		return false;
	if (!d->build_id.size && (d->why = dso_why_not_release(d)))
		return false;
	if (!os_own_vdso(&data, &size) || elf_file_open(&d->code.elf, data, size, NULL))
		return false;
	id = dso_file_build_id(&d->code);
	if (!d->build_id.size || dso_same_build_id(&id, &d->build_id))
		return true;
	elf_file_done(&d->code.elf);
	return false;
}

static bool open_cached(struct dso *d)
{
	clew_auto(buf_done) struct buf path = {0};
	struct dso_build_id id;

	if (!dso_build_id_path(d->store->opts.buildid_dir, &d->build_id, "/vdso", &path) ||
	    dso_file_open(&d->code, buf_cstr(&path)))
		return false;
	id = dso_file_build_id(&d->code);
	if (dso_same_build_id(&id, &d->build_id))
		return true;
	dso_file_done(&d->code);
	return false;
}

void dso_load_vdso(struct dso *d)
{
	if (!open_own(d) && !open_cached(d)) {
		if (!d->why)
			d->why = d->build_id.size
				       ? "build id differs from the running kernel's vDSO"
				       : "no vDSO on this machine";
		return;
	}
	d->why = NULL;
	sym_table_init(&d->table, NULL, 0);
	d->table.budget = d->store->opts.budget;
	if (elf_sym_collect(&d->table, &d->code.elf, &d->code.elf, ELF_SYM_OFFSETS, NULL)) {
		sym_table_done(&d->table);
		d->why = "damaged symbol table";
		return;
	}
	dso_finish_table(d, SYM_FILL_ELF, "[vdso]");
}
