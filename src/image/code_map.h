/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef IMAGE_CODE_MAP_H
#define IMAGE_CODE_MAP_H

#include <stddef.h>

#include "image/code_source.h"

/*
 * Code at fixed places, for ever: memory dumps. Each is seen from some exception levels and
 * security states only.
 */
struct code_map;

/** Who sees a dump: bit 4 * security + el. */
enum {
	CODE_SEEN_BY_ALL = 0xffff,
	CODE_SEEN_EL1S = 0x0003, /* secure EL0 and EL1 */
	CODE_SEEN_EL2S = 0x0004,
	CODE_SEEN_EL1N = 0x0030,
	CODE_SEEN_EL2N = 0x0040,
	CODE_SEEN_EL1R = 0x3000, /* realm */
	CODE_SEEN_EL2R = 0x4000,
	CODE_SEEN_EL3 = 0x0808, /* of older machines, and root */
	CODE_SEEN_ROOT = 0x0800,
	CODE_SEEN_SECURE = 0x000f,
	CODE_SEEN_NONSECURE = 0x00f0,
	CODE_SEEN_REALM = 0xf000,
};

struct code_map *code_map_new(void);
void code_map_free(struct code_map *m);

/** @p bytes are borrowed for the map's life. Where dumps overlap, the one that was added first
 * counts.
 * @return false: out of memory. */
bool code_map_add(struct code_map *m, uint64_t address, const uint8_t *bytes, size_t size,
		  uint16_t seen_by);

/** No more is added from here on: it may be asked by any thread. @return NULL: out of memory. */
const struct code_source *code_map_source(struct code_map *m);

#endif
