/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_REC_PARSE_H
#define RECORD_PLAN_REC_PARSE_H

#include "record/plan/rec_error.h"
#include "record/plan/rec_options.h"
#include "record/plan/rec_ui.h"

/*
 * The arguments of record's options, as perf spells them, into rec_options. Each returns CLEW_OK,
 * or CLEW_INVALID with a sentence that names the option; CLEW_UNSUPPORTED for what perf knows and
 * we do not do. On failure *o is as it was.
 */

/** -m: "DATA[,AUX]", each a number of pages (a power of two) or a size such as 4M. */
enum clew_err rec_parse_pages(struct rec_options *o, const char *text, struct rec_error *error);

/** -F: a number of Hz or "max". */
enum clew_err rec_parse_freq(struct rec_options *o, const char *text, struct rec_error *error);

/** --call-graph: "auto", "sframe[,immediate]", "defer", "fp[,DEPTH]", "fp,defer", "dwarf[,BYTES]",
 * "lbr", "no". */
enum clew_err rec_parse_callgraph(struct rec_options *o, const char *text, struct rec_error *error);

/** -j: "any,u,call,...". */
enum clew_err rec_parse_branches(struct rec_options *o, const char *text, struct rec_error *error);

/** -I, --user-regs: "AX,BX,..."; NULL: all. */
enum clew_err rec_parse_regs(const char *option, const char *text, uint64_t *ret,
			     struct rec_error *error);

/** All register names of this machine, with blanks between. */
void rec_reg_names(char *ret, size_t size);

/** --switch-output: NULL or "signal", a size such as 100M, a time such as 30s. */
enum clew_err rec_parse_switch(struct rec_options *o, const char *text, struct rec_error *error);

/** -k: a clock's name or number. */
enum clew_err rec_parse_clock(struct rec_options *o, const char *text, struct rec_error *error);

/** -D: milliseconds, or -1. */
enum clew_err rec_parse_delay(struct rec_options *o, const char *text, struct rec_error *error);

/** --drain: milliseconds. */
enum clew_err rec_parse_drain(struct rec_options *o, const char *text, struct rec_error *error);

/** A size with its unit: "10M", "1G", "64k", "500B". @return false: not one. */
bool rec_parse_size(const char *text, uint64_t *ret);

/** Bring o->freq within what kernel.perf_event_max_sample_rate allows: lowered with a word, or with
 * --strict-freq refused. */
enum clew_err rec_settle_freq(struct rec_options *o, const struct rec_ui *ui,
			      struct rec_error *error);

#endif
