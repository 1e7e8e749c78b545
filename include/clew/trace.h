/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLEW_TRACE_H
#define CLEW_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/err.h>
#include <clew/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Follow a hardware trace back to what was executed: from a perf.data file, or from an OpenCSD
 * snapshot directory. This version decodes Arm's ETMv4 and ETE and Intel PT. Records of Arm SPE
 * are samples of operations and no path of execution: its units have no items.
 *
 * Each trace unit gives a stream of its own: ranges of executed instructions in order, and between
 * them events, of the processor and of the trace. Speculation is resolved, and a context or
 * timestamp stands before the first instructions it belongs to. What the trace does not prove is an
 * event that says so; nothing is omitted silently.
 *
 * Threads: as <clew/session.h>, a trace in place of a session.
 *
 * Misuse, fork and growth: as <clew/session.h>; arrays of structs come with the size of their
 * elements, and are walked with the functions below.
 */
struct clew_trace;

enum clew_isa {
	CLEW_ISA_UNKNOWN,
	CLEW_ISA_A64,
	CLEW_ISA_A32,
	CLEW_ISA_T32,
	CLEW_ISA_X86_16,
	CLEW_ISA_X86_32,
	CLEW_ISA_X86_64,
};

enum clew_arch { CLEW_ARCH_UNKNOWN, CLEW_ARCH_ARM, CLEW_ARCH_X86 };

enum clew_protocol {
	CLEW_PROTOCOL_UNKNOWN,
	CLEW_PROTOCOL_ETM,
	CLEW_PROTOCOL_ETE,
	CLEW_PROTOCOL_SPE,
	CLEW_PROTOCOL_INTEL_PT,
};

/** A trace unit: of one processor, or the buffer of one thread. Lives as long as the trace. */
struct clew_trace_unit {
	uint32_t id;         /* of its stream: CoreSight's trace ID; Intel PT: 0 */
	uint32_t cpu, tid;   /* all ones: unknown, not of one thread */
	uint32_t session;    /* the buffer its trace is in, from 0 */
	uint8_t protocol;    /* enum clew_protocol; UNKNOWN where it cannot be decoded */
	const char *name;    /* for messages */
	const char *why_not; /* it cannot be decoded; NULL: it can */
};

enum clew_security { CLEW_SECURE, CLEW_NONSECURE, CLEW_ROOT, CLEW_REALM };

/** As traced. */
struct clew_arm_context {
	uint8_t el;       /* exception level, 0 to 3 */
	uint8_t security; /* enum clew_security */
	bool is_64, has_cid, has_vmid;
	uint32_t cid, vmid; /* CONTEXTIDR, VMID or CONTEXTIDR_EL2 */
};

/** As traced. */
struct clew_x86_context {
	uint8_t bits;          /* 16, 32 or 64 */
	bool is_user, is_root; /* CPL 3; VMX root operation */
	bool has_cr3, has_vmcs;
	uint64_t cr3, vmcs;
};

/** Where and for which thread instructions ran. */
struct clew_trace_context {
	uint32_t pid, tid; /* all ones: the input does not prove which */
	const char *comm;  /* NULL: unknown. Lives as long as the trace */
	enum clew_arch arch;
	const struct clew_arm_context *arm; /* NULL: not of this architecture */
	const struct clew_x86_context *x86;
	/* With wants_who: who ran, and what proves it, as `clew script -F who` prints it, and as
	 * the object "who" of its JSON. NULL: nothing is known. Live as long as the batch. */
	const char *who, *who_json;
};

/** Executed instructions, one after the other in memory. */
struct clew_trace_range {
	uint64_t start, end; /* [start, end) */
	uint32_t nr_insns;
	uint32_t space;     /* of the addresses: for clew_trace_resolve() */
	uint8_t isa;        /* enum clew_isa */
	uint8_t last_bytes; /* of the last instruction; 0: unknown */
	bool is_whole;      /* it ends with a branch or the like; else something came between */
};

enum clew_trace_kind {
	CLEW_TRACE_PARTIAL,       /* range: it ends before a branch */
	CLEW_TRACE_CONTEXT,       /* of what follows: clew_trace_batch.context */
	CLEW_TRACE_ON,            /* tracing resumed after a gap; number 1: after an overflow */
	CLEW_TRACE_NO_SYNC,       /* trace was lost, or has not begun: number, text */
	CLEW_TRACE_NO_CODE,       /* execution reached start, where no code is known: text */
	CLEW_TRACE_UNKNOWN_PATH,  /* from start to end by an unknown path of number instructions
				     (0: unknown) */
	CLEW_TRACE_UNKNOWN_START, /* something ran up to end, from an unknown place */
	CLEW_TRACE_EXCEPTION,     /* number: the architecture's type; start: where it returns to */
	CLEW_TRACE_EXCEPTION_RETURN,
	CLEW_TRACE_FUNCTION_RETURN, /* of the M profile */
	CLEW_TRACE_RESET,           /* of the processor */
	CLEW_TRACE_TIMESTAMP,       /* value, in ticks of the trace's clock; 0: it has none */
	CLEW_TRACE_CYCLES,          /* value: since the last count; is_known */
	CLEW_TRACE_EVENT,           /* number: a bit for each of four */
	CLEW_TRACE_TS_MARKER,       /* of a timestamp that follows */
	CLEW_TRACE_INSTRUMENTATION, /* value: what software wrote, at exception level el */
	CLEW_TRACE_TRANSACTION, /* number: 0 in one at the start, 1 begun, 2 committed, 3 failed */
	CLEW_TRACE_UNSUPPORTED, /* number: header of a packet kind that is not decoded; once */
	CLEW_TRACE_END,         /* of this unit's trace */
	CLEW_TRACE_DROPPED,     /* value branches ran, taken or not, at unknown places */
	CLEW_TRACE_LATEST,      /* what follows ran no later than value, in ns of perf's clock */
	CLEW_TRACE_SWITCH, /* the kernel's code for it says: what follows is another thread's */
	CLEW_TRACE_OFF,    /* tracing ended by a branch, is_target: to start; number 1: by an
			      interrupt at end */
	CLEW_TRACE_NOTE,   /* what Intel PT says besides: number: enum clew_trace_note, value */
};

/** clew_trace_event.number of CLEW_TRACE_NOTE, and what value is; is_known: the trace, or the code,
 * says that it was at end. */
enum clew_trace_note {
	CLEW_NOTE_PSB,     /* offset in the unit's trace */
	CLEW_NOTE_CBR,     /* core:bus ratio */
	CLEW_NOTE_PTWRITE, /* operand */
	CLEW_NOTE_MWAIT,   /* hints */
	CLEW_NOTE_PWRE,    /* C-state << 4 | sub-state */
	CLEW_NOTE_EXSTOP,
	CLEW_NOTE_PWRX,      /* wake reason << 8 | last C-state << 4 | deepest one */
	CLEW_NOTE_EVD,       /* of the CFE that follows: its data */
	CLEW_NOTE_CFE,       /* vector */
	CLEW_NOTE_IF,        /* EFLAGS.IF */
	CLEW_NOTE_PEBS_ITEM, /* of a PEBS record, start: type of its block << 8 | item */
	CLEW_NOTE_PEBS,      /* the record of the items before */
	CLEW_NOTE_POINT,     /* where code cannot be followed: execution was there; 1: in a
				transaction */
};

/** Why decoding waits for the next synchronisation point. */
enum clew_no_sync {
	CLEW_NO_SYNC_START,    /* the trace begins */
	CLEW_NO_SYNC_GAP,      /* the trace was cut here, or bytes of it were lost */
	CLEW_NO_SYNC_OVERFLOW, /* the trace unit could not write fast enough */
	CLEW_NO_SYNC_STOPPED,  /* the trace unit stopped */
	CLEW_NO_SYNC_BAD_PACKET,
	CLEW_NO_SYNC_BAD_CODE, /* the code is not the code that ran */
};

struct clew_trace_event {
	uint8_t kind; /* enum clew_trace_kind; more may come: pass over what you do not know */
	uint8_t el;
	bool is_known;
	bool is_target; /* EXCEPTION: the branch before went to start, where nothing ran */
	uint32_t space, number;
	uint64_t start, end, value;
	uint64_t offset;  /* byte of the unit's trace that says so */
	const char *text; /* static words; NULL: none */
	const struct clew_trace_range *range;
};

/** Set in an item that is an event. */
#define CLEW_TRACE_ITEM_EVENT 0x80000000u

/**
 * Items of one unit, in their order; lives for the call. An item is a range's number << 1 | 1 where
 * its last instruction is a branch that was taken; or CLEW_TRACE_ITEM_EVENT | the event's number.
 * A range's number means the same in all batches of one epoch of this unit, and nothing in those of
 * another; where several threads decode, an epoch may come again.
 */
struct clew_trace_batch {
	size_t unit;
	const uint32_t *items;
	size_t nr;
	const void *ranges, *events;              /* arrays, by number */
	size_t range_bytes, event_bytes;          /* of an element */
	const struct clew_trace_context *context; /* of all items; NULL: unknown so far */
	uint32_t epoch;
};

/** @return item @p i if it is an event, else NULL. */
static inline const struct clew_trace_event *clew_trace_event_at(const struct clew_trace_batch *b,
								 size_t i)
{
	uint32_t item = b->items[i];

	if (!(item & CLEW_TRACE_ITEM_EVENT))
		return NULL;
	return (const struct clew_trace_event *)(const void *)((const char *)b->events +
							       (item & ~CLEW_TRACE_ITEM_EVENT) *
								       b->event_bytes);
}

/** @return item @p i if it is a range, whole or not, else NULL. */
static inline const struct clew_trace_range *clew_trace_range_at(const struct clew_trace_batch *b,
								 size_t i)
{
	uint32_t item = b->items[i];

	if (item & CLEW_TRACE_ITEM_EVENT)
		return clew_trace_event_at(b, i)->range;
	return (const struct clew_trace_range *)(const void *)((const char *)b->ranges +
							       (size_t)(item >> 1) *
								       b->range_bytes);
}

/** Is item @p i a range that ends with a branch that was taken? */
static inline bool clew_trace_is_taken(const struct clew_trace_batch *b, size_t i)
{
	return !(b->items[i] & CLEW_TRACE_ITEM_EVENT) && (b->items[i] & 1);
}

/** Zeroed but for size = defaults. Texts are borrowed until clew_trace_free(). */
struct clew_trace_opts {
	size_t size; /* sizeof(struct clew_trace_opts); 0 is refused */
	const char *symfs, *vmlinux, *kallsyms, *build_ids; /* as clew_session_opts */
	uint64_t max_memory;
	/** Called once for each thing that opening skips: a missing file, a unit that is not
	 * decoded. NULL: no notes. */
	void (*note)(void *ctx, const char *text);
	void *ctx;
	bool trusts_other_users;
	bool reserved[7]; /* zero; anything else is UNSUPPORTED */
	/* Of virtual machines: guest_mount/PID is the root folder of the one that process PID runs;
	 * copies of /proc/kallsyms and /proc/modules in it, its kernel image. NULL: none. */
	const char *guest_mount, *guest_kallsyms, *guest_modules, *guest_vmlinux;
};

/**
 * Open a perf.data file or a snapshot directory. @p opts may be NULL. Thread: any; it makes none.
 * @return CLEW_OS; CLEW_BAD_FILE; CLEW_NO_MEMORY; CLEW_UNSUPPORTED: no trace in it that is decoded,
 * or @p opts asks for what this version does not know; CLEW_INVALID: opts->size is not set or above
 * 64 KiB, @p ret or @p path is NULL.
 * A recording that was cut is opened; its passes say so at their end.
 * Cost: of a perf.data, one pass over its records, and where only trace shows which threads ran
 * (it has no ids of them, there are virtual machines, SPE) one over the trace; memory by mappings,
 * switches of threads and pieces of trace. Of a snapshot, its .ini files. Binaries are read when
 * code in them is reached.
 */
CLEW_API CLEW_MUST_USE enum clew_err clew_trace_open(struct clew_trace **ret, const char *path,
						     const struct clew_trace_opts *opts,
						     struct clew_diag *diag);

/** The same of an open descriptor of a perf.data, as clew_session_open_fd(). The trace of a stream
 * is kept in memory. Thread: any. */
CLEW_API CLEW_MUST_USE enum clew_err clew_trace_open_fd(struct clew_trace **ret, int fd,
							const struct clew_trace_opts *opts,
							struct clew_diag *diag);

/** The trace of one unit, to be written to a separate file. Texts are borrowed until
 * clew_trace_free(). */
struct clew_trace_raw {
	size_t size; /* sizeof(struct clew_trace_raw); 0 is refused */
	const char *file;
	const char *format;    /* NULL: "coresight", frames of 16 bytes; "source_data": no frames */
	const char *protocol;  /* "ETMv4", "ETE", "INTEL_PT" (which has no frames) */
	const char *registers; /* "TRCCONFIGR=0x1,TRCTRACEIDR=0x10,..."; of Intel PT, each optional,
				  "FAMILY=6,MODEL=0x9e,IA32_RTIT_CTL=..., CPUID_15_EAX=...,
				  CPUID_15_EBX=..., NOM_RATIO=..." */
	const char *memory;    /* the code that ran, "FILE@ADDRESS,..."; NULL: none */
};

/** @return as clew_trace_open(); CLEW_INVALID: something in @p raw cannot be read, or no file is
 * named. Thread: any. */
CLEW_API CLEW_MUST_USE enum clew_err clew_trace_open_raw(struct clew_trace **ret,
							 const struct clew_trace_raw *raw,
							 const struct clew_trace_opts *opts,
							 struct clew_diag *diag);

/** Units, from 0. @return NULL: no such unit. Thread: any, callback. */
CLEW_API const struct clew_trace_unit *clew_trace_unit(const struct clew_trace *t, size_t i);

/** Of a pass over the trace. Zeroed but for size = defaults. */
struct clew_trace_run_opts {
	size_t size;              /* sizeof(struct clew_trace_run_opts); 0 is refused */
	const bool *skips;        /* of each unit: leave it out? NULL: none */
	unsigned int nr_threads;  /* 0: one for each CPU, up to 4; 1: make none. The items are the
				     same. clew_trace_next() makes none */
	unsigned int piece_bytes; /* of a snapshot, read so much at a time; 0: 64 KiB. The items are
				     the same */
	bool splits_source_ranges; /* ranges end also at the branches that a packet with a source
				      address leads over */
	bool wants_who;            /* contexts say who ran; another one begins where that changes */
	bool reserved[6];          /* zero; anything else is UNSUPPORTED */
	/** Bytes that are not trace, or of an ID that no unit has: @p what in static words, with a
	 * number (0: none). A result other than CLEW_OK ends the pass. NULL: not wanted. */
	enum clew_err (*warning)(void *ctx, const char *what, uint64_t number, uint64_t offset);
	/** After the last batch of each unit. NULL: not wanted. */
	enum clew_err (*unit_end)(void *ctx, size_t unit);
};

/**
 * Decode everything. @p take gets the items of each unit in their order. A result other than
 * CLEW_OK ends the run and is returned; it must not be positive, and nothing may be thrown through
 * the library. May be called again. Bad trace is an event, not an error. @p opts may be NULL.
 * Thread: one at a time; @p take and the other callbacks are called in it.
 * @return CLEW_OK; CLEW_TRUNCATED: the recording ends inside a record, diag->offset says where, and
 * all that is whole was handed out; CLEW_NO_MEMORY; CLEW_OS; CLEW_UNSUPPORTED, CLEW_INVALID: of
 * @p opts; CLEW_INVALID: @p t or @p take is NULL, a callback returned a positive number, or this is
 * called in a callback of a pass.
 * Cost: some ns an item; memory is bounded by the code that ran (64 MiB), not by the length of the
 * trace.
 */
CLEW_API CLEW_MUST_USE enum clew_err clew_trace_run(
	struct clew_trace *t, enum clew_err (*take)(void *ctx, const struct clew_trace_batch *b),
	void *ctx, const struct clew_trace_run_opts *opts, struct clew_diag *diag);

/**
 * The next items of this pass: the same that clew_trace_run() hands out, each unit's in their
 * order, in batches that may be cut at other places. *ret lives until the next call. Thread: one at
 * a time, in which all work is done.
 * @return CLEW_OK; CLEW_END: there are no more; CLEW_TRUNCATED: the same, of a recording that was
 * cut; CLEW_NO_MEMORY; CLEW_OS; what a callback returned. These come again until
 * clew_trace_rewind(). CLEW_INVALID: an argument is NULL, clew_trace_run() has begun another
 * pass, or this is called in a callback of a pass.
 * @p diag is written with each of them, CLEW_END included.
 * Cost: as clew_trace_run(), and a copy of each item; 64 KiB of trace are decoded ahead, which may
 * be some million items.
 */
CLEW_API CLEW_MUST_USE enum clew_err clew_trace_next(struct clew_trace *t,
						     const struct clew_trace_batch **ret,
						     struct clew_diag *diag);

/** Begin a new pass for clew_trace_next(), with these options, for callbacks with @p ctx;
 * opts->skips is borrowed for the pass. The first pass needs it only for other options than the
 * default ones. @return as clew_trace_run() of @p opts. Thread: one at a time; callbacks are called
 * in the thread of clew_trace_next(). CLEW_INVALID in a callback of a pass. */
CLEW_API CLEW_MUST_USE enum clew_err clew_trace_rewind(struct clew_trace *t, void *ctx,
						       const struct clew_trace_run_opts *opts,
						       struct clew_diag *diag);

/** Bytes decoded in the pass under way, and all bytes. Thread: one at a time, callback. */
CLEW_API void clew_trace_progress(const struct clew_trace *t, uint64_t *ret_done,
				  uint64_t *ret_total);

/** What is at @p address of a space: binary and symbol, as far as known, which live as long as the
 * trace; *ret lives until the next call. Of a space that no range has nothing is known. Thread: one
 * at a time, callback.
 * @return CLEW_NO_MEMORY; CLEW_INVALID: @p t or @p ret is NULL.
 * Cost: an address asked for before is found in a hash table; a new one is a search of the mappings
 * and symbols, the first of a binary reads its symbols. Memory: 100 bytes a distinct address. */
CLEW_API CLEW_MUST_USE enum clew_err clew_trace_resolve(struct clew_trace *t, uint32_t space,
							uint64_t address,
							const struct clew_frame **ret);

/** An instruction of a range. */
struct clew_trace_insn {
	uint64_t address;
	const uint8_t *bytes; /* that lie there; live for the call */
	size_t nr_bytes;
};

/**
 * Hand each instruction of @p range, of a batch of @p unit, to @p take, in order: functions may end
 * inside a range, and instructions differ in length. A result other than CLEW_OK ends it and is
 * returned. Thread: one at a time, callback.
 * @return CLEW_OK; CLEW_NOT_FOUND: the code of the next one cannot be read any more; CLEW_INVALID:
 * an argument is NULL, there is no such unit, or @p take returned a positive number. Cost: some 20
 * ns an instruction.
 */
CLEW_API CLEW_MUST_USE enum clew_err clew_trace_insns(
	struct clew_trace *t, size_t unit, const struct clew_trace_range *range,
	enum clew_err (*take)(void *ctx, const struct clew_trace_insn *insn), void *ctx);

/** What there was no room for so far. Lives until the next call of this function.
 * Thread: one at a time, callback. */
CLEW_API const struct clew_left_out *clew_trace_left_out(struct clew_trace *t);

/** What a pass came to, and what the input holds. */
struct clew_trace_summary {
	enum clew_err end;       /* of the pass. OK: it came to the end, or continues. Before one:
				    what it will end with at the best */
	uint64_t end_offset;     /* TRUNCATED: the recording ends inside the record there */
	uint64_t nr_aux_bytes;   /* of trace that the input holds, */
	uint64_t nr_aux_missing; /* and that AUX records announce and it does not hold */
	const struct clew_left_out *left_out;
};

/** Lives until the next call of this function. Thread: one at a time. */
CLEW_API const struct clew_trace_summary *clew_trace_summary(struct clew_trace *t);

/** NULL is fine. Thread: one at a time. */
CLEW_API void clew_trace_free(struct clew_trace *t);

#ifdef __cplusplus
}
#endif
#endif
