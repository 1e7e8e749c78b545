/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/elf_packed.h"

#include <zlib.h>

static size_t header_bytes(const struct elf_file *f)
{
	return f->is_64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
}

bool elf_packed_section(const struct elf_file *f, const struct elf_section *s, size_t max_bytes,
			struct buf *ret)
{
	struct bytes packed;
	GElf_Chdr ch;
	uLongf size;

	if (!(s->h.sh_flags & SHF_COMPRESSED) || !gelf_getchdr(s->scn, &ch) ||
	    ch.ch_type != ELFCOMPRESS_ZLIB || !elf_file_bytes(f, s, &packed) ||
	    bytes_left(&packed) < header_bytes(f))
		return false;
	packed.pos += header_bytes(f);
	if (ch.ch_size > max_bytes || !elf_is_plausible(ch.ch_size, bytes_left(&packed)))
		return false;
	buf_fill(ret, '\0', ch.ch_size);
	size = ch.ch_size;
	if (!ret->is_failed &&
	    uncompress((Bytef *)ret->data, &size, packed.pos, bytes_left(&packed)) == Z_OK &&
	    size == ch.ch_size)
		return true;
	buf_done(ret);
	*ret = (struct buf){0};
	return false;
}
