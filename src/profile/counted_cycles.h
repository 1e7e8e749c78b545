/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_COUNTED_CYCLES_H
#define PROFILE_COUNTED_CYCLES_H

#include "profile/counted_code.h"
#include "trace/trace_input.h"

/** Does any unit count cycles? */
bool counted_cycles_has(const struct trace_input *t);

/**
 * Decode the units of @p t that count cycles, and add the cycles of straight runs to @p ret, which
 * is not finished by it: code_count.nr_timed and cycles, with nr 0. A decoding of its own, as that
 * of counted_trace() only counts, and has no order.
 * @return as trace_decode(); CLEW_NO_MEMORY.
 */
enum clew_err counted_cycles(struct counted_code *ret, struct trace_input *t,
			     struct clew_diag *diag);

#endif
