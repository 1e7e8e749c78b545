/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_AUX_AUX_SOURCE_H
#define RECORD_AUX_AUX_SOURCE_H

#include "record/open/counters.h"
#include "record/plan/rec_ui.h"
#include "record/plan/source.h"

/**
 * The AUX areas of the rings of @p c. After the source of the data rings: an AUX record refers to
 * bytes that are then in the file, or follow. All is borrowed.
 * @return ops NULL: there are no AUX areas, or CLEW_NO_MEMORY.
 */
enum clew_err aux_source_new(struct rec_source *ret, struct rec_counters *c,
			     const struct rec_options *o, const struct rec_ui *ui);

/** Map the AUX areas of @p c, and make their source. @p may_reopen: a CPU that was offline and came
 * back may be opened again, as no source keeps its events. @return CLEW_OS with a sentence. */
enum clew_err aux_source_open(struct rec_source *ret, struct rec_counters *c,
			      const struct rec_options *o, const struct rec_ui *ui, bool may_reopen,
			      struct rec_error *error);

#endif
