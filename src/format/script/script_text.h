/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SCRIPT_SCRIPT_TEXT_H
#define FORMAT_SCRIPT_SCRIPT_TEXT_H

#include "analyze/analyze.h"
#include "base/sink.h"
#include "format/script/script_fields.h"
#include "format/script/tracepoint.h"

/*
 * Events as perf script 6.1 prints them, byte for byte.
 *
 *	comm tid [cpu] seconds.micros:  period event:  ip sym+0xoff (dso)
 *
 * With a call chain, the places follow, one per line, and an empty line ends the sample.
 */
struct script_text;

/* script_text_opts.shows: other records than samples */
#define SCRIPT_SHOW_TASK       (1u << 0)
#define SCRIPT_SHOW_MMAP       (1u << 1)
#define SCRIPT_SHOW_SWITCH     (1u << 2)
#define SCRIPT_SHOW_NAMESPACES (1u << 3)
#define SCRIPT_SHOW_LOST       (1u << 4)
#define SCRIPT_SHOW_ROUND      (1u << 5)
#define SCRIPT_SHOW_BPF        (1u << 6)
#define SCRIPT_SHOW_CGROUP     (1u << 7)
#define SCRIPT_SHOW_TEXT_POKE  (1u << 8)
#define SCRIPT_SHOW_DEFERRED   (1u << 9) /* with ana_opts.no_merge: user stacks, separately */

/** All borrowed for the writer's life. */
struct script_text_opts {
	struct script_fields fields; /* as the user wishes; checked against the recording later */
	unsigned int shows;
	bool is_ns, is_deltatime, is_reltime;
	bool is_latency;      /* -L: short names, no columns that move */
	bool no_chains;       /* -G */
	bool no_inlines;      /* only the function itself, where a place has inlined ones */
	bool is_full_path;    /* of source files */
	bool pads_dso;        /* before callindent */
	bool has_kernel_path; /* the kernel by the file its symbols are from */
	uint32_t max_stack;   /* places of a chain to print; 0: all */
	uint64_t max_events;  /* 0: all */
	const char *symbols;  /* -S: comma list of names of the sampled function */
	const char *dsos;     /* comma list of the sampled binary's names or paths */
	const char *stop_bt;  /* comma list: a chain ends after these functions */
	const struct perf_evlist *events; /* NULL: the file's; else those and more */
};

/** @p file and @p sink are borrowed. Without a file (NULL), opts->events are the events. NULL when
 * memory is short. */
struct script_text *script_text_new(const struct script_text_opts *opts, struct perf_file *file,
				    const struct clew_sink *sink);
void script_text_free(struct script_text *t);

/** Give the writer TRACING_DATA formats to use (borrowed); without, raw bytes are not printed. */
void script_text_set_tracepoints(struct script_text *t, struct tracepoints *tp);

/**
 * For ana_consumer.batch.
 * @return CLEW_INVALID: a field was asked for that the recording lacks, see script_text_missing();
 * CLEW_STOPPED: max_events are written; the sink's error.
 */
enum clew_err script_text_batch(void *text, const struct ana_batch *b);

/** Does what is shown of sampled operations allow ana_event.repeat? */
bool script_text_takes_repeats(const struct script_text_opts *opts);

/** Does it take ana_event.steps? */
bool script_text_takes_steps(const struct script_text_opts *opts);

/** A line "--": what follows is not next to what came before. */
void script_text_separate(struct script_text *t);

/** Hand what is still buffered to the sink. */
enum clew_err script_text_flush(struct script_text *t);

/** After CLEW_INVALID. */
const struct script_missing *script_text_missing(const struct script_text *t);

/**
 * Check the fields now, for files, so that a wrong one is refused before anything is printed.
 * @return CLEW_OK or CLEW_INVALID.
 */
enum clew_err script_text_prepare(struct script_text *t);

#endif
