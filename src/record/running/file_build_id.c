/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/running/file_build_id.h"

#include "elf/elf_file.h"
#include "elf/elf_head.h"
#include "os/file.h"

enum { HEAD_BYTES = 4096, NOTES_BYTES = 4096 };

static size_t from_notes(int fd, uint64_t offset, uint64_t size, struct bytes head, uint8_t ret[20])
{
	uint8_t notes[NOTES_BYTES];
	long n;

	if (range_fits(offset, size,
		       bytes_left(&head))) /* nearly always: they follow the headers */
		return elf_notes_build_id(bytes_of(head.pos + offset, size), false, ret);
	n = os_read_at(fd, notes, size < sizeof(notes) ? (size_t)size : sizeof(notes), offset);
	return n > 0 ? elf_notes_build_id(bytes_of(notes, (size_t)n), false, ret) : 0;
}

static size_t scan(int fd, struct bytes head, uint8_t ret[20])
{
	uint64_t offset, size;
	unsigned int i = 0;
	size_t n = 0;

	while (!n && elf_head_next_notes(head, &i, &offset, &size))
		n = from_notes(fd, offset, size, head, ret);
	return n;
}

size_t rec_elf_build_id(const void *elf, size_t size, uint8_t ret[20])
{
	/* Without a file, notes further out are not found. */
	return scan(-1, bytes_of(elf, size), ret);
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
		n = scan(fd, bytes_of(head, (size_t)got), ret);
	os_close(fd);
	return n;
}
