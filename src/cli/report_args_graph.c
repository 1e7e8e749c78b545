/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/common/message.h"
#include "cli/report_args_impl.h"

enum { MAX_WORD = 64 };

static void set_tree(struct report_args *a, bool is_relative)
{
	a->text.style = REPORT_GRAPH_TREE;
	a->table.graph.is_relative = a->text.is_relative = is_relative;
}

static void set_order(struct report_args *a, bool is_callee)
{
	a->has_order = true;
	a->table.graph.is_callee = is_callee;
}

enum graph_word {
	NONE,
	FLAT,
	FOLDED,
	GRAPH,
	FRACTAL,
	CALLER,
	CALLEE,
	FUNCTION,
	ADDRESS,
	PERIOD,
	PERCENT,
	NR_WORDS
};

static const char *const graph_words[] = {
	[NONE] = "none",       [FLAT] = "flat",     [FOLDED] = "folded",   [GRAPH] = "graph",
	[FRACTAL] = "fractal", [CALLER] = "caller", [CALLEE] = "callee",   [FUNCTION] = "function",
	[ADDRESS] = "address", [PERIOD] = "period", [PERCENT] = "percent",
};

static enum graph_word find_word(const char *text)
{
	enum graph_word w = NONE;

	while (w < NR_WORDS && strcmp(text, graph_words[w]) != 0)
		w++;
	return w;
}

static void take_word(struct report_args *a, enum graph_word w)
{
	switch (w) {
	case NONE:
		a->text.style = REPORT_GRAPH_NONE;
		break;
	case FLAT:
		a->text.style = REPORT_GRAPH_FLAT;
		break;
	case FOLDED:
		a->text.style = REPORT_GRAPH_FOLDED;
		break;
	case GRAPH:
	case FRACTAL:
		set_tree(a, w == FRACTAL);
		break;
	case CALLER:
	case CALLEE:
		set_order(a, w == CALLEE);
		break;
	case ADDRESS:
		a->feed.by_address = true;
		break;
	case PERIOD:
	case PERCENT:
		a->text.has_periods = w == PERIOD;
		break;
	case FUNCTION: /* the default */
	case NR_WORDS:
		break;
	}
}

/* The first number is a share, all others are branches. */
static void take_number(struct report_args *a, double number, unsigned int *nr_numbers)
{
	a->has_limit = true;
	if ((*nr_numbers)++ == 0)
		a->table.graph.min_share = number / 100;
	else
		a->table.graph.max_leaves = number < UINT32_MAX ? (uint32_t)number : 0;
}

/* One comma-separated word of -g. */
static bool set_graph_word(struct report_args *a, const char *word, size_t len,
			   unsigned int *nr_numbers)
{
	char text[MAX_WORD], *end;
	enum graph_word w;
	double number;

	if (!len || len >= sizeof(text))
		return !len;
	memcpy(text, word, len);
	text[len] = '\0';
	w = find_word(text);
	take_word(a, w);
	number = strtod(text, &end);
	if (end == text || *end || !(number >= 0))
		return w != NR_WORDS;
	take_number(a, number, nr_numbers);
	return true;
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
