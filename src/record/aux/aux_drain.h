/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_AUX_AUX_DRAIN_H
#define RECORD_AUX_AUX_DRAIN_H

#include "os/perf/ring.h"
#include "perfdata/perf_writer.h"

/** What an AUX area traces; all ones: does not apply. */
struct rec_aux_place {
	uint32_t idx; /* of the ring: one queue for a decoder */
	uint32_t tid, cpu;
	uint64_t base; /* of the offsets: bytes of the areas before this one */
};

/** Write one AUXTRACE record with its bytes: @p offset is that of the first in the area's stream.
 */
enum clew_err rec_aux_put(struct perf_writer *w, const struct rec_aux_place *place, uint64_t offset,
			  const struct bytes part[2]);

/** The same, of a time: @p reference, in ticks of the trace, not 0. */
enum clew_err rec_aux_put_at(struct perf_writer *w, const struct rec_aux_place *place,
			     uint64_t offset, const struct bytes part[2], uint64_t reference);

/**
 * Write what lies unread in the AUX area as one AUXTRACE record with its bytes, and give the space
 * back. Nothing there: nothing written.
 * @return the writer's error; the trace then stays unread.
 */
enum clew_err rec_aux_drain(struct os_ring *r, const struct rec_aux_place *place,
			    struct perf_writer *w, uint64_t *bytes);

#endif
