/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_GROWN_H
#define PERFDATA_PERF_GROWN_H

#include "perfdata/perf_evlist.h"
#include "perfdata/perf_record.h"

/*
 * Linux makes a KSYMBOL, BPF_EVENT or TEXT_POKE record once for all events that want it, and adds
 * the bytes of the sample_id to its size for each of them again. For all events but the first the
 * size is too large: the sample_id follows what was written, and bytes of older records follow it.
 * Spec: Linux 6.18 kernel/events/core.c, perf_event_ksymbol_output(), perf_event_bpf_output(),
 * perf_event_text_poke_output(); what makes other kinds restores the size.
 */
/** Where the sample_id of such a record was written: bytes from its start, at most @p size. 0: it
 * is of another type, or not as the kernel makes it. O(name). */
size_t perf_grown_id_at(const uint8_t *record, uint32_t type, size_t size, bool swap);

/**
 * The size that is true of @p r: up to the end of its sample_id, where that was written earlier
 * than r->size says. A sample_id is believed by the id in it; without ids unless it is all zeros,
 * as where a recorder has moved it to the end. O(1) for other types.
 */
uint16_t perf_grown_true_size(const struct perf_evlist *l, const struct perf_record *r);

#endif
