/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_MAP_U64_H
#define BASE_MAP_U64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** u64 -> u64, open addressing, grows by two. Zeroed struct = empty map. One thread at a time. */
struct map_u64 {
	struct map_u64_slot {
		uint64_t key, value;
	} * slots;
	uint8_t *used;  /* 1: slot holds an entry */
	size_t nr, cap; /* cap is a power of two or 0 */
};

/** @return the value's place, valid until the next put or remove; NULL: no such key. */
uint64_t *map_u64_get(const struct map_u64 *m, uint64_t key);

/** Insert or overwrite. @return false when memory is short; the map is as it was. */
bool map_u64_put(struct map_u64 *m, uint64_t key, uint64_t value);

/**
 * Number keys in the order in which they come, for a list of what they stand for: *ret is @p key's
 * number, or @p nr, which it gets if that is below @p max.
 * @return false: it is not, or memory is short; the map is as it was.
 */
bool map_u64_number(struct map_u64 *m, uint64_t key, size_t nr, size_t max, size_t *ret);

/** @return whether it was there. */
bool map_u64_remove(struct map_u64 *m, uint64_t key);

void map_u64_done(struct map_u64 *m);

#endif
