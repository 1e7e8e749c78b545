/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include "base/arena.h"
#include "base/vec.h"
#include "record/refusal/refusal.h"

/* What this user can record on this machine: one row per capability. */

enum doctor_state {
	DOCTOR_YES,
	DOCTOR_NO,
	DOCTOR_FACT, /* a value, neither good nor bad */
};

struct doctor_row {
	const char *section; /* static: "Events" */
	const char *id;      /* static, stable across releases: "hardware-counters" */
	const char *title;   /* "hardware counters" */
	enum doctor_state state;
	const char *detail; /* what there is, or why not; "" nothing to add; never empty with NO */
	const char *fix;    /* the command that changes a NO; "" none */
};

struct doctor_report {
	struct arena memory; /* of the texts */
	struct {
		VEC(struct doctor_row);
	} rows;          /* by section, in the order to be shown */
	bool can_record; /* some event can be sampled in a program of one's own */
};

/** Inspect and try: opens and closes some 60 events and loads BPF programs, but writes and changes
 * nothing. Up to half a second.
 * @return CLEW_OK, CLEW_NO_MEMORY. */
enum clew_err rec_doctor_run(struct doctor_report *ret);

void rec_doctor_done(struct doctor_report *r);

/** "yes", "no", "fact" */
const char *doctor_state_name(enum doctor_state state);

#endif
