/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_MERGE_H
#define CLI_MERGE_H

#include "cli/common/input.h"
#include "merge/guest_merge.h"

/*
 * `clew merge`: its state, and what merge_report.c says of it.
 */

/* One --guest. */
struct guest {
	char *text, *path; /* text is owned, path a part of it */
	bool has_pid, has_offset;
	uint32_t pid;
	struct guest_given given;
	struct cli_input in;
	struct merge_scan scan;
	struct guest_match match; /* of the process chosen */
};

struct merge {
	struct cli_input in;
	const char *out_path;
	bool is_json;
	struct {
		VEC(struct guest *);
	} guests;
	struct merge_scan scan;
};

const char *merge_verdict_name(enum fit_verdict verdict);

/** Notes: how well the offset that was given, or @p found, fits. */
void merge_report_given(const struct guest *g);
void merge_report_fit(const struct guest *g, const struct guest_match *found);

/** At the end: what was merged, with --json one object on standard output. */
void merge_report(const struct merge *m, const struct guest_merge_counts *counts);

#endif
