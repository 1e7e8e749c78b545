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
 * a plain file: CLEW_INVALID where it is something else. On failure the previous file is restored.
 */
enum clew_err merge_file_to(const struct perf_input *in, const char *to, struct merge_file *ret,
			    struct clew_diag *diag);

/** The same without a look at signals, which are another thread's. */
enum clew_err merge_file_to_unwatched(const struct perf_input *in, const char *to,
				      struct merge_file *ret, struct clew_diag *diag);

/** Remove the file that merge_file_to() made, and restore the previous one. */
void merge_file_undo(const char *to, const struct merge_file *m);

/**
 * Merge the finished recording @p path in its place: by a new file beside it, PATH.merging, which
 * takes its name on success. Otherwise, also after an interrupt, the recording is unchanged and a
 * warning says so. Shows progress unless notes are off. @return false: unchanged; without a warning
 * if it has no deferred stacks, or no longer exists.
 */
bool merge_file_in_place(const char *path, struct merge_file *ret);

/** Report that @p nr finished recordings, the first of them @p path, were not merged. */
void merge_file_report_unmerged(const char *path, size_t nr);

/** Warn about what the merge could not keep. */
void merge_file_report_losses(const char *path, const struct merge_file *m);

#endif
