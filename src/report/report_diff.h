/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REPORT_REPORT_DIFF_H
#define REPORT_REPORT_DIFF_H

#include "base/budget.h"
#include "base/intern.h"

/*
 * Rows of several recordings side by side, as values: paired by their names, made comparable,
 * compared with those of the first recording, and sorted.
 */
enum { REPORT_DIFF_MAX = 16 /* recordings */ };

struct report_diff_count {
	uint64_t period, nr; /* samples */
};

/** What values are. */
enum report_diff_norm {
	REPORT_DIFF_SHARE, /* percent of the recording's period */
	REPORT_DIFF_TIME,  /* period per second of the recording */
	REPORT_DIFF_CPU,   /* period per second of CPU time */
	REPORT_DIFF_REF,   /* percent of the period of one function */
	REPORT_DIFF_NONE,  /* periods */
};

/** Values of shares and of a reference are percent. */
static inline bool report_diff_is_percent(enum report_diff_norm n)
{
	return n == REPORT_DIFF_SHARE || n == REPORT_DIFF_REF;
}

/** One recording's whole. */
struct report_diff_whole {
	struct report_diff_count all, ref;
	uint64_t ns, cpu_ns; /* 0: unknown */
};

/** How a recording's periods become values. */
struct report_diff_scale {
	double factor; /* value = period * factor */
	/* A value's relative variance is 1 / its samples + shift. Binomial, of shares: - 1 / all
	 * samples. Of counts: 0. Of what is divided by another count: 1 / samples of that. */
	double shift;
	double one; /* the value of a sample, on average */
};

/** @return false: the recording lacks what is needed. A recording without samples has only zeros.
 */
bool report_diff_scale_of(enum report_diff_norm n, const struct report_diff_whole *w,
			  struct report_diff_scale *ret);

enum report_diff_order {
	REPORT_DIFF_BY_DELTA, /* what grew most first */
	REPORT_DIFF_BY_DELTA_ABS,
	REPORT_DIFF_BY_RATIO,
	REPORT_DIFF_BY_WDIFF, /* by period * weights[1] - that of the first * weights[0] */
};

enum report_diff_state {
	REPORT_DIFF_IN_NONE, /* neither in the first recording nor in this one */
	REPORT_DIFF_IN_BOTH,
	REPORT_DIFF_NEW,
	REPORT_DIFF_GONE
};

/** One row in one recording, and compared with the first one. */
struct report_diff_cell {
	struct report_diff_count count; /* nr 0: it has no such row */
	double value, variance;
	enum report_diff_state state;
	double delta, ratio, wdiff; /* ratio: only IN_BOTH, else 0 */
	double delta_error;         /* the standard error of delta */
	/* Delta is more than two of them, and half a sample of each: samples are whole numbers, so
	 * that without it more than 5 % of what is noise would be (Yates's correction). */
	bool is_significant;
};

struct report_diff_row {
	uint32_t name;  /* in report_diff.names */
	uint32_t cells; /* of the first recording; the others follow */
	bool is_significant;
	bool is_shown;
};

/** Zeroed struct but for nr_inputs and account.budget = no rows. */
struct report_diff {
	uint32_t nr_inputs;
	struct intern names;
	struct {
		VEC(struct report_diff_row);
	} rows;
	struct {
		VEC(struct report_diff_cell);
	} cells;
	struct {
		VEC(uint32_t);
	} cells_of;      /* by name: its row's + 1; 0: no such row */
	size_t nr_shown; /* the first rows; the others are below the limits */
	struct budget_account account;
};

struct report_diff_opts {
	enum report_diff_order order;
	double weights[2];
	struct report_diff_scale scales[REPORT_DIFF_MAX];
	double min_values[REPORT_DIFF_MAX]; /* a row that is below them everywhere is not shown */
	bool only_significant;
};

/**
 * Count @p c in recording @p input for the row of this name, which may hold any bytes, or
 * none. A name added twice is one row. @return false: memory is short. A row that the budget has
 * no room for is omitted.
 */
bool report_diff_add(struct report_diff *d, uint32_t input, const char *name, size_t size,
		     struct report_diff_count c);

/** After all were added: values, differences, order. Rows of equal order are sorted by name. */
void report_diff_finish(struct report_diff *d, const struct report_diff_opts *o);
void report_diff_done(struct report_diff *d);

static inline const struct report_diff_cell *report_diff_cell(const struct report_diff *d,
							      const struct report_diff_row *row,
							      uint32_t input)
{
	return &d->cells.data[row->cells + input];
}

/** Rows that grew significantly, by more than @p limit, in any recording. @p ret_worst: the one
 * that grew most; NULL: none. */
size_t report_diff_above(const struct report_diff *d, double limit,
			 const struct report_diff_row **ret_worst, double *ret_delta);

/** Without libm. @p v: not negative. */
double report_diff_root(double v);

#endif
