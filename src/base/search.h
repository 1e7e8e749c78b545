/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

#include <stddef.h>

/**
 * Index of the first of @p count sorted elements for which @p is_above, an expression of the index
 * @p i, holds; @p count where it holds for none. It has to hold for all after the first. O(log
 * count). The last entry no later than t is that before search_first(nr, i, v[i].time > t).
 */
/* clang-format off */
#define search_first(count, i, is_above)                            \
	__extension__({                                             \
		size_t low_ = 0, high_ = (count);                   \
		while (low_ < high_) {                              \
			const size_t i = low_ + (high_ - low_) / 2; \
			if (is_above)                               \
				high_ = i;                          \
			else                                        \
				low_ = i + 1;                       \
		}                                                   \
		low_;                                               \
	})
/* clang-format on */

#endif
