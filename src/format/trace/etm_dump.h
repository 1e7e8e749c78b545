/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACE_ETM_DUMP_H
#define FORMAT_TRACE_ETM_DUMP_H

#include "format/trace/units_dump.h"

/** The packets of each ETM unit that is decodable, as packets_dump(); NR_ETM_KINDS kinds. With
 * counts come those of frames. */
enum clew_err etm_dump(struct trace_input *t, const struct units_dump_opts *opts,
		       const struct clew_sink *sink, struct clew_diag *diag, bool *ret_is_any);

/** The name of an enum etm_kind, for units_dump_kinds(). */
const char *etm_dump_kind(unsigned int kind);

#endif
