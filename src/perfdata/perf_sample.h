/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_SAMPLE_H
#define PERFDATA_PERF_SAMPLE_H

#include <clew/err.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "perfdata/perf_abi.h"
#include "perfdata/perf_attr.h"

/** A run of u64 words inside a record, in the file's byte order: read with perf_words_get(). */
struct perf_words {
	const uint8_t *data; /* borrowed from the record */
	uint32_t nr;
	bool swap;
};

static inline uint64_t perf_words_get(const struct perf_words *w, uint32_t i)
{
	return load_u64(w->data + 8 * (size_t)i, w->swap);
}

struct perf_read_value {
	uint64_t value, id, lost; /* id and lost as attr.read_format says, else 0 */
};

/** PERF_SAMPLE_READ, and the body of PERF_RECORD_READ. */
struct perf_read {
	uint64_t nr; /* values; 1 without PERF_FORMAT_GROUP */
	uint64_t time_enabled, time_running;
	struct perf_words words; /* of the values, perf_read_get() */
	uint64_t read_format;
};

struct perf_read_value perf_read_get(const struct perf_read *r, uint64_t i);

/** PERF_RECORD_READ: a counter's value at the end of a task (attr.inherit_stat). */
struct perf_read_record {
	uint32_t pid, tid;
	struct perf_read read;
};

/** @p body: the record without its header. @return CLEW_OK; CLEW_BAD_FILE: too short. */
enum clew_err perf_read_parse(struct bytes body, bool swap, const struct perf_attr *attr,
			      struct perf_read_record *ret);

/** One entry of a branch stack, as the kernel packs it. */
struct perf_branch {
	uint64_t from, to;
	uint64_t flags; /* bits 0-3 PERF_BRANCH_, 4-19 cycles, 20-23 type, 24-25 spec, 26-29
			 * new_type, 30-32 priv: numbered from the least significant bit on either
			 * host */
};

enum {
	PERF_BRANCH_MISPRED = 1 << 0,
	PERF_BRANCH_PREDICTED = 1 << 1, /* neither: the processor does not say */
	PERF_BRANCH_IN_TX = 1 << 2,
	PERF_BRANCH_ABORT = 1 << 3,
	PERF_BRANCH_CYCLES_SHIFT = 4,
	PERF_BRANCH_TYPE_SHIFT = 20,
};

/** perf's own, not the kernel's: a conditional branch that was not taken. */
#define PERF_BRANCH_NOT_TAKEN ((uint64_t)1 << 33)

/** Since the branch before; 0: not counted. */
static inline uint64_t perf_branch_cycles(uint64_t flags)
{
	return flags >> 4 & 0xffff;
}

/**
 * One sample, all fields of attr.sample_type decoded; pointers are into the record and live as long
 * as it. A field that sample_type does not have is 0, but for these, which are all ones when
 * unknown: ids, cpu, pid, tid, time. Order in the record: IDENTIFIER IP TID TIME ADDR ID STREAM_ID
 * CPU PERIOD READ CALLCHAIN RAW BRANCH_STACK REGS_USER STACK_USER WEIGHT DATA_SRC TRANSACTION
 * REGS_INTR PHYS_ADDR CGROUP DATA_PAGE_SIZE CODE_PAGE_SIZE AUX.
 */
struct perf_sample {
	uint64_t sample_type; /* which fields are there */
	uint64_t ip, time, addr, id, stream_id, period;
	uint32_t pid, tid, cpu;
	uint16_t misc; /* of the record: PERF_RECORD_MISC_ */
	bool swap;
	uint64_t weight, data_src, transaction, phys_addr, cgroup, data_page_size, code_page_size;
	uint32_t ins_lat_and_retire; /* WEIGHT_STRUCT: ins_lat in the low, retire latency in the
					high half */

	struct perf_words callchain; /* with PERF_CONTEXT_ marks */
	struct perf_read read;
	struct bytes raw; /* RAW: payload, size padded as the kernel did */
	struct {
		uint64_t nr, hw_idx;        /* hw_idx all ones when not recorded */
		struct perf_words words;    /* 3 words an entry: perf_branch_get() */
		struct perf_words counters; /* nr words with BRANCH_COUNTERS, else none */
	} branches;
	struct {
		uint64_t abi, mask;
		struct perf_words words; /* one a bit of mask, low first */
	} regs_user, regs_intr;
	struct {
		struct bytes data; /* the copied stack, from the stack pointer up */
		uint64_t dyn_size; /* bytes of it that are real */
	} stack_user;
	struct bytes aux;
};

/** The flags word is a bit-field, which a kernel of the other byte order fills from the other end.
 */
uint64_t perf_branch_flags_from_other_end(uint64_t v);

static inline struct perf_branch perf_branch_get(const struct perf_sample *s, uint64_t i)
{
	const struct perf_words *w = &s->branches.words;
	uint32_t at = (uint32_t)i * 3;
	struct perf_branch br = {perf_words_get(w, at), perf_words_get(w, at + 1),
				 perf_words_get(w, at + 2)};

	if ((__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != s->swap)
		br.flags = perf_branch_flags_from_other_end(br.flags);
	return br;
}

/**
 * Decode the body of a PERF_RECORD_SAMPLE. @p body: the record without its header. O(1) but for the
 * fields' own lengths (nothing is copied); no allocation.
 * @return CLEW_OK; CLEW_BAD_FILE: a count or size inside does not fit the record (then *ret is not
 * usable). Spec: Linux 7.3 include/uapi/linux/perf_event.h, comment at PERF_RECORD_SAMPLE.
 */
enum clew_err perf_sample_parse(struct bytes body, uint16_t misc, bool swap,
				const struct perf_attr *attr, struct perf_sample *ret);

/** The sample_id trailer of every other kernel record (attr.sample_id_all), or all ones where
 * unknown. */
struct perf_sample_id {
	uint64_t time, id, stream_id;
	uint32_t pid, tid, cpu;
	uint32_t size_bytes; /* of the trailer */
};

/** @return CLEW_OK, also without trailer; CLEW_BAD_FILE: the record is too short to hold one. */
enum clew_err perf_sample_id_parse(struct bytes body, bool swap, const struct perf_attr *attr,
				   struct perf_sample_id *ret);

/** Bytes of the trailer. */
uint32_t perf_sample_id_bytes(const struct perf_attr *attr);

/** Append the trailer of @p id, in the host's byte order; nothing where @p attr has none. */
void perf_sample_id_put(struct buf *b, const struct perf_attr *attr,
			const struct perf_sample_id *id);

/** Where a field stands in records of one attr. */
struct perf_field_pos {
	int8_t sample;  /* words from the start of a sample's body; -1: none */
	int8_t trailer; /* words back from the end of the other records; -1: none */
};

/**
 * Of the id, so that the attr can be found before the rest is read.
 * Same for all attrs of one file, or the file is unreadable (perf's rule).
 */
struct perf_field_pos perf_id_pos_of(const struct perf_attr *attr);

/** Of the time. */
struct perf_field_pos perf_time_pos_of(const struct perf_attr *attr);

#endif
