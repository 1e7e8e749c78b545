/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ROWS_DIFF_FEED_H
#define ROWS_DIFF_FEED_H

#include "perfdata/perf_evlist.h"
#include "report/report_diff.h"
#include "report/report_diff_name.h"
#include "rows/report_feed.h"

/*
 * From the rows of several recordings, one after the other, to tables that compare them: one for
 * each event. Nothing of a recording is needed any more once its rows were taken.
 *
 * A row's name is what is shown of it: the texts of its sort keys, each with a NUL after it. By
 * default compilers' suffixes of functions are omitted, files of one build id have one name, and
 * all places without a name in a file are one row.
 */
struct diff_feed_opts {
	struct report_sort sort;
	enum report_diff_norm norm;
	const char *ref;              /* of REPORT_DIFF_REF: a function */
	bool is_exact;                /* rows are paired by names as they are */
	bool is_forced;               /* different events are compared, in their order */
	bool is_relative_total;       /* shares are of the samples that the filter kept */
	struct report_diff_opts diff; /* its scales are set here */
	double min_share;             /* 0 to 1, of each recording's whole */
	struct budget *budget;
};

/** One event of one recording. */
struct diff_event {
	char *name, *unit; /* name NULL: the recording does not have it; unit NULL: a count */
	struct report_diff_count all, kept;
	struct report_diff_whole whole; /* what values are made of */
	struct report_diff_scale scale;
	double value; /* of its whole */
};

struct diff_table {
	struct diff_event events[REPORT_DIFF_MAX];
	struct report_diff diff;
};

struct diff_feed {
	struct diff_feed_opts opts;
	uint32_t nr_inputs;
	struct {
		VEC(struct diff_table *);
	} tables;
	struct report_diff_files files;
	uint64_t ns[REPORT_DIFF_MAX]; /* of each recording; 0: unknown */
};

/** Texts of @p opts are borrowed. @p nr_inputs: up to REPORT_DIFF_MAX. */
void diff_feed_init(struct diff_feed *d, const struct diff_feed_opts *opts, uint32_t nr_inputs);
void diff_feed_done(struct diff_feed *d);

/**
 * Take all rows of @p f, which is finished, for recording @p input; each once, in order.
 * @p evlist: its events, those without samples, too; NULL: only those with samples.
 * @p first, @p last: times of its samples. CLEW_NO_MEMORY.
 */
enum clew_err diff_feed_take(struct diff_feed *d, uint32_t input, struct report_feed *f,
			     const struct perf_evlist *evlist, struct clew_perf_ns first,
			     struct clew_perf_ns last);

/** Why recordings cannot be compared. */
enum diff_fault {
	DIFF_FITS,
	DIFF_OTHER_EVENT, /* table, other: events that only some recordings have */
	DIFF_OTHER_UNIT,
	DIFF_NO_TIME, /* of an input, for the normalisation */
	DIFF_NO_CPU_TIME,
	DIFF_NO_REF,
};

struct diff_doubt {
	enum diff_fault fault;
	uint32_t input, other;           /* recordings */
	const char *event, *other_event; /* of them; NULL: none */
};

/** After all recordings: compare and sort; or what is in the way. */
struct diff_doubt diff_feed_finish(struct diff_feed *d);

/** The text of sort key number @p key of a row. */
const char *diff_row_text(const struct diff_table *t, const struct report_diff_row *row,
			  size_t key);

/** Has the event samples in any recording? */
bool diff_table_has_samples(const struct diff_feed *d, const struct diff_table *t);

#endif
