/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TUI_REPORT_H
#define CLI_TUI_REPORT_H

#include "cli/report_args.h"

/*
 * `clew report --tui`: a browser of the rows that the text shows, and of their call graphs. A
 * recording is read, browsed, and read again where the browser asks for another file or range of
 * time:
 *
 *	t = tui_report_new(&args);
 *	do {
 *		a = args; tui_report_set_input(t, &a.in); ... read ...
 *		tui_report_browse(t, &input);
 *	} while (tui_report_reads_again(t) || (it failed && tui_report_goes_back(t)));
 */
struct tui_report;

/** What was read. Borrowed. */
struct tui_report_input {
	struct report_args *args; /* of this reading; its options of tables are changed */
	struct report_feed *feed;
	struct analyze *analyze; /* NULL: of a snapshot */
	const struct ana_summary *summary;
	const struct buf *notes; /* messages about it, in lines */
};

/** @p parsed: as from the command line; borrowed. NULL: memory is short. */
struct tui_report *tui_report_new(const struct report_args *parsed);
void tui_report_free(struct tui_report *t);

void tui_report_set_input(const struct tui_report *t, struct cli_input *in);

/** @return CLI_OK: the user left it, or tui_report_reads_again(); else what went wrong, after a
 * message. */
int tui_report_browse(struct tui_report *t, const struct tui_report_input *in);

/** Once: is there something else to read now? */
bool tui_report_reads_again(struct tui_report *t);

/** After a failure: was it of what the browser asked for last, so that what was shown before is to
 * be read again? */
bool tui_report_goes_back(struct tui_report *t);

#endif
