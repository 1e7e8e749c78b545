/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_REC_FILE_H
#define RECORD_PLAN_REC_FILE_H

#include "os/output.h"
#include "perfdata/perf_writer.h"
#include "record/plan/rec_error.h"
#include "record/plan/rec_sink.h"

/** The perf.data being written: a file, or what cannot be gone back in (a pipe, a device). */
struct rec_file {
	struct os_output out;
	const struct rec_sink *sink; /* instead of out; NULL: none */
	struct perf_writer *writer;  /* NULL: not open */
	char path[4096];
	bool is_pipe;
	bool is_named; /* path is its name: false of what was open, as /dev/stdout, too */
	int os_errno;  /* of the write that failed, else 0 */
	uint64_t start_ns;
	uint64_t whole; /* end of the last pass that reached the file: whole records up to here */
};

/**
 * Create @p path ("-": standard output) as os/create.h does, and write the header.
 */
enum clew_err rec_file_open(struct rec_file *f, const char *path, const struct perf_evlist *l,
			    const struct perf_writer_opts *opts, struct rec_error *error);

/** The same for what becomes no file. */
enum clew_err rec_file_open_sink(struct rec_file *f, const struct rec_sink *sink,
				 const struct perf_evlist *l, const struct perf_writer_opts *opts,
				 struct rec_error *error);

/** Everything written so far is whole records: let it reach the file. @return CLEW_OS: disk full or
 * the like, os_errno says. */
enum clew_err rec_file_flush(struct rec_file *f);

/** End the file well after a failed write: cut it to whole records. */
enum clew_err rec_file_rescue(struct rec_file *f);

/** Features are in: end and close. */
enum clew_err rec_file_finish(struct rec_file *f);

/** Close without any more; free. */
void rec_file_done(struct rec_file *f);

#endif
