/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/branch_filter.h"

#define IN_OR_OUT (PERF_SAMPLE_BRANCH_IN_TX | PERF_SAMPLE_BRANCH_NO_TX)

/* Only what says which branches are recorded. */
static const struct {
	uint64_t bit;
	const char *name;
} kinds[] = {
	{PERF_SAMPLE_BRANCH_ANY,        "any"     },
	{PERF_SAMPLE_BRANCH_ANY_CALL,   "any_call"},
	{PERF_SAMPLE_BRANCH_ANY_RETURN, "any_ret" },
	{PERF_SAMPLE_BRANCH_IND_CALL,   "ind_call"},
	{PERF_SAMPLE_BRANCH_IND_JUMP,   "ind_jmp" },
	{PERF_SAMPLE_BRANCH_CALL,       "call"    },
	{PERF_SAMPLE_BRANCH_COND,       "cond"    },
	{PERF_SAMPLE_BRANCH_CALL_STACK, "stack"   },
	{PERF_SAMPLE_BRANCH_ABORT_TX,   "abort_tx"},
	{PERF_SAMPLE_BRANCH_IN_TX,      "in_tx"   },
	{PERF_SAMPLE_BRANCH_NO_TX,      "no_tx"   },
};

enum { NR_KINDS = sizeof(kinds) / sizeof(*kinds) };

bool branch_filter_has_all(const struct perf_attr *attr)
{
	uint64_t type = attr->branch_sample_type, part = type & IN_OR_OUT, named = 0;

	for (size_t i = 0; i < NR_KINDS; i++)
		named |= type & kinds[i].bit;
	if (!named)
		return true;
	return type & PERF_SAMPLE_BRANCH_ANY && !(type & PERF_SAMPLE_BRANCH_CALL_STACK) &&
	       (!part || part == IN_OR_OUT);
}

void branch_filter_name(const struct perf_attr *attr, struct buf *ret)
{
	bool is_first = true;

	for (size_t i = 0; i < NR_KINDS; i++) {
		if (!(attr->branch_sample_type & kinds[i].bit))
			continue;
		buf_printf(ret, "%s%s", is_first ? "" : ",", kinds[i].name);
		is_first = false;
	}
}
