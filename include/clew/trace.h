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
 * Follow a CoreSight ETMv4 or ETE trace back to what was executed: from a perf.data file with
 * cs_etm, or from an OpenCSD snapshot directory.
 *
 * Each trace unit gives a stream of its own: ranges of executed instructions in order, and between
 * them what happened to the processor and to the trace. Speculation is resolved, and a context or
 * timestamp stands before the first instructions it belongs to. What the trace does not prove is an
 * item that says so; nothing is left out silently.
 */
struct clew_trace;

enum clew_isa { CLEW_ISA_A64, CLEW_ISA_A32, CLEW_ISA_T32 };

enum clew_security { CLEW_SECURE, CLEW_NONSECURE, CLEW_ROOT, CLEW_REALM };

/** A trace unit: one processor's, or one thread's buffer. */
struct clew_trace_unit {
	uint8_t id;          /* CoreSight trace ID */
	uint32_t cpu, tid;   /* all ones: not known, not of one thread */
	const char *name;    /* lives as long as the trace */
	const char *why_not; /* it cannot be decoded; NULL: it can */
};

/** Where and for whom instructions ran. */
struct clew_trace_context {
	uint32_t pid, tid; /* all ones: the input does not prove which */
	const char *comm;  /* NULL: not known. Lives as long as the trace */
	uint8_t el;        /* exception level, 0 to 3 */
	uint8_t security;  /* enum clew_security */
	bool has_cid, has_vmid;
	uint32_t cid, vmid; /* CONTEXTIDR, VMID or CONTEXTIDR_EL2, as traced */
};

enum clew_trace_kind {
	CLEW_TRACE_RANGE,         /* [start, end) ran: number instructions */
	CLEW_TRACE_CONTEXT,       /* of what follows: context */
	CLEW_TRACE_ON,            /* tracing went on behind a gap; number 1: after an overflow */
	CLEW_TRACE_NO_SYNC,       /* trace was lost, or has not begun: text */
	CLEW_TRACE_NO_CODE,       /* execution went on at start, where no code is known: text */
	CLEW_TRACE_UNKNOWN_PATH,  /* [start, end] was crossed on a way that is not told, by number
				     instructions (0: not told) */
	CLEW_TRACE_UNKNOWN_START, /* something ran up to end, from a place that is not told */
	CLEW_TRACE_EXCEPTION,     /* number: the trace unit's type; start: where it returns to */
	CLEW_TRACE_EXCEPTION_RETURN,
	CLEW_TRACE_RESET,           /* of the processor */
	CLEW_TRACE_TIMESTAMP,       /* value, in ticks of the trace's clock */
	CLEW_TRACE_CYCLES,          /* value: since the last count; number 0: it is not known */
	CLEW_TRACE_EVENT,           /* number: a bit for each of four */
	CLEW_TRACE_TS_MARKER,       /* of a timestamp that follows */
	CLEW_TRACE_INSTRUMENTATION, /* value: what software wrote (ETE) */
	CLEW_TRACE_TRANSACTION, /* number: 0 in one at the start, 1 begun, 2 committed, 3 failed */
	CLEW_TRACE_UNSUPPORTED, /* number: header of a packet kind that is not decoded; once */
	CLEW_TRACE_END,         /* of this unit's trace */
	CLEW_TRACE_ATOMS_DROPPED, /* value branches ran, taken or not, at places that are not known
				   */
};

struct clew_trace_item {
	uint8_t kind;   /* enum clew_trace_kind; more may come: pass over what you do not know */
	uint8_t isa;    /* RANGE: enum clew_isa */
	bool is_taken;  /* RANGE: its last instruction is a branch that was taken */
	bool is_whole;  /* RANGE: it ends with a branch or the like; else something came between */
	uint32_t space; /* of the addresses: for clew_trace_resolve() */
	uint32_t number;
	uint64_t start, end, value;
	uint64_t offset;  /* byte of the unit's trace that told it; not of a whole RANGE: 0 */
	const char *text; /* static words; NULL: none */
	const struct clew_trace_context *context; /* in force; NULL: not told yet. Lives for the
						     call */
};

/** Zeroed = defaults. Texts are borrowed until clew_trace_free(). */
struct clew_trace_opts {
	size_t size; /* sizeof(struct clew_trace_opts): lets it grow */
	const char *symfs, *vmlinux, *kallsyms, *build_ids; /* as clew_session_opts */
	unsigned int nr_threads; /* 0: one for each CPU. The items are the same */
};

/**
 * Open a perf.data file or a snapshot directory. @p opts may be NULL.
 * @return CLEW_OS; CLEW_BAD_FILE; CLEW_UNSUPPORTED: no ETMv4 or ETE trace in it; CLEW_NO_MEMORY.
 */
CLEW_API CLEW_MUST_USE enum clew_err clew_trace_open(struct clew_trace **ret, const char *path,
						     const struct clew_trace_opts *opts,
						     struct clew_diag *diag);

/** @return the units, *ret_nr of them; they live as long as the trace. */
CLEW_API const struct clew_trace_unit *clew_trace_units(const struct clew_trace *t, size_t *ret_nr);

/**
 * Decode everything. @p take gets the items of a unit in their order, in batches that live for the
 * call, from the calling thread. A result other than CLEW_OK ends the run and is returned. May be
 * called again. Bad trace is an item, not an error.
 * Cost: some ns an item; memory is bounded by the code that ran (64 MiB), not by the trace's
 * length.
 */
CLEW_API CLEW_MUST_USE enum clew_err clew_trace_each(
	struct clew_trace *t,
	enum clew_err (*take)(void *ctx, size_t unit, const struct clew_trace_item *items,
			      size_t nr),
	void *ctx, struct clew_diag *diag);

/** What is at @p address of a space: binary and symbol, as far as known. Texts live as long as the
 * trace.
 * @return CLEW_NO_MEMORY. */
CLEW_API CLEW_MUST_USE enum clew_err clew_trace_resolve(struct clew_trace *t, uint32_t space,
							uint64_t address, struct clew_frame *ret);

/** NULL is fine. */
CLEW_API void clew_trace_free(struct clew_trace *t);

#ifdef __cplusplus
}
#endif
#endif
