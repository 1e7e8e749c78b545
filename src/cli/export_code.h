/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_EXPORT_CODE_H
#define CLI_EXPORT_CODE_H

#include "cli/code_profile.h"
#include "cli/export_run.h"
#include "profile/inline_profile.h"
#include "profile/line_counts.h"

/* Formats of clew export that are made of what ran, counted by binary, and not of samples with
 * their stacks: for compilers, linkers, and coverage. */

struct export_code {
	struct export_run *run;
	struct code_profile profile;
	const struct counted_binary *binary; /* of formats that cover one */
	struct inline_profile inlined;       /* of llvm */
	struct line_counts lines;            /* of lcov */
	enum autofdo_base base;              /* of autofdo */
	uint64_t nr_nowhere;                 /* bolt: samples in no function */
};

struct json_put;

struct code_format {
	const char *name;    /* of --to */
	const char *summary; /* for --help */
	bool takes_samples;  /* those without branch stacks, too */
	const char *instead; /* what to do with these, where it does not; or NULL */
	bool is_of_all;      /* binaries */
	bool is_exact;       /* each execution counts: of samples only if that is asked for */
	enum clew_err (*write)(struct export_code *x, const struct clew_sink *sink);
	/* What is special about it; NULL: nothing. The second: more members of the object. */
	void (*report)(const struct export_code *x);
	void (*put)(const struct export_code *x, struct json_put *j);
};

/** In the order of the help; NULL: no more. */
const struct code_format *export_code_at(size_t i);
/** NULL: there is none of this name. */
const struct code_format *export_code_find(const char *name);

/** Count, write and report: of an input that is open. @return the exit status. */
int export_code(struct export_run *r);

/* What is special about a format, for its row. */
void export_code_report_autofdo(const struct export_code *x);
void export_code_put_autofdo(const struct export_code *x, struct json_put *j);
void export_code_report_bolt(const struct export_code *x);
void export_code_put_bolt(const struct export_code *x, struct json_put *j);
void export_code_report_inlined(const struct export_code *x);
void export_code_put_inlined(const struct export_code *x, struct json_put *j);
void export_code_report_lines(const struct export_code *x);
void export_code_put_lines(const struct export_code *x, struct json_put *j);

/** What was counted and written, and what was not: notes and warnings, or one JSON object. */
void export_code_report(const struct export_code *x);

#endif
