/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_AUX_AUX_REPORT_H
#define RECORD_AUX_AUX_REPORT_H

#include "record/aux/aux_area.h"
#include "record/plan/rec_ui.h"

struct aux_areas {
	VEC(struct aux_area);
};

/** A snapshot was taken: since when it is complete in all areas; with @p is_verbose, in each. The
 * traces stood still for @p held_ns; 0: they were off. */
void aux_report_snapshot(const struct aux_areas *l, uint64_t number, uint64_t held_ns,
			 const struct rec_ui *ui, bool is_verbose);

/** What was lost, and why; with @p is_verbose, what each area brought. */
void aux_report(const struct aux_areas *l, const struct rec_ui *ui, bool is_verbose);

#endif
