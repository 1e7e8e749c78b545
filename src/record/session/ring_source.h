/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_SESSION_RING_SOURCE_H
#define RECORD_SESSION_RING_SOURCE_H

#include "record/open/counters.h"
#include "record/plan/source.h"

/**
 * The kernel's events and rings, each span in one piece as it lies there; records that another
 * recorder damaged are mended. Overwritten rings are read in the last pass of a file, paused
 * meanwhile.
 *
 * @p c: borrowed. @p is_read: another source reads the forward rings; here they are only waited
 * for. @return ops NULL: out of memory.
 */
struct rec_source ring_source_new(struct rec_counters *c, bool is_read);

#endif
