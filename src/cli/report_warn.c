/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/common/message.h"
#include "cli/report_branches.h"
#include "cli/report_run.h"
#include "rows/report_ops.h"

static bool has_row_filter(const struct report_args *a)
{
	bool has_table = a->output == REPORT_TABLE || a->output == REPORT_JSON;

	return has_table && (a->feed.symbol_part || a->feed.symbols || a->feed.dsos);
}

/* With --max-stack the user knows. */
static void report_deep(const struct report_run *r)
{
	uint64_t nr = 0, nr_frames = 0;

	for (size_t i = 0; i < report_feed_nr_events(r->feed); i++) {
		nr += report_feed_event(r->feed, i)->nr_deep;
		nr_frames += report_feed_event(r->feed, i)->nr_deep_frames;
	}
	if (nr && !r->args.has_max_stack)
		cli_note("%s: %llu samples have more than %u frames in their call chains: %llu "
			 "more frames are not shown; --max-stack N takes N",
			 r->args.in.path, (unsigned long long)nr, r->args.feed.max_stack,
			 (unsigned long long)nr_frames);
}

static void warn_no_ops(const struct report_run *r)
{
	if (r->args.is_memory)
		cli_warn("%s: no sample says where its data came from: 'clew record -e "
			 "arm_spe//' or 'perf mem record' records that",
			 r->args.in.path);
	else
		cli_warn("%s has no sampled branches of SPE: -b counts those of branch stacks",
			 r->args.in.path);
}

void report_warn(struct report_run *r)
{
	const struct ana_summary *s = &r->summary;

	cli_input_warn_end(&r->args.in, s);
	if (s->nr_samples && !r->nr_rows && has_row_filter(&r->args))
		cli_warn("no function or file of the recording has %s%s%s",
			 r->args.feed.symbol_part ? "'" : "those names",
			 r->args.feed.symbol_part ? r->args.feed.symbol_part : "",
			 r->args.feed.symbol_part ? "' in its name" : "");
	if (!s->nr_filtered && r->args.feed.ops && !report_feed_ops(r->feed)->all.nr &&
	    !has_row_filter(&r->args))
		warn_no_ops(r); /* events of other operations are not even made */
	else if (!s->nr_samples && !s->nr_filtered)
		cli_warn("%s holds no samples", r->args.in.path);
	else if (!s->nr_samples)
		cli_warn("the filters leave none of the %llu samples",
			 (unsigned long long)s->nr_filtered);
	cli_input_warn(&r->args.in, s);
	report_deep(r);
	report_branches_note(&r->args, r->feed);
	cli_itrace_report(&r->args.itrace, r->args.in.path, false);
	r->has_warned = true;
}
