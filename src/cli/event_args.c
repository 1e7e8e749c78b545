/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/event_args.h"

#include <stdlib.h>

#include "cli/common/cache_dir.h"
#include "record/plan/event_list.h"
#include "record/plan/rec_parse.h"

int event_args_refuse(const struct rec_error *error)
{
	if (error->subject)
		cli_error("'%.120s': %s", error->subject, error->text);
	else
		cli_error("%s", error->text);
	if (*error->hint)
		cli_hint("%s", error->hint);
	return CLI_USAGE;
}

int event_args_add(void *to, const char *arg, bool is_negated)
{
	struct rec_event_list *events = to;
	struct rec_error error = {0};

	(void)is_negated;
	if (rec_events_parse(events, arg, &error) == CLEW_OK)
		return CLI_OK;
	cli_error("-e %s: %s", arg, error.text);
	return CLI_USAGE;
}

int event_args_filter(void *to, const char *arg, bool is_negated)
{
	struct rec_event_list *events = to;
	struct rec_error error = {0};

	(void)is_negated;
	if (rec_events_filter(events, arg, &error) == CLEW_OK)
		return CLI_OK;
	cli_error("--filter '%s': %s", arg, error.text);
	return CLI_USAGE;
}

EVENT_ARG(event_args_pages, rec_parse_pages)
EVENT_ARG(event_args_freq, rec_parse_freq)
EVENT_ARG(event_args_callgraph, rec_parse_callgraph)

int event_args_callgraph_auto(void *to, const char *arg, bool is_negated)
{
	struct rec_options *o = to;

	(void)arg;
	if (is_negated)
		o->stacks.kind = REC_STACKS_NONE;
	else if (o->stacks.kind == REC_STACKS_NONE)
		o->stacks.kind = REC_STACKS_AUTO;
	return CLI_OK;
}

bool event_args_period(struct rec_options *o, const char *count)
{
	if (count && (!cli_parse_uint(count, &o->period) || !o->period)) {
		cli_error("-c %s: expected the number of events per sample", count);
		return false;
	}
	if (!o->period || (!o->freq && !o->is_freq_max))
		return true;
	cli_error("-c and -F exclude each other: samples per number of events, or per second");
	return false;
}

void event_args_environment(struct rec_options *o, struct buf *cache_dir)
{
	if (cli_unwind_cache_dir(cache_dir) && !cache_dir->is_failed)
		o->cache_dir = buf_cstr(cache_dir);
	o->search_path = getenv("PATH");
}

int event_args_tristate(void *to, const char *arg, bool is_negated)
{
	enum rec_tristate *v = to;

	(void)arg;
	*v = is_negated ? REC_NO : REC_YES;
	return CLI_OK;
}

int event_args_no_inherit(void *to, const char *arg, bool is_negated)
{
	enum rec_tristate *v = to;

	(void)arg;
	*v = is_negated ? REC_YES : REC_NO;
	return CLI_OK;
}

int event_args_unsupported(void *to, const char *arg, bool is_negated)
{
	(void)arg;
	if (is_negated)
		return CLI_OK;
	cli_error("%s", (const char *)to);
	return CLI_USAGE;
}
