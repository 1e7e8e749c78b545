/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_LEVEL_H
#define ANALYZE_ANA_LEVEL_H

#include "analyze/analyze.h"

/** "kernel", "guest-user", ...; NULL: unknown. */
const char *ana_level_name(uint8_t level);

/** As a record's misc has it, PERF_RECORD_MISC_KERNEL, ...; 0: unknown. */
uint16_t ana_misc_of_level(uint8_t level);

/** The mark before such addresses of a call chain, PERF_CONTEXT_KERNEL, ...; 0: unknown. */
uint64_t ana_mark_of_level(uint8_t level);

#endif
