/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REPORT_REPORT_DIFF_NAME_H
#define REPORT_REPORT_DIFF_NAME_H

#include <stddef.h>

#include "base/buf.h"
#include "base/intern.h"
#include "base/vec.h"

/**
 * Append @p name without what compilers add to the parts and copies they make of a function, as
 * these numbers change from build to build: .constprop.N, .isra.N, .part.N, .lto_priv.N, .llvm.N,
 * .cold[.N], also as demanglers print them, " [clone .cold]". Any number of them, at the end.
 */
void report_diff_function(struct buf *out, const char *name);

/** Which files are one: those of one build id, whatever they are called, and those of generated
 * code, which are named after their process (perf-PID.map, jit-PID.dump, jitted-PID-N.so). Zeroed
 * struct = empty. */
struct report_diff_files {
	struct intern ids;
	struct {
		VEC(char *);
	} names; /* by number of the id, from 1 */
};

/**
 * The name to pair a file by: that of the first file with this build id (@p id_bytes 0: unknown),
 * "[jit]" of generated code, else its own. @return valid like @p base or as long as the files;
 * NULL: memory is short.
 */
const char *report_diff_file(struct report_diff_files *f, const void *id, size_t id_bytes,
			     const char *base);
void report_diff_files_done(struct report_diff_files *f);

#endif
