/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_BPF_COOKIE_STATE_H
#define RECORD_BPF_COOKIE_STATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which cookie a request gets: the same code in the BPF program and in the test model.
 *
 * A task has one slot. Everything that happens to a slot happens on its own task: requests in it
 * (from any context, also inside the callback), the callback on its way to user mode. So there is
 * no other CPU to race with, only interruption: a request may come between any two stores of
 * cookie_callback_*(), never the other way round, and requests do not interrupt requests (the
 * kernel runs no tracing program inside another one on a CPU).
 *
 *   FREE --request--> PENDING --callback begins--> RUNNING --ends--> DONE --request--> PENDING
 *                                                                      (same entry: stays DONE)
 *
 * The return to user mode makes no event, so it is inferred from what the task looks like:
 *   - the sample interrupted user mode: a DONE entry is over;
 *   - cookie_sight.place, the user registers without the return value, is the same all through an
 *     entry. Another place while PENDING: user mode ran before the callback did (its interrupt may
 *     come late), or the entry replaced its registers (exec, sigreturn);
 *   - DONE is the same entry only if nothing at all changed and the kernel is seen to be on its way
 *     out. Not proven means a new cookie: a second, equal stack does no harm.
 *
 * What was found: docs/decisions/bpf-stacks.md.
 */
enum cookie_state { COOKIE_FREE, COOKIE_PENDING, COOKIE_RUNNING, COOKIE_DONE };

/** What is seen of a task at a sample or in the callback. */
struct cookie_sight {
	uint64_t place;    /* hash of the user registers but the return value; 0: unknown (the
			      entry code has not stored them yet) */
	uint64_t rest;     /* hash of the return value, the words on top of the user stack, and the
			      task's context switches */
	bool is_user;      /* the sample interrupted user mode */
	bool is_returning; /* the kernel stack shows the way back to user mode, after the call of
			      task works; false: not so, or unknown */
};

struct cookie_slot {
	uint64_t cookie;     /* of the newest entry */
	uint64_t place;      /* since PENDING; 0: unknown so far */
	uint64_t rest;       /* since DONE */
	uint32_t state;      /* enum cookie_state */
	uint32_t is_at_once; /* walked by the request itself; for it to set */
};

/** What a request has to do. */
enum cookie_act {
	COOKIE_SAME, /* answer slot->cookie */
	COOKIE_ASK   /* schedule the callback, then cookie_asked() */
};

/** What the kernel said to the schedule. */
enum cookie_taken {
	COOKIE_TAKEN,
	COOKIE_QUEUED, /* -EBUSY: it is still queued, or its callback has not returned */
	COOKIE_REFUSED
};

/** Of a stack that says nothing of the task's other cookies: perfdata/perf_deferred.h. */
#define COOKIE_OWN (1ull << 63)

/** Layout: cpu + 1 in the low 16 bits, which no carry of the counter reaches. */
static inline uint64_t cookie_make(uint32_t cpu, uint64_t counter)
{
	return counter << 16 | (uint64_t)(cpu + 1);
}

/** A request of @p now. May complete slot->place. */
static inline enum cookie_act cookie_request(struct cookie_slot *s, const struct cookie_sight *now)
{
	switch (s->state) {
	case COOKIE_PENDING:
		if (!now->place)
			return COOKIE_SAME;
		if (!s->place)
			s->place = now->place;
		return s->place == now->place ? COOKIE_SAME : COOKIE_ASK;
	case COOKIE_RUNNING:
		return now->is_user ? COOKIE_ASK : COOKIE_SAME;
	case COOKIE_DONE:
		return !now->is_user && now->is_returning && now->place && now->place == s->place &&
				       now->rest == s->rest
			     ? COOKIE_SAME
			     : COOKIE_ASK;
	default:
		return COOKIE_ASK;
	}
}

/**
 * After COOKIE_ASK and the schedule: @p fresh is a cookie never used before.
 * @return the sample's cookie; 0: refused, there will be no stack.
 */
static inline uint64_t cookie_asked(struct cookie_slot *s, const struct cookie_sight *now,
				    enum cookie_taken taken, uint64_t fresh)
{
	if (taken == COOKIE_QUEUED) {
		/* The callback has done its work and not returned: this entry, for certain. (A walk
		 * at once has none, what is queued came late: this entry only where it began.) */
		if (s->state == COOKIE_DONE && !now->is_user &&
		    (!s->is_at_once || now->place == s->place))
			return s->cookie;
		/* PENDING: what is queued will answer the new cookie; the old one's samples stay
		 * without, as their stack is gone. */
		if (s->state != COOKIE_PENDING)
			return 0;
	} else if (taken == COOKIE_REFUSED) {
		/* A callback that is still queued finds no state PENDING and does nothing. */
		if (s->state != COOKIE_RUNNING)
			s->state = COOKIE_FREE;
		return 0;
	}
	s->cookie = fresh;
	s->place = now->place;
	s->is_at_once = false;
	s->state = COOKIE_PENDING;
	return fresh;
}

/**
 * The callback begins. @p place: what it will walk from; @p fresh: as above.
 * @return whether it has to walk; the record's cookie is slot->cookie, to be read afterwards.
 * An interruption by a request is harmless before and after each store.
 */
static inline bool cookie_callback_begin(struct cookie_slot *s, uint64_t place, uint64_t fresh)
{
	uint64_t old = s->cookie;

	if (s->state != COOKIE_PENDING)
		return false;
	if (s->place && s->place != place) {
		/* A request between the look and here has brought its own cookie: keep that. */
		__sync_val_compare_and_swap(&s->cookie, old, fresh);
	}
	s->place = place;
	__asm__ volatile("" ::: "memory");
	s->state = COOKIE_RUNNING;
	return true;
}

/** The record is written. */
static inline void cookie_callback_end(struct cookie_slot *s, uint64_t rest)
{
	s->rest = rest;
	__asm__ volatile("" ::: "memory");
	s->state = COOKIE_DONE;
}

#endif
