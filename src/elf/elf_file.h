/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/err.h>

#include "base/budget.h"
#include "base/bytes.h"

/** Of a program header. */
struct elf_segment {
	uint64_t vaddr, mem_bytes, offset, file_bytes;
	bool is_load; /* PT_LOAD */
	bool is_code; /* PF_X */
};

/** An ELF file in borrowed memory. Zeroed struct = none. */
struct elf_file {
	Elf *elf;
	const uint8_t *data; /* borrowed until elf_file_done() */
	size_t size;
	uint16_t type, machine; /* ET_..., EM_... */
	bool is_64;
	struct elf_segment *segments; /* looked at for each symbol, so read once */
	size_t nr_segments;
	/* Set by who opened it: of what is unpacked, and the name in its words. NULL: no limit */
	struct budget *budget;
	const char *name;
	uint64_t charged; /* given back by elf_file_done() */
};

struct elf_section {
	Elf_Scn *scn;
	GElf_Shdr h;
};

enum { ELF_BUILD_ID_MAX = 20 };

/**
 * Start reading @p size bytes at @p data.
 * @return CLEW_BAD_FILE: not an ELF file, or its headers do not fit into @p size; CLEW_NO_MEMORY.
 */
enum clew_err elf_file_open(struct elf_file *f, const void *data, size_t size,
			    struct clew_diag *diag);
void elf_file_done(struct elf_file *f);

/** The first section of that name. */
bool elf_file_section(const struct elf_file *f, const char *name, struct elf_section *ret);

/** Section @p index; SHN_UNDEF and reserved indexes are none. */
bool elf_file_section_at(const struct elf_file *f, size_t index, struct elf_section *ret);

/** Has the file a name as a library (DT_SONAME)? */
bool elf_file_has_soname(const struct elf_file *f);

/** "" where the name is out of bounds. */
const char *elf_file_section_name(const struct elf_file *f, const GElf_Shdr *h);

/** The section's bytes in the file, borrowed; false: SHT_NOBITS or out of bounds. */
bool elf_file_bytes(const struct elf_file *f, const struct elf_section *s, struct bytes *ret);

enum { ELF_UNPACK_MAX_BYTES = 256 << 20 };

/**
 * elf_file_bytes(), unpacked where SHF_COMPRESSED: then the bytes are libelf's, until
 * elf_file_done(). The file's memory must be writable.
 */
bool elf_file_unpack(struct elf_file *f, const struct elf_section *s, struct bytes *ret);

/** Can a packed section become so large? zlib packs no better than 1 to 1032, zstd seldom so well;
 * what claims far more is damaged. */
bool elf_is_plausible(uint64_t unpacked_bytes, uint64_t packed_bytes);

/**
 * Charge to the budget what libdw will unpack on its own when it opens the file: all packed
 * sections of debug information, by what their headers say. @return false: more than is left, or
 * more than they can hold: keep libdw away.
 */
bool elf_file_charge_debug(struct elf_file *f);

/** NT_GNU_BUILD_ID, cut to 20 bytes. @return its size, 0: none. */
size_t elf_file_build_id(const struct elf_file *f, uint8_t ret[ELF_BUILD_ID_MAX]);

/** Build id out of bare notes, such as /sys/kernel/notes. */
size_t elf_notes_build_id(struct bytes notes, bool swap, uint8_t ret[ELF_BUILD_ID_MAX]);

/** .gnu_debuglink: file name (borrowed), and the checksum of that file, elf_debuglink_crc().
 * @return false: none, or not terminated. */
bool elf_file_debuglink(const struct elf_file *f, const char **ret_name, uint32_t *ret_crc);

/** The checksum that a .gnu_debuglink has of a file: of all its bytes. O(size). */
uint32_t elf_debuglink_crc(const void *data, size_t size);

/** .gnu_debugaltlink: the file shared by several debug files (dwz), and its build id. */
bool elf_file_debugaltlink(const struct elf_file *f, const char **ret_name, struct bytes *ret_id);

/** File offset of link-time address @p vaddr by the program headers. */
bool elf_file_offset(const struct elf_file *f, uint64_t vaddr, uint64_t *ret);

/** Link-time address of file offset @p offset by the PT_LOAD headers. */
bool elf_file_vaddr(const struct elf_file *f, uint64_t offset, uint64_t *ret);

#endif
