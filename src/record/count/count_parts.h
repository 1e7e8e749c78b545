/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_COUNT_COUNT_PARTS_H
#define RECORD_COUNT_COUNT_PARTS_H

#include "record/open/counters.h"
#include "report/counts.h"

/** Make the table of @p ret: an event for each counter, and the parts by which places are added up
 * (ret->by). @p ret_part: [place], of the arena of @p ret. @return CLEW_NO_MEMORY. */
enum clew_err count_parts_make(const struct rec_counters *c, struct counts *ret,
			       uint32_t **ret_part);

#endif
