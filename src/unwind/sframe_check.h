/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_SFRAME_CHECK_H
#define UNWIND_SFRAME_CHECK_H

#include "unwind/unw_table.h"

/*
 * .sframe against .eh_frame of the same binary, at every row boundary of either. Where they
 * disagree .eh_frame is right: it is what debuggers and exceptions use.
 */

enum sframe_verdict {
	SFRAME_DIFFERS,   /* another rule, or none within a function that .sframe has */
	SFRAME_LOST_MARK, /* versions 1 and 2: the same but for "signal frame" or "outermost" */
	SFRAME_DROPPED,   /* .sframe does not have the function */
	SFRAME_EXTRA,     /* .eh_frame says nothing that could be compared */
	NR_SFRAME_VERDICTS
};

/** One stretch of addresses, [start, end) rel. Rules are borrowed for the call; NULL: none. */
struct sframe_finding {
	enum sframe_verdict verdict;
	uint64_t start, end;
	const struct unw_rule *sframe, *eh_frame;
};

struct sframe_verdicts {
	uint64_t nr_compared, compared_bytes; /* stretches and bytes that both cover */
	uint64_t nr[NR_SFRAME_VERDICTS], bytes[NR_SFRAME_VERDICTS];
};

/**
 * Sorts both lists. @p version of the section; @p report may be NULL. A dropped function is
 * reported once.
 */
enum clew_err sframe_check(struct unw_list *sframe, struct unw_list *eh_frame, uint8_t version,
			   void (*report)(void *ctx, const struct sframe_finding *f), void *ctx,
			   struct sframe_verdicts *ret);

/** Do two rules say the same? Origins do not count; of an outermost frame only the mark does. */
bool sframe_same_rule(const struct unw_rule *a, const struct unw_rule *b);

#endif
