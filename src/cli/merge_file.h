/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_MERGE_FILE_H
#define CLI_MERGE_FILE_H

#include "analyze/stack_merge.h"
#include "os/create.h"

/*
 * analyze/stack_merge.h with files: its output becomes a plain file, and an interrupt stops it.
 */
struct merge_file {
	struct stack_merge_counts counts;
	uint64_t bytes_before, bytes; /* of the input, of the merged file */
	int signal;                   /* that stopped it; 0: none did */
	int os_errno;                 /* of what was written, negative; 0: nothing failed */
	struct os_created created;    /* by merge_file_to() */
};

/**
 * Merge @p in into the file that @p to names, made as every output (os/create.h). @p to must become
 * a plain file: CLEW_INVALID where it is something else. On failure what stood there stands there
 * again.
 */
enum clew_err merge_file_to(const struct perf_input *in, const char *to, struct merge_file *ret,
			    struct clew_diag *diag);

/** Remove the file that merge_file_to() made; what stood there stands there again. */
void merge_file_undo(const char *to, const struct merge_file *m);

/**
 * Merge the finished recording @p path in its place: by a new file beside it, PATH.merging, which
 * takes its name when all is well. Else, also after an interrupt, the recording stays as it is, and
 * a warning says so. Shows how far it is, where notes are wanted.
 * @return false: it stayed. Without a warning where it holds no deferred stacks, or is not there
 * any more.
 */
bool merge_file_in_place(const char *path, struct merge_file *ret);

/** Say that @p nr finished recordings, @p path the first of them, were not looked at. */
void merge_file_tell_unmerged(const char *path, size_t nr);

/** What the pass could not keep, in warnings. */
void merge_file_tell(const char *path, const struct merge_file *m);

#endif
