/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_SYM_H
#define ELF_SYM_H

#include "elf/elf_file.h"
#include "elf/sym_table.h"

/** Does @p f have a .symtab (or .dynsym) with its entries in the file? */
bool elf_has_symtab(const struct elf_file *f);
bool elf_has_dynsym(const struct elf_file *f);

enum elf_sym_space {
	ELF_SYM_OFFSETS,      /* addresses become file offsets of the run-time file */
	ELF_SYM_OFFSETS_BOTH, /* and its .dynsym is taken too: mini debug info leaves that out */
	ELF_SYM_ADDRESSES     /* link-time addresses, as vmlinux has them */
};

/**
 * Fill an initialised, empty @p t with the functions, objects and labels of @p syms: of .symtab,
 * else of .dynsym. @p runtime is the file that was mapped (may be the same): its program headers
 * say where addresses lie, its PLT entries are named NAME@plt. Both are borrowed for the table's
 * life. Call sym_table_finish() afterwards.
 * @return CLEW_NOT_FOUND: no symbol table; CLEW_BAD_FILE: table or strings out of bounds.
 */
enum clew_err elf_sym_collect(struct sym_table *t, const struct elf_file *syms,
			      const struct elf_file *runtime, enum elf_sym_space space,
			      struct clew_diag *diag);

/** Link-time address of the symbol @p name, defined in .symtab or .dynsym; false: no such symbol.
 * Linear.
 */
bool elf_sym_address(const struct elf_file *f, const char *name, uint64_t *ret);

/** A symbol of .symtab as it stands there, in an allocated section. */
struct elf_sym_entry {
	const char *name;
	uint64_t address, bytes; /* link-time */
	bool is_local, is_function;
};

/** Each that has a name, in the order of the table. @return false: @p take was. */
bool elf_sym_walk(const struct elf_file *f, bool (*take)(void *ctx, const struct elf_sym_entry *s),
		  void *ctx);

/** The same of .symtab and .dynsym: some come twice. */
bool elf_sym_walk_all(const struct elf_file *f,
		      bool (*take)(void *ctx, const struct elf_sym_entry *s), void *ctx);

#endif
