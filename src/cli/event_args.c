/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/event_args.h"

#include "cli/common/message.h"
#include "record/plan/event_list.h"
#include "record/plan/rec_options.h"

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
