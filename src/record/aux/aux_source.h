/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_AUX_AUX_SOURCE_H
#define RECORD_AUX_AUX_SOURCE_H

#include "record/open/counters.h"
#include "record/plan/source.h"

/**
 * The AUX areas of the rings of @p c, borrowed. After the source of the data rings: an AUX record
 * refers to bytes that are then in the file, or follow.
 * @return ops NULL: there are no AUX areas.
 */
struct rec_source aux_source_of(struct rec_counters *c);

#endif
