/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_MAP_TRAIL_H
#define OS_MAP_TRAIL_H

#include "os/file.h"

/*
 * Pages of a mapped file that its reader has left, given back step by step. What someone still
 * looks at comes in again, and would stay: so a step gives back older ones once more, every second
 * step twice as many, every fourth four times. A page that came in again goes when the reader is
 * about twice as far as it was then.
 */
struct os_map_trail {
	size_t step; /* bytes: whole pages */
	size_t nr;   /* steps given back */
};

/** Give back a step that ends at @p pos or before it. @return false: none does. Amortised
 * O(log(steps)) walks over the step's page table. */
bool os_map_trail_next(struct os_map_trail *t, const struct os_map *m, size_t pos);

#endif
