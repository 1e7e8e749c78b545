/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_ANNOTATE_JUMP_LANES_H
#define FORMAT_ANNOTATE_JUMP_LANES_H

#include "annotate/annotation.h"

/*
 * Jumps inside a function as lines left of its instructions, the shortest ones next to them:
 *
 *	+->  cmp
 *	|+-  je
 *	||   inc
 *	+|-  jmp
 *	 +>  ret
 *
 * A jump that finds no free lane, or is very long, has no line.
 */
enum { JUMP_LANES = 6 };

struct jump_lanes {
	const struct annotation *a;
	uint32_t *owners; /* by instruction, then lane: the jump + 1, 0: none */
	uint8_t *ends;    /* by instruction: JUMP_FROM, JUMP_TO */
	unsigned int nr;  /* lanes in use */
};

/** @return false when memory is short. */
bool jump_lanes_make(struct jump_lanes *l, const struct annotation *a);
void jump_lanes_done(struct jump_lanes *l);

/** The lane of the line of the jump at instruction @p i, 0 next to the instructions. @return -1: it
 * has none. */
int jump_lanes_of(const struct jump_lanes *l, size_t i);

/** Append the part left of instruction @p i, or of a line of source before it: nr + 2 characters;
 * none where there are no jumps. */
void jump_lanes_put(const struct jump_lanes *l, struct buf *out, size_t i, bool is_source);

#endif
