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
 * chain. What the recording does not prove is unknown: a NULL text, or all ones in a number.
 */
struct clew_session;

/** Which level of the machine code ran at. */
enum clew_level {
	CLEW_LEVEL_UNKNOWN,
	CLEW_LEVEL_USER,
	CLEW_LEVEL_KERNEL,
	CLEW_LEVEL_HYPERVISOR,
	CLEW_LEVEL_GUEST_USER,
	CLEW_LEVEL_GUEST_KERNEL,
};

/** One code address. Texts live until clew_session_free(). */
struct clew_frame {
	uint64_t ip;
	const char *dso; /* path, or "[kernel.kallsyms]" and the like; NULL: no mapping covers ip */
	const char *symbol;     /* demangled; NULL: not known */
	uint64_t symbol_offset; /* bytes from the symbol's start to ip */
	enum clew_level level;
};

/** The outcome of the user part of a sample's chain: exactly one for each sample. */
enum clew_user_stack {
	CLEW_USER_STACK_COMPLETE,      /* it is in the chain, to the thread's outermost frame */
	CLEW_USER_STACK_NONE_EXPECTED, /* kernel only by nature */
	CLEW_USER_STACK_LOST,          /* it is missing */
	CLEW_USER_STACK_PARTIAL,       /* it is in the chain, and ends early: user_stack_stop */
	CLEW_USER_STACK_UNPROVEN,      /* it is in the chain; nothing shows whether it reaches the
					  outermost frame */
};

struct clew_sample {
	struct clew_perf_ns time;
	uint64_t period;
	uint32_t pid, tid, cpu;
	const char *comm, *event;
	struct clew_frame leaf;         /* ip all zeros with has_leaf false */
	const struct clew_frame *chain; /* innermost first; NULL: none recorded */
	size_t nr_chain;
	bool has_leaf;
	enum clew_user_stack user_stack;
	const char *user_stack_reason; /* of none expected: "idle", "kernel-thread", "exiting",
					  "not-asked"; of lost: "no-record", "end", "buffer", ...
					  (clew-script(1)); else "" */
	const char *user_stack_stop;   /* why it ends where it does: "outermost" (it reached the
					  thread's first frame), "no-info", ...; NULL: not told */
};

/** Zeroed = defaults. Texts are borrowed until clew_session_free(). */
struct clew_session_opts {
	size_t size;           /* sizeof(struct clew_session_opts): lets it grow */
	const char *symfs;     /* look for binaries under this folder */
	const char *vmlinux;   /* kernel image to take symbols from */
	const char *kallsyms;  /* instead of /proc/kallsyms */
	const char *build_ids; /* build-id directory, such as ~/.debug */
	bool no_demangle;
};

/**
 * Open a file (file or pipe format). @p opts may be NULL.
 * @return CLEW_OS; CLEW_BAD_FILE; CLEW_TRUNCATED; CLEW_UNSUPPORTED; CLEW_NO_MEMORY: @p diag, if not
 * NULL, tells more.
 */
CLEW_API CLEW_MUST_USE enum clew_err clew_session_open(struct clew_session **ret, const char *path,
						       const struct clew_session_opts *opts,
						       struct clew_diag *diag);

/**
 * Hand every sample to @p take, in time order, from one thread that need not be the caller's; the
 * sample lives for the call. A result other than CLEW_OK ends the run and is returned. Once a
 * session.
 *
 * A file that was cut gives all that is whole and CLEW_TRUNCATED at the end.
 * Cost: memory is bounded by the distinct binaries and threads, not by the file's length.
 */
CLEW_API CLEW_MUST_USE enum clew_err clew_session_each(
	struct clew_session *s, enum clew_err (*take)(void *ctx, const struct clew_sample *sample),
	void *ctx, struct clew_diag *diag);

/** NULL is fine. */
CLEW_API void clew_session_free(struct clew_session *s);

#ifdef __cplusplus
}
#endif
#endif
