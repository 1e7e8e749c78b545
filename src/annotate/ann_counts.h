/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANNOTATE_ANN_COUNTS_H
#define ANNOTATE_ANN_COUNTS_H

#include "analyze/analyze.h"
#include "base/budget.h"
#include "base/map_u64.h"
#include "base/vec.h"

/*
 * From the pipeline's samples: how many hit each address of each function. Samples without a symbol
 * count in the events alone.
 */

struct ann_weight {
	uint64_t nr, period;
};

static inline void ann_weight_add(struct ann_weight *to, const struct ann_weight *more)
{
	to->nr += more->nr;
	to->period += more->period;
}

struct ann_counts_opts {
	const char *symbol; /* as shown, or as linked: addresses of these alone; NULL: of all */
	const char *dso;    /* path or last part of it: symbols of this file alone; NULL: of all */
	bool counts_all;    /* addresses of all symbols: is_wanted says which were asked for */
	struct budget *budget;
};

/** Samples of one event at one address. */
struct ann_cell {
	uint64_t rel; /* image/dso.h */
	uint32_t symbol, event;
	struct ann_weight weight;
};

struct ann_symbol {
	const struct dso *dso;
	const struct dso_sym *sym;
	bool is_wanted;
	struct ann_weight weight; /* of all events */
	size_t first_cell, nr_cells;
};

struct ann_event {
	const struct perf_evsel *evsel; /* NULL: unknown, no sample of it */
	struct ann_weight weight;       /* of all symbols, and of none */
	bool is_traced;                 /* made from a hardware trace */
};

/** Zeroed struct but for opts = empty. */
struct ann_counts {
	struct ann_counts_opts opts;
	struct {
		VEC(struct ann_event);
	} events; /* by index of the evsel */
	struct {
		VEC(struct ann_symbol);
	} symbols;
	struct {
		VEC(struct ann_cell);
	} cells;
	struct map_u64 by_sym;
	uint32_t *slots; /* number of a cell + 1; 0: empty */
	size_t nr_slots; /* a power of two */
	struct budget_account account;
	struct ann_weight no_room; /* not counted */
};

/** To be an ana_consumer's batch(), with a struct ann_counts as its ctx. */
enum clew_err ann_counts_batch(void *counts, const struct ana_batch *b);

/** Know an event, also where no sample of it comes: a column of zeros beside others. @return false
 * when memory is short. */
bool ann_counts_add_event(struct ann_counts *c, const struct perf_evsel *evsel);

/** After the run: cells by symbol, address, event; symbols by period, largest first. */
void ann_counts_finish(struct ann_counts *c);
void ann_counts_done(struct ann_counts *c);

#endif
