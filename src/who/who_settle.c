/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_ran_impl.h"

/* The facts of the whole recording, each with its proof. Spec: attribution.md, section 6. */

enum {
	MIN_PAIRS = 8,     /* of sched_switch, that say "root" */
	MIN_AGREEING = 64, /* interior records that say so */
	MIN_DIFFERING = 3,
	MIN_MISSING = 3,
};

static bool settled(struct who_proof *to, enum who_fact is, const char *why)
{
	*to = (struct who_proof){.is = is, .why = why};
	return true;
}

static void settle_level(struct who_ran *w)
{
	const struct who_notes *n = w->notes;

	if (w->is_level_set)
		return;
	if (n->has_context_el2 || n->has_pc_el2)
		w->facts.kernel_level = WHO_EL2;
	else if (n->has_context_el1 || n->has_pc_el1)
		w->facts.kernel_level = WHO_EL1;
}

static void settle_clock(struct who_ran *w)
{
	const struct who_notes *n = w->notes;

	if (!w->is_clock_usable || n->nr_chunk_bad * 1000 <= n->nr_chunk_ticks)
		return;
	settled(&w->facts.has_clock, WHO_FACT_NO, WHO_WHY_UNTRUSTED);
	w->is_clock_usable = false;
	w->is_clock_untrusted = true;
}

/** L = P: are the ids that the recorder found in /proc those that the kernel writes? */
static void settle_same_proc(struct who_ran *w)
{
	struct who_proof *p = &w->facts.is_same_proc;
	struct who_found_counts c;

	if (w->is_same_proc_set || w->has_no_time)
		return;
	who_history_count_found(w->history, &c);
	if (!c.nr_found)
		return;
	if (c.nr_other_pid)
		settled(p, WHO_FACT_NO, "a thread has another process in records than in /proc");
	else if (c.nr_missing >= MIN_MISSING && c.nr_missing * 5 > c.nr_run)
		settled(p, WHO_FACT_NO, "threads that run are missing from /proc");
	else if (w->notes->has_user_in_kthread)
		settled(p, WHO_FACT_NO, "user code runs in a kernel thread of /proc");
	else if (c.nr_same_pid >= 2)
		settled(p, WHO_FACT_YES, "threads have the process that /proc shows");
}

/** The kernel's own threads are visible to no other namespace. */
static bool has_kthreadd(const struct who_ran *w)
{
	struct who_object o;
	bool is_same = w->facts.is_same_proc.is == WHO_FACT_YES;

	return who_history_object(w->history, 2, clew_perf_ns_none(), !is_same, &o) && o.comm &&
	       o.pid == 2 && !strcmp(o.comm, "kthreadd");
}

static bool settle_root_by_records(struct who_ran *w, struct who_proof *p)
{
	bool is_found = w->has_found_namespace && w->facts.is_same_proc.is != WHO_FACT_NO;

	if (w->has_init_namespace || (is_found && w->has_found_init_namespace))
		return settled(p, WHO_FACT_YES, "a thread of the initial PID namespace is seen");
	if (is_found)
		return settled(p, WHO_FACT_NO, "only other PID namespaces are seen");
	if (w->nr_pairs_differ || (w->nr_pairs_outside && !w->nr_pairs_equal))
		return settled(p, WHO_FACT_NO, "ids of sched_switch differ from those of records");
	if (w->nr_pairs_equal >= MIN_PAIRS && !w->nr_pairs_outside)
		return settled(p, WHO_FACT_YES, "ids of sched_switch are those of records");
	return has_kthreadd(w) && settled(p, WHO_FACT_YES, "kthreadd is seen");
}

static void settle_root_by_contexts(struct who_proof *p, const struct who_note_counts *c)
{
	if (c->nr_outside || (c->nr_differ >= MIN_DIFFERING && c->differing[1])) {
		settled(p, WHO_FACT_NO, "contexts differ from switches");
		p->has_example = true;
		p->example[0] = (uint32_t)(c->example >> 32);
		p->example[1] = (uint32_t)c->example;
	} else if (c->nr_agree >= MIN_AGREEING && c->agreeing[2] && !c->nr_differ) {
		settled(p, WHO_FACT_YES, "contexts are the ids of switches");
	}
}

static const struct who_note_counts *host_counts(const struct who_ran *w)
{
	return &w->notes->of_el[w->facts.kernel_level == WHO_EL2];
}

static void settle_root(struct who_ran *w)
{
	struct who_proof *p = &w->facts.is_root;
	const struct who_note_counts *c = host_counts(w);

	if (!w->is_root_set && !settle_root_by_records(w, p) && w->is_clock_usable)
		settle_root_by_contexts(p, c);
	if (p->is == WHO_FACT_UNKNOWN && w->is_root_assumed)
		settled(p, WHO_FACT_YES, "trace units have the ids of threads");
	w->facts.nr_agree = c->nr_agree;
	w->facts.nr_zero = c->nr_zero;
	w->facts.nr_differ = c->nr_differ;
	w->facts.nr_outside = c->nr_outside;
	if (p->is == WHO_FACT_YES)
		settled(&w->facts.is_mixture, WHO_FACT_NO, "all are of the initial one");
	if (p->is != WHO_FACT_NO || !(c->nr_outside || c->nr_differ))
		return;
	w->facts.is_mixture = (struct who_proof){
		.is = WHO_FACT_YES,
		.why = "contexts are root ids, all else is not",
		.has_example = true,
		.example = {(uint32_t)(c->example >> 32), (uint32_t)c->example}
        };
}

/** Root ids that were seen in one thread only, and no other in it. */
static bool derive(struct who_ran *w)
{
	const struct who_note_counts *c = host_counts(w);

	for (size_t i = 0; i < c->by_object.cap; i++) {
		const struct map_u64_slot *s = &c->by_object.slots[i];
		uint32_t root = (uint32_t)s->value;
		uint64_t *at;

		if (!c->by_object.used[i] || s->value & WHO_NOTE_SEVERAL || !root)
			continue;
		at = map_u64_get(&w->derived, root);
		if (at) {
			*at = WHO_DERIVED_SEVERAL;
			continue;
		}
		if (!map_u64_put(&w->derived, root,
				 s->value >> WHO_NOTE_COUNT_SHIFT >= WHO_NOTE_ENOUGH &&
						 !map_u64_get(&c->outside, root)
					 ? s->key
					 : WHO_DERIVED_SEVERAL))
			return false;
	}
	return true;
}

/** Which guests write CONTEXTIDR: by the process of the threads that were seen in one. */
static bool settle_guests(struct who_ran *w)
{
	const struct map_u64 *m = &w->notes->guests;

	for (size_t i = 0; i < m->cap; i++) {
		struct who_local_id local = {0};
		struct who_object o;

		if (!m->used[i] ||
		    !who_local_of_root(w, (struct who_root_id){(uint32_t)m->slots[i].key},
				       clew_perf_ns_none(), &local))
			continue;
		if (who_history_object(w->history, (uint32_t)local.n, clew_perf_ns_none(),
				       w->ignores_found, &o) &&
		    !map_u64_put(&w->writing_guests, o.pid, 1))
			return false;
	}
	return true;
}

enum clew_err who_ran_settle(struct who_ran *w)
{
	settle_level(w);
	settle_clock(w);
	settle_same_proc(w);
	w->ignores_found = w->facts.is_same_proc.is == WHO_FACT_NO;
	settle_root(w);
	w->is_settled = true;
	return derive(w) && settle_guests(w) && who_settle_ordinals(w) ? CLEW_OK : CLEW_NO_MEMORY;
}

const struct who_facts *who_ran_facts(const struct who_ran *w)
{
	return &w->facts;
}
