/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_TABLES_PRELOAD_H
#define RECORD_STACKS_TABLES_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/vec.h"

/** The file that execvp() would run. @p search_path: as in $PATH, NULL: none. */
bool rec_find_program(const char *name, const char *search_path, char *ret, size_t size);

struct rec_paths {
	VEC(const char *);
};

/**
 * The binaries that a program will map at its start: itself (or the interpreter of a script), its
 * ELF interpreter, and the libraries they name, found in the usual directories. A guess: what it
 * misses is found when it is mapped. Texts in @p memory.
 */
void rec_preload_list(const char *program, struct arena *memory, struct rec_paths *ret);

#endif
