/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_SYM_TABLE_H
#define ELF_SYM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/buf.h"
#include "base/vec.h"

/*
 * Symbols sorted by address, 24 bytes each. Filled with sym_table_add(), closed once with
 * sym_table_finish(), only read from then on.
 *
 * Real symbol tables overlap, repeat addresses and have sizes of 0. Which symbol an address gets
 * then is a choice; the rules here give the answers of perf 6.1, down to those that follow from the
 * shape of its search tree (sym_tree.h). docs/decisions/symbols.md lists them.
 */
struct sym {
	uint64_t start, end; /* end exclusive */
	uint32_t name;       /* offset in the borrowed text, or in own where is_own */
	uint16_t module;     /* kallsyms: number of the module, 0: the kernel itself */
	uint8_t is_own;
	uint8_t type; /* STT_... */
};

/** Before the table is closed. */
struct sym_new {
	struct sym s;
	uint32_t order; /* of insertion */
	uint8_t bind;   /* STB_... */
	bool is_dead;   /* lost to another symbol at the same address */
};

struct sym_range {
	uint64_t start, end;
	uint32_t sym; /* index into syms */
};

struct sym_table {
	const char *text;  /* borrowed: names of symbols without is_own */
	size_t text_bytes; /* NUL-terminated at the end */
	struct buf own;    /* names made here */
	struct {
		VEC(struct sym_new);
	} added;
	size_t nr_early; /* of added: those before sym_table_mark_late() */
	struct sym *syms;
	size_t nr;
	struct sym_range *ranges; /* only where symbols overlap: disjoint, sorted */
	size_t nr_ranges;
	/* Name to compare where two symbols share an address; NULL: the name as it stands. The text
	 * lives until the next call. */
	const char *(*shown_name)(void *ctx, const char *name);
	void *shown_ctx;
	/* How far a function that starts at @p start, and may reach to @p end, can reach, by its
	 * code; NULL: unknown. */
	uint64_t (*code_end)(const void *ctx, uint64_t start, uint64_t end);
	const void *code_ctx;
	struct budget *budget; /* set after sym_table_init(); NULL: no limit */
	uint64_t charged;      /* of it; given back by sym_table_done() */
	bool is_over_budget;   /* why something failed */
};

enum sym_fill {
	SYM_FILL_ELF,      /* a symbol of size 0 reaches to the next one */
	SYM_FILL_KALLSYMS, /* the same, but not across a gap between kernel and module */
	SYM_FILL_LATEST    /* keep sizes; where symbols overlap, the one added last: perf-PID.map */
};

/** Names by @p text, borrowed for the table's life. A zeroed struct is a table without text. */
void sym_table_init(struct sym_table *t, const char *text, size_t text_bytes);
void sym_table_done(struct sym_table *t);

enum { SYM_NO_NAME = UINT32_MAX };

/** A name for sym_table_add() that is in no borrowed text. @return its offset; SYM_NO_NAME: out of
 * memory. */
uint32_t sym_table_own_name(struct sym_table *t, const char *name, size_t len);

enum { SYM_TABLE_MAX = 8 * 1024 * 1024 }; /* symbols */

/** @p s is copied. @return false when memory is short, or the table full. */
bool sym_table_add(struct sym_table *t, const struct sym *s, uint8_t bind);

/** What is added from here on (PLT entries) is put in after sizes and repetitions are settled. */
void sym_table_mark_late(struct sym_table *t);

/** Where the last symbol ends if it has no size: with the next page. */
uint64_t sym_end_of_last(uint64_t start);

/**
 * Sort, settle sizes and repetitions, drop what was only for building. O(n log n).
 * @return false when memory is short; the table is empty then.
 */
bool sym_table_finish(struct sym_table *t, enum sym_fill fill);

/** The symbol that covers @p addr, or NULL. O(log n). */
const struct sym *sym_table_find(const struct sym_table *t, uint64_t addr);

const char *sym_name(const struct sym_table *t, const struct sym *s);

#endif
