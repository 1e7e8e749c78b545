/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_PERF_TRACE_H
#define TRACE_PERF_PERF_TRACE_H

#include "analyze/analyze.h"
#include "trace/trace_ops.h"

/*
 * The hardware trace of a perf.data: AUXTRACE_INFO says of which protocol it is (aux_protocol.h)
 * and describes the trace units, AUX records say which bytes of the AUXTRACE buffers are trace. All
 * other records are read first: they are the history of threads and mappings, which is asked for
 * code and threads of any time.
 */

/**
 * One unit for each CPU in the metadata; all in session 0. Its bounds are the times of the AUX
 * records, ns; of a recording without times, numbers in the order of its records.
 * @p input and @p symbols are borrowed for its life. Trace of a pipe is kept in memory, up to 1
 * GiB.
 * @return CLEW_UNSUPPORTED: no trace that is decoded is in it; else as perf_file_open(). */
enum clew_err perf_trace_open(struct trace_input **ret, const struct perf_input *input,
			      const struct dso_store_opts *symbols, struct clew_diag *diag);

/** What will be asked of the trace: known before, it saves a pass. Zeroed: anything. */
struct perf_trace_wishes {
	enum trace_ops_fold fold; /* of operations, as trace_decode_opts.ops_fold */
	bool is_single_threaded;
	/** Only events that it keeps are of interest: decode no more than these need
	 * (aux_wanted.h). NULL: all. Borrowed until the trace is open. */
	const struct ana_filter *filter;
	/** The recording's path, to keep an index of its trace beside it. NULL: none is. */
	const char *index_path;
	bool keeps_index; /* also where it does not pay */
};

/**
 * The trace of the recording that @p a reads, before its run: with its input and its binaries, each
 * of which is known once. Ends before @p a does; both run in one thread. Errors as
 * perf_trace_open().
 */
enum clew_err perf_trace_open_in(struct trace_input **ret, struct analyze *a,
				 const struct perf_trace_wishes *w, struct clew_diag *diag);

#endif
