/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_AUX_PARSE_H
#define RECORD_PLAN_AUX_PARSE_H

#include "record/plan/rec_error.h"
#include "record/plan/rec_options.h"

/* Options of hardware trace, as perf spells them; the rules are those of rec_parse.h. */

/** -S: "[e][SIZE]"; NULL: neither. */
enum clew_err rec_parse_snapshot(struct rec_options *o, const char *text, struct rec_error *error);

/** --aux-sample: the bytes; NULL: 4096. */
enum clew_err rec_parse_aux_sample(struct rec_options *o, const char *text,
				   struct rec_error *error);

/** What -S contradicts, once all options are read. */
enum clew_err rec_check_snapshot(const struct rec_options *o, const struct rec_event_list *events,
				 struct rec_error *error);

#endif
