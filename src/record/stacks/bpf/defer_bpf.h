/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_BPF_DEFER_BPF_H
#define RECORD_STACKS_BPF_DEFER_BPF_H

#include "record/plan/rec_error.h"
#include "unwind/unw_walk.h"

/*
 * User stacks read in BPF. A program on every sampling event notes the sample's cookie; on the
 * task's way back to user mode a task work walks its stack with the tables below, once an entry.
 * (is_immediate: it is walked at the sample, without faulting pages in: older kernels.)
 * This file knows nothing of perf.data: defer_join.h brings both together.
 *
 * Wanted: Linux >= 6.18 with BTF (is_immediate: >= 5.17), CAP_BPF + CAP_PERFMON.
 */
struct defer_bpf;

struct defer_bpf_opts {
	bool is_immediate;
	uint32_t max_stack;  /* frames; the largest that any event asked for */
	uint32_t nr_cpus;    /* possible CPUs */
	uint32_t max_tasks;  /* 0: chosen */
	size_t ring_bytes;   /* 0: chosen */
	size_t table_bytes;  /* limit of all tables in the kernel; 0: 256 MiB */
	int32_t clockid;     /* CLOCK_MONOTONIC, CLOCK_BOOTTIME or CLOCK_TAI: times below */
	bool is_system_wide; /* false: requests only from tasks that have perf events */
};

/** A sample was taken: it precedes the sample's own record on this CPU. */
struct defer_request {
	uint64_t time;   /* ns of opts.clockid; not after the sample's */
	uint64_t cookie; /* perfdata/perf_deferred.h; low half 0: why there is none */
	uint32_t tid, cpu;
	uint32_t event; /* as given to defer_bpf_attach() */
};

/** A user stack. Pointers live during the call. */
struct defer_stack {
	uint64_t time, cookie;
	uint32_t pid, tid, cpu;
	const uint64_t *ips;
	const uint8_t *methods; /* enum unw_origin */
	uint32_t nr;
	uint8_t stop, why; /* enum unw_stop, enum unw_why */
	/* UNW_STOP_NO_TABLE_YET or _MAPS_BUSY with a copy: the walk can be ended in user space from
	 * here. regs is the state of the last frame, its pc = ips[nr - 1]. NULL: none. */
	const struct unw_regs *regs;
	const uint8_t *stack;
	uint64_t stack_start;
	size_t stack_bytes;
};

/** Identity of a mapped file in the kernel's terms; opaque to user space. */
struct defer_file_key {
	uint64_t word[4];
};

/** The vdso, which has no file. */
static inline bool defer_key_is_vdso(const struct defer_file_key *k)
{
	return !k->word[0] && !k->word[1] && k->word[2] == 1 && !k->word[3];
}

/** Size and time of change of the file, as stat() gives them for the same file. */
static inline void defer_key_file(const struct defer_file_key *k, uint64_t *ret_size,
				  uint64_t *ret_mtime_ns)
{
	*ret_size = k->word[2];
	*ret_mtime_ns = k->word[3];
}

/** Code without a table was met in this task: open /proc/PID/map_files/START-END (or the path). */
struct defer_want {
	struct defer_file_key key;
	uint32_t pid;
	uint64_t start, end; /* of the mapping */
};

struct defer_sink {
	void (*request)(void *ctx, const struct defer_request *r);
	void (*stack)(void *ctx, const struct defer_stack *s);
	void (*want)(void *ctx, const struct defer_want *w);
	void *ctx;
};

struct defer_counts {
	uint64_t nr_requests;            /* samples seen by the program */
	uint64_t nr_entries;             /* cookies given */
	uint64_t nr_stacks;              /* walks ended */
	uint64_t nr_refused;             /* the kernel did not take the task work */
	uint64_t nr_map_full;            /* no room for the task */
	uint64_t nr_ring_full;           /* a record found no room */
	uint64_t nr_kernel_tasks;        /* requests of tasks without user space */
	uint64_t nr_at_once;             /* stacks walked at the sample, not put off */
	uint64_t nr_late;                /* entries without a stack: user mode ran first */
	uint64_t nr_no_scratch;          /* the same: no memory to walk in */
	uint64_t nr_no_copy;             /* stacks that lacked a table and have no whole copy */
	uint64_t nr_tables, table_bytes; /* in the kernel now */
	uint64_t nr_evicted;
};

/**
 * Load the programs. Nothing is attached yet.
 * @return CLEW_UNSUPPORTED with a sentence that names what the kernel lacks; CLEW_OS with errno.
 */
enum clew_err defer_bpf_open(struct defer_bpf **ret, const struct defer_bpf_opts *o,
			     struct rec_error *error);
void defer_bpf_free(struct defer_bpf *d);

/** What makes an event's samples. */
enum defer_source { DEFER_COUNTER, DEFER_KPROBE, DEFER_UPROBE };

/** Run the program on @p perf_fd, of a counter or a probe PMU. A counter's requests have the times
 * of their samples from Linux 6.3 on; all others of a moment before. */
enum clew_err defer_bpf_attach(struct defer_bpf *d, int perf_fd, uint32_t event,
			       enum defer_source source, struct rec_error *error);

/** Run the program on all events of the tracepoint @p id (attr.config), by an event of our own: the
 * kernel takes a program away from a whole tracepoint as soon as an inherited event that holds it
 * ends, and waits there. @p ret_source: DEFER_COUNTER: neither kind of probe. */
enum clew_err defer_bpf_attach_tracepoint(struct defer_bpf *d, uint64_t id, uint32_t event,
					  enum defer_source *ret_source, struct rec_error *error);

/** Preload: list the executable mappings of the chosen processes (0 = all), as wants. */
enum clew_err defer_bpf_scan(struct defer_bpf *d, const int *pids, size_t nr,
			     const struct defer_sink *sink);

/** Give a file's table; CLEW_LIMIT: the budget is used up and nothing could be evicted. */
enum clew_err defer_bpf_put_table(struct defer_bpf *d, const struct defer_file_key *key,
				  const struct unw_code *code);
/** Tables of now and later are put together: the kernel is long in it. The walk does not know them
 * before the release. */
void defer_bpf_hold_tables(struct defer_bpf *d);
/** @return CLEW_OS: one of them could not be put. */
enum clew_err defer_bpf_release_tables(struct defer_bpf *d);
/** This file has no table: frame pointers, and do not ask again. */
enum clew_err defer_bpf_put_none(struct defer_bpf *d, const struct defer_file_key *key);

/** The file could not be found, as its process had ended: ask again when another one is met with
 * it, a few times. */
enum clew_err defer_bpf_put_later(struct defer_bpf *d, const struct defer_file_key *key);

/** Hand over everything that lies ready. What was requested before the call started and came from
 * a sample that had ended is among it. */
enum clew_err defer_bpf_poll(struct defer_bpf *d, const struct defer_sink *sink);
/** Do requests lie unread after a poll? Another CPU has begun to write a record and not finished,
 * and it hides those after it, or they are newer than the poll. */
bool defer_bpf_has_unread(const struct defer_bpf *d);
/** Becomes readable when there is much to poll; -1: none. */
int defer_bpf_fd(const struct defer_bpf *d);

/** No more requests are taken. Pending walks still come. */
void defer_bpf_stop(struct defer_bpf *d);

/** Tasks that still have a request pending, as a sleepable task iterator finds them: it walks those
 * that sleep in the kernel (their stacks come by @p sink, cookie and all). @return tasks left
 * over: their stack could not be read. */
size_t defer_bpf_finish(struct defer_bpf *d, const struct defer_sink *sink);

void defer_bpf_counts(const struct defer_bpf *d, struct defer_counts *ret);
/** One of them alone, for each pass: one system call, not one for each count. */
uint64_t defer_bpf_nr_ring_full(const struct defer_bpf *d);

#endif
