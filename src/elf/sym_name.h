/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_SYM_NAME_H
#define ELF_SYM_NAME_H

#include "elf/elf_file.h"

/*
 * Names of functions as people give them: as the symbol table has them (_ZN1a1fEi), as clew prints
 * them (a::f), or with parameters (a::f(int)), whatever their blanks.
 */

/**
 * Bytes of the name that @p s begins with: up to one of @p stops outside of parentheses and angle
 * brackets, or the end. "::" is part of a name; "operator<" and the like are no brackets.
 */
size_t sym_name_span(const char *s, const char *stops);

/** Does @p asked, of @p n bytes, name the symbol that the table calls @p link_name and clew prints
 * as
 * @p shown? A symbol is demangled once more only where @p asked begins with @p shown. */
bool sym_name_is(const char *shown, const char *link_name, const char *asked, size_t n);

enum { SYM_NAMED_MAX = 8 };

/** A function of a file. Names are owned. */
struct sym_named {
	size_t nr;                   /* functions of that name, at most all ones */
	uint64_t address;            /* link-time, of the first */
	char *others[SYM_NAMED_MAX]; /* with parameters, of the first of several; NULL: no more */
};

/**
 * Find what @p name stands for in .symtab or .dynsym: by link name; else by the name that is shown,
 * or that with parameters; "main" of a stripped program by its entry code. Functions at one address
 * are one. Linear. @return false: out of memory.
 */
bool sym_name_find(const struct elf_file *f, const char *name, struct sym_named *ret);
void sym_named_done(struct sym_named *n);

#endif
