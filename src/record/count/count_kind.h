/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_COUNT_COUNT_KIND_H
#define RECORD_COUNT_COUNT_KIND_H

#include "perfdata/perf_abi.h"
#include "report/counts.h"

/** What the event counts, as far as metrics know it. */
enum count_kind count_kind_of(const struct perf_attr *attr, const char *name);

#endif
