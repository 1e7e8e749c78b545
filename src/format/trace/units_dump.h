/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACE_UNITS_DUMP_H
#define FORMAT_TRACE_UNITS_DUMP_H

#include "base/sink.h"
#include "trace/trace_input.h"

/* What dumps of packets have in common, whatever the protocol. */

struct units_dump_opts {
	bool is_json, is_stat;
	const bool *skips; /* by unit; NULL: none */
	/* Which kinds are printed; counted in any case. NULL: all. As many as the protocol has. */
	const bool *kinds;
	size_t piece_bytes; /* as trace_sink's */
	struct trace_listener listener;
};

/**
 * Run @p t: the bytes of each unit that @p is_of, without those of @p skips (by unit; NULL: none),
 * go to @p take. Its skips become @p ret_skips, one per unit of @p t.
 * @return CLEW_NO_MEMORY if @p ret_skips is NULL; as the input's run(). Without such units nothing
 * is run, unless frames are wanted. *ret_is_any: there are some, skipped or not.
 */
enum clew_err units_dump_run(struct trace_input *t, bool (*is_of)(const struct trace_unit *),
			     const bool *skips, struct trace_sink *take, bool *ret_skips,
			     struct clew_diag *diag, bool *ret_is_any);

/** Packets by name, of which some are wanted. */
struct dump_kinds {
	const char *(*name)(unsigned int kind);
	unsigned int nr;
	bool *is_wanted; /* by kind: set here */
};

/**
 * Mark what the comma list @p names names: a kind, in any case, with or without I_, or all that
 * begin with it as a word (ATOM: ATOM_F1 to ATOM_F6; MODE: MODE.Exec, MODE.TSX), in any of the
 * sets.
 * @return the first that names none; NULL: all do.
 */
const char *units_dump_kinds(const char *names, const struct dump_kinds *sets, size_t nr_sets);

#endif
