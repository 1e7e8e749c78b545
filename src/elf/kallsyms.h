/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_KALLSYMS_H
#define ELF_KALLSYMS_H

#include <clew/err.h>

#include "base/bytes.h"
#include "base/intern.h"
#include "elf/sym_table.h"

/** One line of /proc/kallsyms: "ffffffffc0a01000 t ext4_read	[ext4]". Texts are borrowed. */
struct kallsyms_line {
	uint64_t addr;
	char type; /* as nm prints it */
	const char *name, *module;
	size_t name_bytes, module_bytes; /* module_bytes 0: the kernel itself */
};

/** The next line; ones of another shape are skipped. @return false at the end. */
bool kallsyms_next(struct bytes *text, struct kallsyms_line *ret);

/** Function or data, not one of the mapping symbols of Arm? */
bool kallsyms_is_wanted(const struct kallsyms_line *l);

struct kallsyms_info {
	size_t nr;         /* symbols taken */
	size_t nr_own;     /* of them, the kernel's, not of modules */
	bool is_all_zero;  /* every address is 0: the kernel hides them */
	bool has_ref;      /* the reference symbol was found */
	uint64_t ref_addr; /* its address here */
};

/** Take one line into @p info, which begins as {.is_all_zero = true}: all but the counts.
 * @p ref_name: as kallsyms_collect(), of @p ref_bytes. */
void kallsyms_note(struct kallsyms_info *info, const struct kallsyms_line *l, const char *ref_name,
		   size_t ref_bytes);

/**
 * Fill an empty @p t with the functions and data of @p text, every size 0, .module an index into
 * @p modules. Call sym_table_finish(SYM_FILL_KALLSYMS) afterwards.
 * @p ref_name: a symbol of which the address is wanted; NULL: none.
 * @return CLEW_NO_MEMORY.
 */
enum clew_err kallsyms_collect(struct sym_table *t, struct bytes text, struct intern *modules,
			       const char *ref_name, struct kallsyms_info *ret);

/**
 * Where module @p name ("ext4") lies, by the text of /proc/modules. @return false: not loaded, or
 * its address is hidden.
 */
bool modules_address(struct bytes text, const char *name, size_t name_bytes, uint64_t *ret);

#endif
