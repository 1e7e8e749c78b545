/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACE_ETM_DUMP_H
#define FORMAT_TRACE_ETM_DUMP_H

#include "base/sink.h"
#include "packet/etm/etm_packet.h"
#include "trace/trace_input.h"

/*
 * The packets of a CoreSight trace, as they are: nothing is followed, no code is looked at.
 *
 *	OFFSET INPUT ID  BYTES  NAME FIELDS
 *
 * OFFSET counts the unit's own bytes, INPUT those of the file they came from. Or as one JSON object
 * per line (docs/spec/dump-json.md), or only counted.
 */
struct etm_dump_opts {
	bool is_json, is_stat;
	const bool *skips; /* by unit; NULL: none */
	/* Which kinds are printed; counted in any case. NULL: all. NR_ETM_KINDS of them. */
	const bool *kinds;
	struct trace_listener listener;
};

/**
 * Write the packets of each unit that is decodable.
 * @return what the run or the sink returned; CLEW_NO_MEMORY.
 */
enum clew_err etm_dump(struct trace_input *t, const struct etm_dump_opts *opts,
		       const struct clew_sink *sink, struct clew_diag *diag);

/** The name of an enum etm_kind, for units_dump_kinds(). */
const char *etm_dump_kind(unsigned int kind);

#endif
