/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACE_SPE_UNITS_DUMP_H
#define FORMAT_TRACE_SPE_UNITS_DUMP_H

#include "format/trace/units_dump.h"

/**
 * The packets of an input's SPE units, as they are:
 *
 *	OFFSET INPUT  BYTES  TEXT
 *
 * OFFSET is that in the AUX ring, INPUT that in the file; padding is one line per run in a piece.
 * Or as one JSON object per line, or only counted. NR_SPE_KINDS kinds.
 * @return what the run or the sink returned; CLEW_NO_MEMORY. *ret_is_any: there are such units.
 */
enum clew_err spe_units_dump(struct trace_input *t, const struct units_dump_opts *opts,
			     const struct clew_sink *sink, struct clew_diag *diag,
			     bool *ret_is_any);

/** The name of an enum spe_kind, for units_dump_kinds(). */
const char *spe_dump_kind(unsigned int kind);

#endif
