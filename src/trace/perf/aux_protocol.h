/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_AUX_PROTOCOL_H
#define TRACE_PERF_AUX_PROTOCOL_H

#include "image/code_source.h"
#include "perfdata/perf_record.h"
#include "trace/perf/aux_chunks.h"
#include "trace/perf/aux_index.h"
#include "who/who_way.h"

/*
 * What a trace protocol has of its own in a recording: how its units are described, how the bytes
 * of a ring become those of units, and what its contexts say of who runs. All else (chunks,
 * streams, history, threads, code) is common. A protocol is one struct of these, in units_NAME.c,
 * and its line in aux_protocols.c.
 */

struct perf_trace;
struct trace_steps;
struct aux_stream;

/** Who runs, as far as a context of the trace says. */
struct aux_who {
	bool is_user;
	bool is_firmware; /* or of a world that has no records: no code of it is known */
	bool is_guest;    /* of x86: a guest's, and nothing says which */
	bool has_el1, has_el2;
	uint32_t el1, el2;  /* CONTEXTIDR of these levels */
	struct who_way way; /* of operations: only of what a branch led to */
};

/** Of an enum code_landmark. */
static inline enum who_entry aux_entry_of(uint8_t landmark)
{
	switch ((enum code_landmark)landmark) {
	case CODE_ENTERS_GUEST:
		return WHO_ENTRY_OF_GUEST;
	case CODE_NO_LANDMARK:
	case CODE_SWITCHES:
		return WHO_ENTRY_OF_HOST;
	case CODE_LANDMARK_UNKNOWN:
		break;
	}
	return WHO_ENTRY_UNKNOWN;
}

struct aux_protocol {
	enum perf_auxtrace_type type;
	enum code_arch arch;
	bool takes_uncovered; /* also decodes bytes of buffers that no AUX record describes */
	bool continues;       /* what two AUX records describe is one trace, if nothing is between;
				 it has its own times, or none */
	uint32_t formats;     /* bits of PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK that take() knows */

	/** Of one recording. @return NULL: no memory. */
	void *(*units_new)(void);
	void (*units_free)(void *units);

	/* Records */

	/** @p info of @p r, the first of this type. */
	enum clew_err (*take_info)(void *units, const struct perf_record *r,
				   const struct perf_auxtrace_info *info, struct clew_diag *diag);
	/** attr.type of its events. @return false: unknown. NULL: always. */
	bool (*pmu_type)(const void *units, uint32_t *ret);
	/** How ticks convert, of a recording without TIME_CONV. @return false: unknown. NULL: it
	 * never says. */
	bool (*time_conv)(const void *units, struct perf_time_conv *ret);
	/** AUX_OUTPUT_HW_ID that was written on @p cpu; NULL: it has none. An ID that is not
	 * understood is ignored. */
	void (*take_hw_id)(void *units, uint32_t cpu, uint64_t hw_id);
	/** All records are read: perf_trace_add_unit() for each. @return false: no memory. */
	bool (*add_units)(void *units, struct perf_trace *p);

	/* Questions about a unit, by its number among the protocol's, from any thread */

	struct aux_who (*who)(const void *units, uint32_t unit, const struct code_context *c);
	/** Before has_ids(): search the trace for ids. The protocol's units are numbered from @p
	 * first. @return false: no memory. NULL with kernel_level. */
	bool (*find_ids)(void *units, struct perf_trace *p, uint32_t first);
	/** Does the trace of the unit have ids of the host's threads? NULL with kernel_level. */
	bool (*has_ids)(const void *units, uint32_t unit);
	/** The level of the host's kernel, by the unit's configuration. NULL: the unit does not
	 * trace everything that runs. */
	enum who_level (*kernel_level)(const void *units, uint32_t unit);
	/** Ticks of the unit's timestamps -> perf's clock. @return false: they do not convert. */
	bool (*time)(const void *units, uint32_t unit, const struct perf_time_conv *conv,
		     struct clew_ticks ticks, struct clew_perf_ns *ret);
	/** Where decoding can begin, in bytes of a ring: the first place from @p from on. @return
	 * false: there is none. NULL: no trace is skipped. */
	bool (*find_sync)(const void *units, struct bytes in, size_t from, struct aux_found *ret);
	/** Ticks at a place with @p stamp; @p before: those of the place before it, 0: none. */
	uint64_t (*sync_ticks)(const void *units, uint64_t stamp, uint64_t before);
	/** May trace of other CPUs' units be in it, too? */
	bool (*is_shared)(const struct aux_chunk *c);

	/* One pass over the trace: aux_streams.h */

	size_t pass_bytes; /* of what it keeps for a pass, aux_streams_own(): zeroed */
	/** What reads one stream. @return NULL: no memory. */
	void *(*reader_new)(struct trace_steps *r);
	void (*reader_free)(void *reader);
	/** The next byte, which is at @p offset of the file, does not continue the last one. */
	void (*restart)(void *reader, uint64_t offset);
	/** Give what @p in, at @p offset of the file, holds of each unit: aux_streams_give(). */
	enum clew_err (*take)(struct trace_steps *r, struct aux_stream *s, struct bytes in,
			      uint64_t offset);
	/** A pass over everything, in one stream, has ended. NULL: nothing is left to do. */
	enum clew_err (*end)(struct trace_steps *r, struct aux_stream *s);
};

/** A protocol of the recording, and its units: [first, first + nr) of the input's. */
struct aux_units {
	const struct aux_protocol *protocol;
	void *units;
	uint32_t first, nr;
};

enum { AUX_MAX_PROTOCOLS = 4 /* in one recording */ };

extern const struct aux_protocol units_etm, units_spe, units_pt;

/** NULL: not decoded. */
const struct aux_protocol *aux_protocol_of(uint32_t type);

#endif
