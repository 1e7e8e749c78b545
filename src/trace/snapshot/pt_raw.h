/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_SNAPSHOT_PT_RAW_H
#define TRACE_SNAPSHOT_PT_RAW_H

#include "trace/trace_input.h"

/**
 * Intel PT without a recording: @p file is the bytes of one trace. Nothing is known of the
 * processor, and there is no code, so it is for those who look at packets. @p file is borrowed
 * until the trace is freed.
 * @return CLEW_OS, CLEW_UNSUPPORTED (not a regular file), CLEW_NO_MEMORY.
 */
enum clew_err pt_raw_open(struct trace_input **ret, const char *file, struct clew_diag *diag);

#endif
