/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_RUNNING_SIDEBAND_H
#define RECORD_RUNNING_SIDEBAND_H

#include "base/map_u64.h"
#include "os/pid_view.h"
#include "perfdata/perf_who_facts.h"
#include "record/open/counters.h"
#include "record/plan/rec_file.h"
#include "record/running/build_ids.h"
#include "record/running/perf_maps.h"

struct rec_found_id {
	uint8_t id[20], bytes; /* bytes 0: the file has none */
};

/**
 * Makes the records the kernel would have sent had we watched from the start: who runs, what is
 * mapped. Reads /proc; a task that ends meanwhile is omitted or half described, as it would be in
 * a live stream.
 */
struct rec_sideband {
	const struct rec_options *options;
	struct rec_build_ids *build_ids;
	struct rec_perf_maps *perf_maps; /* NULL: not looked for */
	struct rec_file *file;           /* NULL: all stays in out */
	const struct perf_attr *tracker; /* of the event of their sample_id; NULL: none */
	uint64_t tracker_id;
	struct os_pid_view view;     /* ids in /proc, and those in records */
	struct perf_who_facts facts; /* counts and ids of the tasks described so far */
	struct buf out, text;        /* records to be written; a file of /proc */
	struct map_u64 files;        /* (device, inode) of a mapped file -> its build id in ids */
	struct {
		VEC(struct rec_found_id);
	} ids;
	enum clew_err err; /* sticky */
};

bool rec_sideband_init(struct rec_sideband *s, const struct rec_counters *c,
		       const struct rec_options *o, struct rec_build_ids *build_ids,
		       struct rec_file *f);

/** The kernel's text, its modules, and code it made that has a symbol: trampolines. */
void rec_sideband_kernel(struct rec_sideband *s);

/** BPF programs that are loaded: those of others only where we may look for them. */
void rec_sideband_bpf(struct rec_sideband *s);

/** One process: FORK and COMM of each thread, its maps, namespaces when asked for. */
void rec_sideband_process(struct rec_sideband *s, int pid);

/** The same for every process of /proc that our PID namespace contains. Ids in /proc that are not
 * local ids are translated by NSpid. */
void rec_sideband_all(struct rec_sideband *s);

/** A command held before its exec: its name alone, as its maps are still ours. */
void rec_sideband_command(struct rec_sideband *s, int pid);

/** What is known of the recorder's own ids, and since when each CPU's side-band is recorded. */
void rec_sideband_recorder(struct rec_sideband *s, const struct rec_counters *c);

/** The ids of the tasks described so far, where they have several. */
void rec_sideband_ids(struct rec_sideband *s);

/** ID_INDEX, EVENT_UPDATE of the names: what lets a reader of a cut file or of a pipe know the
 * events. */
void rec_sideband_events(struct rec_sideband *s, const struct rec_counters *c,
			 const struct perf_evlist *l);

/** LOST_SAMPLES: what the kernel counted as dropped for one counter. */
void rec_sideband_lost(struct rec_sideband *s, const struct rec_lost *lost);

/** CGROUP of every cgroup there is, when asked for (--all-cgroups). */
void rec_sideband_cgroups(struct rec_sideband *s);

/*
 * For the files that make records: begin, add the fields in order, end. A record of the kernel's
 * kind ends with the sample_id trailer, one of tools does not.
 */
size_t rec_sideband_begin(struct rec_sideband *s, uint32_t type, uint16_t misc);
void rec_sideband_u32(struct rec_sideband *s, uint32_t v);
void rec_sideband_u64(struct rec_sideband *s, uint64_t v);
void rec_sideband_text(struct rec_sideband *s, const char *text, size_t len); /* with NUL, padded */
void rec_sideband_end(struct rec_sideband *s, size_t at, uint32_t pid, uint32_t tid);
void rec_sideband_end_plain(struct rec_sideband *s, size_t at);

/* sideband_bpf.c: trampolines and the like, by their symbols; NUL-terminated. */
void rec_sideband_made(struct rec_sideband *s, const char *kallsyms);

/* sideband_ids.c: count a process of /proc; @return false: it has no id @p local. Keep the ids of a
 * thread. */
bool rec_sideband_count_process(struct rec_sideband *s, uint32_t local);
void rec_sideband_note_ids(struct rec_sideband *s, uint32_t procfs, uint32_t local,
			   const struct os_ns_ids *ids);

/** Give all made so far to the file. @return the first error. */
enum clew_err rec_sideband_flush(struct rec_sideband *s);

void rec_sideband_done(struct rec_sideband *s);

#endif
