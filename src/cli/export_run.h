/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_EXPORT_RUN_H
#define CLI_EXPORT_RUN_H

#include "cli/common/input.h"
#include "cli/itrace.h"
#include "export/export.h"
#include "format/gzip_sink.h"
#include "os/output.h"

/** One run of clew export. */
struct export_run {
	struct cli_input in;
	struct cli_itrace itrace;
	const char *format_name, *out_path, *weight, *by;
	bool is_json, is_quiet;
	struct export_opts opts;
	struct analyze *analysis; /* NULL: of a snapshot */
	struct export *export;
	struct ana_summary summary;
	struct os_output file;
	struct gzip_sink *gzip;
	struct clew_sink sink; /* the file, or standard output */
	struct clew_diag diag, out_diag;
	bool is_damaged;
};

/** All of it, after the options are set, with file.fd -1. @return the exit status. */
int export_run(struct export_run *r);

/** What was written, and what was not, and why: notes and warnings, or one JSON object. */
void export_run_report(const struct export_run *r);

#endif
