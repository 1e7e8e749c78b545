/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TUI_ANNOTATE_H
#define CLI_TUI_ANNOTATE_H

#include "cli/annotate_run.h"

/** `clew annotate --tui`: the function that was asked for, or the hottest one. @return CLI_OK, or
 * CLI_USAGE after a message. */
int tui_annotate_browse(struct annotate *n);

/** The function of this name, with samples; one of @p dso (path or last part) before others.
 * NULL: there is none. */
const struct ann_symbol *tui_annotate_find(const struct annotate *n, const char *name,
					   const char *dso);

/** The same view over a screen that is open already. */
void tui_annotate_show(struct annotate *n, const struct ann_symbol *s);

#endif
