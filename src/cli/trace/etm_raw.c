/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/trace/etm_raw.h"

#include <string.h>

#include "cli/common/message.h"
#include "cli/common/progress.h"
#include "trace/snapshot/pt_raw.h"

static void report_note(void *ctx, const char *note)
{
	cli_note("%s: %s", ((const struct cs_raw *)ctx)->file, note);
}

static int misuse(const char *what)
{
	cli_error("%s", what);
	cli_hint("'--raw FILE --regs TRCCONFIGR=0xc1,TRCTRACEIDR=0x10,TRCIDR0=0x28000ea1,"
		 "TRCIDR2=0x488'");
	return CLI_USAGE;
}

static bool is_protocol(const char *name)
{
	return !strcmp(name, "ETMv4") || !strcmp(name, "ETM4") || !strcmp(name, "ETE");
}

int cli_etm_check_raw(struct cli_input *in, struct cs_raw *raw)
{
	if (!raw->file)
		return raw->type || raw->regs || raw->format || raw->memory
			     ? misuse("--protocol, --regs, --format and --memory describe the "
				      "trace of --raw")
			     : CLI_OK;
	if (in->path)
		return misuse("--raw and -i exclude each other");
	if (!raw->regs)
		return misuse("--raw needs the registers of its trace unit");
	if (raw->type && !is_protocol(raw->type))
		return misuse("--protocol is ETMv4 or ETE; for clew dump also PT");
	raw->type = raw->type ? raw->type : "ETMv4";
	in->path = raw->file;
	in->is_snapshot = true;
	return CLI_OK;
}

int cli_etm_fail_raw(const struct cs_raw *raw, const struct clew_diag *diag)
{
	return diag->code == CLEW_INVALID ? misuse(diag->what) : cli_fail(raw->file, diag);
}

int cli_etm_open_raw(struct cli_input *in, struct cs_raw *raw, struct trace_input **ret)
{
	struct clew_diag diag = {0};
	int status = cli_etm_check_raw(in, raw);
	const char *note;

	*ret = NULL;
	if (status != CLI_OK || !raw->file)
		return status;
	cli_progress_begin("opening", 0);
	if (cs_snapshot_open_raw(ret, raw, cli_input_budget(in), report_note, raw, &diag))
		return cli_etm_fail_raw(raw, &diag);
	(*ret)->progress = cli_progress();
	for (size_t i = 0; (note = cs_snapshot_note(*ret, i)); i++)
		report_note(raw, note);
	return CLI_OK;
}

bool cli_raw_is_pt(const struct cs_raw *raw)
{
	return raw->file && raw->type &&
	       (!strcmp(raw->type, "PT") || !strcmp(raw->type, "intel_pt"));
}

static int misuse_of_pt(const char *what)
{
	cli_error("%s", what);
	cli_hint("'--raw FILE --protocol PT'");
	return CLI_USAGE;
}

int cli_pt_open_raw(struct cli_input *in, const struct cs_raw *raw, struct trace_input **ret)
{
	struct clew_diag diag = {0};

	if (in->path)
		return misuse_of_pt("--raw and -i exclude each other");
	if (raw->regs)
		return misuse_of_pt("Intel PT has no registers that --regs could describe");
	if (raw->format && strcmp(raw->format, "source_data") != 0)
		return misuse_of_pt("Intel PT has no frames: its --format is source_data");
	in->path = raw->file;
	in->is_snapshot = true;
	if (pt_raw_open(ret, &(struct pt_raw_opts){.file = raw->file}, &diag))
		return cli_fail(raw->file, &diag);
	(*ret)->progress = cli_progress();
	return CLI_OK;
}
