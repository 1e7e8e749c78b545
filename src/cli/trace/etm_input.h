/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TRACE_ETM_INPUT_H
#define CLI_TRACE_ETM_INPUT_H

#include <clew/trace.h>

#include "base/vec.h"
#include "cli/common/input.h"
#include "cli/trace/etm_raw.h"
#include "trace/trace_input.h"

/** An input that cli_input_open() found to be a snapshot, and what was skipped in it. Reports
 * failures itself. @return CLI_OK, CLI_FAILED. */
int cli_etm_open_snapshot(const struct cli_input *in, struct trace_input **ret);

/** Report which units are not decoded, and why; without those that @p skips (NULL: none).
 */
void cli_etm_report_units(const char *path, const struct trace_input *t, const bool *skips);
/** Report that @p nr branches were at unknown addresses, if there are any. */
void cli_etm_report_dropped(const char *path, uint64_t nr);

/** Problems of the input that belong to no unit, by their text. */
struct cli_etm_warning {
	const char *what;
	uint64_t nr, first_number, first_offset;
};
struct cli_etm_warnings {
	VEC(struct cli_etm_warning);
};
/** As trace_listener.warning. @return CLEW_OK, CLEW_NO_MEMORY. */
enum clew_err cli_etm_note_warning(struct cli_etm_warnings *t, const char *what, uint64_t number,
				   uint64_t offset);
/** One warning for each. */
void cli_etm_report_warnings(const struct cli_etm_warnings *t, const char *path);

/** The ETM trace that a command prints. Zeroed struct = the defaults; the options set in, raw, ids.
 */
struct cli_etm {
	struct cli_input in;
	struct cs_raw raw;
	const char *ids;           /* --id; NULL: any */
	bool takes_raw_pt;         /* only packets are looked at: cli_etm_begin() also opens it */
	struct trace_input *trace; /* by cli_etm_begin() */
	struct clew_trace *opened; /* by cli_etm_begin_public() */
	bool *skips;               /* of each unit: --id and --cpu exclude it */
	struct cli_etm_warnings warnings;
};

/** Open what -i or --raw names, and choose its units. Reports failures itself. cli_etm_done() ends
 * it in any case. @return CLI_OK, CLI_FAILED or CLI_USAGE. */
int cli_etm_begin(struct cli_etm *e);

/** The same by the public API. */
int cli_etm_begin_public(struct cli_etm *e);

/** A unit of either. */
struct cli_etm_unit {
	uint32_t id, cpu;
	const char *name, *why_not; /* why_not NULL: it can be decoded */
};
/** @return false: there is no such unit. */
bool cli_etm_unit_at(const struct cli_etm *e, size_t i, struct cli_etm_unit *ret);

/**
 * After the output, which ended with @p err: report what failed and what was not decoded; also the
 * units that were not, if @p lists_units. @p sink_diag: of standard output; its code is used.
 * @return the exit status: CLI_FAILED also where no unit was decodable.
 */
int cli_etm_finish(struct cli_etm *e, enum clew_err err, struct clew_diag *diag,
		   const struct clew_diag *sink_diag, bool lists_units);

void cli_etm_done(struct cli_etm *e);

#endif
