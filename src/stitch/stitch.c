/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stitch/stitch.h"

#include <string.h>

#include "base/mem.h"
#include "stitch/stitch_impl.h"
#include "unwind/unw_rule.h"

enum { DEFAULT_BUDGET = 64 << 20, FIRST_ITEMS = 256 };

/* What a key holds besides its stack: itself, its buckets, its task with its place in by_tid. */
enum { KEY_BYTES = sizeof(struct stitch_key) + 8 + sizeof(struct stitch_task) + 32 };

struct queued {
	void *item;
	union {
		uint64_t next;            /* waiting: the key's next sample */
		struct stitch_kept *kept; /* settled: the stack, NULL: none */
	};
	struct clew_perf_ns time;
	uint32_t key, bytes;
	bool is_waiting, is_sample;
	uint8_t state, reason;
};

struct stitch {
	struct stitch_opts opts;
	struct stitch_keys keys;
	struct queued *items; /* item number n at n & (cap - 1) */
	size_t cap;
	uint64_t head, blocked, tail; /* [head, blocked) may go; the item at blocked waits */
	uint64_t blocked_bytes;       /* of [blocked, tail) */
	uint64_t held_bytes;          /* of [head, tail) */
	uint64_t kept_bytes;          /* of stacks */
	struct clew_perf_ns newest;
	uint32_t loss;            /* how often records were lost */
	struct stitch_kept *lent; /* the caller looks at it */
	struct stitch_counts counts;
};

struct stitch *stitch_new(const struct stitch_opts *opts)
{
	struct stitch *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->opts = *opts;
	if (!s->opts.budget_bytes)
		s->opts.budget_bytes = DEFAULT_BUDGET;
	stitch_keys_init(&s->keys);
	return s;
}

static struct queued *item_at(const struct stitch *s, uint64_t n)
{
	return &s->items[n & (s->cap - 1)];
}

static void drop(struct stitch *s, struct stitch_kept *kept)
{
	if (!kept || --kept->refs)
		return;
	s->counts.nr_unclaimed += !kept->is_claimed;
	s->kept_bytes -= sizeof(*kept) + kept->stack.bytes;
	if (s->opts.drop)
		s->opts.drop(s->opts.ctx, &kept->stack);
	mem_free(kept);
}

static void settle(struct stitch *s, uint64_t n, enum stitch_state state, enum stitch_reason reason,
		   struct stitch_kept *kept)
{
	struct queued *q = item_at(s, n);

	q->is_waiting = false;
	q->state = (uint8_t)state;
	q->reason = (uint8_t)reason;
	q->kept = kept;
	if (kept) {
		kept->refs++;
		kept->is_claimed = true;
	}
}

/* The samples that wait for @p key get this outcome. */
static void settle_all(struct stitch *s, uint32_t key, enum stitch_state state,
		       enum stitch_reason reason, struct stitch_kept *kept)
{
	uint64_t next;

	for (uint64_t n = s->keys.keys.data[key].first; n != UINT64_MAX; n = next) {
		next = item_at(s, n)->next;
		settle(s, n, state, reason, kept);
	}
}

static void lose(struct stitch *s, uint32_t key, enum stitch_reason reason)
{
	bool may_be_lost_record = s->keys.keys.data[key].loss != s->loss;

	settle_all(s, key, STITCH_LOST,
		   may_be_lost_record && reason != STITCH_EXEC ? STITCH_BUFFER : reason, NULL);
	stitch_key_remove(&s->keys, key);
}

static void drop_done(struct stitch *s, uint32_t key)
{
	struct stitch_kept *kept;

	if (key == STITCH_NONE)
		return;
	kept = s->keys.keys.data[key].kept;
	stitch_key_remove(&s->keys, key);
	drop(s, kept);
}

/* Past all that does not wait. */
static void advance(struct stitch *s)
{
	while (s->blocked < s->tail && !item_at(s, s->blocked)->is_waiting)
		s->blocked_bytes -= item_at(s, s->blocked++)->bytes;
}

static void time_out(struct stitch *s)
{
	uint32_t at = item_at(s, s->blocked)->key;
	struct stitch_key *key = &s->keys.keys.data[at];

	/* The oldest of all that wait is the oldest of its key. */
	key->first = item_at(s, s->blocked)->next;
	settle(s, s->blocked, STITCH_LOST, STITCH_TIMEOUT, NULL);
	if (key->first == UINT64_MAX)
		stitch_key_remove(&s->keys, at);
	advance(s);
}

static uint64_t used_bytes(const struct stitch *s)
{
	return s->kept_bytes + (uint64_t)s->keys.nr_keys * KEY_BYTES;
}

static bool is_longer(struct clew_perf_ns from, struct clew_perf_ns to, uint64_t ns)
{
	return to.ns > from.ns && to.ns - from.ns > ns;
}

static bool is_done_old(const struct stitch *s)
{
	uint32_t at = s->keys.first_done;

	return at != STITCH_NONE &&
	       is_longer(s->keys.keys.data[at].time, s->newest, STITCH_STACK_LIFE_NS);
}

static bool is_head_old(const struct stitch *s)
{
	struct clew_perf_ns time = s->blocked < s->tail ? item_at(s, s->blocked)->time : s->newest;

	return s->opts.age_ns && is_longer(time, s->newest, s->opts.age_ns);
}

/* After each input: release what is complete, and what there is no room for. */
static void balance(struct stitch *s)
{
	uint64_t bytes;

	advance(s);
	while (is_done_old(s))
		drop_done(s, s->keys.first_done);
	while (is_head_old(s))
		time_out(s);
	bytes = s->held_bytes + used_bytes(s);
	if (bytes > s->counts.peak_bytes)
		s->counts.peak_bytes = bytes;
	while (s->blocked_bytes + used_bytes(s) > s->opts.budget_bytes) {
		bool is_blocked = s->blocked < s->tail;

		/* Stacks for late samples may have a quarter; what waits, the rest. */
		if (s->keys.first_done != STITCH_NONE &&
		    (!is_blocked || used_bytes(s) > s->opts.budget_bytes / 4))
			drop_done(s, s->keys.first_done);
		else if (is_blocked)
			time_out(s);
		else
			break;
	}
}

static bool reserve_item(struct stitch *s)
{
	size_t cap = s->cap ? s->cap * 2 : FIRST_ITEMS;
	struct queued *items;

	if (s->tail - s->head < s->cap)
		return true;
	items = mem_calloc(cap, sizeof(*items));
	if (!items)
		return false;
	for (uint64_t n = s->head; n < s->tail; n++)
		items[n & (cap - 1)] = *item_at(s, n);
	mem_free(s->items);
	s->items = items;
	s->cap = cap;
	return true;
}

static uint64_t push(struct stitch *s, const struct queued *q, size_t bytes)
{
	uint64_t n = s->tail++;
	struct queued *to = item_at(s, n);

	*to = *q;
	to->bytes = (uint32_t)(bytes + sizeof(*q) < UINT32_MAX ? bytes + sizeof(*q) : UINT32_MAX);
	s->blocked_bytes += to->bytes;
	s->held_bytes += to->bytes;
	if (q->time.ns > s->newest.ns)
		s->newest = q->time;
	return n;
}

static void give_back(struct stitch *s)
{
	drop(s, s->lent);
	s->lent = NULL;
}

static void state_of_stack(const struct stitch_stack *stack, enum stitch_state *state,
			   enum stitch_reason *reason)
{
	bool is_gone = !stack->nr && stack->stop == UNW_STOP_EXITING;
	enum stitch_reason why = stack->stop == UNW_STOP_LATE ? STITCH_LATE : STITCH_EMPTY;

	*state = stack->nr ? STITCH_COMPLETE : is_gone ? STITCH_NONE_EXPECTED : STITCH_LOST;
	*reason = stack->nr ? STITCH_NO_REASON : is_gone ? STITCH_EXITING : why;
}

/* A done key's stack, if the sample is still of its entry. */
static struct stitch_kept *stack_for(struct stitch *s, uint32_t at, struct clew_perf_ns time)
{
	const struct stitch_key *key = at == STITCH_NONE ? NULL : &s->keys.keys.data[at];

	if (!key || !key->kept)
		return NULL;
	return is_longer(key->time, time, STITCH_STACK_LIFE_NS) ? NULL : key->kept;
}

enum clew_err stitch_sample(struct stitch *s, uint32_t tid, uint64_t cookie,
			    struct clew_perf_ns time, void *item, size_t bytes)
{
	struct queued q = {.item = item, .time = time, .is_sample = true};
	uint32_t at = stitch_key_find(&s->keys, tid, cookie);
	struct stitch_kept *kept = stack_for(s, at, time);
	struct stitch_key *key;
	enum stitch_reason reason;
	enum stitch_state state;
	uint64_t n;

	give_back(s);
	if (!reserve_item(s))
		return CLEW_NO_MEMORY;
	if (kept) {
		n = push(s, &q, bytes);
		state_of_stack(&kept->stack, &state, &reason);
		settle(s, n, state, reason, kept);
		s->counts.nr_late++;
		balance(s);
		return CLEW_OK;
	}
	if (at != STITCH_NONE && s->keys.keys.data[at].kept) { /* the cookie came round */
		drop_done(s, at);
		at = STITCH_NONE;
	}
	if (at == STITCH_NONE) {
		at = stitch_key_add(&s->keys, tid, cookie);
		if (at == STITCH_NONE)
			return CLEW_NO_MEMORY;
		s->keys.keys.data[at].loss = s->loss;
	}
	q.is_waiting = true;
	q.next = UINT64_MAX;
	q.key = at;
	n = push(s, &q, bytes);
	key = &s->keys.keys.data[at];
	if (key->first == UINT64_MAX)
		key->first = n;
	else
		item_at(s, key->last)->next = n;
	key->last = n;
	key->time = time;
	stitch_key_touch(&s->keys, at);
	balance(s);
	return CLEW_OK;
}

static enum clew_err put_settled(struct stitch *s, const struct queued *q, size_t bytes)
{
	give_back(s);
	if (!reserve_item(s))
		return CLEW_NO_MEMORY;
	push(s, q, bytes);
	balance(s);
	return CLEW_OK;
}

enum clew_err stitch_settled(struct stitch *s, struct clew_perf_ns time, enum stitch_state state,
			     enum stitch_reason reason, void *item, size_t bytes)
{
	return put_settled(s,
			   &(struct queued){.item = item,
					    .time = time,
					    .is_sample = true,
					    .state = (uint8_t)state,
					    .reason = (uint8_t)reason},
			   bytes);
}

enum clew_err stitch_other(struct stitch *s, struct clew_perf_ns time, void *item, size_t bytes)
{
	return put_settled(s, &(struct queued){.item = item, .time = time}, bytes);
}

static bool is_same_stack(const struct stitch_stack *a, const struct stitch_stack *b)
{
	return a->nr == b->nr && (!a->nr || !memcmp(a->ips, b->ips, 8 * (size_t)a->nr));
}

/* One task is in one entry at a time: what it still waits for belongs to entries before. */
static void lose_older(struct stitch *s, uint32_t task, struct clew_perf_ns time)
{
	uint32_t at = s->keys.tasks.data[task].oldest, after;

	for (; at != STITCH_NONE && s->keys.keys.data[at].time.ns < time.ns; at = after) {
		after = s->keys.keys.data[at].after;
		lose(s, at, STITCH_NO_RECORD);
	}
}

/* A program that was just started has one frame. If the record of its exec was among those lost,
 * the samples before it must not get it. */
static bool may_be_of_exec(const struct stitch *s, const struct stitch_key *key,
			   const struct stitch_stack *stack)
{
	return stack->nr == 1 && key->first != UINT64_MAX && key->loss != s->loss;
}

/* The same record once more: from a second buffer. */
static void take_duplicate(struct stitch *s, const struct stitch_stack *first,
			   const struct stitch_stack *again)
{
	s->counts.nr_stacks++;
	s->counts.nr_duplicates++;
	s->counts.nr_differing += !is_same_stack(first, again);
	if (s->opts.drop)
		s->opts.drop(s->opts.ctx, again);
}

enum clew_err stitch_stack_record(struct stitch *s, uint32_t tid, uint64_t cookie,
				  struct clew_perf_ns time, const struct stitch_stack *stack)
{
	uint32_t at = stitch_key_find(&s->keys, tid, cookie);
	struct stitch_kept *kept = stack_for(s, at, time);
	enum stitch_reason reason;
	enum stitch_state state;

	give_back(s);
	if (time.ns > s->newest.ns)
		s->newest = time;
	if (kept) {
		take_duplicate(s, &kept->stack, stack);
		balance(s);
		return CLEW_OK;
	}
	kept = mem_alloc(sizeof(*kept));
	if (!kept)
		return CLEW_NO_MEMORY;
	if (at != STITCH_NONE && s->keys.keys.data[at].kept) { /* the cookie came round */
		drop_done(s, at);
		at = STITCH_NONE;
	}
	if (at == STITCH_NONE)
		at = stitch_key_add(&s->keys, tid, cookie);
	if (at == STITCH_NONE) {
		mem_free(kept);
		return CLEW_NO_MEMORY;
	}
	*kept = (struct stitch_kept){.stack = *stack, .refs = 1};
	s->kept_bytes += sizeof(*kept) + stack->bytes;
	s->counts.nr_stacks++;
	if (may_be_of_exec(s, &s->keys.keys.data[at], stack)) {
		settle_all(s, at, STITCH_LOST, STITCH_BUFFER, NULL);
	} else {
		state_of_stack(stack, &state, &reason);
		settle_all(s, at, state, reason, kept);
	}
	drop_done(s, stitch_key_settle(&s->keys, at, kept));
	s->keys.keys.data[at].time = time;
	/* That one stack is gone says nothing of the others. */
	if (!stack->is_own && stack->stop != UNW_STOP_LATE)
		lose_older(s, s->keys.keys.data[at].task, time);
	balance(s);
	return CLEW_OK;
}

/* No stack of the task will come any more. A task is in one entry at a time: it left those before
 * the newest without a record, so only the newest was lost for @p reason. */
static void lose_waiting(struct stitch *s, uint32_t task, enum stitch_reason reason)
{
	uint32_t at = s->keys.tasks.data[task].oldest, after;

	for (; at != STITCH_NONE; at = after) {
		after = s->keys.keys.data[at].after;
		lose(s, at, after == STITCH_NONE ? reason : STITCH_NO_RECORD);
	}
}

static void end_task(struct stitch *s, uint32_t tid, enum stitch_reason reason)
{
	uint32_t at = stitch_task_find(&s->keys, tid), done, before, own;

	give_back(s);
	if (at == STITCH_NONE)
		return;
	/* The task itself goes with its last key; its number at is not used again until then. */
	done = s->keys.tasks.data[at].done;
	before = s->keys.tasks.data[at].done_before;
	own = s->keys.tasks.data[at].own;
	lose_waiting(s, at, reason);
	drop_done(s, before);
	drop_done(s, done);
	drop_done(s, own);
	balance(s);
}

void stitch_task_exit(struct stitch *s, uint32_t tid)
{
	end_task(s, tid, STITCH_EXIT);
}

void stitch_task_fork(struct stitch *s, uint32_t tid)
{
	end_task(s, tid, STITCH_EXIT);
}

void stitch_task_exec(struct stitch *s, uint32_t tid)
{
	end_task(s, tid, STITCH_EXEC);
}

void stitch_lost(struct stitch *s)
{
	s->loss++;
}

void stitch_end(struct stitch *s)
{
	give_back(s);
	while (advance(s), s->blocked < s->tail)
		lose(s, item_at(s, s->blocked)->key, STITCH_END);
	while (s->keys.first_done != STITCH_NONE)
		drop_done(s, s->keys.first_done);
}

bool stitch_next(struct stitch *s, struct stitch_item *ret)
{
	struct queued *q;

	give_back(s);
	if (s->head >= s->blocked)
		return false;
	q = item_at(s, s->head++);
	s->held_bytes -= q->bytes;
	s->lent = q->kept;
	*ret = (struct stitch_item){
		.item = q->item,
		.is_sample = q->is_sample,
		.state = (enum stitch_state)q->state,
		.reason = (enum stitch_reason)q->reason,
		.stack = q->kept ? &q->kept->stack : NULL,
	};
	s->counts.nr_samples += q->is_sample;
	s->counts.by_reason[q->reason] += q->is_sample;
	return true;
}

void stitch_counts(const struct stitch *s, struct stitch_counts *ret)
{
	*ret = s->counts;
}

void stitch_free(struct stitch *s)
{
	if (!s)
		return;
	stitch_end(s);
	while (stitch_next(s, &(struct stitch_item){0}))
		;
	stitch_keys_done(&s->keys);
	mem_free(s->items);
	mem_free(s);
}
