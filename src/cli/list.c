/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/common/options.h"
#include "format/json_put.h"
#include "record/plan/event_list.h"

struct wishes {
	char *const *patterns;
	int nr_patterns;
	bool is_json;
	size_t nr_printed;
};

/* perf's words for kinds, patterns of names, or any part of a name. */
static bool matches(const char *pattern, const char *name, const char *kind)
{
	static const struct {
		const char *word, *kind;
	} kinds[] = {
		{"hw",         "hardware event"      },
		{"hardware",   "hardware event"      },
		{"sw",         "software event"      },
		{"software",   "software event"      },
		{"cache",      "hardware cache event"},
		{"hwcache",    "hardware cache event"},
		{"pmu",        "PMU event"           },
		{"tracepoint", "tracepoint"          },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!strcmp(pattern, kinds[i].word))
			return !strcmp(kind, kinds[i].kind);
	}
	return !fnmatch(pattern, name, 0) || strstr(name, pattern);
}

static bool is_wanted(const struct wishes *w, const char *name, const char *kind)
{
	for (int i = 0; i < w->nr_patterns; i++) {
		if (matches(w->patterns[i], name, kind))
			return true;
	}
	return !w->nr_patterns;
}

static void print_json(const char *name, const char *kind, const char *what)
{
	clew_auto(buf_done) struct buf out = {0};
	struct json_put j = {.out = &out};

	json_open(&j, '{');
	json_put_string(&j, "name", name);
	json_put_string(&j, "kind", kind);
	json_put_string(&j, "description", what);
	json_close(&j, '}');
	printf("%s\n", buf_cstr(&out));
}

static enum clew_err print_event(void *ctx, const char *name, const char *kind, const char *what)
{
	struct wishes *w = ctx;

	if (!is_wanted(w, name, kind))
		return CLEW_OK;
	w->nr_printed++;
	if (w->is_json)
		print_json(name, kind, what);
	else if (*what)
		cli_put(stdout, "  %-44s  %-20s  %s\n", name, kind, what);
	else
		cli_put(stdout, "  %-44s  %s\n", name, kind);
	return ferror(stdout) ? CLEW_STOPPED : CLEW_OK;
}

int cmd_list(int argc, char **argv)
{
	struct wishes w = {0};
	const struct cli_option options[] = {
		{0,     "json", NULL, "one JSON object per line: name, kind, description", CLI_FLAG,
		 &w.is_json},
		{0},
	};
	const struct cli_command cmd = {
		.name = "list",
		.usage = "[--json] [hw|sw|cache|pmu|tracepoint|PATTERN...]",
		.summary = "List the events that `clew record -e` accepts on this machine.",
		.options = options,
		.examples = "  clew list 'sched:*'\n  clew list faults\n",
	};
	int word = cli_parse(&cmd, argc, argv);
	enum clew_err err;

	if (word < 0)
		return -1 - word;
	w.patterns = argv + word;
	w.nr_patterns = argc - word;
	err = rec_events_list(print_event, &w);
	if (err == CLEW_NO_MEMORY) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	if (!w.nr_printed) {
		cli_error("no event matches");
		cli_hint("'clew list' prints all; 'clew doctor' reports why some are missing");
	}
	return w.nr_printed ? CLI_OK : CLI_FAILED;
}
