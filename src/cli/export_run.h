/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_EXPORT_RUN_H
#define CLI_EXPORT_RUN_H

#include "cli/common/input.h"
#include "cli/itrace.h"
#include "export/export.h"
#include "format/gzip_sink.h"
#include "os/output.h"

struct code_format;

/** One run of clew export. */
struct export_run {
	struct cli_input in;
	struct cli_itrace itrace;
	const char *format_name, *out_path, *weight, *by;
	bool is_json, is_quiet;
	/* Formats of what ran: NULL: of samples with their stacks, and opts.format. */
	const struct code_format *code;
	const char *binary; /* --binary */
	bool takes_hits;    /* --samples */
	bool has_indirect;
	const char *base_name; /* --autofdo-base */
	struct export_opts opts;
	struct analyze *analysis; /* NULL: of a snapshot */
	struct export *export;
	struct ana_summary summary;
	struct os_output file;
	int write_error; /* -errno: of the last write there */
	struct gzip_sink *gzip;
	struct clew_sink sink; /* the file, or standard output */
	struct clew_diag diag, out_diag;
	bool is_damaged;
};

/** All of it, after the options are set, with file.fd -1. @return the exit status. */
int export_run(struct export_run *r);

/** What was written, and what was not, and why: notes and warnings, or one JSON object. */
void export_run_report(const struct export_run *r);

/* Its parts. */

/** Is there the event of -e? @return CLI_OK, CLI_USAGE. */
int export_check_event(const struct export_run *r);
/** The file, or standard output. @return CLI_OK, CLI_FAILED. */
int export_open_output(struct export_run *r);
/** Where the format writes to. */
const struct clew_sink *export_run_sink(const struct export_run *r);
/** @p is_whole: keep the file. @return CLI_OK, CLI_FAILED. */
int export_close_output(struct export_run *r, bool is_whole);
/** @p err: of all that was written. Close it, and say what failed. *ret_is_written: not where the
 * reader stopped, which is no failure. @return CLI_OK, CLI_FAILED. */
int export_end_output(struct export_run *r, enum clew_err err, bool *ret_is_written);

/** Events with samples that were omitted. Zeroed struct = none. */
struct export_listed {
	struct buf text;
	size_t nr_events;
	uint64_t nr_samples;
};
void export_list_event(struct export_listed *l, const char *name, uint64_t nr);
/** A note, if there are any; frees the list. @p has_event: the user chose one. */
void export_report_listed(struct export_listed *l, const char *format, bool has_event);
/** Samples that were filtered out, and lost. */
void export_report_skipped(const struct ana_summary *s);
/** What the recording lacks, besides its end. */
void export_report_input(const struct cli_input *in, const struct ana_summary *s);

#endif
