/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_GOLDEN_PT_GOLDEN_H
#define TESTS_GOLDEN_PT_GOLDEN_H

#include "golden/pt_words.h"
#include "golden/trace_golden.h"
#include "packet/pt/ipt_config.h"

/** A .trace file of Intel PT (pt/README.md). */
struct pt_golden {
	struct golden golden;
	struct ipt_config config;
	struct pt_words words;
	struct code_source code;
	unsigned int family, model; /* 0: unknown */
	uint64_t filter_from, filter_to;
	bool has_filter;
	char peer[200]; /* why libipt differs; "": it does not */
};

extern const struct golden_unit pt_golden_unit;

static inline struct pt_golden *pt_golden_of(struct golden *g)
{
	return (struct pt_golden *)g; /* its first member */
}

#endif
