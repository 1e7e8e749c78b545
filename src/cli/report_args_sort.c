/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "cli/common/message.h"
#include "cli/report_args_impl.h"

int report_args_refuse_key(const char *option, const char *word, size_t len)
{
	if (report_sort_is_perf_key(word, len))
		cli_error("%s: '%.*s' is a key of perf report that clew report does not have",
			  option, (int)len, word);
	else
		cli_error("%s: there is no key '%.*s'", option, (int)len, word);
	cli_hint("keys: %s", report_sort_names());
	return CLI_USAGE;
}

static int take_keys(struct report_args *a, const char *option, const char *keys)
{
	const char *bad = NULL;
	size_t len = 0;

	a->is_sorted |= *keys != '+';
	if (report_sort_parse(&a->keys, keys, &bad, &len) != CLEW_OK)
		return report_args_refuse_key(option, bad, len);
	return 0;
}

int report_args_set_keys(void *to, const char *arg, bool is_negated)
{
	(void)is_negated;
	return take_keys(to, "--sort", arg);
}

void report_args_set_sort(struct report_args *a, bool is_by_branch)
{
	static const struct report_sort of_samples = {
		{REPORT_COMM, REPORT_DSO, REPORT_SYM},
                3
        };
	static const struct report_sort of_ops = {
		{REPORT_DSO, REPORT_SYM},
                2
        };
	static const struct report_sort of_branches = {
		{REPORT_COMM, REPORT_DSO_FROM, REPORT_SYM_FROM, REPORT_SYM_TO, REPORT_CYCLES},
                5
        };

	a->feed.sort = (struct report_sort){.nr = 0};
	if (!a->is_sorted)
		a->feed.sort = is_by_branch                      ? of_branches
			     : a->is_memory || a->is_of_branches ? of_ops
								 : of_samples;
	report_sort_add(&a->feed.sort, &a->keys);
}

/* Is the word at @p at of @p len bytes @p name? */
static bool is_word(const char *at, size_t len, const char *name)
{
	return strlen(name) == len && !strncmp(at, name, len);
}

/* perf's --fields: columns of numbers and sort keys in one list. */
int report_args_set_fields(void *to, const char *arg, bool is_negated)
{
	struct report_args *a = to;
	char keys[512] = "";
	size_t used = 0;

	(void)is_negated;
	while (*arg) {
		size_t len = strcspn(arg, ", ");

		if (is_word(arg, len, "sample")) {
			a->text.has_nr = true;
		} else if (is_word(arg, len, "period")) {
			a->text.has_period = true;
		} else if (is_word(arg, len, "overhead_children")) {
			a->has_children = true;
		} else if (!is_word(arg, len, "overhead") && len) {
			if (used + len + 2 > sizeof(keys))
				return report_args_refuse_key("--fields", arg, len);
			if (used)
				keys[used++] = ',';
			memcpy(keys + used, arg, len);
			used += len;
			keys[used] = '\0';
		}
		arg += len;
		arg += *arg != '\0';
	}
	return used ? take_keys(a, "--fields", keys) : 0;
}
