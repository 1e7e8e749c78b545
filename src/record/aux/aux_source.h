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

/** Map the AUX areas of @p c, and make their source. @return CLEW_OS with a sentence. */
enum clew_err aux_source_open(struct rec_source *ret, struct rec_counters *c,
			      const struct rec_options *o, struct rec_error *error);

#endif
