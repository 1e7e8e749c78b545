/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <elf.h>
#include <string.h>

#include "elf/elf_file.h"
#include "os/file.h"
#include "record/stack_choice.h"

enum {
	MAX_FUNCTIONS = 4096, /* looked at */
	PROLOGUE = 24,        /* bytes */
	HDR_BYTES = 12,       /* of .eh_frame_hdr before its table */
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

/* The search table of .eh_frame_hdr, in the one encoding that linkers write, names the functions.
 * Spec: LSB, "Exception Frames", .eh_frame_hdr. */
static bool count(const struct elf_file *f, size_t *nr, size_t *nr_with)
{
	static const uint8_t encodings[] = {1, 0x1b, 0x03, 0x3b};
	struct elf_section s;
	struct bytes b;
	uint32_t n;

	if (!elf_file_section(f, ".eh_frame_hdr", &s) || !elf_file_bytes(f, &s, &b) ||
	    bytes_left(&b) < HDR_BYTES || memcmp(b.pos, encodings, sizeof(encodings)) != 0)
		return false;
	n = load_u32(b.pos + 8, false);
	b.pos += HDR_BYTES;
	for (uint32_t i = 0; i < n && i < MAX_FUNCTIONS && bytes_left(&b) >= 8; i++, b.pos += 8) {
		uint64_t at;
		size_t left;

		if (!elf_file_offset(
			    f, s.h.sh_addr + (uint64_t)(int64_t)(int32_t)load_u32(b.pos, false),
			    &at) ||
		    at >= f->size)
			continue;
		left = f->size - at < PROLOGUE ? (size_t)(f->size - at) : PROLOGUE;
		++*nr;
		*nr_with += sets_frame_pointer(f->data + at, left, f->machine);
	}
	return *nr;
}

bool rec_has_frame_pointers(const char *path)
{
	size_t nr = 0, nr_with = 0;
	struct os_map map;
	struct elf_file f;

	if (os_map_file(path, &map, NULL) != CLEW_OK)
		return false;
	if (elf_file_open(&f, map.data, map.size, NULL) == CLEW_OK) {
		if (f.is_64)
			count(&f, &nr, &nr_with);
		elf_file_done(&f);
	}
	os_map_done(&map);
	return nr_with > nr / 2;
}
