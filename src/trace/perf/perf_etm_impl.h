/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_PERF_ETM_IMPL_H
#define TRACE_PERF_PERF_ETM_IMPL_H

#include "analyze/ana_impl.h"
#include "packet/coresight/cs_frame.h"
#include "trace/perf/perf_etm.h"

/* Inside of perf_etm.h: perf_etm.c opens and runs it; the parts below are one file each. */

enum {
	PE_NONE = UINT32_MAX, /* no such cpu, tid, index */
	PE_MAX_CPUS = 1 << 16,
	PE_MAX_CHUNKS = 16 << 20,    /* AUX records, */
	PE_MAX_BUFFERS = 16 << 20,   /* AUXTRACE records, */
	PE_MAX_SWITCHES = 4 << 20,   /* context switches that are kept */
	PE_MAX_HELD_BYTES = 1 << 30, /* trace of a pipe, which is kept until it is decoded */
	PE_TABLE_BYTES = 96,         /* an entry's part of a table that doubles */
	PE_FORMAT_RAW = 0x100        /* of an AUX record's flags: one source's bytes, not frames */
};

/* --- perf_etm_meta.c: the trace units, as AUXTRACE_INFO and AUX_OUTPUT_HW_ID tell them --- */

/** Which register the trace carries a thread's number in, if any. */
enum pe_pid_format { PE_PID_NONE, PE_PID_CID, PE_PID_CID2 };

struct pe_cpu {
	uint32_t cpu;
	bool is_etm3;
	struct etm_regs regs;
	int64_t ts_source; /* TRFCR.TS: 1 is the virtual counter; -1: not told */
	bool has_id;       /* AUX_OUTPUT_HW_ID told regs.traceidr, */
	uint32_t sink;     /* and maybe where it went; 0: not told */
};

struct pe_meta {
	bool is_there;
	uint64_t version;
	bool has_ids; /* of some CPU */
	struct {
		VEC(struct pe_cpu);
	} cpus;
};

enum clew_err pe_meta_take_info(struct pe_meta *m, const struct perf_record *r,
				struct clew_diag *diag);
enum clew_err pe_meta_take_hw_id(struct pe_meta *m, uint32_t cpu, uint64_t hw_id);
struct pe_cpu *pe_meta_cpu(const struct pe_meta *m, uint32_t cpu);

/* --- perf_etm_guest.c: virtual machines, each named by the number of its host process --- */

enum {
	PE_GUEST_FIRST = 0xc0000000u, /* pids and tids of guests in the history: no host has such */
	PE_GUEST_KERNEL_PID = UINT32_MAX,
	PE_MAX_GUEST_IDS = 1 << 24
};

struct pe_guests {
	struct budget_account account;
	struct map_u64 by_event; /* an event's id -> its machine */
	struct map_u64 numbers;  /* (machine, pid or tid there) -> its number */
	struct {
		VEC(uint32_t); /* the pid or tid there */
	} ids;
};

enum clew_err pe_guests_take_ids(struct pe_guests *g, const struct perf_record *r);
/** 0: the host's. */
uint32_t pe_guests_machine(const struct pe_guests *g, uint64_t event);
/** Its number in the history, made where it has none. PE_NONE: too many, or no memory. */
uint32_t pe_guests_number(struct pe_guests *g, uint32_t machine, uint32_t id);
/** PE_NONE: nothing was told of it. */
uint32_t pe_guests_find(const struct pe_guests *g, uint32_t machine, uint32_t id);
static inline bool pe_is_guest_number(uint32_t number)
{
	return number >= PE_GUEST_FIRST && number != PE_NONE;
}
void pe_guests_done(struct pe_guests *g);

/* --- perf_etm_history.c: threads, spaces and what ran where, over time --- */

/** A mapping of code; only these are kept. */
struct pe_map {
	struct who_map map;
	struct ana_place *place; /* NULL: not looked up yet */
	bool is_kernel;
};

/** Mappings of one space, from one replacement of code to the next: it only grows. */
struct pe_maps {
	uint32_t refs; /* spaces that have it now: above 1, who adds to it takes a copy */
	struct {
		VEC(struct pe_map *);
	} v; /* by address, disjoint */
};

struct pe_version {
	uint32_t maps;
	uint32_t before; /* what the exec before it replaced; PE_NONE */
	uint64_t time;   /* patches up to here are in; later ones where nothing was before */
	const struct pe_patches *patches; /* NULL: none */
	bool is_kernel, is_guest;
};

/** An entry of a line of time: from here on. */
struct pe_event {
	uint64_t time;
	uint32_t value;
};
struct pe_line {
	VEC(struct pe_event);
};

struct pe_space {
	struct pe_line versions;
	struct pe_line execs; /* value: how many so far */
	uint32_t pid;         /* of the first process that had it */
};

struct pe_life { /* one use of a thread's number */
	uint64_t time;
	uint32_t pid, space;
};

struct pe_thread {
	uint32_t tid;
	struct {
		VEC(struct pe_life);
	} lives;
	struct pe_line comms; /* value: in texts */
};

/** A file that a compiler at run time wrote. */
struct pe_jit {
	uint32_t pid;
	const char *path;
	struct os_map map;
	struct pe_patches *patches; /* of all of the process's; NULL: another's entry has them */
};

struct pe_history {
	struct arena memory;
	struct intern texts;
	struct map_u64 by_tid; /* -> threads */
	struct map_u64 by_pid; /* -> the space it has at the end of what was read */
	struct {
		VEC(struct pe_thread);
	} threads;
	struct {
		VEC(struct pe_space);
	} spaces;
	struct {
		VEC(struct pe_version);
	} versions;
	struct {
		VEC(struct pe_maps);
	} maps;
	struct map_u64 by_cpu; /* -> cpus */
	struct {
		VEC(struct pe_line); /* value: the tid that runs from here on; PE_NONE */
	} cpus;
	struct pe_patches *pokes; /* of the kernel; NULL: none */
	struct {
		VEC(struct pe_jit);
	} jits;
	size_t nr_slots, nr_switches, nr_taken;
	uint32_t kernel; /* its space */
	struct budget_account account;
	bool is_cut;
	uint64_t cut_at; /* is_cut: the budget had no room for what came from here on */
};

/** Is all known that was told of @p time? */
static inline bool pe_history_knows(const struct pe_history *h, uint64_t time)
{
	return !h->is_cut || time < h->cut_at;
}

/** @p budget: NULL: no limit. */
enum clew_err pe_history_init(struct pe_history *h, struct budget *budget);
/** A record of @p time was taken: charge what it made the history grow by. Where there is no room
 * that is the last one. */
void pe_history_charge(struct pe_history *h, uint64_t time);
void pe_history_done(struct pe_history *h);

enum clew_err pe_history_mmap(struct pe_history *h, uint64_t time, bool is_kernel,
			      const struct perf_mmap *m);
enum clew_err pe_history_comm(struct pe_history *h, uint64_t time, const struct perf_comm *c);
enum clew_err pe_history_fork(struct pe_history *h, uint64_t time, const struct perf_task *t);
/** @p tid runs on @p cpu from here on; PE_NONE: nobody knows who. */
enum clew_err pe_history_run(struct pe_history *h, uint64_t time, uint32_t cpu, uint32_t pid,
			     uint32_t tid);

enum clew_err pe_history_poke(struct pe_history *h, uint64_t time, const struct perf_text_poke *t);
/** All is told: read what compilers wrote. @p has_clock: the recording's clock is theirs. */
enum clew_err pe_history_close(struct pe_history *h, const struct dso_store_opts *opts,
			       bool has_clock);

/** Its life at @p time; the first one before that. NULL: no such thread. */
const struct pe_life *pe_history_life(const struct pe_history *h, uint32_t tid, uint64_t time);
const char *pe_history_comm_of(const struct pe_history *h, uint32_t tid, uint64_t time);
/** The only thread that ran on @p cpu in (@p from, @p to]; PE_NONE: several, or not told. */
uint32_t pe_history_runner(const struct pe_history *h, uint32_t cpu, uint64_t from, uint64_t to);

struct pe_map *pe_maps_find(const struct pe_maps *m, uint64_t addr);

/** The last entry no later than @p time; NULL: none. */
const struct pe_event *pe_line_at(const struct pe_line *l, uint64_t time);
bool pe_line_add(struct pe_line *l, uint64_t time, uint32_t value);

/* --- perf_etm_patch.c: code that was told byte by byte --- */

struct pe_patch {
	uint64_t start, end, time; /* from then on */
	const uint8_t *bytes;      /* of start; NULL: none any more */
	const uint8_t *old;        /* what was there before; NULL: not told */
	uint32_t order;
	bool replaces; /* other code, after pe_patches_close() */
};

struct pe_segment {
	uint64_t start, end;
	uint32_t first, nr; /* of refs */
};

struct pe_patches {
	struct {
		VEC(struct pe_patch); /* in the end by time */
	} all;
	struct {
		VEC(struct pe_segment); /* by address, disjoint */
	} segments;
	uint32_t *refs; /* of each segment, its patches by time */
};

struct pe_patches *pe_patches_new(void);
void pe_patches_free(struct pe_patches *p);
enum clew_err pe_patches_poke(struct pe_patches *p, struct arena *memory, uint64_t time,
			      const struct perf_text_poke *t);
/** A jitdump file, whose map is the caller's to close. @p has_clock: its clock is the recording's.
 * A file that is not there, or of others, is none. */
enum clew_err pe_patches_dump(struct pe_patches *p, const char *path, bool is_forced,
			      bool has_clock, struct os_map *ret_map);
enum clew_err pe_patches_close(struct pe_patches *p);

enum pe_patched {
	PE_NOT_PATCHED, /* *ret is the stretch around without patches, no bytes */
	PE_PATCHED,
	PE_NEW_LATER, /* by a patch later than @p time; nothing is known to have been there before
		       */
	PE_REMOVED
};
enum pe_patched pe_patches_find(const struct pe_patches *p, uint64_t time, uint64_t addr,
				struct code_region *ret);

/* --- perf_etm_queue.c: which bytes are trace --- */

struct pe_buffer { /* AUXTRACE */
	uint64_t offset;
	const uint8_t *data;
	uint64_t bytes;
	uint64_t at; /* of data in the file */
	uint32_t queue;
	uint32_t order; /* in the file */
};

/** An AUX record: what was traced up to its time, since the one before it. */
struct pe_chunk {
	uint64_t time, since;   /* bound of what ran; of the chunk before it */
	uint64_t offset, bytes; /* in the ring */
	uint64_t at;            /* of the record in the file */
	uint32_t queue, buffer; /* first that holds some of it; PE_NONE: no trace is there */
	uint32_t cpu, tid;      /* where the record was written */
	uint32_t flags;
	uint32_t order; /* in the file */
	uint64_t event; /* its id */
};

static inline bool pe_chunk_is_raw(const struct pe_chunk *c)
{
	return c->flags & PE_FORMAT_RAW;
}

struct pe_queues {
	struct map_u64 by_key;   /* (cpu, tid) -> queue */
	struct map_u64 by_event; /* an event's id -> its key there */
	uint32_t nr;
	bool has_cpus;  /* rings of CPUs, not of threads, */
	bool is_of_all; /* and of whoever ran there */
	struct {
		VEC(struct pe_buffer);
	} buffers; /* in the end by queue and offset */
	struct {
		VEC(struct pe_chunk);
	} chunks; /* in the end by time */
	struct {
		VEC(struct perf_block *);
	} held;
	uint64_t held_bytes;
	struct budget_account account;
	bool is_full; /* it had no room: later trace is not decoded */
};

enum clew_err pe_queues_take_ids(struct pe_queues *q, const struct perf_record *r);
enum clew_err pe_queues_take_buffer(struct pe_queues *q, const struct perf_record *r,
				    struct clew_diag *diag);
enum clew_err pe_queues_take_aux(struct pe_queues *q, const struct perf_record *r,
				 const struct perf_sample_id *id, uint64_t time);
/** All is there: find each chunk's trace. O(n log n). */
enum clew_err pe_queues_close(struct pe_queues *q);
void pe_queues_done(struct pe_queues *q);

/* --- perf_etm_read.c: all records but the trace itself --- */

struct perf_etm;
enum clew_err pe_read(struct perf_etm *p, struct clew_diag *diag);
bool pe_is_monotonic(const struct perf_etm *p);

/* --- perf_etm_code.c: code_source --- */

/** Space numbers: 4 * version + how to look beyond it. The first versions have no code at all: */
enum pe_no_code {
	PE_NO_THREAD, /* nobody told whose code it is */
	PE_NO_PROCESS,
	PE_GUEST,
	PE_GUEST_UNTOLD, /* nothing tells which guest's, */
	PE_GUEST_THREAD, /* or which of its threads' */
	PE_FIRMWARE,
	PE_NOT_KEPT, /* later than the budget had room for */
	PE_NR_NO_CODE
};

struct pe_unit_code {
	struct perf_etm *owner;
	uint32_t unit;
	struct code_source source;
};

uint32_t pe_code_space(void *ctx, const struct code_key *key);
bool pe_code_find(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret);
const char *pe_code_why(void *ctx, uint32_t space, uint64_t addr);
/** What runs at a level of the unit: is it a guest's? */
bool pe_is_guest(const struct perf_etm *p, uint32_t unit, uint8_t el, uint8_t upper_el,
		 bool has_vmid, uint32_t vmid);
const struct ana_loc *pe_code_locate(struct perf_etm *p, uint32_t space, uint64_t addr);

/* --- perf_etm_thread.c: whose code it was --- */

/** What of an instant is known: it ran after @p from, and no later than @p to. */
struct pe_span {
	uint64_t from, to;
	bool is_ticks;                /* by the trace's own time, which is @p from */
	const struct pe_chunk *chunk; /* NULL: not known */
};
struct pe_span pe_span_of(const struct perf_etm *p, uint32_t unit, uint64_t ticks, uint64_t bound);
uint64_t pe_span_time(const struct pe_span *s);
/** PE_NONE: nobody told. */
uint32_t pe_tid_of(const struct perf_etm *p, uint32_t unit, const struct pe_span *s, bool has_cid,
		   uint32_t cid, bool has_vmid, uint32_t vmid);
bool pe_time(const struct perf_etm *p, uint32_t unit, uint64_t ticks, uint64_t *ret_ns);

/* --- perf_etm_run.c: the bytes of each unit --- */

enum clew_err pe_run(struct etm_trace *t, const struct etm_sink *sink, struct clew_diag *diag);
/** A lane is a row of rings that hold trace of one unit, directly or by others of the row. */
struct etm_steps *pe_steps_new(struct etm_trace *t, const struct etm_sink *sink);
size_t pe_steps_lanes(const struct etm_steps *s);
enum clew_err pe_step(struct etm_steps *s, size_t lane);
void pe_steps_free(struct etm_steps *s);

/* --- perf_etm.c --- */

struct pe_unit {
	uint32_t cpu_index; /* in meta */
	enum pe_pid_format pid_format;
	char name[24];
};

struct perf_etm {
	struct etm_trace trace;
	struct analyze *a; /* its file, dsos and build ids; never run */
	struct pe_meta meta;
	struct pe_history history;
	struct pe_guests guests;
	struct pe_queues queues;
	struct perf_time_conv time_conv;
	uint64_t nr_records; /* stands in for time where records have none */
	bool has_time_conv, has_clock, is_of_tasks;
	struct {
		VEC(struct etm_unit);
	} units;
	struct pe_unit *more;         /* of each unit */
	struct pe_unit_code *sources; /* of each unit */
	struct map_u64 by_id, by_cpu; /* (sink, trace ID), cpu -> unit */
	struct os_lock *lock;         /* of all that a look at code may load */
	struct map_u64 locs;          /* hash of (place, address) -> struct ana_loc * */
};

#endif
