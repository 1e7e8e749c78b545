/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_OPEN_GROWN_RECORD_H
#define RECORD_OPEN_GROWN_RECORD_H

#include "record/open/counters.h"

/*
 * Records that Linux made too large (perfdata/perf_grown.h). perf gives up the whole file for one,
 * so they are mended before they are written.
 */

/** Bytes of the sample_id after such records of @p c's events. */
size_t grown_record_id_bytes(const struct rec_counters *c);

/** Is @p record, with all its h.size bytes, such a one? */
bool grown_record_is(const uint8_t *record, size_t id_bytes);

/** Move its sample_id to its end; before it come zeros. */
void grown_record_mend(uint8_t *record, size_t id_bytes);

#endif
