/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_RUNNING_FILE_BUILD_ID_H
#define RECORD_RUNNING_FILE_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

/**
 * The GNU build id of an ELF file, from its program headers alone: a few small reads, whatever the
 * file's size. @return its length, at most 20; 0: not ELF, none, or not to be read.
 */
size_t rec_file_build_id(const char *path, uint8_t ret[20]);

/** The same of an ELF image in memory, of which @p size bytes are there. */
size_t rec_elf_build_id(const void *elf, size_t size, uint8_t ret[20]);

#endif
