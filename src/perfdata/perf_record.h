/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_RECORD_H
#define PERFDATA_PERF_RECORD_H

#include <clew/err.h>

#include "base/bytes.h"
#include "perfdata/perf_abi.h"

struct perf_block;

/** One record as it lies in the file, the pipe's buffer or the decompressed block; nothing is
 * copied. */
struct perf_record {
	const uint8_t *data; /* header included; lives as long as the block is held */
	uint32_t type;       /* enum perf_record_type; others are possible */
	uint16_t misc;       /* of MMAP2: without the bit for a build id where none is there */
	uint16_t size;       /* header included; as perf_grown_true_size() */
	bool swap;           /* the fields are in the other byte order */
	uint64_t offset;     /* in the file; for what was compressed, of the compressed record */
	struct perf_block
		*block;       /* NULL: the mapped file, always there. Else see perf_block_hold() */
	struct bytes payload; /* AUXTRACE: the trace bytes after the record; HEADER_TRACING_DATA:
				 its data */
};

static inline struct bytes perf_record_body(const struct perf_record *r)
{
	return (struct bytes){r->data + sizeof(struct perf_event_header), r->data + r->size};
}

/** @return a static word such as "MMAP2", or NULL for an undefined type. */
const char *perf_record_type_name(uint32_t type);

/*
 * The typed views. Each parse function takes the record, fills *ret with values and with pointers
 * into the record, and returns CLEW_OK or CLEW_BAD_FILE (too short, or a count or string runs over
 * the end). Strings are NUL-terminated inside the record (checked).
 */

struct perf_mmap { /* MMAP and MMAP2 */
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	const char *filename;
	bool is_mmap2, has_build_id, is_data; /* is_data: not executable (MMAP_DATA) */
	uint32_t maj, min, prot, flags;       /* MMAP2 only; else prot = 5 (r-x) */
	uint64_t ino, ino_generation;
	uint8_t build_id[20], build_id_bytes;
};
enum clew_err perf_mmap_parse(const struct perf_record *r, struct perf_mmap *ret);

struct perf_comm {
	uint32_t pid, tid;
	const char *comm;
	bool is_exec;
};
enum clew_err perf_comm_parse(const struct perf_record *r, struct perf_comm *ret);

struct perf_task { /* FORK and EXIT */
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
	bool is_recorders; /* of a task that ran already: it shares nothing with its parent */
};
enum clew_err perf_task_parse(const struct perf_record *r, struct perf_task *ret);

struct perf_lost {            /* LOST, LOST_SAMPLES */
	uint64_t id, lost;    /* id all ones for LOST_SAMPLES */
	bool is_bpf_filtered; /* not lost: a BPF filter of the recorder did not want them */
};
enum clew_err perf_lost_parse(const struct perf_record *r, struct perf_lost *ret);

struct perf_throttle { /* THROTTLE, UNTHROTTLE */
	uint64_t time, id, stream_id;
};
enum clew_err perf_throttle_parse(const struct perf_record *r, struct perf_throttle *ret);

struct perf_aux { /* AUX */
	uint64_t offset, size, flags;
};
enum clew_err perf_aux_parse(const struct perf_record *r, struct perf_aux *ret);

struct perf_itrace_start {
	uint32_t pid, tid;
};
enum clew_err perf_itrace_start_parse(const struct perf_record *r, struct perf_itrace_start *ret);

struct perf_aux_output_hw_id {
	uint64_t hw_id;
};
enum clew_err perf_aux_output_hw_id_parse(const struct perf_record *r,
					  struct perf_aux_output_hw_id *ret);

struct perf_switch { /* SWITCH, SWITCH_CPU_WIDE */
	bool is_out, is_preempt, has_other;
	uint32_t next_prev_pid, next_prev_tid; /* SWITCH_CPU_WIDE: the other side */
};
enum clew_err perf_switch_parse(const struct perf_record *r, struct perf_switch *ret);

struct perf_namespaces {
	uint32_t pid, tid;
	uint64_t nr;
	struct bytes links; /* nr times u64 dev, u64 ino: net uts ipc pid user mnt cgroup */
};
enum clew_err perf_namespaces_parse(const struct perf_record *r, struct perf_namespaces *ret);

struct perf_ksymbol {
	uint64_t addr;
	uint32_t len;
	uint16_t ksym_type; /* 1 BPF, 2 out of line */
	uint16_t flags;     /* bit 0: unregister */
	const char *name;
};
enum clew_err perf_ksymbol_parse(const struct perf_record *r, struct perf_ksymbol *ret);

struct perf_bpf_event {
	uint16_t type, flags; /* 1 load, 2 unload */
	uint32_t id;
	uint8_t tag[8];
};
enum clew_err perf_bpf_event_parse(const struct perf_record *r, struct perf_bpf_event *ret);

struct perf_cgroup {
	uint64_t id;
	const char *path;
};
enum clew_err perf_cgroup_parse(const struct perf_record *r, struct perf_cgroup *ret);

struct perf_text_poke {
	uint64_t addr;
	uint16_t old_len, new_len;
	const uint8_t *bytes; /* old, then new */
};
enum clew_err perf_text_poke_parse(const struct perf_record *r, struct perf_text_poke *ret);

struct perf_callchain_deferred {
	uint64_t cookie, nr;
	const uint8_t *ips; /* nr words, load_u64() */
};
enum clew_err perf_callchain_deferred_parse(const struct perf_record *r,
					    struct perf_callchain_deferred *ret);

struct perf_auxtrace_info {
	uint32_t type; /* enum perf_auxtrace_type */
	uint64_t nr_priv;
	const uint8_t *priv; /* nr_priv words */
};
enum clew_err perf_auxtrace_info_parse(const struct perf_record *r, struct perf_auxtrace_info *ret);

struct perf_auxtrace {
	uint64_t size, offset, reference;
	uint32_t idx, tid, cpu; /* all ones: none */
};
enum clew_err perf_auxtrace_parse(const struct perf_record *r, struct perf_auxtrace *ret);

/** A key of the AUX area: it belongs to @p cpu, or where that is all ones, to @p tid. */
static inline uint64_t perf_auxtrace_ring(uint32_t cpu, uint32_t tid)
{
	return cpu != UINT32_MAX ? cpu : (uint64_t)tid << 32 | UINT32_MAX;
}

struct perf_auxtrace_error {
	uint32_t type, code, cpu, pid, tid, fmt;
	uint64_t ip, time;
	const char *msg;
	uint64_t machine_pid;
	uint32_t vcpu;
};
enum clew_err perf_auxtrace_error_parse(const struct perf_record *r,
					struct perf_auxtrace_error *ret);

struct perf_build_id_record { /* HEADER_BUILD_ID, and each entry of the BUILD_ID feature */
	uint32_t pid;         /* all ones: host kernel and its modules or user files alike */
	uint8_t build_id[20], build_id_bytes;
	const char *filename;
};
enum clew_err perf_build_id_parse(const struct perf_record *r, struct perf_build_id_record *ret);
/** The same without a pid, as perf before 2.6.36 wrote it into the header. */
enum clew_err perf_build_id_parse_old(const struct perf_record *r,
				      struct perf_build_id_record *ret);

struct perf_time_conv {
	uint64_t shift, mult, zero, cycles, mask; /* cycles, mask: 0 / all ones in old records */
	bool has_zero, is_short;
};
enum clew_err perf_time_conv_parse(const struct perf_record *r, struct perf_time_conv *ret);

struct perf_id_index_entry {
	uint64_t id, idx, cpu, tid, machine_pid, vcpu;
};
struct perf_id_index {
	uint64_t nr;
	const uint8_t *entries, *entries_2; /* 32 and 16 bytes each; entries_2 may be NULL */
	bool swap;
};
enum clew_err perf_id_index_parse(const struct perf_record *r, struct perf_id_index *ret);
struct perf_id_index_entry perf_id_index_get(const struct perf_id_index *x, uint64_t i);

struct perf_event_update {
	uint64_t type, id; /* type 0 unit, 1 scale, 2 name, 3 cpus */
	struct bytes data;
};
enum clew_err perf_event_update_parse(const struct perf_record *r, struct perf_event_update *ret);

struct perf_header_feature {
	uint64_t feature;
	struct bytes data;
};
enum clew_err perf_header_feature_parse(const struct perf_record *r,
					struct perf_header_feature *ret);

#endif
