/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_ASK_IMPL_H
#define WHO_WHO_ASK_IMPL_H

#include "who/who_ran_impl.h"

/* The state of a who_cursor: a place on the line of one CPU (who_place.c), and the last answer
 * (who_ask.c). */

/** A bound of a chunk as ticks: kept, as successive records often have the same. */
struct who_ask_bound {
	uint64_t ns, order;
	bool is_set;
};

struct who_ask_state {
	const struct who_cpu *cpu;
	struct who_run_cursor at;
	bool is_set, is_in_ticks;
	uint64_t from, to; /* of at.run */
	struct who_ask_bound chunk_from, chunk_to;
	/* The last answer, which holds for all of (since, until) if nothing else was asked */
	bool has_answer;
	uint64_t since, until, last; /* last: ticks_to */
	bool is_by_id;               /* its place does not matter */
	struct who_question question;
	struct who_answer answer;
};

struct who_ask_state *who_ask_state_of(const struct who_ran *w, struct who_cursor *c);
uint64_t who_order_of_ns(const struct who_ran *w, struct clew_perf_ns t);
/** Are the ticks outside the chunk that holds them? */
bool who_is_outside_chunk(const struct who_ran *w, struct who_ask_state *s,
			  const struct who_question *q, uint64_t order);

/** @p until, or where ticks begin that are later than the chunk of the last question, @p q. */
static inline uint64_t who_until_chunk_ends(const struct who_ran *w, const struct who_ask_state *s,
					    const struct who_question *q, uint64_t until)
{
	uint64_t last = s->chunk_to.order + w->tolerance_ticks;

	return q->has & WHO_Q_TO && last < until ? last + 1 : until;
}

#endif
