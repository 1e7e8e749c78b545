/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_SFRAME_H
#define CLI_SFRAME_H

#include "os/file.h"
#include "unwind/sframe.h"

/*
 * What `clew sframe` does with a file.
 */
struct sframe_command {
	const char *path;
	const char *section_path; /* check: take .sframe from this file */
	const char *out_path;     /* make */
	const char *address_text;
	uint64_t address; /* of a bare section */
	bool is_raw, is_quiet, is_v2, is_json;

	/* while it runs */
	struct os_map map, section_map;
	struct elf_file elf;
	struct unw_image image; /* of an ELF file; of a bare section only sframe counts */
};

/** Rules of both sources compared; the exit status. */
int sframe_command_check(struct sframe_command *c);
/** A section written; the exit status. */
int sframe_command_make(struct sframe_command *c);

#endif
