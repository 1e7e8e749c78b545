/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_SESSION_OPEN_EVENTS_H
#define RECORD_SESSION_OPEN_EVENTS_H

#include "record/open/counters.h"
#include "record/plan/source.h"

/** What events are opened by, and into. */
struct rec_opening {
	const struct rec_options *asked;
	struct rec_options *settled; /* a copy of asked; the plan of stacks, the clock and the
					side-band change */
	struct rec_event_list *events;
	const struct rec_target *target;
	const struct rec_ui *ui;
	struct rec_counters *counters; /* zeroed; the caller's to end, also after a failure */
	struct rec_sources *sources;   /* zeroed; the same, before the counters */
};

/** Open the events with the way of user stacks that was chosen; with auto the next one, where an
 * event will not go with it. @return the error's code, with a sentence. */
enum clew_err rec_open_events(const struct rec_opening *o, struct rec_error *error);

#endif
