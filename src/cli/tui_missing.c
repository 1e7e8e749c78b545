/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/common/message.h"
#include "cli/tui.h"
#include "cli/tui_annotate.h"
#include "cli/tui_diff.h"
#include "cli/tui_report.h"
#include "cli/tui_top.h"

/* In place of the tui_ files, in a build without ncurses: tui_check() rejects the option, so that
 * the others are not called. */

int tui_check(const char *option)
{
	cli_error("%s needs ncurses, which was missing when clew was built", option);
	cli_hint("install libncurses-dev and build clew again");
	return CLI_USAGE;
}

int tui_diff_browse(const struct tui_diff_input *in)
{
	(void)in;
	return CLI_FAILED;
}

int tui_annotate_browse(struct annotate *n)
{
	(void)n;
	return CLI_FAILED;
}

struct tui_report *tui_report_new(const struct report_args *parsed)
{
	(void)parsed;
	return NULL;
}

void tui_report_free(struct tui_report *t)
{
	(void)t;
}

void tui_report_set_input(const struct tui_report *t, struct cli_input *in)
{
	(void)t;
	(void)in;
}

int tui_report_browse(struct tui_report *t, const struct tui_report_input *in)
{
	(void)t;
	(void)in;
	return CLI_FAILED;
}

bool tui_report_reads_again(struct tui_report *t)
{
	(void)t;
	return false;
}

bool tui_report_goes_back(struct tui_report *t)
{
	(void)t;
	return false;
}

int tui_top_show(const struct tui_top_input *in)
{
	(void)in;
	return CLI_FAILED;
}
