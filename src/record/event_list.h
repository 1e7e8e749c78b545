/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_EVENT_LIST_H
#define RECORD_EVENT_LIST_H

#include <clew/err.h>

#include "base/arena.h"
#include "base/vec.h"
#include "perfdata/perf_abi.h"

/** One event as the user spelled it, ready for perf_event_open() but for what the session decides
 * (-F, -c, -g, target). */
struct rec_event {
	struct perf_attr attr; /* type, config*, bp_*, exclude_*, precise_ip, pinned, terms such as
				  period= and freq= */
	const char *name;      /* as perf would call it: "cycles:u", "sched:sched_switch",
				  "cpu/event=0x3c/" */
	uint32_t leader; /* index of the group's leader; its own index: leads or stands alone */
	bool has_period, has_freq;           /* set by a term: -F and -c leave it alone */
	bool has_callgraph, wants_callgraph; /* call-graph=no|fp|dwarf term */
	bool has_time_term, wants_time;      /* time=0|1 */
	bool is_tracepoint;
	const char *tp_system, *tp_name; /* tracepoints */
	uint32_t tp_id;
	const char *filter; /* --filter text, set by rec_events_filter(); NULL: none */
	const char *cpus; /* the PMU's cpumask or cpus file, such as "0" or "0-3"; NULL: any CPU */
	const char *probe_path, *probe_symbol; /* uprobe file / kprobe function; pointed to by
						  attr.config1 when opened */
};

struct rec_event_list {
	struct arena memory;
	struct {
		VEC(struct rec_event);
	} events;
};

/** Where and why a spelling was refused; sentences end with what to try. */
struct rec_spell_error {
	size_t pos;         /* byte in the text */
	char sentence[512]; /* "no event 'cyles'; did you mean 'cycles'?" */
};

/** Add what one -e argument names. On failure the list is as it was. @return CLEW_INVALID,
 * CLEW_NOT_FOUND, CLEW_NO_MEMORY, CLEW_OS. */
enum clew_err rec_events_parse(struct rec_event_list *list, const char *text,
			       struct rec_spell_error *error);

/** --filter: applies to the last event added, which must be a tracepoint. */
enum clew_err rec_events_filter(struct rec_event_list *list, const char *text,
				struct rec_spell_error *error);

void rec_events_done(struct rec_event_list *list);

#endif
