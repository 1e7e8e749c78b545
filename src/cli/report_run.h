/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_REPORT_RUN_H
#define CLI_REPORT_RUN_H

#include "cli/report_page.h"
#include "cli/tui_report.h"
#include "format/report/report_json.h"
#include "profile/branch_source.h"

/** One run of the command. */
struct report_run {
	struct report_args args;
	struct analyze *analyze;       /* NULL: of a snapshot */
	struct branch_sources sources; /* outlives the analysis */
	struct report_feed *feed;
	struct ana_summary summary;
	struct clew_sink out;
	struct clew_diag diag, out_diag;
	struct report_json json;
	struct report_page page; /* --html */
	struct tui_report *tui;  /* --tui; borrowed */
	struct buf notes;        /* messages of it that wait */
	bool is_written;         /* also of a damaged recording, if it has samples */
	size_t nr_rows;          /* shown in all tables */
	bool has_warned;
	int refused; /* the exit status if the input lacks what was requested */
};

/** report_output.c: all that was counted, as the user wants it. @p damage: where the file could not
 * be read on. */
enum clew_err report_write_output(struct report_run *r, const struct clew_diag *damage);

/** report_warn.c: what the recording lacks, and what was not shown of it. */
void report_warn(struct report_run *r);

#endif
