/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLEW_SESSION_H
#define CLEW_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/err.h>
#include <clew/time.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Read a perf.data file: samples in time order, each with its thread, its resolved address and call
 * chain. What the recording does not prove is unknown: NULL, or all ones in a number.
 *
 * Threads: a session is used by one thread at a time, which may be another each time; different
 * sessions are independent. Each function says what it allows: "one at a time": just that; "any":
 * also while another thread uses the session; "callback": also in the session's callbacks.
 *
 * Misuse is an error, never an end: NULL where it is not allowed, a pass in the middle of another
 * one, a positive result of a callback are CLEW_INVALID; functions that return a pointer return
 * NULL for NULL. Callbacks must not throw: C++ programs catch in them.
 *
 * Fork: allowed between calls; both processes may continue with what they have, and each frees it.
 *
 * Growth: structs that the library hands out are handed out by pointer, one pointer each, and later
 * versions append to them. Structs that the caller fills begin with their size.
 */
struct clew_session;

/** A file or what stands for one, such as [kernel.kallsyms]. The same binary has the same pointer,
 * until clew_session_free(). */
struct clew_binary;

/** A function or the like. The same symbol has the same pointer, until clew_session_free(). */
struct clew_symbol;

/** The level of the machine that code ran at. */
enum clew_level {
	CLEW_LEVEL_UNKNOWN,
	CLEW_LEVEL_USER,
	CLEW_LEVEL_KERNEL,
	CLEW_LEVEL_HYPERVISOR,
	CLEW_LEVEL_GUEST_USER,
	CLEW_LEVEL_GUEST_KERNEL,
};

/** One code address. */
struct clew_frame {
	uint64_t ip;      /* as recorded */
	uint64_t address; /* in the binary's terms: the offset in an ELF file, the address itself in
			     the kernel, in generated code and without a binary. Of generated code
			     that was moved or that other code took the place of, a number that is
			     the function's alone, comparable with clew_symbol_start() */
	const struct clew_binary *binary; /* NULL: no mapping covers ip */
	const struct clew_symbol *symbol; /* NULL: unknown */
	enum clew_level level;
	bool is_return; /* of a chain: where a call returns to. symbol is the call's, and a source
			   line is found at address - 1; the call may end its function */
};

/** @p b, @p s: NULL gives NULL and 0. Texts live until clew_session_free().
 * Thread: any, callback, all of these. */
CLEW_API const char *clew_binary_path(const struct clew_binary *b); /* as recorded */
CLEW_API const char *clew_binary_name(const struct clew_binary *b); /* without its directory */
/** @return NULL, and 0 bytes: unknown. */
CLEW_API const uint8_t *clew_binary_build_id(const struct clew_binary *b, size_t *ret_bytes);
CLEW_API const char *clew_symbol_name(const struct clew_symbol *s);      /* demangled */
CLEW_API const char *clew_symbol_link_name(const struct clew_symbol *s); /* of the symbol table */
/** [start, end), comparable with clew_frame.address. */
CLEW_API uint64_t clew_symbol_start(const struct clew_symbol *s);
CLEW_API uint64_t clew_symbol_end(const struct clew_symbol *s);

/** An event of the recording. Lives until clew_session_free(). */
struct clew_event {
	uint32_t index;         /* from 0 */
	uint32_t leader;        /* index of the group's leader; its own: leads, or stands alone */
	uint32_t nr_group;      /* members of the group that it leads, itself included; else 0 */
	uint32_t type;          /* perf_event_attr.type */
	uint64_t config;        /* perf_event_attr.config */
	uint64_t sample_type;   /* perf_event_attr.sample_type */
	uint64_t sample_period; /* or frequency */
	bool has_frequency;     /* sample_period is samples per second */
	const char *name;       /* "cycles:u", "sched:sched_switch"; never NULL */
	const char *unit;       /* NULL: none */
	const char *group_name; /* NULL: none */
	const uint64_t *ids;    /* that its records carry */
	size_t nr_ids;
	const void *attr; /* struct perf_event_attr of <linux/perf_event.h>, in the host's order */
	size_t attr_bytes;
};

/** A thread that has samples. Lives until clew_session_rewind() or clew_session_free(). */
struct clew_thread {
	uint32_t pid, tid; /* all ones: unknown */
	const char *comm;  /* at its last sample */
	uint64_t nr_samples;
};

/** The outcome of the user part of a sample's chain: exactly one for each sample. */
enum clew_user_stack {
	CLEW_USER_STACK_COMPLETE,      /* in the chain, up to the thread's outermost frame */
	CLEW_USER_STACK_NONE_EXPECTED, /* kernel only by nature */
	CLEW_USER_STACK_LOST,          /* missing */
	CLEW_USER_STACK_PARTIAL,       /* in the chain, and ends early: user_stack_stop */
	CLEW_USER_STACK_UNPROVEN,      /* in the chain; nothing shows whether it reaches the
					  outermost frame */
};

enum { /* struct clew_branch.flags */
       CLEW_BRANCH_MISPREDICTED = 1 << 0,
       CLEW_BRANCH_PREDICTED = 1 << 1, /* neither: the processor does not say */
       CLEW_BRANCH_IN_TRANSACTION = 1 << 2,
       CLEW_BRANCH_ABORT = 1 << 3,
};

/** An entry of a branch stack. */
struct clew_branch {
	const struct clew_frame *from, *to;
	uint32_t flags;  /* CLEW_BRANCH_ */
	uint32_t cycles; /* since the branch before; 0: not counted */
};

/**
 * Lives, with its frames and branches, for the call, or until the next clew_session_next().
 *
 * user_stack_reason, of none expected: "idle", "kernel-thread", "exiting", "not-asked". Of lost:
 * "no-record", "exit", "exec", "end", "buffer", "timeout", "empty", "map-full", "ring-full",
 * "refused", "unmatched", "late".
 *
 * user_stack_stop: "outermost": the thread's first frame. "fp-end": often that, which nothing
 * proves. Of stacks that are cut: "no-info", "no-table-yet", "no-mapping", "unrepresentable",
 * "register-unknown", "bad-cfa", "bad-ra", "stack-unreadable", "stack-truncated", "loop",
 * "max-depth", "exiting", "unsupported-registers", "mappings-busy", "uretprobe", "late"; of calls
 * in a trace: "trace-begin", "trace-lost", "trace-elsewhere", "trace-jump", "trace-switch".
 * clew-script(1) explains them; a later version may have more.
 */
struct clew_sample {
	struct clew_perf_ns time;
	uint64_t period;
	uint32_t pid, tid, cpu;
	const char *comm; /* lives until clew_session_rewind() or clew_session_free() */
	const struct clew_event *event;
	const struct clew_frame *leaf;         /* NULL: no address was sampled */
	const struct clew_frame *const *chain; /* innermost first; NULL: none was recorded */
	size_t nr_chain;
	enum clew_user_stack user_stack;
	const char *user_stack_reason; /* of none expected and of lost, see below; else "" */
	const char *user_stack_stop;   /* why it ends where it does, see below; NULL: unknown */
	const struct clew_frame *data; /* with wants_addresses: the address that the instruction
					  used; NULL: none */
	const struct clew_branch *const *branches; /* with wants_branches: latest first */
	size_t nr_branches;
	const char *cgroup; /* path; NULL: not recorded. Lives as comm does */
	const void *raw;    /* of a tracepoint, the payload; NULL: none. See clew_sample_fields() */
	size_t raw_bytes;
};

/** A field of a tracepoint's payload. */
enum clew_field_kind {
	CLEW_FIELD_SIGNED,
	CLEW_FIELD_UNSIGNED,
	CLEW_FIELD_TEXT,
	CLEW_FIELD_BYTES,
};
struct clew_field {
	const char *name;
	enum clew_field_kind kind;
	int64_t number;    /* SIGNED; UNSIGNED: its bits */
	const void *bytes; /* TEXT (without a NUL) and BYTES: within the payload */
	size_t nr_bytes;
};

/** What there was no room for within max_memory. */
struct clew_left_out {
	uint64_t limit;          /* bytes */
	uint64_t nr;             /* things omitted */
	uint64_t first_bytes;    /* of the first; 0: unknown */
	const char *first_what;  /* static words, such as "the debug sections of" */
	const char *first_input; /* the file it is of; "": the recording */
};

/** The outcome of one pass over a recording. */
struct clew_summary {
	uint64_t nr_samples;          /* delivered */
	uint64_t nr_lost;             /* records that the kernel could not write */
	uint64_t nr_bad;              /* samples that could not be read, or are of no event */
	uint64_t first_bad_offset;    /* in the file */
	uint64_t nr_late;             /* delivered after a newer one */
	uint64_t nr_without_symbol;   /* samples at an address without one */
	uint64_t nr_mappings_dropped; /* of processes with more than any real one has */
	struct clew_perf_ns first_time, last_time; /* of samples; all ones: there is none */
	uint64_t nr_aux_bytes;                     /* hardware trace in the file: <clew/trace.h> */
	uint64_t nr_aux_missing; /* bytes of trace that were recorded, in a file without any */
	/* Samples by the outcome of their user stacks. */
	uint64_t nr_user_complete, nr_user_partial, nr_user_unproven;
	uint64_t nr_user_none_expected, nr_user_lost;
	const char *kernel_note; /* a doubt about the kernel's symbols; NULL: none */
	const char *stacks_note; /* what is wrong with what the header keeps of user stacks ("is
				    damaged"); NULL: nothing */
	enum clew_err end;       /* what ended the pass. OK: all was read, or it continues;
				    TRUNCATED: the file ends inside a record, */
	uint64_t end_offset;     /* there; of other failures where they were met */
	const struct clew_left_out *left_out;
};

/** Zeroed but for size = defaults. Texts are borrowed until clew_session_free(). */
struct clew_session_opts {
	size_t size;           /* sizeof(struct clew_session_opts); 0 is refused */
	const char *symfs;     /* look for binaries under this folder */
	const char *vmlinux;   /* kernel image to take symbols from */
	const char *kallsyms;  /* instead of /proc/kallsyms */
	const char *build_ids; /* build-id directory, such as ~/.debug */
	uint64_t max_memory;   /* bytes, of what is unpacked or kept; 0: a quarter of the machine's
				  memory, or of what the control group may have */
	bool no_demangle;
	bool single_threaded;    /* make no thread: all work is done in the thread that calls */
	bool wants_branches;     /* resolve branch stacks */
	bool wants_addresses;    /* resolve the addresses of data */
	bool trusts_other_users; /* read perf-PID.map and jitdump files of other users */
	bool reserved[3];        /* zero; anything else is UNSUPPORTED */
};

/**
 * Open a file, of file or pipe format. @p opts may be NULL. Thread: any; it makes none.
 * @return CLEW_OS; CLEW_BAD_FILE; CLEW_TRUNCATED; CLEW_NO_MEMORY; CLEW_UNSUPPORTED: a perf.data
 * this version cannot read, or @p opts asks for what it does not know; CLEW_INVALID: opts->size is
 * not set or above 64 KiB, @p ret or @p path is NULL.
 * @p diag, if not NULL, has more.
 * Cost: the file's header and its feature sections, whatever its length; the file is mapped.
 */
CLEW_API CLEW_MUST_USE enum clew_err clew_session_open(struct clew_session **ret, const char *path,
						       const struct clew_session_opts *opts,
						       struct clew_diag *diag);

/** The same of an open descriptor, which stays the caller's and open: of a file, or of a stream in
 * pipe format (which can be read once). Thread: any. */
CLEW_API CLEW_MUST_USE enum clew_err clew_session_open_fd(struct clew_session **ret, int fd,
							  const struct clew_session_opts *opts,
							  struct clew_diag *diag);

/** The same of a recording in memory, borrowed until clew_session_free(). Thread: any. */
CLEW_API CLEW_MUST_USE enum clew_err clew_session_open_memory(struct clew_session **ret,
							      const void *data, size_t size,
							      const struct clew_session_opts *opts,
							      struct clew_diag *diag);

/**
 * Hand every sample to @p take, in time order; a pass of its own, from the first sample on. The
 * sample lives for the call. A result other than CLEW_OK ends the pass and is returned; a positive
 * one as CLEW_INVALID.
 *
 * Thread: one at a time. @p take is called from one thread, which is another than the caller's
 * unless single_threaded is set; clew_session_each() returns when the last call has.
 *
 * A file that was cut gives all that is whole, and then CLEW_TRUNCATED. CLEW_UNSUPPORTED: a second
 * pass over a stream. CLEW_INVALID: @p s or @p take is NULL, or this is called in @p take.
 * Cost: memory is bounded by the distinct binaries and threads, not by the file's length.
 */
CLEW_API CLEW_MUST_USE enum clew_err clew_session_each(
	struct clew_session *s, enum clew_err (*take)(void *ctx, const struct clew_sample *sample),
	void *ctx, struct clew_diag *diag);

/**
 * The next sample of this pass, in time order: the same that clew_session_each() hands out. *ret
 * lives until the next call. Thread: one at a time, in which all work is done.
 * @return CLEW_OK; CLEW_END: there is no more; CLEW_TRUNCATED: the same, of a file that was cut;
 * CLEW_BAD_FILE: a record of impossible size; CLEW_NO_MEMORY; CLEW_OS. These come again until
 * clew_session_rewind(), and @p diag is written with each of them, CLEW_END included. CLEW_INVALID:
 * an argument is NULL, or clew_session_each() or clew_session_read_events() has read all.
 * Cost: about a microsecond a sample, by the depth of its chain; records are read ahead to sort
 * them. Symbols of a binary are read with its first sample. Memory as clew_session_each().
 */
CLEW_API CLEW_MUST_USE enum clew_err clew_session_next(struct clew_session *s,
						       const struct clew_sample **ret,
						       struct clew_diag *diag);

/** Begin a new pass. Symbols, binaries and events stay as they are. @return CLEW_UNSUPPORTED: the
 * input is a stream; CLEW_NO_MEMORY; CLEW_OS; CLEW_INVALID: in the callback of
 * clew_session_each(). Thread: one at a time. */
CLEW_API CLEW_MUST_USE enum clew_err clew_session_rewind(struct clew_session *s,
							 struct clew_diag *diag);

/**
 * In pipe format events come with the first records, and their names may come later: read all of
 * it for its events alone, without samples. A file of the other format has them when it is open.
 * @return CLEW_OK; CLEW_TRUNCATED, CLEW_BAD_FILE: what was read before is there; CLEW_NO_MEMORY;
 * CLEW_OS. Thread: one at a time.
 */
CLEW_API CLEW_MUST_USE enum clew_err clew_session_read_events(struct clew_session *s,
							      struct clew_diag *diag);

/** Events, from 0; in pipe format those read so far. @return NULL: no such event.
 * Thread: one at a time, callback. */
CLEW_API const struct clew_event *clew_session_event(struct clew_session *s, size_t i);

/** Threads with samples, in the order of their first; those of this pass so far.
 * @return NULL: no such thread. Thread: one at a time. */
CLEW_API const struct clew_thread *clew_session_thread(const struct clew_session *s, size_t i);

/** Binaries that records named or samples ran in, so far. @return NULL: no such binary.
 * Thread: one at a time. */
CLEW_API const struct clew_binary *clew_session_binary(const struct clew_session *s, size_t i);

/** The outcome of the pass, complete when it is over. Lives until the next call of this function.
 * Thread: one at a time. */
CLEW_API const struct clew_summary *clew_session_summary(struct clew_session *s);

/** Hand each field of a tracepoint's sample to @p take, in their order, but for those that all
 * tracepoints have. Fields live for the call. @return CLEW_NOT_FOUND: the recording does not
 * describe them; what @p take returned. Thread: one at a time, callback. */
CLEW_API CLEW_MUST_USE enum clew_err clew_sample_fields(
	struct clew_session *s, const struct clew_sample *sample,
	enum clew_err (*take)(void *ctx, const struct clew_field *field), void *ctx);

/** Hand the names of a tracepoint's fields to @p take. Results as above.
 * Thread: one at a time. */
CLEW_API CLEW_MUST_USE enum clew_err clew_event_fields(
	struct clew_session *s, const struct clew_event *event,
	enum clew_err (*take)(void *ctx, const char *name), void *ctx);

/** NULL is fine. Thread: one at a time. */
CLEW_API void clew_session_free(struct clew_session *s);

#ifdef __cplusplus
}
#endif
#endif
