/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_OPEN_PROBE_DEFS_H
#define RECORD_OPEN_PROBE_DEFS_H

#include "record/open/counters.h"

/*
 * Uprobes as tracepoints of our own, made in tracefs for the time of the recording: the probe PMU's
 * events are not passed on to the children of a task, as the kernel would have to read the name of
 * the file once more. "clew_PID_NS/uN": the recorder's number, and in which namespace it has that.
 * What a killed recorder left is removed by the next one.
 */

/** Define the uprobes among the counters (rec_counter.probe_id). Where that cannot be done they
 * stay the PMU's, and a note says so. @return CLEW_NO_MEMORY. */
enum clew_err rec_probe_defs_make(struct rec_counters *c, const struct rec_ui *ui);

/** Take them away again: after the descriptors of all their events were closed. */
void rec_probe_defs_remove(struct rec_counters *c);

/** The owner of the @p line of uprobe_events. @return false: not one that a clew has made.
 * @p ret_name: "clew_PID_NS/uN", borrowed, of @p ret_bytes. */
bool rec_probe_def_parse(const char *line, size_t n, const char **ret_name, size_t *ret_bytes,
			 uint64_t *ret_pid, uint64_t *ret_ns);

#endif
