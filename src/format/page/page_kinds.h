/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_PAGE_PAGE_KINDS_H
#define FORMAT_PAGE_PAGE_KINDS_H

#include "format/page/page_impl.h"

/** Rows that differ in thread, stack, event, control group or CPU, in the order they were met; at
 * most @c max of them. */
struct page_kinds {
	const uint32_t *node_of; /* of the page's tree, by a row's node; borrowed */
	struct page_row *rows;
	uint32_t *slots; /* row + 1; 0: free */
	uint32_t nr, max, nr_slots;
};

/** @return false: no memory. */
bool page_kinds_init(struct page_kinds *k, const uint32_t *node_of, uint32_t max);
void page_kinds_done(struct page_kinds *k);
void page_kinds_clear(struct page_kinds *k);

/** NULL: none is of that kind. */
struct page_row *page_kinds_find(const struct page_kinds *k, const struct page_row *r);

/** As page_kinds_find(), but what is missing is added, which takes room: k->nr < k->max. */
struct page_row *page_kinds_add(struct page_kinds *k, const struct page_row *r);

/** For qsort(): by time, then by kind: no two kinds are equal. */
int page_row_order(const void *x, const void *y);

/** Keep the half with most samples. */
void page_kinds_halve(struct page_kinds *k);

#endif
