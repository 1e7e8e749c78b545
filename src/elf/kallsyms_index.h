/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_KALLSYMS_INDEX_H
#define ELF_KALLSYMS_INDEX_H

#include "elf/kallsyms.h"

struct kallsyms_mark {
	uint64_t addr;
	uint32_t at; /* offset of its line */
};

/**
 * The kernel's own lines of a kallsyms text, where they stand in order of address as the kernel
 * writes them: looked through once, parsed only around the addresses that are asked for. Answers
 * are those of kallsyms_collect() and sym_table_finish(). A zeroed struct finds nothing.
 */
struct kallsyms_index {
	struct bytes lines; /* borrowed for the index's life */
	struct {
		VEC(struct kallsyms_mark);
	} marks;
	uint64_t first, last; /* starts of symbols */
	uint64_t end;         /* of the last one, exclusive */
};

/**
 * Take the lines up to the first with a tab, which are the kernel's own, off the front of @p text.
 * O(size of the text).
 * @return CLEW_UNSUPPORTED: out of order or of another shape, or no symbols: collect all instead;
 *         CLEW_NO_MEMORY. Then @p x, @p text and @p ret are as they were.
 */
enum clew_err kallsyms_index_open(struct kallsyms_index *x, struct bytes *text,
				  const char *ref_name, struct kallsyms_info *ret);
void kallsyms_index_done(struct kallsyms_index *x);

/**
 * Are the symbols of @p t, closed and from the rest of the text, all of modules and all above or
 * all below those of @p x? Only then do the two give together what one table of both would.
 * @p rest: what kallsyms_collect() returned for them.
 */
bool kallsyms_index_is_apart(const struct kallsyms_index *x, const struct sym_table *t,
			     const struct kallsyms_info *rest);

/** The symbol that covers @p addr: its line, and where it ends. O(log n). */
bool kallsyms_index_find(const struct kallsyms_index *x, uint64_t addr, struct kallsyms_line *ret,
			 uint64_t *ret_end);

#endif
