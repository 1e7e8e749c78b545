/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/common/message.h"
#include "cli/report_args_impl.h"

enum { MAX_WORD = 64 };

/* One comma-separated word of -g. */
static bool set_graph_word(struct report_args *a, const char *word, size_t len,
			   unsigned int *nr_numbers)
{
	char text[MAX_WORD], *end;
	double number;

	if (!len || len >= sizeof(text))
		return !len;
	memcpy(text, word, len);
	text[len] = '\0';
	if (!strcmp(text, "none"))
		a->text.style = REPORT_GRAPH_NONE;
	else if (!strcmp(text, "graph") || !strcmp(text, "fractal"))
		a->text.style = REPORT_GRAPH_TREE;
	else if (!strcmp(text, "flat"))
		a->text.style = REPORT_GRAPH_FLAT;
	else if (!strcmp(text, "folded"))
		a->text.style = REPORT_GRAPH_FOLDED;
	if (!strcmp(text, "graph") || !strcmp(text, "fractal"))
		a->table.graph.is_relative = a->text.is_relative = text[0] == 'f';
	if (!strcmp(text, "caller") || !strcmp(text, "callee")) {
		a->has_order = true;
		a->table.graph.is_callee = !strcmp(text, "callee");
	} else if (!strcmp(text, "address")) {
		a->feed.by_address = true;
	} else if (!strcmp(text, "period") || !strcmp(text, "percent")) {
		a->text.has_periods = !strcmp(text, "period");
	}
	number = strtod(text, &end);
	if (end != text && !*end && number >= 0) {
		a->has_limit = true;
		if ((*nr_numbers)++ == 0)
			a->table.graph.min_share = number / 100;
		else
			a->table.graph.max_leaves = number < UINT32_MAX ? (uint32_t)number : 0;
		return true;
	}
	return !strcmp(text, "none") || !strcmp(text, "graph") || !strcmp(text, "fractal") ||
	       !strcmp(text, "flat") || !strcmp(text, "folded") || !strcmp(text, "caller") ||
	       !strcmp(text, "callee") || !strcmp(text, "function") || !strcmp(text, "address") ||
	       !strcmp(text, "period") || !strcmp(text, "percent");
}

int report_args_set_graph(void *to, const char *arg, bool is_negated)
{
	struct report_args *a = to;
	unsigned int nr_numbers = 0;

	a->has_graph = !is_negated;
	if (is_negated) {
		a->text.style = REPORT_GRAPH_NONE;
		return 0;
	}
	for (; arg && *arg; arg += *arg != '\0') {
		size_t len = strcspn(arg, ",");

		if (!set_graph_word(a, arg, len, &nr_numbers)) {
			cli_error("-g: there is no '%.*s' for call graphs", (int)len, arg);
			cli_hint("-g STYLE,PERCENT,BRANCHES,ORDER,KEY,VALUE: graph|fractal|flat|"
				 "folded|none, caller|callee, function|address, percent|period");
			return CLI_USAGE;
		}
		arg += len;
	}
	return 0;
}

/* Would report_args_set_graph() take the word? */
static bool is_graph_spec(const char *word)
{
	struct report_args scratch = {0};
	unsigned int nr_numbers = 0;

	for (; *word; word += *word != '\0') {
		size_t len = strcspn(word, ",");

		if (!len || !set_graph_word(&scratch, word, len, &nr_numbers))
			return false;
		word += len;
	}
	return true;
}

int report_args_join_graph(struct report_args *a, int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i++) {
		bool is_short = !strcmp(argv[i], "-g");
		size_t size = strlen(argv[i]) + strlen(argv[i + 1]) + 2;

		if (!is_short && strcmp(argv[i], "--call-graph") != 0)
			continue;
		if (!argv[i + 1][0] || !is_graph_spec(argv[i + 1]))
			continue;
		mem_free(a->joined);
		a->joined = mem_alloc(size);
		if (!a->joined)
			continue;
		snprintf(a->joined, size, "%s%s%s", argv[i], is_short ? "" : "=", argv[i + 1]);
		argv[i] = a->joined;
		memmove(&argv[i + 1], &argv[i + 2], (size_t)(argc - i - 1) * sizeof(argv[0]));
		return argc - 1;
	}
	return argc;
}
