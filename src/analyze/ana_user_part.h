/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_USER_PART_H
#define ANALYZE_ANA_USER_PART_H

#include "analyze/analyze.h"
#include "perfdata/perf_stack_info.h"
#include "stitch/stitch.h"
#include "who/who.h"

/* The user part of a sample's chain. */

/** What is known of a sample's user part. */
struct ana_user {
	enum stitch_state state;
	enum stitch_reason reason;
	uint8_t stop, why;                /* enum unw_stop, enum unw_why; 0: unknown */
	const struct stitch_stack *stack; /* to be put in; NULL: none. Lives until the next record
					     is taken */
	/* Of a user part that stands in the chain already: as of struct perf_stack_info. */
	const uint8_t *methods;
	uint8_t method;
	uint32_t nr_after;  /* words of the chain after the user part */
	uint32_t nr_frames; /* of stack, that the event asked for */
	bool has_mark;      /* of deferral, at mark_at of the chain */
	bool is_merged;     /* it stands in the chain already, and what is here was kept of it */
	uint32_t mark_at;
};

/** Of a sample without a mark; @p chain: with what was unwound. */
struct ana_user ana_user_of_plain(const struct who_thread *t, const struct ana_event *e,
				  const struct perf_words *chain, const uint8_t *methods,
				  uint32_t nr);
/** Of a sample with a mark that no cookie follows. */
void ana_user_of_no_cookie(uint64_t word, struct ana_user *ret);
void ana_user_take(const struct stitch_item *item, struct ana_user *ret);
/** Of the next sample of a recording with stacks merged into their samples. @return false: nothing
 * is recorded of it. */
bool ana_user_of_info(struct perf_stack_reader *infos, struct ana_user *ret);
/** Cut the stack to what an event of @p max addresses (0: all) has room for after the kernel's. */
void ana_user_limit(struct ana_user *u, const struct perf_words *chain, uint32_t max);
/** The chain with the stack in place of the mark. @p to: NULL to count only. @return its words, and
 * how many of them stand after the stack. */
uint32_t ana_user_words(const struct ana_user *u, const struct perf_words *chain, uint8_t *to);
uint32_t ana_user_words_after(const struct ana_user *u, const struct perf_words *chain);
/** How frame @p i of u->stack was found: perf_deferred_method(). */
uint8_t ana_user_method(const struct ana_user *u, uint32_t i);
/** The same chain in the batch's memory. */
enum clew_err ana_user_merge(struct analyze *a, const struct ana_user *u, struct perf_words *chain);
/** A stack that no sample has as the words of a chain, in the batch's memory. */
enum clew_err ana_user_stack_words(struct analyze *a, const struct stitch_stack *stack, bool swap,
				   struct perf_words *ret);
/** How much of it is there, if any: complete, partial or unproven. */
enum stitch_state ana_user_state(const struct ana_user *u);
void ana_user_count(struct ana_outcomes *o, const struct ana_user *u);
/** e->hows, of the user part in @p words, of which e->chain was made. */
enum clew_err ana_user_hows(struct analyze *a, const struct ana_user *u,
			    const struct perf_words *words, struct ana_event *e);

#endif
