/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_REFUSAL_REFUSAL_H
#define RECORD_REFUSAL_REFUSAL_H

#include <stddef.h>

#include "record/plan/rec_error.h"
#include "record/refusal/host_facts.h"

/* What the kernel means when it refuses, and what the user can do about it. */

enum rec_call {
	REC_CALL_OPEN,     /* perf_event_open() */
	REC_CALL_MMAP,     /* mapping the data ring */
	REC_CALL_MMAP_AUX, /* mapping the AUX area */
	REC_CALL_OUTPUT,   /* joining an event to another's ring */
	REC_CALL_FILTER,   /* a tracepoint's filter, a trace's addresses */
};

/** Can a trace be paused? Found by opening one that starts paused. */
enum rec_pausing { REC_PAUSING_UNKNOWN, REC_PAUSING_POSSIBLE, REC_PAUSING_IMPOSSIBLE };

/** A refused call. Texts are borrowed. */
struct rec_refusal {
	enum rec_call call;
	int os_errno;                 /* positive */
	const struct perf_attr *attr; /* as given to the kernel */
	const char *event;            /* its name */
	const char *pmu;              /* sysfs name; NULL: generic */
	int pid, cpu;                 /* as given to perf_event_open() */
	bool has_leader;              /* a group leader was given */
	bool is_trace;                /* it writes an AUX area */
	const char *leader_pmu;       /* of a leader that does; NULL: none */
	enum rec_pausing pausing;     /* of the trace that it is, or that leads it */
	size_t map_bytes;             /* of mmap */
	const char *filter;
};

/** What setcap gives this program so that it can record as root does: all of it, since each setcap
 * takes away what the one before gave. */
#define REC_SETCAP "cap_perfmon,cap_bpf,cap_sys_ptrace,cap_syslog,cap_ipc_lock=ep"

/** Say why in @p ret; its hint has the exact command that helps. @p w: NULL reads the facts now.
 * An errno without an explanation is named. @return CLEW_OS. */
enum clew_err rec_refusal_explain(const struct rec_refusal *r, const struct rec_host_facts *w,
				  struct rec_error *ret);

#endif
