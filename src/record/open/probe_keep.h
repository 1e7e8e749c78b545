/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_OPEN_PROBE_KEEP_H
#define RECORD_OPEN_PROBE_KEEP_H

#include "record/open/counters.h"

/**
 * Keep the uprobes of programs in the processes that the recorded ones start. The kernel removes a
 * probe's breakpoint from a process when the last event that targets it is freed, which can happen
 * while the process runs (docs/decisions/bpf-stacks.md). One more event of the probe, for all
 * tasks and never enabled, holds the breakpoint wherever the file is mapped. A library may be
 * mapped by every process, and each hit traps: its probes are not held, and a note says so.
 */
void rec_probes_keep(struct rec_counters *c, const struct rec_ui *ui);

#endif
