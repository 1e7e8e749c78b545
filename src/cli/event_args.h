/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_EVENT_ARGS_H
#define CLI_EVENT_ARGS_H

#include <stdint.h>

#include "cli/common/options.h"
#include "record/plan/rec_error.h"

/* Options that record and stat have alike: rows of CLI_CALL. */

/** -e and --filter; @p to: a struct rec_event_list. */
int event_args_add(void *to, const char *arg, bool is_negated);
int event_args_filter(void *to, const char *arg, bool is_negated);

/** -i; @p to: an enum rec_tristate. */
int event_args_no_inherit(void *to, const char *arg, bool is_negated);

/** Options that only perf has: rejected, never ignored. @p to: the sentence. */
int event_args_unsupported(void *to, const char *arg, bool is_negated);

#define ONLY_IN_PERF(short_name, name, arg, sentence)                                        \
 {                                                                                           \
  short_name, name, arg, NULL, CLI_CALL, (void *)(uintptr_t)sentence, event_args_unsupported \
 }

/** The sentence, and the hint. @return CLI_USAGE. */
int event_args_refuse(const struct rec_error *error);

#endif
