/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_USER_STACKS_H
#define FORMAT_USER_STACKS_H

#include "analyze/analyze.h"
#include "format/json_put.h"

/* Outcomes of the samples' user stacks, as counted with ana_opts.wants_outcomes. */

/** The table: each sample once, by outcome and reason; then the stacks, by why they end. */
void user_stacks_text(struct buf *out, const struct ana_summary *s);

/**
 * Sentence @p i, from 0: how many stacks were lost, and why; how many ended before the outermost
 * frame, and why, and how many have frames found by frame pointers alone. Nothing is appended where
 * there were none. @return false: there are no more sentences.
 */
bool user_stacks_sentence(struct buf *out, const struct ana_summary *s, unsigned int i);

/** What is unknown because the header's own section is unusable; nothing if it is usable. */
void user_stacks_unknown_text(struct buf *out, const struct ana_summary *s);

/** The same as the table, as a member "user_stacks". */
void user_stacks_json(struct json_put *j, const struct ana_summary *s);

/** Of one sample, as a member "user_stack". */
void user_stack_json(struct json_put *j, const struct ana_event *e);

#endif
