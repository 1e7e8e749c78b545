/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_PERF_FEATURES_MAKE_H
#define TESTS_MAKE_PERF_FEATURES_MAKE_H

#include "make/perf_random.h"

/**
 * Append a valid content of the header feature @p feature. The machine it describes has
 * PERF_MAKE_CPUS CPUs in every feature, so that those which depend on each other fit.
 */
void perf_make_feature(struct perf_random *r, struct perf_put *p, enum perf_feature feature);

enum { PERF_MAKE_CPUS = 3, PERF_MAKE_ITEMS = 2 }; /* items: of every list */

#endif
