/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_ITRACE_H
#define CLI_ITRACE_H

#include "cli/common/input.h"
#include "trace/events/trace_events.h"

/*
 * Hardware trace of the input as events, for commands that print or count events. Zeroed struct =
 * nothing asked for. After cli_input_open() and analyze_open():
 *
 *	status = cli_itrace_open(&it, &in, analysis, &wishes);
 *	if (it.events)
 *		... trace_events_list(it.events), analyze_run(), then trace_events_run() ...
 *	cli_itrace_done(&it);
 */
struct cli_itrace {
	struct itrace_opts opts;
	bool is_set;                    /* opts are the user's, or */
	bool is_implied;                /* those of another option of the user's */
	bool is_off;                    /* --no-itrace */
	bool is_sampled;                /* the defaults are those of a report */
	bool has_no_index, keeps_index; /* --no-index, --index */
	struct trace_input *trace;
	struct trace_events *events; /* NULL: no trace, or none that is decoded */
};

/** Options of trace_events that do not come from --itrace. */
struct cli_itrace_wishes {
	bool wants_addr, wants_branches, wants_insns, wants_depth, wants_ipc;
	enum trace_ops_fold fold;
	bool wants_repeats, wants_steps;
	bool is_single_threaded;
};

/** For an option row: CLI_CALL on a struct cli_itrace, "[OPTS]", can be negated. */
int cli_itrace_set(void *itrace, const char *arg, bool is_negated);

/** For an option row: CLI_CALL on a struct cli_itrace, can be negated. */
int cli_itrace_set_index(void *itrace, const char *arg, bool is_negated);

/* clang-format off */
#define CLI_ITRACE_INDEX_OPTION(itrace)                                                           \
	{0, "index", NULL, "keep an index of the trace in FILE.clew-index (default: of Intel PT from 8 MiB on, "  \
	 "where a filter uses it); --no-index: keep and use none", CLI_CALL, (itrace), cli_itrace_set_index, true}
/* clang-format on */

/** @p a: of the recording, before its run; NULL for a snapshot. Reports failures itself.
 * @return CLI_OK. */
int cli_itrace_open(struct cli_itrace *it, struct cli_input *in, struct analyze *a,
		    const struct cli_itrace_wishes *w);

/** The same for --stats: trace is opened only if its units ask who ran. */
int cli_itrace_open_stats(struct cli_itrace *it, struct cli_input *in, struct analyze *a);
/** After the run: append who ran, by evidence and reason, and what proves it. */
void cli_itrace_stats(const struct cli_itrace *it, struct analyze *a, struct buf *out);

/** When tracing was on, with what the trace says of it, once it was decoded. NULL: nothing switches
 * it. @p recorded: by the records alone. */
const struct ana_tracing *cli_itrace_tracing(const struct cli_itrace *it,
					     const struct ana_tracing *recorded);

/** The recorded events of @p a (NULL: none), and with them those of the trace, where there are any.
 */
enum clew_err cli_itrace_run(struct cli_itrace *it, struct analyze *a,
			     const struct ana_consumer *consumer, struct clew_diag *diag);

/** After the run: what @p a (NULL: none) summed up, with what was made of the trace. */
struct ana_summary cli_itrace_summary(const struct cli_itrace *it, const struct analyze *a);

/** After the run: notes about what was decoded of @p path, and what was not. @p has_errors: the
 * output shows where. */
void cli_itrace_report(const struct cli_itrace *it, const char *path, bool has_errors);
void cli_itrace_done(struct cli_itrace *it);

#endif
