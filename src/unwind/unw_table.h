/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_UNW_TABLE_H
#define UNWIND_UNW_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include <clew/err.h>

#include "base/bytes.h"
#include "unwind/unw_rule.h"

/*
 * The compiled table of one binary, made from every source of unwind information: producers
 * (sframe_rows(), eh_frame_rows(), fp_rows() for code that has neither, stack_switch_rows() where
 * Go changes stacks) fill lists of functions and rows, and unw_table_build_of() sweeps the lists
 * side by side. The walker (unw_walk.h) searches this table, record copies it into BPF maps, and
 * image/file_cache.h keeps it in a file.
 *
 * Addresses are the binary's "rel" (image/dso.h): file offsets.
 * One block of memory, so that it can be cached in a file, mapped, and copied into a BPF map:
 *
 *   struct unw_table_head | u32 bucket[nr_buckets + 1] | u32 row[nr_rows] | struct unw_rule
 *                                                                           rule[nr_rules]
 *
 * row = (rel & 0xffff) << 16 | rule index, in order of rel. bucket[i] is the index of the first row
 * at or above start + (i << shift); rows of one bucket share their upper address bits because
 * shift <= 16. A gap is a row of a rule with cfa UNW_CFA_NONE; rule[0] is such a one, and row[0]
 * stands at start.
 */
enum { UNW_TABLE_MAGIC = 0x75774c43, UNW_TABLE_VERSION = 8 };

struct unw_table_head {
	uint32_t magic, version;
	uint64_t start, end; /* rel; start is a multiple of 1 << shift, end exclusive */
	uint32_t shift;      /* 8..16 */
	uint32_t nr_buckets, nr_rows, nr_rules; /* nr_rules <= 65535 */
	uint32_t arch;                          /* enum unw_arch */
	uint32_t bytes;                         /* of the whole block */
	uint64_t checksum;                      /* of all the rest; for cache files */
};

struct unw_table {
	const struct unw_table_head *head; /* the block */
	const uint32_t *bucket, *row;
	const struct unw_rule *rule;
};

/** The row that holds @p rel, which lies within [start, end). */
static inline uint32_t unw_table_row(const struct unw_table *t, uint64_t rel)
{
	const struct unw_table_head *h = t->head;
	uint32_t low, lo, hi, b;

	b = (uint32_t)((rel - h->start) >> h->shift);
	low = (uint32_t)(rel & 0xffff) << 16 | 0xffff;
	lo = t->bucket[b];
	hi = t->bucket[b + 1];
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->row[mid] <= low)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? t->row[lo - 1] : 0;
}

/**
 * The rule at @p rel; of kind UNW_CFA_NONE where there is none. Never NULL. Some 5 ns warm.
 */
static inline const struct unw_rule *unw_table_find(const struct unw_table *t, uint64_t rel)
{
	const struct unw_table_head *h = t->head;

	if (rel < h->start || rel >= h->end)
		return t->rule;
	return &t->rule[unw_table_row(t, rel) & 0xffff];
}

/** Where the row that holds @p rel starts, or an address after that: within 64 KiB. Rows of code
 * without a rule start with each function that has a symbol. */
static inline uint64_t unw_table_row_start(const struct unw_table *t, uint64_t rel)
{
	const struct unw_table_head *h = t->head;
	uint64_t start;

	if (rel < h->start || rel >= h->end)
		return rel < h->start ? 0 : h->end;
	start = (rel & ~(uint64_t)0xffff) | unw_table_row(t, rel) >> 16;
	return start > rel ? start - 0x10000 : start;
}

/** Look at a block made elsewhere (a cache file); its checksum and every index in it are checked.
 * O(rows). @p data is borrowed and 8-byte aligned. @return CLEW_BAD_FILE otherwise. */
enum clew_err unw_table_of_block(struct unw_table *ret, const void *data, size_t size);

/** The same for a block that was just built or looked at: nothing is checked. */
void unw_table_of_checked(struct unw_table *ret, const void *data);

/* --- making one --- */

/**
 * Rows of one source while they are gathered. Functions may come in any order and overlap; rows of
 * one function come in order of address.
 */
struct unw_list;

struct unw_list *unw_list_new(void);
void unw_list_free(struct unw_list *l);

/** A function covers [start, end) rel; its rows follow, none: no rule. An empty one is omitted
 * with its rows. Out of memory, and a function past 4 GiB, are remembered for unw_table_build(). */
void unw_list_begin(struct unw_list *l, uint64_t start, uint64_t end);
/** From @p rel on (within the function; outside of it nothing is added). A second row at the same
 * address replaces the first; one below the last is omitted. Registers past UNW_MAX_REGS make it
 * UNW_CFA_NONE, UNW_WHY_REGISTER. */
void unw_list_row(struct unw_list *l, uint64_t rel, const struct unw_rule *rule);

size_t unw_list_nr_rows(const struct unw_list *l);

/**
 * Sort, resolve overlaps (of the functions that cover an address the one that starts last counts;
 * of several with one start the one given first), fill what @p first does not know from @p second
 * (NULL: none), and pack. Where @p second says signal frame or outermost and @p first is SFrame,
 * @p second counts, as SFrame versions 1 and 2 cannot say so.
 * The block is one mem_alloc(), given to the caller in *ret_block.
 * @return CLEW_NO_MEMORY; CLEW_LIMIT: more than 65535 distinct rules; CLEW_UNSUPPORTED: the span
 *         passes 4 GiB; CLEW_NOT_FOUND: no function. O(n log n) of functions and rows.
 */
enum clew_err unw_table_build(struct unw_list *first, struct unw_list *second, enum unw_arch arch,
			      void **ret_block, size_t *ret_size);

enum { UNW_MAX_SOURCES = 8 };

/** The same with up to UNW_MAX_SOURCES lists, the first one first. */
enum clew_err unw_table_build_of(struct unw_list *const lists[], size_t nr, enum unw_arch arch,
				 void **ret_block, size_t *ret_size);

#endif
