/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_BRANCH_FILTER_H
#define PROFILE_BRANCH_FILTER_H

#include <stdbool.h>

#include "base/buf.h"
#include "perfdata/perf_attr.h"

/**
 * Do branch stacks of @p attr have every branch that was taken (at the levels that were recorded)?
 * Only then all between two entries ran. Call stacks lose entries at returns; a kind alone, as
 * any_call, or transactions alone, omit what is between. Where no kind is named, which the kernel
 * refuses, the stacks were made of a trace ("perf inject --itrace=l"): these have all.
 */
bool branch_filter_has_all(const struct perf_attr *attr);

/** What was recorded, in the words of record -j: "any_call,cond". */
void branch_filter_name(const struct perf_attr *attr, struct buf *ret);

#endif
