/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_TRACE_PATCHES_H
#define TRACE_PERF_TRACE_PATCHES_H

#include "image/code_patches.h"
#include "perfdata/perf_record.h"
#include "who/who_history.h"

/* Code that is recorded byte by byte. Each patch that takes the place of other code begins a
 * version of the space it is in. */

/** A file that a compiler at run time wrote. */
struct trace_jit {
	uint32_t pid;
	struct os_map map;
	struct code_patches *patches; /* of all of the process's; NULL: the first one's has them */
};

struct trace_patches {
	struct code_patches *pokes; /* of the kernel; NULL: none */
	struct arena memory;        /* their bytes */
	struct {
		VEC(struct trace_jit);
	} jits;
};

struct trace_patches_opts {
	const char *symfs; /* NULL: none */
	bool is_forced;    /* files of other owners too */
	bool has_clock;    /* the recording's clock is that of the compilers */
};

enum clew_err trace_patches_poke(struct trace_patches *p, struct clew_perf_ns time,
				 const struct perf_text_poke *t);
/** What is kept of pokes. */
uint64_t trace_patches_bytes(const struct trace_patches *p);
/** All records are read: load the jitdump files, and split the spaces. */
enum clew_err trace_patches_close(struct trace_patches *p, struct who_history *h,
				  const struct trace_patches_opts *opts);
void trace_patches_done(struct trace_patches *p);

#endif
