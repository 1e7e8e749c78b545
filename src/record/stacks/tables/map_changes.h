/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_TABLES_MAP_CHANGES_H
#define RECORD_STACKS_TABLES_MAP_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct map_change {
	uint64_t time, start, end;
	uint32_t pid;
};

/**
 * What processes have newly mapped as code, in this round and the one before: a stack that was read
 * at one time and is unwound by the mappings of a later one may be believed where nothing new lies.
 * Zeroed = empty.
 */
struct map_changes {
	struct map_change_list {
		VEC(struct map_change);
		bool is_full;    /* further ones were not kept */
		uint64_t newest; /* time, of those too */
	} round[2];
	uint64_t forgotten; /* the newest of older rounds; 0: none */
};

/** From @p time on. An exec: 0 to UINT64_MAX. @return false: out of memory. */
bool map_changes_add(struct map_changes *m, uint32_t pid, uint64_t time, uint64_t start,
		     uint64_t end);

/** Has @p pid mapped anything since @p time? Of times that rounds before those two reach to: true.
 */
bool map_changes_any(const struct map_changes *m, uint32_t pid, uint64_t time);
/** And where one of these addresses is, or right before one of them? */
bool map_changes_at(const struct map_changes *m, uint32_t pid, uint64_t time, const uint64_t *pcs,
		    size_t nr);

/** A round has ended. */
void map_changes_age(struct map_changes *m);
void map_changes_done(struct map_changes *m);

#endif
