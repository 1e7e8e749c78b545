/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/branch_walk.h"

enum {
	MAX_LOOP_BYTES = 1 << 12, /* AutoFDO's limit for the first entry that is there twice */
	LONGEST_INSN = 15,        /* the kernel returns to what it interrupted, or to the next */
	TYPE_MASK = 15,           /* of the flags: PERF_BR_ */
	TYPE_IRQ = 12,
	TYPE_SERROR = 13,
	TYPE_MORE = 15, /* then another field has the type: */
	NEW_TYPE_SHIFT = 26,
	LAST_EXCEPTION = 7, /* faults, and Arm's FIQ and debug exceptions */
	SPEC_SHIFT = 24,    /* 2 bits */
	SPEC_MASK = 3,
	WRONG_PATH = 1,
};

enum { AT_USER, AT_KERNEL, NR_SIDES };

/** What runs straight at one level since a branch. */
struct straight {
	const struct ana_loc *start; /* NULL: unknown */
	const struct ana_loc *left;  /* where it was interrupted; NULL: not, or unknown */
	const struct ana_loc *back;  /* where it was returned to, without knowing where it was left;
					NULL: was not */
	bool is_entered;
};

struct walk {
	const struct branch_walk_sink *sink;
	struct straight sides[NR_SIDES];
	const struct ana_loc *fresh; /* where the entry before went; NULL: unknown */
};

struct entry {
	const struct ana_loc *from, *to; /* NULL: unknown */
	uint64_t flags;
};

static unsigned int side_of(const struct ana_loc *l)
{
	const unsigned int kernels = 1u << ANA_KERNEL | 1u << ANA_GUEST_KERNEL;

	return kernels >> l->level & 1 ? AT_KERNEL : AT_USER;
}

static bool is_other_function(const struct ana_loc *a, const struct ana_loc *b)
{
	return a->dso != b->dso || a->sym != b->sym;
}

/* --- runs --- */

static inline bool add_run(struct walk *w, const struct ana_loc *from, const struct ana_loc *to,
			   uint64_t cycles, bool is_entered)
{
	const struct branch_run run = {from, to, cycles, is_entered};

	return !w->sink->run || !from->dso || from->dso != to->dso ||
	       w->sink->run(w->sink->ctx, &run);
}

static inline void begin(struct walk *w, const struct ana_loc *at, bool is_entered)
{
	struct straight *s = &w->sides[side_of(at)];

	s->start = at;
	s->left = s->back = NULL;
	s->is_entered = is_entered;
}

/**
 * Was @p back on the way from @p start to @p end? Where the symbols do not say that it is one
 * function, only if the code is at hand, which proves it later.
 */
static bool is_on_way(const struct ana_loc *start, const struct ana_loc *back,
		      const struct ana_loc *end)
{
	if (start->dso != back->dso || back->dso != end->dso || start->rel > back->rel ||
	    back->rel > end->rel || start->sym != back->sym)
		return false;
	return start->sym || end->source == ANA_SOURCE_BRANCH;
}

/** What is known of a run that reaches @p end: a return that was not on its way began it. */
static void settle(struct straight *s, const struct ana_loc *end)
{
	if (s->start && s->back && !is_on_way(s->start, s->back, end))
		*s = (struct straight){.start = s->back, .is_entered = true};
	s->back = NULL;
}

/** A branch is at @p at. */
static inline bool end_run(struct walk *w, const struct ana_loc *at, uint64_t cycles)
{
	struct straight *s = &w->sides[side_of(at)];
	const struct ana_loc *start = s->start;

	if (!start)
		return true;
	if (start != w->fresh)
		cycles = 0;
	if (s->back) {
		settle(s, at);
		start = s->start;
	}
	s->start = NULL;
	return add_run(w, start, at, cycles, s->is_entered);
}

/** Execution is interrupted at @p at, where no branch is. */
static void leave(struct walk *w, const struct ana_loc *at)
{
	struct straight *s = &w->sides[side_of(at)];

	settle(s, at);
	s->left = at;
}

/** The kernel returned to @p at. */
static bool resume(struct walk *w, const struct ana_loc *at)
{
	struct straight *s = &w->sides[side_of(at)], was;

	settle(s, at);
	was = *s;
	if (was.start && was.left && at->dso == was.left->dso &&
	    at->ip - was.left->ip <= LONGEST_INSN) {
		s->left = NULL;
		return true;
	}
	if (was.start && !was.left) {
		s->back = at;
		return true;
	}
	begin(w, at, true);
	return !was.start || add_run(w, was.start, was.left, 0, was.is_entered);
}

static void forget(struct walk *w)
{
	for (size_t i = 0; i < NR_SIDES; i++)
		w->sides[i] = (struct straight){0};
}

/* --- entries --- */

static bool is_skipped(uint64_t flags)
{
	return (flags >> SPEC_SHIFT & SPEC_MASK) == WRONG_PATH || flags & PERF_BRANCH_NOT_TAKEN;
}

/** By the type, where that was recorded. */
static bool is_exception(uint64_t flags)
{
	unsigned int type = flags >> PERF_BRANCH_TYPE_SHIFT & TYPE_MASK;

	return type == TYPE_IRQ || type == TYPE_SERROR ||
	       (type == TYPE_MORE && (flags >> NEW_TYPE_SHIFT & TYPE_MASK) <= LAST_EXCEPTION);
}

/** From one level to the other, or from or to where it was not recorded. */
static bool cross(struct walk *w, const struct entry *e)
{
	bool goes_on = true;

	if (e->from && side_of(e->from) == AT_KERNEL && !is_exception(e->flags))
		goes_on = end_run(w, e->from, perf_branch_cycles(e->flags));
	else if (e->from)
		leave(w, e->from);
	if (!goes_on || !e->to)
		return goes_on;
	if (side_of(e->to) == AT_USER)
		return resume(w, e->to);
	begin(w, e->to, true);
	return true;
}

static bool take_branch(struct walk *w, const struct entry *e)
{
	if (!w->sink->branch(w->sink->ctx, e->from, e->to, e->flags & PERF_BRANCH_MISPRED) ||
	    !end_run(w, e->from, perf_branch_cycles(e->flags)))
		return false;
	if (e->to)
		begin(w, e->to, is_other_function(e->from, e->to));
	return true;
}

static bool is_crossing(const struct entry *e)
{
	if (!e->from || (!e->to && e->from->source != ANA_SOURCE_BRANCH))
		return true;
	return e->to && (side_of(e->from) != side_of(e->to) || is_exception(e->flags));
}

/** Of an entry that is no abort. */
static bool is_none(const struct entry *e)
{
	return !is_crossing(e) && e->from->source == ANA_SOURCE_OTHER;
}

static bool take_entry(struct walk *w, const struct entry *e, uint64_t *nr_not_branches)
{
	if (!e->from && !e->to) {
		forget(w);
		return true;
	}
	if (e->flags & PERF_BRANCH_ABORT) {
		/* What the transaction ran was undone. */
		forget(w);
		if (e->to)
			begin(w, e->to, true);
		return true;
	}
	if (is_crossing(e))
		return cross(w, e);
	if (is_none(e)) {
		++*nr_not_branches;
		forget(w);
		return true;
	}
	return take_branch(w, e);
}

/* --- the stack --- */

static struct entry entry_at(const struct ana_event *e, uint64_t i)
{
	struct perf_branch b = perf_branch_get(e->sample, i);

	return (struct entry){b.from ? e->branches[2 * i] : NULL,
			      b.to ? e->branches[2 * i + 1] : NULL, b.flags};
}

/** A known fault of some processors: the newest entry twice. A short loop looks the same. */
static uint64_t first_entry(const struct ana_event *e)
{
	struct perf_branch a, b;

	if (e->sample->branches.nr < 2)
		return 0;
	a = perf_branch_get(e->sample, 0);
	b = perf_branch_get(e->sample, 1);
	return a.from == b.from && a.to == b.to && a.from - a.to > MAX_LOOP_BYTES;
}

bool branch_walk(const struct ana_event *e, const struct branch_walk_sink *sink,
		 uint64_t *nr_not_branches)
{
	struct walk w = {.sink = sink};

	for (uint64_t i = e->sample->branches.nr, end = first_entry(e); i-- > end;) {
		struct entry at = entry_at(e, i);
		bool goes_on = is_skipped(at.flags) || take_entry(&w, &at, nr_not_branches);

		if (!goes_on)
			return false;
		w.fresh = is_skipped(at.flags) ? NULL : at.to;
	}
	return true;
}

bool branch_is_none(const struct ana_event *e, uint64_t i)
{
	struct entry at = entry_at(e, i);

	return !is_skipped(at.flags) && !(at.flags & PERF_BRANCH_ABORT) && is_none(&at);
}
