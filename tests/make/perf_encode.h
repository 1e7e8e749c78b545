/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_PERF_ENCODE_H
#define TESTS_MAKE_PERF_ENCODE_H

#include "make/perf_put.h"
#include "perfdata/perf_record.h"
#include "perfdata/perf_sample.h"

/*
 * The mirror of src/perfdata's parsers: values to bytes, written from the format's description
 * alone, so that encode and decode check each other. Byte runs in the values (words, links) are in
 * the byte order their own swap flag says; what comes out is in the order of the perf_put.
 */

/** What a record of a type says; the member is the one its parse function fills. */
union perf_view {
	struct perf_mmap mmap;                     /* MMAP, MMAP2 */
	struct perf_comm comm;                     /* COMM */
	struct perf_task task;                     /* FORK, EXIT */
	struct perf_lost lost;                     /* LOST, LOST_SAMPLES */
	struct perf_throttle throttle;             /* THROTTLE, UNTHROTTLE */
	struct perf_aux aux;                       /* AUX */
	struct perf_itrace_start itrace_start;     /* ITRACE_START */
	struct perf_aux_output_hw_id hw_id;        /* AUX_OUTPUT_HW_ID */
	struct perf_switch sw;                     /* SWITCH, SWITCH_CPU_WIDE */
	struct perf_namespaces namespaces;         /* NAMESPACES; links in the output's order */
	struct perf_ksymbol ksymbol;               /* KSYMBOL */
	struct perf_bpf_event bpf;                 /* BPF_EVENT */
	struct perf_cgroup cgroup;                 /* CGROUP */
	struct perf_text_poke text_poke;           /* TEXT_POKE */
	struct perf_callchain_deferred deferred;   /* CALLCHAIN_DEFERRED; ips likewise */
	struct perf_auxtrace_info auxtrace_info;   /* AUXTRACE_INFO; priv likewise */
	struct perf_auxtrace auxtrace;             /* AUXTRACE, without its payload */
	struct perf_auxtrace_error auxtrace_error; /* AUXTRACE_ERROR */
	struct perf_build_id_record build_id;      /* HEADER_BUILD_ID */
	struct perf_time_conv time_conv;           /* TIME_CONV */
	struct perf_id_index id_index;             /* ID_INDEX */
	struct perf_event_update event_update;     /* EVENT_UPDATE */
	struct perf_header_feature feature;        /* HEADER_FEATURE */
	struct bytes raw;                          /* every other type: the body as it is */
};

/** Has @p type a parse function of its own (else: raw)? */
bool perf_view_is_typed(uint32_t type);

/** The record that lies at the start of @p raw, as the reader would deliver it. */
struct perf_record perf_record_of(struct bytes raw, bool big);

/** Parse @p r by its type; CLEW_UNSUPPORTED with the body in raw where there is nothing to parse.
 */
enum clew_err perf_view_parse(const struct perf_record *r, union perf_view *ret);

/**
 * A whole record with header. @p misc: the bits beyond those the view implies (cpumode).
 * @p id: the trailer, left out when NULL, when @p attr has no sample_id_all, and on types from 64
 * on.
 */
void perf_encode_record(struct perf_put *p, uint32_t type, uint16_t misc, const union perf_view *v,
			const struct perf_attr *attr, const struct perf_sample_id *id);

/** A PERF_RECORD_SAMPLE with the fields of attr->sample_type out of @p s; misc is s->misc. */
void perf_encode_sample(struct perf_put *p, const struct perf_attr *attr,
			const struct perf_sample *s);

/** PERF_RECORD_READ. */
void perf_encode_read(struct perf_put *p, const struct perf_attr *attr, uint32_t pid, uint32_t tid,
		      const struct perf_read *r, const struct perf_sample_id *id);

/** @p bytes of the attr, as a kernel of the output's byte order lays it out; zeros beyond 144. */
void perf_encode_attr(struct perf_put *p, const struct perf_attr *attr, size_t bytes);

/** A record around a body. */
void perf_encode_raw(struct perf_put *p, uint32_t type, uint16_t misc, struct bytes body);

#endif
