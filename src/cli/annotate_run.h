/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_ANNOTATE_RUN_H
#define CLI_ANNOTATE_RUN_H

#include "annotate/ann_source.h"
#include "cli/annotate_flow.h"
#include "cli/annotate_page.h"
#include "cli/itrace.h"
#include "format/annotate/annotate_json.h"
#include "format/annotate/annotate_text.h"

/** One run of clew annotate. */
struct annotate {
	struct cli_input in;
	struct cli_itrace itrace;
	struct ann_counts counts;
	struct ann_sources sources;
	struct annotate_text_opts text;
	struct annotate_flow flow;
	struct annotate_json json;
	struct annotation_opts opts;
	struct analyze *analysis;
	struct clew_sink out;
	struct clew_diag out_diag;
	const struct buf *notes; /* with is_tui: messages, in lines; or NULL */
	struct annotate_page page;
	const char *color, *html; /* html: the file of the page */
	uint64_t max_symbols;
	size_t nr_written, nr_omitted;
	bool is_json, is_stdio, is_tui, is_quiet, is_grouped, has_source, has_color;
	bool is_damaged;
};

/** Read all, after the options are set. @return CLI_OK; else all is closed, after a message. */
int annotate_open(struct annotate *n);
void annotate_close(struct annotate *n);

enum { ANNOTATE_MAX_GROUP = 64 };

/** Events that are columns side by side. */
struct annotate_columns {
	uint32_t events[ANNOTATE_MAX_GROUP];
	size_t nr; /* 0: counts of what was executed */
};

/** The annotations that function @p s has: number @p at, from 0. @return false: no more. */
bool annotate_columns_at(const struct annotate *n, const struct ann_symbol *s, size_t at,
			 struct annotate_columns *ret);

/** Make it. annotation_done(ret) in any case. @return CLEW_NO_MEMORY. */
enum clew_err annotate_make(struct annotate *n, const struct ann_symbol *s,
			    const struct annotate_columns *c, struct annotation *ret);

#endif
