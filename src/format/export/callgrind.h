/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_EXPORT_CALLGRIND_H
#define FORMAT_EXPORT_CALLGRIND_H

#include "format/export/export_formats.h"

/* Kinds of names, the ids of which count apart. */
enum { CALLGRIND_NAME_OBJECT, CALLGRIND_NAME_FILE, CALLGRIND_NAME_FUNCTION, CALLGRIND_NR_NAMES };

/* Cost of a line, or of the calls from there to callee. */
struct callgrind_line {
	uint32_t part; /* thread, or process's pid, where parts are asked for; else 0 */
	uint32_t function, file, line;
	uint32_t place;    /* with addresses; else 0 */
	uint32_t callee;   /* EXPORT_NONE: the line's own cost */
	bool is_elsewhere; /* not in the function's own file, as macros are */
	uint64_t nr;       /* samples seen in it */
};

/* A jump from the innermost frame of a place to that of another one. */
struct callgrind_jump {
	uint32_t from, to; /* frames */
	uint64_t nr, nr_run;
	bool is_conditional;
};

struct callgrind {
	struct intern keys; /* line without its number -> number + 1 */
	struct {
		VEC(struct callgrind_line);
	} lines;
	struct {
		VEC(uint64_t);
	} costs; /* nr_columns of each line */
	struct {
		VEC(struct callgrind_jump);
	} jumps; /* by function, file, address */
	size_t nr_columns;
	uint64_t *totals;
	uint32_t *stamps; /* by function: the last sample that it was counted in */
	size_t nr_stamps;
	uint32_t stamp;
	uint32_t *order;
	uint8_t *is_named[CALLGRIND_NR_NAMES]; /* by number of each kind of name: is it written? */
	uint32_t file;                         /* that lines are of now */
};

/** Names of a function, its binary and file: lines of it follow. */
void callgrind_begin_function(struct export *x, uint32_t function);
/** The address of @p p, as linked: readers disassemble the file. */
void callgrind_put_address(struct export *x, const struct export_place *p);
/** Lines of @p file follow, in a function that has begun. */
void callgrind_use_file(struct export *x, uint32_t file, bool is_elsewhere);

/* --- callgrind_jumps.c --- */

/** Place the jumps of the options. Before the names are counted. @return false: no memory. */
bool callgrind_place_jumps(struct export *x);
enum clew_err callgrind_put_jumps(struct export *x);

/* --- callgrind_names.c --- */

size_t callgrind_nr_names(const struct export *x, size_t kind);
/** All are to be written again: each part is read apart. */
void callgrind_forget_names(struct export *x);
/** A line "KEY=...": the binary of @p function, a file (text), a function. */
void callgrind_put_object(struct export *x, const char *key, uint32_t function);
void callgrind_put_file(struct export *x, const char *key, uint32_t file);
void callgrind_put_function(struct export *x, const char *key, uint32_t function);

#endif
