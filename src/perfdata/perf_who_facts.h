/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_WHO_FACTS_H
#define PERFDATA_PERF_WHO_FACTS_H

#include <clew/err.h>

#include "base/buf.h"
#include "base/vec.h"
#include "perfdata/perf_record.h"

/*
 * What `clew record` knows about the ids in its recording and no record of the kernel says: in
 * which PID namespace it ran, whether /proc was of that namespace, the other ids of the tasks that
 * ran at the start, and from when on each CPU's side-band was recorded. It stands in records of
 * type 65, which perf skips; docs/spec/perf-data.md has their bytes.
 *
 * Three kinds of ids: root ids (initial PID namespace), local ids (of the recorder's namespace: all
 * that the kernel writes into records), procfs ids (of the namespace that /proc was mounted for).
 */

enum perf_who_namespace {
	PERF_WHO_NAMESPACE_UNKNOWN,
	PERF_WHO_NAMESPACE_INITIAL, /* by its inode, 0xeffffffc */
	PERF_WHO_NAMESPACE_OTHER,
};

/** Of which ids are the records that the recorder made of /proc? */
enum perf_who_procfs {
	PERF_WHO_PROCFS_UNKNOWN,
	PERF_WHO_PROCFS_SAME,       /* procfs ids are local ids */
	PERF_WHO_PROCFS_TRANSLATED, /* they differ: made-up records have local ids by NSpid; tasks
				       without one are omitted */
	PERF_WHO_PROCFS_OMITTED,    /* they differ, and none could be translated: no such records */
};

/** Ids of one thread at the start. */
struct perf_who_task {
	uint32_t procfs; /* its id in /proc */
	uint32_t local;  /* 0: the recorder's namespace has none for it */
	uint32_t inner;  /* in its own namespace */
	uint32_t depth;  /* namespaces from that of /proc, 1, to its own */
	uint64_t pid_ns; /* inode of its own PID namespace; 0: unknown */
};

struct perf_who_enabled {
	uint32_t cpu;
	uint64_t ns; /* perf time: from then on, at the latest, no switch was missed but by loss */
};

/** Zeroed: nothing known. Free with perf_who_facts_done(). */
struct perf_who_facts {
	bool has_recorder;                /* the fields up to recorder_procfs */
	enum perf_who_namespace recorder; /* N: are local ids root ids? */
	enum perf_who_namespace proc;     /* of /proc: are procfs ids root ids? */
	enum perf_who_procfs ids;         /* L = P? */
	uint64_t pid_ns;                  /* inode of the recorder's PID namespace; 0: unknown */
	uint32_t recorder_local, recorder_procfs; /* the recorder's own ids; procfs 0: unknown */
	uint32_t nr_translated, nr_omitted;       /* threads in /proc at the start; 0 with SAME */
	struct {
		VEC(struct perf_who_task); /* those with more than one id */
	} tasks;
	struct {
		VEC(struct perf_who_enabled); /* of CPU-wide recordings, in order of CPUs */
	} enabled;
};

/**
 * Add what @p r says. Cost: its size.
 * @return CLEW_OK; CLEW_END: not a record of these facts, nothing changed; CLEW_UNSUPPORTED: of a
 * later kind, to be skipped; CLEW_BAD_FILE: damaged, @p f has what stood before the damage;
 * CLEW_NO_MEMORY.
 */
enum clew_err perf_who_facts_take(struct perf_who_facts *f, const struct perf_record *r);

/** Root id of local id @p local: itself with an initial namespace; by a pair where /proc was of the
 * initial one. 0: unknown. Cost: the pairs. */
uint32_t perf_who_facts_root(const struct perf_who_facts *f, uint32_t local);

void perf_who_facts_done(struct perf_who_facts *f);

/* --- writing: each appends whole records --- */

void perf_put_who_recorder(struct buf *b, const struct perf_who_facts *f);
void perf_put_who_enabled(struct buf *b, const struct perf_who_enabled *e, size_t nr);
/** With nr_translated and nr_omitted of @p f. */
void perf_put_who_tasks(struct buf *b, const struct perf_who_facts *f);

#endif
