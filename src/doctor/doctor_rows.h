/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef DOCTOR_DOCTOR_ROWS_H
#define DOCTOR_DOCTOR_ROWS_H

#include "base/attributes.h"
#include "doctor/doctor.h"
#include "os/perf/pmu.h"

/* Shared by the doctor*.c files: the report being made. */
struct doctor {
	struct doctor_report *report;
	struct rec_host_facts world;
	struct os_pmus pmus;
	const char *section;
	bool is_out_of_memory;
};

/** Each adds a row. Texts of @p detail and @p fix are formatted; @p fix NULL: none. */
void doctor_yes(struct doctor *d, const char *id, const char *title, const char *detail, ...)
	CLEW_PRINTF(4, 5);
void doctor_fact(struct doctor *d, const char *id, const char *title, const char *detail, ...)
	CLEW_PRINTF(4, 5);
void doctor_no(struct doctor *d, const char *id, const char *title, const char *fix,
	       const char *detail, ...) CLEW_PRINTF(5, 6);

/** Try to open @p attr on this thread (@p pid 0, @p cpu -1) or a CPU, and close it. @return 0 or
 * the errno. */
int doctor_try(const struct perf_attr *attr, int pid, int cpu);

/** An event that was opened to see whether it can be. */
struct doctor_trial {
	const struct perf_attr *attr;
	const char *pmu; /* sysfs name; NULL: generic */
	int pid;         /* as given to doctor_try() */
	int os_errno;    /* what it returned */
};

/** A row for the outcome of a trial: yes with @p detail, or no with a reason (refusal.h). */
void doctor_outcome(struct doctor *d, const char *id, const char *title, const char *detail,
		    const struct doctor_trial *trial);

/** A row for a feature that needs the right to load BPF programs. */
void doctor_no_bpf(struct doctor *d, const char *id, const char *title);

/** The command to run this program with more rights; in the report's memory. */
const char *doctor_setcap(struct doctor *d);

/** printf into the report's memory; "" when out of memory. */
const char *doctor_text(struct doctor *d, const char *format, ...) CLEW_PRINTF(2, 3);

/* The sections. */
void doctor_system(struct doctor *d);
void doctor_permissions(struct doctor *d);
void doctor_limits(struct doctor *d);
void doctor_events(struct doctor *d);
void doctor_records(struct doctor *d);
void doctor_traces(struct doctor *d);
void doctor_bpf(struct doctor *d);
void doctor_stacks(struct doctor *d);
void doctor_symbols(struct doctor *d);

#endif
