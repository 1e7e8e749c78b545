/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <elf.h>
#include <string.h>

#include "elf/elf_file.h"
#include "os/file.h"
#include "record/stacks/stack_choice.h"
#include "unwind/eh_frame_hdr.h"

enum {
	MAX_FUNCTIONS = 4096, /* looked at */
	PROLOGUE = 24,        /* bytes */
};

/* Is there code that sets up a frame pointer among the first instructions? */
static bool sets_frame_pointer(const uint8_t *code, size_t size, uint16_t machine)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	static const uint8_t push_mov[] = {0x55, 0x48, 0x89, 0xe5}; /* push rbp; mov rbp, rsp */

	if (machine == EM_X86_64) {
		size_t at = size >= 4 && !memcmp(code, endbr, 4) ? 4 : 0;

		return size - at >= sizeof(push_mov) && !memcmp(code + at, push_mov, 4);
	}
	for (size_t at = 0; machine == EM_AARCH64 && size - at >= 4; at += 4) {
		uint32_t insn = load_u32(code + at, false);

		if ((insn & 0xff8003ffu) == 0x910003fdu) /* add x29, sp, #n; mov x29, sp */
			return true;
	}
	return false;
}

/* The search table of .eh_frame_hdr names the functions. */
static void count(const struct elf_file *f, size_t *nr, size_t *nr_with)
{
	uint64_t start, record, at;
	struct unw_image image;
	struct eh_frame_hdr h;

	if (unw_image_of_elf(&image, f) != CLEW_OK || !eh_frame_hdr_open(&image, &h))
		return;
	for (int i = 0; i < MAX_FUNCTIONS && eh_frame_hdr_next(&h, &start, &record); i++) {
		size_t left;

		if (!elf_file_offset(f, start, &at) || at >= f->size)
			continue;
		left = f->size - at < PROLOGUE ? (size_t)(f->size - at) : PROLOGUE;
		++*nr;
		*nr_with += sets_frame_pointer(f->data + at, left, f->machine);
	}
}

bool rec_has_frame_pointers(const char *path)
{
	size_t nr = 0, nr_with = 0;
	struct os_map map;
	struct elf_file f;

	if (os_map_file(path, &map, NULL) != CLEW_OK)
		return false;
	if (elf_file_open(&f, map.data, map.size, NULL) == CLEW_OK) {
		count(&f, &nr, &nr_with);
		elf_file_done(&f);
	}
	os_map_done(&map);
	return nr_with > nr / 2;
}
