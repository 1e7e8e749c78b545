/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_RUNNING_PERF_MAPS_H
#define RECORD_RUNNING_PERF_MAPS_H

#include "base/buf.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "os/pid_view.h"
#include "perfdata/perf_record.h"

/*
 * The /tmp/perf-PID.map files of processes that make code, each below its process's own root. As
 * long as a process has none, its root stays open, so that one is found that it writes at its end.
 */

struct rec_perf_map {
	uint32_t pid, procfs, inside, uid; /* its ids, and its user */
	uint64_t time;                     /* of the record that showed it; 0: it ran before */
	uint64_t start_ns;                 /* since 1970; 0: unknown */
	int root, fd;                      /* -1: not open; fd: the map */
	bool is_over;                      /* it ended, or runs another program */
	struct buf packed;                 /* the map was read already */
	size_t packed_of;                  /* bytes of its text */
};

struct rec_perf_maps {
	bool is_off;
	struct os_pid_view view;
	struct {
		VEC(struct rec_perf_map);
	} all;
	struct map_u64 by_pid;      /* -> in all, of those that are not over */
	size_t nr_open, nr_waiting; /* descriptors; of them roots */
	size_t next_read;           /* in all: the map to read first when too many are open */
	uint64_t retry_ns;
	uint32_t nr_left_out;
};

void rec_perf_maps_init(struct rec_perf_maps *m);

/** A mapping of a process: @p procfs is its number in /proc. */
void rec_perf_maps_see(struct rec_perf_maps *m, uint32_t pid, uint32_t procfs, uint64_t time);

/** Of a record: the mapping may hold code that was made. */
void rec_perf_maps_take(struct rec_perf_maps *m, const struct perf_mmap *map, uint64_t time);

/** The process ended, or runs another program from now on. */
void rec_perf_maps_end(struct rec_perf_maps *m, uint32_t pid, uint64_t time);

/** Look again for maps that were missing; now and then. */
void rec_perf_maps_retry(struct rec_perf_maps *m);

/** Append the content of the header feature; nothing where there is no map. */
void rec_perf_maps_put(struct rec_perf_maps *m, struct buf *b);

/** A file ends: forget who ended before the next. */
void rec_perf_maps_next_file(struct rec_perf_maps *m);

void rec_perf_maps_done(struct rec_perf_maps *m);

#endif
