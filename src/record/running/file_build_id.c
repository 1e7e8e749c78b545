/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/running/file_build_id.h"

#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "os/file.h"
#include "record/running/build_ids.h"

enum { HEAD_BYTES = 4096, NOTES_BYTES = 4096, MAX_PHDRS = 64 };

static size_t from_notes(int fd, uint64_t offset, uint64_t size, const uint8_t *head,
			 size_t head_bytes, uint8_t ret[20])
{
	uint8_t notes[NOTES_BYTES];
	long n;

	if (range_fits(offset, size, head_bytes)) /* nearly always: notes follow the headers */
		return rec_build_id_of_notes(head + offset, (size_t)size, ret);
	n = os_read_at(fd, notes, size < sizeof(notes) ? (size_t)size : sizeof(notes), offset);
	return n > 0 ? rec_build_id_of_notes(notes, (size_t)n, ret) : 0;
}

static size_t scan(int fd, const uint8_t *head, size_t size, uint8_t ret[20])
{
	Elf64_Ehdr e;
	size_t n = 0;

	if (size < sizeof(e))
		return 0;
	memcpy(&e, head, sizeof(e));
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_phentsize != sizeof(Elf64_Phdr))
		return 0;
	for (unsigned int i = 0; i < e.e_phnum && i < MAX_PHDRS && !n; i++) {
		uint64_t at = e.e_phoff + i * sizeof(Elf64_Phdr);
		Elf64_Phdr p;

		if (!range_fits(at, sizeof(p), size))
			return 0;
		memcpy(&p, head + at, sizeof(p));
		if (p.p_type == PT_NOTE)
			n = from_notes(fd, p.p_offset, p.p_filesz, head, size, ret);
	}
	return n;
}

size_t rec_elf_build_id(const void *elf, size_t size, uint8_t ret[20])
{
	return scan(-1, elf, size, ret); /* without a file, notes further out are not found */
}

size_t rec_file_build_id(const char *path, uint8_t ret[20])
{
	uint8_t head[HEAD_BYTES];
	int fd = os_open_regular(path);
	size_t n = 0;
	long got;

	if (fd < 0)
		return 0;
	got = os_read_at(fd, head, sizeof(head), 0);
	if (got > 0)
		n = scan(fd, head, (size_t)got, ret);
	os_close(fd);
	return n;
}
