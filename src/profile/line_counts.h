/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_LINE_COUNTS_H
#define PROFILE_LINE_COUNTS_H

#include "base/budget.h"
#include "base/intern.h"
#include "profile/counted_code.h"

/*
 * How often each source line of binaries ran, lines that never did among them, by their line
 * tables; each function, by its first instruction, what was inlined by that of each copy; and each
 * conditional branch.
 *
 * A line counts as often as the instruction of it that ran most; the line of a call that was
 * inlined, as often as what was inlined was entered. Binaries are added up. Of samples alone, all
 * count the samples there.
 */

struct line_count {
	uint32_t file, line;
	uint64_t nr;
	uint64_t most; /* of the binary at hand */
};

struct line_function {
	uint32_t file, line; /* of its declaration */
	const char *name;    /* as linked */
	uint64_t nr;
};

/** One conditional branch instruction. */
struct line_branch {
	uint32_t file, line;
	uint32_t binary;
	uint64_t address;
	uint64_t nr, nr_taken; /* nr: executed */
};

/** Zeroed struct = empty. */
struct line_counts {
	struct {
		VEC(struct line_count);
	} lines; /* once in order: by file, line */
	struct {
		VEC(struct line_function);
	} functions; /* by file, line, name */
	struct {
		VEC(struct line_branch);
	} branches; /* by file, line, binary, address */
	struct {
		VEC(const char *);
	} files;                          /* once in order: by path */
	uint32_t nr_binaries, nr_without; /* without: debug information */
	uint64_t nr_no_room;              /* not added, as there are too many */
	struct intern paths, names, line_keys, function_keys;
	struct budget_account account;
};

/** Only binaries with a file. Opens files: when nothing else uses the dsos. @return CLEW_OK,
 * CLEW_NO_MEMORY. */
enum clew_err line_counts_add(struct line_counts *c, const struct counted_binary *b);
/** Nothing is added any more. @return CLEW_OK, CLEW_NO_MEMORY. */
enum clew_err line_counts_finish(struct line_counts *c);
void line_counts_done(struct line_counts *c);

#endif
