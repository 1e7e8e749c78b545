/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_ETM_INPUT_H
#define CLI_ETM_INPUT_H

#include <clew/trace.h>

#include "base/vec.h"
#include "cli/etm_raw.h"
#include "cli/input.h"
#include "trace/etm_trace.h"

/** An input that cli_input_open() found to be a snapshot, and what of it was passed over. Says
 * itself what went wrong. @return CLI_OK, CLI_FAILED. */
int cli_etm_open_snapshot(const struct cli_input *in, struct etm_trace **ret);

/** Say which of the units that @p skips (NULL: none) does not leave out are not decoded, and why.
 */
void cli_etm_tell_units(const char *path, const struct etm_trace *t, const bool *skips);
/** Say that @p nr branches were at places that no address told, if there are any. */
void cli_etm_tell_dropped(const char *path, uint64_t nr);

/** What the input had that no unit explains, by its words. */
struct cli_etm_trouble {
	const char *what;
	uint64_t nr, first_number, first_offset;
};
struct cli_etm_troubles {
	VEC(struct cli_etm_trouble);
};
/** As etm_sink.trouble. @return CLEW_OK, CLEW_NO_MEMORY. */
enum clew_err cli_etm_note_trouble(struct cli_etm_troubles *t, const char *what, uint64_t number,
				   uint64_t offset);
/** One warning for each. */
void cli_etm_tell_troubles(const struct cli_etm_troubles *t, const char *path);

/** The ETM trace that a command prints. Zeroed struct = the defaults; the options set in, raw, ids.
 */
struct cli_etm {
	struct cli_input in;
	struct cs_raw raw;
	const char *ids;           /* --id; NULL: any */
	struct etm_trace *trace;   /* by cli_etm_begin() */
	struct clew_trace *opened; /* by cli_etm_begin_public() */
	bool *skips;               /* of each unit: --id and --cpu leave it out */
	struct cli_etm_troubles troubles;
};

/** Open what -i or --raw names, and choose its units. Says itself what is wrong. Whatever comes of
 * it, cli_etm_done() ends it. @return CLI_OK, CLI_FAILED or CLI_USAGE. */
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
 * After the output, which ended with @p err: say what went wrong and what was not decoded; the
 * units that were not, too, if @p tells_units. Of @p sink_diag, standard output's, its code tells.
 * @return the exit status: CLI_FAILED also where no unit was decodable.
 */
int cli_etm_finish(struct cli_etm *e, enum clew_err err, struct clew_diag *diag,
		   const struct clew_diag *sink_diag, bool tells_units);

void cli_etm_done(struct cli_etm *e);

#endif
