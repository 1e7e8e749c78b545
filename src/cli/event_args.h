/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_EVENT_ARGS_H
#define CLI_EVENT_ARGS_H

#include <stdint.h>

#include "base/buf.h"
#include "cli/common/message.h"
#include "cli/common/options.h"
#include "record/plan/rec_error.h"
#include "record/plan/rec_options.h"

/* Options that commands have alike which open events: rows of CLI_CALL. */

/** -e and --filter; @p to: a struct rec_event_list. */
int event_args_add(void *to, const char *arg, bool is_negated);
int event_args_filter(void *to, const char *arg, bool is_negated);

/** -m, -F, --call-graph and -g; @p to: a struct rec_options. */
int event_args_pages(void *to, const char *arg, bool is_negated);
int event_args_freq(void *to, const char *arg, bool is_negated);
int event_args_callgraph(void *to, const char *arg, bool is_negated);
int event_args_callgraph_auto(void *to, const char *arg, bool is_negated);

/** -c, after all options. @p count: as given; NULL: not. @return false after a message. */
bool event_args_period(struct rec_options *o, const char *count);

/** What the library does not read itself. @p cache_dir lives as long as @p o. */
void event_args_environment(struct rec_options *o, struct buf *cache_dir);

/** A flag with a third state: not given; @p to: an enum rec_tristate. */
int event_args_tristate(void *to, const char *arg, bool is_negated);
/** -i; the same. */
int event_args_no_inherit(void *to, const char *arg, bool is_negated);

/** Options that only perf has: rejected, never ignored. @p to: the sentence. */
int event_args_unsupported(void *to, const char *arg, bool is_negated);

/* clang-format off */
/** Rows of what is watched; @p o: a struct rec_options; @p tids_help: whether children of threads
 * are watched, too, differs. */
#define EVENT_TARGET_OPTIONS(o, tids_help)                                                                           \
	{0, "Target", NULL, NULL, CLI_SECTION},                                                               \
	{'a', "all-cpus", NULL, "everything on all CPUs (default without a command)", CLI_FLAG, &(o)->is_system_wide}, \
	{'C', "cpu", "CPUS", "everything on these CPUs, such as 0-3,8", CLI_STRING, &(o)->cpus},              \
	{'p', "pid", "PIDS", "running processes (comma list)", CLI_STRING, &(o)->pids},                       \
	{'t', "tid", "TIDS", tids_help, CLI_STRING, &(o)->tids},                                                \
	{'u', "uid", "USER", "running processes of a user, by name or number", CLI_STRING, &(o)->user},       \
	{'G', "cgroup", "NAMES", "only tasks in these cgroups, one per event; needs -a or -C", CLI_STRING, &(o)->cgroups}
/* clang-format on */

#define ONLY_IN_PERF(short_name, name, arg, sentence)                                        \
 {                                                                                           \
  short_name, name, arg, NULL, CLI_CALL, (void *)(uintptr_t)sentence, event_args_unsupported \
 }

/** The sentence, and the hint. @return CLI_USAGE. */
int event_args_refuse(const struct rec_error *error);

/* An option with an argument that a function of record/plan/rec_parse.h parses. */
#define EVENT_ARG(name, parse)                                                   \
 int name(void *to, const char *arg, bool is_negated)                            \
 {                                                                               \
  struct rec_error error;                                                        \
                                                                                 \
  (void)is_negated;                                                              \
  return parse(to, arg, &error) == CLEW_OK ? CLI_OK : event_args_refuse(&error); \
 }

#endif
