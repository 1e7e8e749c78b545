/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/elf_head.h"

#include <elf.h>
#include <string.h>

enum { MAX_PHDRS = 64 };

static bool header_of(struct bytes head, Elf64_Ehdr *ret)
{
	if (bytes_left(&head) < sizeof(*ret))
		return false;
	memcpy(ret, head.pos, sizeof(*ret));
	return !memcmp(ret->e_ident, ELFMAG, SELFMAG) && ret->e_ident[EI_CLASS] == ELFCLASS64 &&
	       ret->e_phentsize == sizeof(Elf64_Phdr);
}

bool elf_head_next_notes(struct bytes head, unsigned int *i, uint64_t *ret_offset,
			 uint64_t *ret_size)
{
	Elf64_Ehdr e;
	Elf64_Phdr p;

	if (!header_of(head, &e))
		return false;
	while (*i < e.e_phnum && *i < MAX_PHDRS) {
		uint64_t at = e.e_phoff + (*i)++ * sizeof(p);

		if (!range_fits(at, sizeof(p), bytes_left(&head)))
			return false;
		memcpy(&p, head.pos + at, sizeof(p));
		if (p.p_type != PT_NOTE)
			continue;
		*ret_offset = p.p_offset;
		*ret_size = p.p_filesz;
		return true;
	}
	return false;
}
