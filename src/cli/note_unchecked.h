/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_NOTE_UNCHECKED_H
#define CLI_NOTE_UNCHECKED_H

#include "analyze/analyze.h"

/** A note for each file with names that may not be the recorded one; of many the first. */
void cli_note_unchecked(const struct ana_summary *s);

#endif
