/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_REPORT_BRANCHES_H
#define CLI_REPORT_BRANCHES_H

#include "cli/report_args.h"

/*
 * What `clew report` counts: branches, with -b or where the header says that there are branch
 * stacks, as perf has it; else samples.
 */

/** Does the trace of the input have to have branch stacks made and resolved? */
bool report_branches_of_trace(const struct report_args *a);

/**
 * After the input and its trace are open: set a->feed for branches, or leave it for samples.
 * @p analyze: NULL: of a snapshot. Reports failures itself. @return CLI_OK.
 */
int report_branches_choose(struct report_args *a, struct analyze *analyze);

/** After the run: were there any to count? For a stream it is known only then. @return CLI_OK. */
int report_branches_check(const struct report_args *a, struct analyze *analyze);

/** Before they are chosen: may branches be counted? Each is one, then, of sampled operations too.
 * @p analyze: NULL: of a snapshot. */
bool report_branches_may_be(const struct report_args *a, struct analyze *analyze);

/** Notes about skipped samples, and about entries that are no branches. */
void report_branches_note(const struct report_args *a, const struct report_feed *f);

#endif
