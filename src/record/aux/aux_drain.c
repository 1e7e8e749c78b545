/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_drain.h"

#include "perfdata/perf_abi.h"

/* Spec: tools/lib/perf/include/perf/event.h, struct perf_record_auxtrace. */
struct auxtrace_record {
	struct perf_event_header header;
	uint64_t size;      /* of the trace that follows, with its padding */
	uint64_t offset;    /* of its first byte in the stream of this AUX area */
	uint64_t reference; /* a time; with 0 perf decodes nothing of Intel PT, and takes the upper
			       bits of its times from here */
	uint32_t idx, tid, cpu, reserved;
};
_Static_assert(sizeof(struct auxtrace_record) == 48, "layout of perf_record_auxtrace");

enum clew_err rec_aux_put(struct perf_writer *w, const struct rec_aux_place *place, uint64_t offset,
			  const struct bytes part[2])
{
	return rec_aux_put_at(w, place, offset, part, os_ring_aux_stamp());
}

enum clew_err rec_aux_put_at(struct perf_writer *w, const struct rec_aux_place *place,
			     uint64_t offset, const struct bytes part[2], uint64_t reference)
{
	const struct auxtrace_record record = {
		.header = {.type = PERF_RECORD_AUXTRACE, .size = sizeof(record)},
		.size = align_up(bytes_left(&part[0]) + bytes_left(&part[1]), 8),
		.offset = place->base + offset,
		.reference = reference,
		.idx = place->idx,
		.tid = place->tid,
		.cpu = place->cpu,
	};

	return perf_writer_auxtrace(w, &record, sizeof(record), part, 2);
}

enum clew_err rec_aux_drain(struct os_ring *r, const struct rec_aux_place *place,
			    struct perf_writer *w, uint64_t *bytes)
{
	struct bytes part[2];
	size_t size = r->aux ? os_ring_aux_peek(r, part) : 0;
	enum clew_err err;

	if (!size)
		return CLEW_OK;
	err = rec_aux_put(w, place, r->aux_tail, part);
	if (err != CLEW_OK)
		return err;
	os_ring_aux_consume(r, size);
	*bytes += size;
	return CLEW_OK;
}
