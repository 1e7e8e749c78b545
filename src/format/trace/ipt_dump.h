/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACE_IPT_DUMP_H
#define FORMAT_TRACE_IPT_DUMP_H

#include "format/trace/units_dump.h"

/** The packets of each Intel PT unit, as packets_dump(); NR_IPT_KINDS kinds. */
enum clew_err ipt_dump(struct trace_input *t, const struct units_dump_opts *opts,
		       const struct clew_sink *sink, struct clew_diag *diag, bool *ret_is_any);

/** The name of an enum ipt_kind, for units_dump_kinds(). */
const char *ipt_dump_kind(unsigned int kind);

#endif
