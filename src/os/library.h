/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_LIBRARY_H
#define OS_LIBRARY_H

#include <stdbool.h>

/*
 * Libraries that few runs need, loaded by these alone: relocating a large one takes as long as
 * decoding a small trace.
 */

struct os_library;

/** The name of version @p major, a macro that is a number, of a library: "libfoo", 4 ->
 * "libfoo.so.4". */
#define OS_LIBRARY_NAME(library, major) library ".so." OS_LIBRARY_TEXT_(major)
#define OS_LIBRARY_TEXT_(word)          #word

/** @p name: with the version of its interface, "libfoo.so.4". It stays until the process ends.
 * @return NULL: not installed. */
struct os_library *os_library_load(const char *name);

/** *ret, a pointer to a function, becomes that of @p name. @return false: there is none. */
bool os_library_function(struct os_library *l, const char *name, void *ret);

#endif
