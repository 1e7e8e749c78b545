/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACE_PACKETS_DUMP_H
#define FORMAT_TRACE_PACKETS_DUMP_H

#include "format/json_put.h"
#include "format/trace/units_dump.h"

/*
 * Packets of a trace, as they are: nothing is followed, no code is looked at.
 *
 *	OFFSET INPUT [ID]  BYTES  NAME FIELDS
 *
 * OFFSET counts the unit's own bytes, INPUT those of the file they came from. Or as one JSON object
 * per line (docs/spec/dump-json.md), or only counted. How the input was cut makes no difference.
 */

struct packets_dump_place {
	uint64_t offset, bytes;
	unsigned int kind;
};

/** What a protocol has of its own. A reader is its decoder, with the packet that came last. */
struct packets_dump_type {
	size_t reader_bytes;
	unsigned int nr_kinds;
	unsigned int hex_columns, name_columns;
	bool has_ids; /* a unit is known by its trace ID, else by its name */
	bool (*is_of)(const struct trace_unit *u);
	/** "ETMv4.2" */
	void (*version)(struct buf *out, const struct trace_unit *u);
	const char *(*name)(unsigned int kind);
	/** The bytes of a kind that always has the same. NULL: there is none. */
	struct bytes (*same_bytes)(unsigned int kind);

	void (*init)(void *reader, const struct trace_unit *u);
	void (*reset)(void *reader, uint64_t offset);
	/** Offset of the first byte that no packet has had. */
	uint64_t (*offset)(const void *reader);
	/** CLEW_END: more input is needed; there is no other error. */
	enum clew_err (*next)(void *reader, struct bytes *in, struct packets_dump_place *ret);
	enum clew_err (*finish)(void *reader, struct packets_dump_place *ret);
	/** The fields of the last packet. */
	void (*text)(struct buf *out, const void *reader);
	void (*json)(struct json_put *j, const void *reader);
};

/**
 * Write the packets of each unit of the protocol. @p coresight: as trace_sink's.
 * @return what the run or the sink returned; CLEW_NO_MEMORY. *ret_is_any: there are such units.
 */
enum clew_err packets_dump(struct trace_input *t, const struct packets_dump_type *type,
			   const struct units_dump_opts *opts, const struct cs_listener *coresight,
			   const struct clew_sink *sink, struct clew_diag *diag, bool *ret_is_any);

#endif
