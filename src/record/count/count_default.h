/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_COUNT_COUNT_DEFAULT_H
#define RECORD_COUNT_COUNT_DEFAULT_H

#include <stdbool.h>

#include "base/buf.h"

/**
 * Append the events that are counted where none were chosen, as a list for rec_events_parse():
 * those of perf stat, with the stalls and the slots of the pipeline where the CPUs' PMU names them.
 * @p sysfs: NULL: /sys. @p detail: so many times -d, at most 3. @p is_wide: of CPUs, not of tasks.
 */
void count_default_events(const char *sysfs, bool is_wide, unsigned int detail, struct buf *out);

#endif
