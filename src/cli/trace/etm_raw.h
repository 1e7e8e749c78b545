/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TRACE_ETM_RAW_H
#define CLI_TRACE_ETM_RAW_H

#include "cli/common/input.h"
#include "cli/common/options.h"
#include "trace/snapshot/cs_snapshot.h"

/** Option rows for trace without a recording or snapshot; they fill @p r. */
/* clang-format off */
#define CLI_ETM_RAW_OPTIONS(r) \
	{0, "Raw trace", NULL, NULL, CLI_SECTION}, \
	{0, "raw", "FILE", "trace of one unit in a separate file, instead of -i", \
	 CLI_STRING, &(r).file}, \
	{0, "protocol", "NAME", "ETMv4 (the default) or ETE; for clew dump also PT", CLI_STRING, &(r).type}, \
	{0, "regs", "LIST", "its registers: TRCCONFIGR=0xc1,TRCTRACEIDR=0x10,TRCIDR0=...,TRCIDR2=...", \
	 CLI_STRING, &(r).regs}, \
	{0, "format", "NAME", "coresight (16-byte frames, the default), source_data, tpiu, ...", \
	 CLI_STRING, &(r).format}
/* clang-format on */

/**
 * Open what --raw names, if it was given; else @p *ret is NULL. Reports failures itself.
 * @return CLI_OK, CLI_USAGE, CLI_FAILED.
 */
int cli_etm_open_raw(struct cli_input *in, struct cs_raw *raw, struct trace_input **ret);

/** Is it Intel PT? Then this opens it, in place of cli_etm_open_raw(). */
bool cli_raw_is_pt(const struct cs_raw *raw);
int cli_pt_open_raw(struct cli_input *in, const struct cs_raw *raw, struct trace_input **ret);

/** The parts of it: are the options right, and what do they mean? @return CLI_OK, CLI_USAGE; */
int cli_etm_check_raw(struct cli_input *in, struct cs_raw *raw);
/** why it could not be opened. @return CLI_USAGE, CLI_FAILED. */
int cli_etm_fail_raw(const struct cs_raw *raw, const struct clew_diag *diag);

#endif
