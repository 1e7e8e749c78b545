/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_UNITS_ETM_H
#define TRACE_PERF_UNITS_ETM_H

#include "trace/cs_listener.h"
#include "trace/perf/aux_streams.h"
#include "trace/perf/units_etm_meta.h"

/* The trace units of cs_etm: units_etm.c answers for them, units_etm_frames.c takes the frames of a
 * buffer apart. */

/** Which register the trace carries a thread's number in, if any. */
enum etm_pid_format { ETM_PID_NONE, ETM_PID_CID, ETM_PID_CID2 };

struct units_etm {
	struct etm_meta meta;       /* unit n is that of cpus[n] */
	struct etm_config *configs; /* of each unit */
	enum etm_pid_format *formats;
	bool *lacks_ids;      /* etm_find_ids(): the trace lacks ids, despite formats */
	struct map_u64 by_id; /* (sink, trace ID) -> unit of the input */
};

enum { ETM_FORMAT_RAW = 0x100 }; /* of an AUX record's flags: one source's bytes, not frames */

static inline bool etm_is_raw(const struct aux_chunk *c)
{
	return c->flags & ETM_FORMAT_RAW;
}

static inline uint64_t etm_id_key(uint32_t sink, uint32_t id)
{
	return (uint64_t)sink << 8 | id;
}

/** Of units[0] to the last, which are @p first and so on of the input. @return false: no memory. */
bool etm_find_ids(void *units, struct perf_trace *p, uint32_t first);

/* --- units_etm_frames.c: as aux_protocol's --- */

/** What is kept for a pass. */
struct etm_pass {
	struct cs_leftover frames;
	enum clew_err seen_err; /* what the listener returned */
};

void *etm_reader_new(struct trace_steps *r);
void etm_reader_free(void *reader);
void etm_reader_restart(void *reader, uint64_t offset);
enum clew_err etm_reader_take(struct trace_steps *r, struct aux_stream *s, struct bytes in,
			      uint64_t offset);
enum clew_err etm_reader_end(struct trace_steps *r, struct aux_stream *s);

#endif
