/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image/dso_listing.h"

#include <elf.h>

#include "image/dso_code_priv.h"

const char *dso_find_listing(struct dso *d, uint64_t rel, struct code_region *ret,
			     uint16_t *ret_machine)
{
	const char *why;

	d = dso_owner(d);
	if (d->kind == DSO_JIT) {
		if (dso_jit_find_code(d, rel, ret, ret_machine))
			return NULL;
		return d->jit ? "not in the jitdump file"
			      : "code made at run time, without a jitdump file";
	}
	if (!dso_find_code(d, CODE_X86, rel, ret) && !dso_find_code(d, CODE_ARM, rel, ret)) {
		why = dso_why_no_code(d);
		return why ? why : "not in the file";
	}
	*ret_machine = d->code.elf.elf ? d->code.elf.machine : EM_NONE;
	return NULL;
}

size_t dso_find_mappings(struct dso *d, uint64_t start, uint64_t end, struct elf_mapping *ret,
			 size_t max)
{
	const struct elf_file *f;
	uint64_t linked;
	size_t nr;

	d = dso_owner(d);
	if (d->kind == DSO_JIT || !dso_link_address(d, start, &linked))
		return 0;
	f = d->syms ? &d->syms->elf : &d->code.elf;
	nr = elf_mappings(f, linked, linked + (end - start), ret, max);
	for (size_t i = 0; i < nr; i++)
		ret[i].at += start - linked;
	return nr;
}
