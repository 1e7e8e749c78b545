/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_OPEN_OPEN_IMPL_H
#define RECORD_OPEN_OPEN_IMPL_H

#include "record/open/counters.h"

/* The steps of opening, on some places, [from, to): counters_open.c and reopen.c. */

bool rec_counter_is_wanted_on(const struct rec_counter *e, int cpu);

/** @return a descriptor, or -errno. */
int rec_counter_open_at(const struct rec_counters *c, const struct rec_counter *e, size_t place);

/** Their records go to the ring of descriptor @p owner. */
enum clew_err rec_counters_redirect(const struct rec_counters *c, size_t from, size_t to, int owner,
				    bool is_backward, struct rec_error *error);

/** Members first: one that outlives its leader is in error, and what acts on a trace may then even
 * make the kernel warn. */
void rec_counters_close(struct rec_counters *c, size_t from, size_t to);

/** What the event has counted there, and those before it. */
uint64_t rec_counter_count(const struct rec_counter *e, size_t place);

#endif
