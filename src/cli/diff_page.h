/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_DIFF_PAGE_H
#define CLI_DIFF_PAGE_H

#include "cli/diff_args.h"

/** `clew diff --html FILE`: the page of report --html with the samples of both recordings, which
 * are compared there. @return the exit status. */
int diff_page(const struct diff_args *a);

#endif
