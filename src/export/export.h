/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "analyze/ana_pauses.h"
#include "base/buf.h"
#include "base/sink.h"
#include "export/export_jumps.h"
#include "export/export_tables.h"
#include "report/report_tree.h"

/*
 * From the pipeline's samples to the files of other tools. One walk serves all formats: it makes
 * the logical stack of each sample once, gives texts, functions, frames, stacks and threads dense
 * numbers, and calls the format, which only writes:
 *
 *	export_new(&x, &opts, &sink, &diag);
 *	analyze_run(a, &(struct ana_consumer){export_batch, x}, &diag);
 *	export_finish(x, summary);
 *	export_free(x);
 *
 * A format is a struct export_format (format/export). It writes to export_out(), and reads the
 * tables at any time; what is numbered never changes, and grows only.
 */
struct export;

/** What sums of a format with has_sums differ by, besides event and stack. */
enum {
	EXPORT_BY_PID = 1 << 0,
	EXPORT_BY_TID = 1 << 1,
	EXPORT_BY_CPU = 1 << 2,
	EXPORT_BY_CGROUP = 1 << 3,
	EXPORT_BY_COMM = 1 << 4,
	EXPORT_BY_LEVEL = 1 << 5,
	EXPORT_BY_CUT = 1 << 6,
};

/** A sample, or with has_sums all that have these numbers in common. */
struct export_sample {
	uint32_t event;           /* column: of export_events() */
	uint32_t key;             /* of export_key_at() */
	uint32_t node;            /* its stack, of export_stack() */
	struct clew_perf_ns time; /* 0 in sums, as ip is */
	uint64_t ip;              /* as recorded */
	uint64_t nr, period;
};

/** Records that the kernel could not write. */
struct export_lost {
	struct clew_perf_ns time;
	uint32_t cpu; /* all ones: unknown */
	uint64_t nr;
};

/** A thread went from a CPU, or to it. */
struct export_switch {
	struct clew_perf_ns time;
	uint32_t pid, tid, cpu; /* all ones: unknown */
	uint32_t thread;        /* of export_thread_at(); EXPORT_NONE: it has no samples so far */
	uint32_t comm;          /* text */
	bool is_out;
	bool is_preempted; /* with is_out: it would run on */
};

/** How a format is written. All but name, summary, end, and one of sample and event may be NULL. */
struct export_format {
	const char *name;    /* of --to */
	const char *summary; /* for --help */
	bool is_binary;      /* not for terminals */
	bool is_packed;      /* always compressed by gzip */
	bool has_one_event;  /* one weight: other events are omitted */
	bool has_sums;       /* samples come added up, in order of key and node, each one perhaps
				in several parts, and before end() alone */
	bool by_function;    /* stacks are of functions, not of frames */
	bool wants_lines;    /* source lines, also without inlined functions */
	bool has_addresses;  /* if opts ask for them */
	bool is_recording;   /* of a recording of this byte order alone */
	const char *library; /* that is loaded to write it; NULL: none */
	uint32_t keys;       /* EXPORT_BY_ that it writes by itself, */
	uint32_t more_keys;  /* and those that it can write, with opts.keys */
	size_t state_bytes;  /* of export_state(), zeroed */
	enum clew_err (*begin)(struct export *x); /* before the first sample: events and threads
						     follow */
	/** A thread was met first, or has a new name: number of export_thread_at(). */
	enum clew_err (*thread)(struct export *x, uint32_t thread, struct clew_perf_ns time);
	enum clew_err (*sample)(struct export *x, const struct export_sample *s);
	enum clew_err (*lost)(struct export *x, const struct export_lost *l);
	enum clew_err (*switched)(struct export *x, const struct export_switch *s);
	/** Most of them come before end(), in no order. */
	enum clew_err (*paused)(struct export *x, const struct ana_pause *p);
	/** In place of sample(): samples that are not omitted, and all other records, as the
	 * pipeline delivers them. */
	enum clew_err (*event)(struct export *x, const struct ana_event *e);
	enum clew_err (*end)(struct export *x);
	void (*done)(struct export *x); /* free what the state owns; after each begin() */
	/** Of a CLEW_OS that is not the sink's: why, in words of others. NULL: unknown. */
	const char *(*why)(struct export *x);
};

struct export_opts {
	const struct export_format *format;
	struct perf_file *file;           /* borrowed; NULL: of a snapshot */
	const struct perf_evlist *events; /* all that may come, of trace too; borrowed */
	const char *event;                /* only this one; NULL: all */
	const struct export_jumps *jumps; /* with has_addresses; NULL: none; borrowed */
	/* With has_addresses: the call that ends before @after, in a function that begins at
	 * @start (linked addresses); 0: unknown. NULL: of no call. */
	uint64_t (*call_start)(const struct dso *d, uint64_t start, uint64_t after);
	/* Called for each event, in order: is the sample wanted? NULL: all are. */
	bool (*picks)(void *ctx, const struct ana_batch *b, const struct ana_event *e);
	void *picks_ctx;
	/* Overwrite bytes of the sink at an absolute offset, by the sink's ctx; NULL: it only
	 * appends. */
	enum clew_err (*rewrite)(void *ctx, uint64_t offset, const void *data, size_t size);
	uint32_t keys;      /* EXPORT_BY_ of the user */
	bool by_samples;    /* the weight is the number of samples, not the period */
	bool has_addresses; /* of instructions, beside lines */
	bool no_inline;
	bool no_cut_frames;
	bool no_level_suffix;
	struct budget *budget; /* NULL: no limit */
	/* For tests; 0: the default. */
	uint32_t max_nodes, max_frames, max_sums;
	uint64_t max_text_bytes;
};

/** One event of the recording that has samples. */
struct export_event {
	const struct perf_evsel *evsel;
	uint32_t name;       /* text */
	bool is_omitted;     /* opts.event, or has_one_event */
	uint64_t nr, period; /* of all its samples */
};

/** What was written, and what was not. */
struct export_summary {
	uint64_t nr_samples, period;  /* written */
	uint64_t nr_omitted;          /* of other events */
	uint64_t nr_unpicked;         /* that opts.picks did not want */
	uint64_t nr_short;            /* written with their innermost function alone: no room */
	uint64_t nr_cut;              /* written with a cut stack */
	uint64_t nr_no_key;           /* of threads and groups for which there was no room */
	uint64_t nr_pauses, pause_ns; /* added up over CPUs and threads */
	uint64_t overlap_ns;          /* by which slices of wall time are shorter than samples */
	uint64_t nr_clipped;          /* markers outside of the time of all samples, moved to it */
};

/** CLEW_NO_MEMORY. @p opts is copied, what it names is borrowed; @p sink too. */
enum clew_err export_new(struct export **ret, const struct export_opts *opts,
			 const struct clew_sink *sink, struct clew_diag *diag);
void export_free(struct export *x);

/** To be an ana_consumer's batch(), with the export as its ctx. CLEW_INVALID: has no such event. */
enum clew_err export_batch(void *x, const struct ana_batch *b);

/** Write the rest. @p s: of the run; borrowed for the call. */
enum clew_err export_finish(struct export *x, const struct ana_summary *s);

const struct export_summary *export_summary(const struct export *x);
/** The format's cause of a CLEW_OS, in words of others; NULL: it has none. */
const char *export_why(struct export *x);

/* --- for formats --- */

const struct export_opts *export_opts(const struct export *x);
/** The format's own memory, of state_bytes. */
void *export_state(struct export *x);
/** For a format that writes nothing to export_out(). */
const struct clew_sink *export_sink(const struct export *x);
/** Bytes that go to the sink with export_flush(). */
struct buf *export_out(struct export *x);
/** Hand over what is more than some 64 KiB. */
enum clew_err export_flush(struct export *x);
/** A stack was cut when it was written. */
void export_count_cut(struct export *x);
/** Slices of wall time are shorter than their samples. */
void export_count_overlap(struct export *x, uint64_t ns);
/** A marker was moved. */
void export_count_clipped(struct export *x);
/** NULL before the end. */
const struct ana_summary *export_of_run(const struct export *x);

const struct export_tables *export_tables(const struct export *x);
struct export_tables *export_tables_mut(struct export *x); /* to add texts */
size_t export_nr_events(const struct export *x);
const struct export_event *export_event_at(const struct export *x, size_t i);
const struct export_key *export_key_at(const struct export *x, uint32_t key);
size_t export_nr_threads(const struct export *x);
/** EXPORT_NONE: all of it is unknown. */
const struct export_thread *export_thread_at(const struct export *x, uint32_t thread);

/** The weight that one value has room for. */
static inline uint64_t export_weight(const struct export_opts *o, const struct export_sample *s)
{
	return o->by_samples ? s->nr : s->period;
}

/** Numbers of frames (by_function: functions), innermost first. Valid until the next call. */
struct export_stack {
	const uint32_t *at;
	size_t nr;
};
/** @return false when memory is short. */
bool export_stack(struct export *x, uint32_t node, struct export_stack *ret);

/* Stacks as the tree they are, for formats with such a table: numbers from 1 to export_nr_nodes(),
 * callers first. */
uint32_t export_nr_nodes(const struct export *x);
const struct report_tree *export_tree(const struct export *x);
/** The stack of the innermost frame's callers; 0: it has none. */
uint32_t export_callers(const struct export *x, uint32_t node);
/** Its innermost frame (by_function: function). */
uint32_t export_innermost_frame(const struct export *x, uint32_t node);

/** Of the first and last sample written. */
struct clew_perf_ns export_first_time(const struct export *x);
struct clew_perf_ns export_last_time(const struct export *x);

#endif
