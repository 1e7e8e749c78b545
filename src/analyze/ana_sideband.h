/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_SIDEBAND_H
#define ANALYZE_ANA_SIDEBAND_H

#include "analyze/analyze.h"

/* Records other than samples, into the state. */

/** Take what is kept of a record, and its part of a table. As budget_account_take(). */
bool ana_charge(struct analyze *a, uint64_t bytes, const char *what);
/** @p time: of the record; ana_has_place() says whether it has one. */
enum clew_err ana_take_record(struct analyze *a, const struct perf_record *r,
			      struct clew_perf_ns time);

#endif
