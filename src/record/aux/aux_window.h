/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_AUX_AUX_WINDOW_H
#define RECORD_AUX_AUX_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/**
 * What a snapshot takes of an area that the kernel overwrites: the newest bytes that no snapshot
 * has taken before. Heads come in two kinds: of bytes ever written, or an offset in the area,
 * from which turns cannot be counted. For these we keep the bytes that lay
 * before the head at the last snapshot: where the producer came round they have changed.
 */
struct aux_window_state {
	size_t area;         /* bytes, a power of two */
	bool is_counter;     /* a head beyond the area proves it, too */
	bool has_true_sizes; /* of AUX records: of what was written (arm_spe), not of the area */
	uint64_t head;       /* the kernel's, at the last snapshot */
	uint64_t count;      /* bytes written until then, as far as is known; congruent to head */
	uint8_t *before;  /* the bytes before head as they were then; NULL: a counter needs none */
	size_t nr_before; /* 0: no snapshot yet, and all was zero */
};

/** How many bytes before a head the state wants to keep. */
size_t aux_window_keep(size_t area);

struct aux_window {
	uint64_t from, to; /* counts of bytes, [from, to): where in the area is that modulo its
			    size */
	bool is_full;      /* older bytes were overwritten or cut, or may have been */
};

/** What is known of the time since the last snapshot. */
struct aux_window_ask {
	uint64_t head; /* read after the event was switched off */
	bool has_sum;  /* no AUX record since the last snapshot was lost */
	uint64_t sum;  /* of their sizes */
	size_t limit;  /* at most so many bytes, the newest; 0: the area */
};

/** @p area: its bytes. Nothing new: from == to. */
struct aux_window aux_window_next(const struct aux_window_state *s, const uint8_t *area,
				  const struct aux_window_ask *ask);

/** The window is written: the next one begins at its end. Copies bytes into s->before, which has
 * room for aux_window_keep(). */
void aux_window_taken(struct aux_window_state *s, const uint8_t *area, uint64_t head,
		      const struct aux_window *w);

/** Where @p w lies in the area. */
void aux_window_parts(const struct aux_window *w, const uint8_t *area, size_t size,
		      struct bytes ret[2]);

#endif
