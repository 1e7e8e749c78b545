/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_TRACING_CHECK_H
#define PERFDATA_PERF_TRACING_CHECK_H

#include "base/bytes.h"

/**
 * Has @p text the form of the kernel's events/SYSTEM/EVENT/format files? libtraceevent 1.7 trusts
 * them: damaged ones make it read NULL and before its buffers. Checked are the lines in front, that
 * each field is a declaration with its three numbers, that quotes and brackets of the print format
 * close, and that it names fields which are there. O(bytes of the print format x of the fields).
 * Spec: Linux 7.3 kernel/trace/trace_events.c, f_show().
 */
bool perf_tracing_format_is_sane(struct bytes text);

#endif
