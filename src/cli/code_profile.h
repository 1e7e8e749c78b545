/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_CODE_PROFILE_H
#define CLI_CODE_PROFILE_H

#include "cli/trace/etm_input.h"
#include "format/profile/autofdo_text.h"
#include "profile/branch_edges.h"
#include "profile/counted_trace.h"

/*
 * What ran in each binary of an input, counted, for clew inject and clew export: of its hardware
 * trace, else of its samples' branch stacks and addresses. Zeroed struct but for the options:
 *
 *	status = code_profile_read(&p);
 *	... p.code ...
 *	code_profile_report(&p);
 *	code_profile_done(&p);
 *
 * Functions that return a status report failures themselves.
 */
struct code_profile {
	struct cli_input *in; /* opened */
	unsigned int nr_threads;
	bool no_trace;       /* count samples, also where there is trace */
	bool takes_samples;  /* those without branch stacks, too */
	const char *instead; /* a hint, where there are none of these; or NULL */
	bool is_of_branches; /* nothing is counted, and that is no failure, of an input without
				them or that is damaged, and of a trace with a filter */
	struct branch_edges_opts samples;
	/* The results. */
	struct trace_input *trace; /* NULL: samples were counted */
	struct analyze *analysis;  /* of the recording; NULL: a pipe or a snapshot */
	struct counted_code code;
	struct counted_trace_totals totals;
	struct branch_edges_totals stacks;
	struct branch_sources sources;
	struct cli_etm_warnings warnings;
};

enum code_source_kind {
	CODE_OF_TRACE,   /* each execution */
	CODE_OF_OPS,     /* sampled operations (SPE) */
	CODE_OF_STACKS,  /* samples with branch stacks */
	CODE_OF_SAMPLES, /* samples alone */
};

int code_profile_read(struct code_profile *p);
enum code_source_kind code_profile_kind(const struct code_profile *p);
void code_profile_done(struct code_profile *p);

/** Anything counted, and of this name: path or its last part; NULL: any. */
bool code_profile_has(const struct counted_binary *b, const char *name);

/** The binary with most weight; code without a mapping only if there is nothing else, or it is
 * named. NULL: none. */
const struct counted_binary *code_profile_choose(const struct code_profile *p, const char *name);

/* The help of the option for both commands. */
#define CODE_PROFILE_BASE_OPTION(name)                                                                           \
 {                                                                                                               \
  0, "autofdo-base", "BASE",                                                                                     \
	  "autofdo: addresses are an offset in the file (default; simpleperf, AutoFDO of today), or count from " \
	  "the first segment (create_llvm_prof 0.19)",                                                           \
	  CLI_STRING, (name)                                                                                     \
 }

/** There is none: say why. @return CLI_FAILED. */
int code_profile_refuse(const struct code_profile *p, const char *name);

/** What was written of @p b to @p to, and what was not. */
void code_profile_report_binary(const struct counted_binary *b, const char *to);

/** Where the input ends inside a record; code CLEW_OK: it does not. */
const struct clew_diag *code_profile_cut(const struct code_profile *p);

/** autofdo: which addresses were written, where its two readers need different ones. */
void code_profile_report_base(const struct counted_binary *b, enum autofdo_base base);

/** --autofdo-base=@p name; NULL: the default. @return CLI_OK, or CLI_USAGE after a message. */
int code_profile_find_base(const char *name, enum autofdo_base *ret);

/** What was not counted. */
void code_profile_report(const struct code_profile *p);

#endif
