/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_AUX_AUX_SPAN_H
#define RECORD_AUX_AUX_SPAN_H

#include <stdbool.h>

#include "record/plan/aux_seen.h"

/** Perf times between which a snapshot's window is complete; from 0: unknown. */
struct aux_span {
	uint64_t from_ns, to_ns;
};

/** What is known of the window beside the AUX records. */
struct aux_span_ask {
	uint64_t bytes;      /* in the window, the newest */
	bool is_full;        /* older bytes of its time are missing */
	bool is_counter;     /* records have counts of bytes for offsets */
	bool has_true_sizes; /* their sizes are of what was written */
	uint64_t since_ns;   /* time of the last record of the window before; 0: none */
	uint64_t nr_before;  /* records seen until then */
};

/**
 * By the AUX records that describe the window: each has the time at which its bytes end. Where the
 * window begins inside of a record's bytes, only what follows the record is certain.
 */
struct aux_span aux_span_of(const struct rec_aux_seen *s, const struct aux_span_ask *ask);

#endif
