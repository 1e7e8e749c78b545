/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_COLLAPSED_PUT_H
#define FORMAT_COLLAPSED_PUT_H

#include "base/buf.h"

/*
 * Collapsed stacks, a line each, outermost frame first: "comm;main;work 1234". Flame graph programs
 * split them at ';', take the number after the last blank, and add up equal lines.
 */

/** What @p out holds from byte @p from on is one frame's name, already without control characters:
 * a ';' in it becomes ':'. */
void collapsed_end_frame(struct buf *out, size_t from);

/** Then ';', or after the last frame this: the weight, and the line ends. */
void collapsed_end_line(struct buf *out, uint64_t weight);

#endif
