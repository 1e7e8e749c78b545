/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_AUX_AUX_OFFLINE_H
#define RECORD_AUX_AUX_OFFLINE_H

#include "record/open/counters.h"
#include "record/plan/rec_ui.h"

/** The times at which an area's CPU was offline. */
struct aux_offline {
	uint64_t since_ns; /* our clock, when it was seen; 0: it is online */
	uint64_t nr, sum_ns;
	uint64_t first_ns; /* perf time of the last AUX record before the first time; 0: none */
	uint64_t ran;      /* with has_ran: the tracking event's time at the last look */
	bool has_ran;
	bool is_given_up; /* it could not be opened again */
};

struct aux_areas;

struct aux_cpus {
	struct rec_counters *counters;
	struct aux_areas *areas;
	const struct rec_ui *ui;
	bool may_reopen;
	uint64_t next_ns; /* when to look again */
};

/**
 * Now and then: a CPU that went offline took its events along, and every call on them succeeds as
 * before. When it is back they are opened again, its ring and area mapped, and its trace continues.
 * Not while traces are held.
 */
void aux_cpus_check(struct aux_cpus *c);

#endif
