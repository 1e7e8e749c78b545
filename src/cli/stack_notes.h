/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_STACK_NOTES_H
#define CLI_STACK_NOTES_H

#include "profile/branch_edges.h"

/** What was not counted of the branch stacks of the recording @p path, and why. */
void stack_notes_report(const char *path, const struct branch_edges_totals *t);

#endif
