/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_SESSION_STREAM_H
#define RECORD_SESSION_STREAM_H

#include "record/running/sideband.h"
#include "record/session/drain.h"

/** Gathered for a file that is yet to be opened. */
struct rec_ahead {
	struct rec_sideband tasks;
	struct rec_build_ids build_ids;
	struct buf seen; /* what the file before heard of tasks and maps since tasks was read */
};

/** The output of a session: one file after the other, each complete in itself. */
struct rec_stream {
	const struct rec_options *options;
	const struct rec_event_list *events;
	const struct rec_ui *ui;
	struct rec_counters *counters;
	const struct rec_sources *sources;
	struct perf_evlist evlist;
	struct rec_build_ids build_ids;
	struct rec_perf_maps perf_maps;
	struct rec_drain drain;
	struct rec_file file;
	struct rec_ahead *ahead; /* NULL: tasks are looked up when the file is open */
	int child_pid;           /* 0: no command */
	uint32_t nr_files;
	uint64_t closed_bytes; /* of the files before this one */
	struct {
		VEC(char *); /* finished files, oldest first, as far as max_files keeps them */
	} kept;
};

/** Create the first file: header, names, kernel and running tasks. */
enum clew_err rec_stream_open(struct rec_stream *s, struct rec_error *error);

/** Finish this file and start the next. Counters keep running. */
enum clew_err rec_stream_switch(struct rec_stream *s, struct rec_error *error);

/** Last pass, lost counts, features; the file gets its final name. */
enum clew_err rec_stream_finish(struct rec_stream *s, struct rec_error *error);

/** A write failed: make what reached the disk a whole file. @return false: it could not be. */
bool rec_stream_rescue(struct rec_stream *s);

/** Would its file get its user stacks into their samples when it is whole? */
bool rec_stream_awaits_merge(const struct rec_stream *s);

/** The recording failed: close the file and remove it. */
void rec_stream_discard(struct rec_stream *s);

/** Bytes of all files so far. */
uint64_t rec_stream_bytes(const struct rec_stream *s);

void rec_stream_done(struct rec_stream *s);

#endif
