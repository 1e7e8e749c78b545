/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_user_part.h"

#include "analyze/ana_own_ids.h"
#include "analyze/ana_queue.h"
#include "analyze/ana_resolve.h"
#include "analyze/analyze_impl.h"
#include "perfdata/perf_deferred.h"

static struct ana_user none(enum stitch_reason reason)
{
	return (struct ana_user){.state = STITCH_NONE_EXPECTED, .reason = reason};
}

/* Does the chain have a user address after a mark of user mode? */
static bool has_user_frames(const struct perf_words *chain, bool *ret_is_guest)
{
	bool is_user = false;

	*ret_is_guest = false;
	for (uint32_t i = 0; i < chain->nr; i++) {
		uint64_t word = perf_words_get(chain, i);

		if (word < PERF_CONTEXT_MAX) {
			if (is_user)
				return true;
			continue;
		}
		is_user = word == PERF_CONTEXT_USER;
		*ret_is_guest |= word == PERF_CONTEXT_GUEST || word == PERF_CONTEXT_GUEST_USER ||
				 word == PERF_CONTEXT_GUEST_KERNEL;
	}
	return false;
}

/* The kernel records no user stack of a task without an address space. One with known maps is
 * ending; one without is a kernel thread. */
struct ana_user ana_user_of_plain(const struct who_thread *t, const struct ana_event *e,
				  const struct perf_words *chain, const uint8_t *methods,
				  uint32_t nr)
{
	const struct perf_sample *s = e->sample;
	enum ana_level level = ana_level_of_misc(s->misc);
	uint8_t stop = e->unwind_stop;
	bool is_guest;

	if (has_user_frames(chain, &is_guest))
		return (struct ana_user){.state = STITCH_COMPLETE,
					 .stop = stop,
					 .methods = methods,
					 .nr_frames = methods ? nr : 0};
	if (stop)
		return (struct ana_user){
			.state = STITCH_LOST, .reason = STITCH_EMPTY, .stop = stop};
	if (!(s->sample_type & PERF_SAMPLE_CALLCHAIN) ||
	    e->evsel->attr.flags & PERF_ATTR_EXCLUDE_CALLCHAIN_USER)
		return none(STITCH_NOT_ASKED);
	if (is_guest || level == ANA_GUEST_USER || level == ANA_GUEST_KERNEL ||
	    level == ANA_HYPERVISOR)
		return none(STITCH_NOT_ASKED);
	if (level == ANA_USER && (s->tid || ana_is_user_code(s)))
		return (struct ana_user){.state = STITCH_LOST, .reason = STITCH_EMPTY};
	if (!s->tid)
		return none(STITCH_IDLE);
	return none(t->space->maps ? STITCH_EXITING : STITCH_KERNEL_THREAD);
}

void ana_user_of_no_cookie(uint64_t word, struct ana_user *ret)
{
	static const struct {
		uint8_t state, reason;
	} of[NR_PERF_NO_STACK] = {
		[PERF_NO_STACK_NONE] = {STITCH_LOST,          STITCH_REFUSED      },
		[PERF_NO_STACK_KERNEL_THREAD] = {STITCH_NONE_EXPECTED, STITCH_KERNEL_THREAD},
		[PERF_NO_STACK_IDLE] = {STITCH_NONE_EXPECTED, STITCH_IDLE         },
		[PERF_NO_STACK_EXITING] = {STITCH_NONE_EXPECTED, STITCH_EXITING      },
		[PERF_NO_STACK_MAP_FULL] = {STITCH_LOST,          STITCH_MAP_FULL     },
		[PERF_NO_STACK_RING_FULL] = {STITCH_LOST,          STITCH_RING_FULL    },
		[PERF_NO_STACK_REFUSED] = {STITCH_LOST,          STITCH_REFUSED      },
		[PERF_NO_STACK_UNMATCHED] = {STITCH_LOST,          STITCH_UNMATCHED    },
	};
	enum perf_no_stack why = perf_no_stack_of(word);

	ret->state = (enum stitch_state)of[why].state;
	ret->reason = (enum stitch_reason)of[why].reason;
}

void ana_user_take(const struct stitch_item *item, struct ana_user *ret)
{
	ret->state = item->state;
	ret->reason = item->reason;
	ret->stack = item->stack;
	if (item->stack) {
		ret->stop = item->stack->stop;
		ret->why = item->stack->why;
	}
}

/* A sample in user mode may bring its address in a user part of its own, before the mark. */
static bool repeats_first(const struct ana_user *u, const struct perf_words *chain)
{
	uint32_t at = u->mark_at;

	return u->stack && u->stack->nr && at >= 2 &&
	       perf_words_get(chain, at - 2) == PERF_CONTEXT_USER &&
	       perf_words_get(chain, at - 1) == load_u64(u->stack->ips, chain->swap);
}

static uint32_t words_before(const struct ana_user *u, const struct perf_words *chain)
{
	return u->mark_at - (repeats_first(u, chain) ? 2 : 0);
}

uint32_t ana_user_words_after(const struct ana_user *u, const struct perf_words *chain)
{
	return chain->nr - u->mark_at > 2 ? chain->nr - u->mark_at - 2 : 0;
}

uint8_t ana_user_method(const struct ana_user *u, uint32_t i)
{
	const struct perf_deferred_trailer t = {.method = u->stack->method,
						.methods = u->stack->methods};

	return perf_deferred_method(&t, i);
}

/* A frame that was interrupted rather than left by a call. */
static bool is_exact(const struct ana_user *u, uint32_t i)
{
	uint8_t method = ana_user_method(u, i);

	return method & PERF_DEFERRED_EXACT || (method & PERF_DEFERRED_ORIGIN) == UNW_TRAMPOLINE;
}

void ana_user_limit(struct ana_user *u, const struct perf_words *chain, uint32_t max)
{
	uint32_t kernel_end, nr = 0;

	u->nr_after = ana_user_words_after(u, chain);
	if (!u->stack)
		return;
	u->nr_frames = u->stack->nr;
	if (!max)
		return;
	kernel_end = words_before(u, chain);
	for (uint32_t i = 0; i < kernel_end; i++)
		nr += perf_words_get(chain, i) < PERF_CONTEXT_MAX;
	if (nr < max && u->nr_frames <= max - nr)
		return;
	u->nr_frames = nr < max ? max - nr : 0;
	u->stop = UNW_STOP_MAX_DEPTH;
	u->why = 0;
}

/* The stack's words. A mark stands before the first frame and each that is exact: what follows a
 * frame are return addresses. @p to NULL: only count. */
static uint32_t put_stack(const struct ana_user *u, bool swap, uint8_t *to)
{
	uint64_t mark = load_u64(&(uint64_t){PERF_CONTEXT_USER}, swap);
	const struct stitch_stack *s = u->stack;
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->nr_frames; i++) {
		if (!i || is_exact(u, i)) {
			if (to)
				memcpy(to + 8 * (size_t)n, &mark, 8);
			n++;
		}
		if (to)
			memcpy(to + 8 * (size_t)n, s->ips + 8 * (size_t)i, 8);
		n++;
	}
	return n;
}

uint32_t ana_user_words(const struct ana_user *u, const struct perf_words *chain, uint8_t *to)
{
	uint32_t before = words_before(u, chain), after = ana_user_words_after(u, chain);
	uint32_t nr_stack = put_stack(u, chain->swap, to ? to + 8 * (size_t)before : NULL);

	if (to) {
		memcpy(to, chain->data, 8 * (size_t)before);
		to += 8 * ((size_t)before + nr_stack);
		memcpy(to, chain->data + 8 * (size_t)(chain->nr - after), 8 * (size_t)after);
	}
	return before + nr_stack + after;
}

enum clew_err ana_user_merge(struct analyze *a, const struct ana_user *u, struct perf_words *chain)
{
	uint32_t nr = ana_user_words(u, chain, NULL);
	uint8_t *words = ana_queue_alloc(a->queue, 8 * ((size_t)nr + 1));

	if (!words)
		return CLEW_NO_MEMORY;
	ana_user_words(u, chain, words);
	chain->data = words;
	chain->nr = nr;
	return CLEW_OK;
}

enum clew_err ana_user_stack_words(struct analyze *a, const struct stitch_stack *stack, bool swap,
				   struct perf_words *ret)
{
	const struct ana_user u = {.stack = stack, .nr_frames = stack->nr};
	uint32_t nr = put_stack(&u, swap, NULL);
	uint8_t *words = ana_queue_alloc(a->queue, 8 * ((size_t)nr + 1));

	if (!words)
		return CLEW_NO_MEMORY;
	put_stack(&u, swap, words);
	*ret = (struct perf_words){words, nr, swap};
	return CLEW_OK;
}

bool ana_user_of_info(struct perf_stack_reader *infos, struct ana_user *ret)
{
	struct perf_stack_info i;

	if (!perf_stack_reader_next(infos, &i))
		return false;
	if (i.state > STITCH_LOST || i.reason >= NR_STITCH_REASONS) {
		perf_stack_reader_doubt(infos);
		return false;
	}
	ret->state = (enum stitch_state)i.state;
	ret->reason = (enum stitch_reason)i.reason;
	ret->stop = i.stop < NR_UNW_STOPS ? i.stop : UNW_STOP_NONE;
	ret->why = i.why;
	ret->nr_frames = i.nr;
	ret->methods = i.methods;
	ret->method = i.method;
	ret->nr_after = i.after;
	ret->is_merged = true;
	return true;
}

enum stitch_state ana_user_state(const struct ana_user *u)
{
	if (u->state != STITCH_COMPLETE || u->stop == UNW_STOP_OUTERMOST)
		return u->state;
	return unw_stop_is_cut((enum unw_stop)u->stop) ? STITCH_PARTIAL : STITCH_UNPROVEN;
}

/* How frame @p i was found, the first one by no step. */
static enum unw_how how_of(const struct ana_user *u, uint32_t i)
{
	uint8_t method = i ? u->method : 0;

	if (u->stack)
		method = ana_user_method(u, i);
	else if (u->methods)
		method = u->methods[i];
	return unw_how_of((enum unw_origin)(method & PERF_DEFERRED_ORIGIN));
}

static bool is_uniform(const struct ana_user *u)
{
	return u->stack ? !u->stack->methods : !u->methods;
}

static void count_hows(struct ana_outcomes *o, const struct ana_user *u)
{
	uint64_t *by_convention = &o->by_how[UNW_HOW_FP_CONVENTION], before = *by_convention;

	if (u->nr_frames <= 1)
		return;
	if (is_uniform(u))
		o->by_how[how_of(u, 1)] += u->nr_frames - 1;
	for (uint32_t i = 1; i < u->nr_frames && !is_uniform(u); i++)
		o->by_how[how_of(u, i)]++;
	if (*by_convention == before)
		return;
	o->nr_by_convention++;
	o->nr_complete_by_convention += ana_user_state(u) == STITCH_COMPLETE;
}

void ana_user_count(struct ana_outcomes *o, const struct ana_user *u)
{
	enum stitch_state state = ana_user_state(u);

	o->nr++;
	o->by_reason[u->reason]++;
	o->nr_partial += state == STITCH_PARTIAL;
	o->nr_unproven += state == STITCH_UNPROVEN;
	count_hows(o, u);
	if (u->stop && u->stop < NR_UNW_STOPS) {
		o->nr_stops++;
		o->by_stop[u->stop]++;
	}
}

static uint32_t nr_addresses(const struct perf_words *words, uint32_t from)
{
	uint32_t nr = 0;

	for (uint32_t i = from; i < words->nr; i++)
		nr += perf_words_get(words, i) < PERF_CONTEXT_MAX;
	return nr;
}

enum clew_err ana_user_hows(struct analyze *a, const struct ana_user *u,
			    const struct perf_words *words, struct ana_event *e)
{
	uint32_t nr = e->chain->nr, after;
	uint8_t *hows;

	if (!u->nr_frames || u->nr_after > words->nr || e->chain->is_broken)
		return CLEW_OK;
	after = nr_addresses(words, words->nr - u->nr_after);
	if (after > nr || u->nr_frames > nr - after)
		return CLEW_OK; /* a section about other samples */
	hows = ana_queue_alloc(a->queue, u->nr_frames);
	if (!hows)
		return CLEW_NO_MEMORY;
	hows[0] = (uint8_t)how_of(u, 0);
	if (u->nr_frames > 1 && is_uniform(u))
		memset(hows + 1, how_of(u, 1), u->nr_frames - 1);
	for (uint32_t i = 1; i < u->nr_frames && !is_uniform(u); i++)
		hows[i] = (uint8_t)how_of(u, i);
	e->hows = hows;
	e->hows_at = nr - after - u->nr_frames;
	e->nr_hows = u->nr_frames;
	return CLEW_OK;
}
