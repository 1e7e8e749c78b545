/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/units_dump.h"

#include <string.h>
#include <strings.h>

enum clew_err units_dump_run(struct trace_input *t, bool (*is_of)(const struct trace_unit *),
			     const bool *skips, struct trace_sink *take, bool *ret_skips,
			     struct clew_diag *diag, bool *ret_is_any)
{
	*ret_is_any = false;
	if (!ret_skips)
		return CLEW_NO_MEMORY;
	for (size_t i = 0; i < t->nr_units; i++) {
		bool is_mine = is_of(&t->units[i]);

		*ret_is_any |= is_mine;
		ret_skips[i] = !is_mine || (skips && skips[i]);
	}
	take->skips = ret_skips;
	return *ret_is_any || take->coresight ? t->ops->run(t, take, diag) : CLEW_OK;
}

/** @p is_whole: the name itself; else those that begin with it. */
static bool mark(const char *name, size_t size, bool is_whole, const struct dump_kinds *set)
{
	bool found = false;

	for (unsigned int k = 0; size && k < set->nr; k++) {
		const char *kind = set->name(k);

		if (strncasecmp(kind, name, size) ||
		    (kind[size] && (is_whole || !strchr("_-.", kind[size]))))
			continue;
		set->is_wanted[k] = found = true;
	}
	return found;
}

static bool mark_all(const char *name, size_t size, const struct dump_kinds *sets, size_t nr_sets)
{
	bool found = false;

	for (size_t i = 0; i < nr_sets; i++)
		found |= mark(name, size, true, &sets[i]) || mark(name, size, false, &sets[i]);
	return found;
}

const char *units_dump_kinds(const char *names, const struct dump_kinds *sets, size_t nr_sets)
{
	size_t size, skip;

	for (const char *at = names; *at; at += size + (at[size] == ',')) {
		size = strcspn(at, ",");
		skip = size > 2 && !strncasecmp(at, "I_", 2) ? 2 : 0;
		if (!mark_all(at + skip, size - skip, sets, nr_sets))
			return at;
	}
	return NULL;
}
