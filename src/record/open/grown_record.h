/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_OPEN_GROWN_RECORD_H
#define RECORD_OPEN_GROWN_RECORD_H

#include "record/open/counters.h"

/*
 * Linux makes a KSYMBOL or BPF_EVENT record once for all events that want it, and adds the bytes of
 * the sample_id to its size for each of them again: beside another recorder's event the size is too
 * large, what was written ends earlier, and readers look for the sample_id at the end. perf gives
 * up the whole file. Spec: Linux 6.18 kernel/events/core.c, perf_event_ksymbol_output(),
 * perf_event_bpf_output().
 */

/** Bytes of the sample_id after such records of @p c's events. */
size_t grown_record_id_bytes(const struct rec_counters *c);

/** Is @p record, with all its h.size bytes, such a one? */
bool grown_record_is(const uint8_t *record, size_t id_bytes);

/** Move its sample_id to its end; before it come zeros. */
void grown_record_mend(uint8_t *record, size_t id_bytes);

#endif
