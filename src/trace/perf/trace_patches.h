/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_TRACE_PATCHES_H
#define TRACE_PERF_TRACE_PATCHES_H

#include "analyze/ana_programs.h"
#include "image/code_patches.h"
#include "perfdata/perf_record.h"
#include "who/who_history.h"

/* Code that is recorded byte by byte. Each patch that takes the place of other code begins a
 * version of the space it is in. */

struct trace_patches {
	struct code_patches *pokes; /* of the kernel; NULL: none */
	struct arena memory;        /* their bytes */
};

enum clew_err trace_patches_poke(struct trace_patches *p, struct clew_perf_ns time,
				 const struct perf_text_poke *t);
/** What is kept of pokes. */
uint64_t trace_patches_bytes(const struct trace_patches *p);
/** All records are read: load the jitdump files of @p programs, and split the spaces. */
enum clew_err trace_patches_close(struct trace_patches *p, struct who_history *h,
				  struct ana_programs *programs);
void trace_patches_done(struct trace_patches *p);

#endif
