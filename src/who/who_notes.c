/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_ran_impl.h"

/* Facts that records of trace prove. Sums and sets only, so that it does not matter who noted what
 * in which order. */

struct who_notes *who_notes_new(void)
{
	struct who_notes *n = mem_zalloc(sizeof(*n));

	for (unsigned int i = 0; n && i < 2; i++)
		n->of_el[i].example = UINT64_MAX;
	return n;
}

void who_notes_free(struct who_notes *n)
{
	if (!n)
		return;
	for (unsigned int i = 0; i < 2; i++) {
		map_u64_done(&n->of_el[i].by_object);
		map_u64_done(&n->of_el[i].outside);
	}
	map_u64_done(&n->leaks);
	map_u64_done(&n->guests);
	map_u64_done(&n->runners);
	mem_free(n);
}

/** Keep the least few different ids; 0: none. */
static void add_example(uint32_t of[WHO_EXAMPLES], uint32_t id)
{
	for (unsigned int i = 0; i < WHO_EXAMPLES && id; i++) {
		uint32_t old = of[i];

		if (old == id)
			return;
		if (!old || id < old) {
			of[i] = id;
			id = old;
		}
	}
}

static uint64_t note_of(uint32_t root, uint64_t nr)
{
	return root | nr << WHO_NOTE_COUNT_SHIFT;
}

static uint64_t note_count(uint64_t note)
{
	return (note & ~WHO_NOTE_SEVERAL) >> WHO_NOTE_COUNT_SHIFT;
}

static uint64_t join_notes(uint64_t a, uint64_t b)
{
	uint64_t nr = note_count(a) + note_count(b);

	if ((a | b) & WHO_NOTE_SEVERAL || (uint32_t)a != (uint32_t)b)
		return WHO_NOTE_SEVERAL;
	return note_of((uint32_t)a, nr < WHO_NOTE_ENOUGH ? nr : WHO_NOTE_ENOUGH);
}

static bool add_note(struct map_u64 *m, uint64_t serial, uint64_t note)
{
	uint64_t *at = map_u64_get(m, serial);

	if (!at)
		return map_u64_put(m, serial, note);
	*at = join_notes(*at, note);
	return true;
}

static void take_example(struct who_note_counts *c, uint32_t root, uint32_t local)
{
	uint64_t example = (uint64_t)root << 32 | local;

	if (example < c->example)
		c->example = example;
}

/** A record with the context @p root well inside a stay of @p local. */
static bool count(struct who_note_counts *c, uint32_t root, uint32_t local, uint64_t serial,
		  uint64_t nr)
{
	if (root == local) {
		c->nr_agree += root ? nr : 0;
		c->nr_zero += root ? 0 : nr;
		add_example(c->agreeing, root);
	} else if (!local) {
		c->nr_outside += nr;
		take_example(c, root, local);
		if (!map_u64_put(&c->outside, root, 1))
			return false;
	} else if (root) {
		c->nr_differ += nr;
		add_example(c->differing, root);
		take_example(c, root, local);
	}
	nr = nr < WHO_NOTE_ENOUGH ? nr : WHO_NOTE_ENOUGH;
	return !local || add_note(&c->by_object, serial, note_of(root, nr));
}

/** Contexts of records that are the host's, if its kernel runs at EL1, or at EL2. */
static bool count_contexts(struct who_notes *n, const struct who_question *q, uint32_t local,
			   uint64_t serial, uint64_t nr)
{
	bool has_el1 = q->has & WHO_Q_CONTEXT_EL1, has_el2 = q->has & WHO_Q_CONTEXT_EL2;
	bool is_spe_guest = q->world == WHO_WORLD_OF_SPE && (has_el1 || q->level == WHO_EL1);

	if (q->world != WHO_WORLD_OF_SPE && q->world != WHO_WORLD_HOST)
		return true;
	if (has_el1 && !count(&n->of_el[0], q->context_el1, local, serial, nr))
		return false;
	return !has_el2 || is_spe_guest || count(&n->of_el[1], q->context_el2, local, serial, nr);
}

/** CONTEXTIDR_EL2 keeps the thread of the virtual CPU while the guest runs. */
static bool note_runner(struct who_notes *n, const struct who_question *q)
{
	bool is_guest = q->world == WHO_WORLD_GUEST ||
			(q->world == WHO_WORLD_OF_SPE &&
			 (q->level == WHO_EL1 || q->has & WHO_Q_CONTEXT_EL1));

	return !is_guest || !(q->has & WHO_Q_CONTEXT_EL2) || !q->context_el2 ||
	       map_u64_put(&n->runners, q->context_el2, 1);
}

static bool note_levels(struct who_notes *n, const struct who_question *q)
{
	n->has_context_el1 |= (q->has & WHO_Q_CONTEXT_EL1) != 0;
	n->has_context_el2 |= (q->has & WHO_Q_CONTEXT_EL2) != 0;
	n->has_pc_el1 |= q->level == WHO_EL1;
	n->has_pc_el2 |= q->level == WHO_EL2;
	if (q->level == WHO_EL1 && !(q->has & WHO_Q_CONTEXT_EL1) &&
	    !map_u64_put(&n->leaks, q->cpu, 1))
		return false;
	return q->level != WHO_EL0 || !(q->has & WHO_Q_CONTEXT_EL1) || !q->context_el1 ||
	       !(q->has & WHO_Q_CONTEXT_EL2) || map_u64_put(&n->guests, q->context_el2, 1);
}

/** User code cannot run in what the recorder found without mappings. */
static bool is_user_in_kthread(const struct who_ran *w, const struct who_question *q, uint32_t tid)
{
	return q->level == WHO_EL0 && who_history_is_found_kthread(w->history, tid);
}

static bool has_context(const struct who_question *q)
{
	return q->has & (WHO_Q_CONTEXT_EL1 | WHO_Q_CONTEXT_EL2);
}

/** Can it prove nothing of threads? */
static bool is_of_time_alone(const struct who_question *q)
{
	return q->level != WHO_EL0 && !has_context(q);
}

bool who_ran_note_many(const struct who_ran *w, struct who_notes *n, struct who_cursor *c,
		       const struct who_question *q, uint64_t nr)
{
	struct who_object o = {.serial = 0};
	struct who_place p;
	uint32_t tid;

	if (!note_levels(n, q) || !note_runner(n, q))
		return false;
	if (q->has & WHO_Q_QUEUE)
		return true;
	if (is_of_time_alone(q))
		who_find_order(w, c, q, &p);
	else
		who_find_place(w, c, q, w->margin_ticks, &p);
	n->nr_chunk_ticks += p.has_order ? nr : 0;
	n->nr_chunk_bad += p.is_conflict ? nr : 0;
	if (!p.is_inside || p.is_conflict || p.at->run.is_sched || p.at->run.id.n < 0)
		return true;
	tid = (uint32_t)p.at->run.id.n;
	if (tid && has_context(q))
		who_history_object(w->history, tid, p.time, false, &o);
	n->has_user_in_kthread |= tid && is_user_in_kthread(w, q, tid);
	return count_contexts(n, q, tid, o.serial, nr);
}

bool who_ran_note_stay(const struct who_ran *w, struct who_cursor *c, const struct who_question *q,
		       struct who_stay *ret)
{
	struct who_place p;
	struct who_object o;

	*ret = (struct who_stay){0, UINT64_MAX};
	if (q->has & WHO_Q_QUEUE)
		return true;
	who_find_place(w, c, q, w->margin_ticks, &p);
	if (!p.has_order)
		return false;
	ret->from = p.order;
	ret->to = who_place_until(w, c, q, w->margin_ticks, &p);
	if (!p.is_inside || p.at->run.id.n <= 0)
		return true;
	who_history_object(w->history, (uint32_t)p.at->run.id.n, p.time, false, &o);
	who_stay_clip(w, o.to, ret);
	return true;
}

static bool add_counts(struct who_note_counts *to, const struct who_note_counts *from)
{
	to->nr_agree += from->nr_agree;
	to->nr_zero += from->nr_zero;
	to->nr_differ += from->nr_differ;
	to->nr_outside += from->nr_outside;
	for (unsigned int i = 0; i < WHO_EXAMPLES; i++) {
		add_example(to->agreeing, from->agreeing[i]);
		add_example(to->differing, from->differing[i]);
	}
	if (from->example < to->example)
		to->example = from->example;
	for (size_t i = 0; i < from->by_object.cap; i++) {
		const struct map_u64_slot *s = &from->by_object.slots[i];

		if (from->by_object.used[i] && !add_note(&to->by_object, s->key, s->value))
			return false;
	}
	return true;
}

static bool add_set(struct map_u64 *to, const struct map_u64 *from)
{
	for (size_t i = 0; i < from->cap; i++) {
		if (from->used[i] && !map_u64_put(to, from->slots[i].key, 1))
			return false;
	}
	return true;
}

bool who_ran_add_notes(struct who_ran *w, const struct who_notes *n)
{
	struct who_notes *to = w->notes;

	to->has_context_el1 |= n->has_context_el1;
	to->has_context_el2 |= n->has_context_el2;
	to->has_pc_el1 |= n->has_pc_el1;
	to->has_pc_el2 |= n->has_pc_el2;
	to->has_user_in_kthread |= n->has_user_in_kthread;
	to->nr_chunk_ticks += n->nr_chunk_ticks;
	to->nr_chunk_bad += n->nr_chunk_bad;
	for (unsigned int i = 0; i < 2; i++) {
		if (!add_counts(&to->of_el[i], &n->of_el[i]) ||
		    !add_set(&to->of_el[i].outside, &n->of_el[i].outside))
			return false;
	}
	return add_set(&to->leaks, &n->leaks) && add_set(&to->guests, &n->guests) &&
	       add_set(&to->runners, &n->runners);
}
