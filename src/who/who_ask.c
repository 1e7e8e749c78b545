/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/search.h"
#include "who/vcpu_name.h"
#include "who/who_ask_impl.h"
#include "who/who_own.h"

/* The decision rule. Spec: attribution.md, sections 4 and 7 to 10. */

bool who_host_context(const struct who_ran *w, const struct who_question *q,
		      struct who_root_id *ret)
{
	bool is_el2 = w->facts.kernel_level == WHO_EL2;

	if (!is_el2 && q->world == WHO_WORLD_GUEST)
		return false; /* the register is the guest's then */
	ret->n = is_el2 ? q->context_el2 : q->context_el1;
	return q->has & (is_el2 ? WHO_Q_CONTEXT_EL2 : WHO_Q_CONTEXT_EL1);
}

bool who_local_of_root(const struct who_ran *w, struct who_root_id root, struct clew_perf_ns time,
		       struct who_local_id *ret)
{
	const uint64_t *at;
	struct who_object o;

	if (who_ran_is_root(w)) {
		*ret = who_local_id_of(root.n);
		return true;
	}
	at = map_u64_get(&w->pairs, root.n);
	if (at) {
		*ret = who_local_id_of((uint32_t)*at);
		return *at != WHO_PAIR_SEVERAL;
	}
	at = map_u64_get(&w->derived, root.n);
	if (!at || *at == WHO_DERIVED_SEVERAL)
		return false;
	*ret = who_local_id_of((uint32_t)(*at >> 32));
	who_history_object(w->history, (uint32_t)ret->n, time, false, &o);
	return o.serial == *at;
}

/* --- one answer --- */

struct asked {
	const struct who_ran *w;
	const struct who_question *q;
	struct who_place place;
	struct clew_perf_ns time; /* none: unknown */
	bool has_time;
	struct clew_perf_ns until; /* the answer holds no longer */
	bool has_local, has_root, is_by_context;
	bool is_of_then; /* its evidence holds at that time only */
	struct who_local_id local;
	struct who_root_id root;
	enum who_evidence by; /* what gave the local id */
	enum who_run_end end;
	bool has_kvm;
	struct who_by_kvm kvm;
};

static const struct who_by_kvm *kvm_of(struct asked *a)
{
	if (!a->has_kvm)
		who_find_kvm(a->w, &a->place, &a->kvm);
	a->has_kvm = true;
	if (a->kvm.until.ns < a->until.ns)
		a->until = a->kvm.until;
	return &a->kvm;
}

static void take_local(struct asked *a, struct who_local_id id, enum who_evidence by)
{
	a->has_local = true;
	a->local = id;
	a->by = by;
}

static enum who_evidence evidence_of(const struct who_run *r)
{
	if (!r->is_backward)
		return WHO_BY_SWITCH;
	return r->end == WHO_END_DEAD ? WHO_BY_ITRACE_START : WHO_BY_SWITCH_BACKWARD;
}

static void find_local(struct asked *a)
{
	const struct who_question *q = a->q;
	const struct who_run *r = a->place.is_inside ? &a->place.at->run : NULL;

	if (q->has & WHO_Q_QUEUE)
		take_local(a, q->queue, WHO_BY_QUEUE);
	else if (q->has & WHO_Q_OWNER && q->owner.n > 0 && who_ran_follows_tasks(a->w))
		take_local(a, q->owner, WHO_BY_AUX);
	else if (q->has & WHO_Q_LANDMARK) {
		take_local(a, q->landmark, WHO_BY_LANDMARK);
		a->end = q->has & WHO_Q_LANDMARK_SLEEPS ? WHO_END_SLEEPS : WHO_END_UNSEEN;
	} else if (r && !r->is_sched && r->id.n != -1 && !a->place.is_conflict) {
		take_local(a, r->id, evidence_of(r));
		a->end = r->end;
	} else if (kvm_of(a)->is_between) { /* it is not preempted there */
		take_local(a, a->kvm.tid, WHO_BY_SAMPLE);
	}
	if (a->has_local && a->local.n < 0)
		a->has_local = false;
}

/** The raw id of the stay, by sched_switch. */
static bool raw_of(const struct asked *a, struct who_root_id *ret)
{
	const struct who_run_cursor *at = a->place.at;

	if (!at || a->place.is_conflict)
		return false;
	/* The sample stands before its switch: user code after it is the next thread's. */
	if (at->run.kind == WHO_RUN_SWITCH && at->has_next && at->next.is_sched &&
	    a->q->level == WHO_EL0 && !a->place.is_on_edge) {
		*ret = at->next.root;
		return true;
	}
	*ret = at->run.root;
	return a->place.is_inside && at->run.has_root;
}

/** May the thread run a guest, by its name or by its entries? */
static bool may_be_vcpu(const struct asked *a, struct who_local_id id, const char *comm)
{
	uint32_t vcpu;

	if (!comm && who_local_is_thread(id))
		comm = who_history_comm_at(a->w->history, (uint32_t)id.n,
					   a->has_time ? a->time : clew_perf_ns_none());
	return !comm || who_vcpu_of_name(comm, &vcpu) ||
	       map_u64_get(&a->w->runners, (uint32_t)id.n);
}

/** A kernel at EL1 and its guests write one register. */
static bool is_of_host(struct asked *a)
{
	enum who_world world = a->q->world;

	if (world != WHO_WORLD_UNKNOWN || a->w->facts.kernel_level == WHO_EL2)
		return true;
	world = who_world_by_kvm(kvm_of(a), a->q->level);
	if (world != WHO_WORLD_UNKNOWN)
		return world == WHO_WORLD_HOST;
	return a->has_local && (!a->local.n || !may_be_vcpu(a, a->local, NULL));
}

/** @return false: two exact facts disagree. */
static bool find_root(struct asked *a)
{
	struct who_root_id raw;
	bool has_raw = raw_of(a, &raw);

	a->is_by_context = a->has_root = who_host_context(a->w, a->q, &a->root) && is_of_host(a);
	if (a->has_root && has_raw)
		return a->root.n == raw.n;
	if (has_raw) {
		a->has_root = true;
		a->root = raw;
	}
	return true;
}

static bool is_stale(const struct who_ran *w, struct clew_perf_ns since, struct clew_perf_ns time,
		     struct clew_perf_ns *ret_until)
{
	size_t nr = search_first(w->lost.nr, i, w->lost.data[i].from.ns >= time.ns);

	if (nr < w->lost.nr && w->lost.data[nr].from.ns < ret_until->ns)
		*ret_until = w->lost.data[nr].from;
	return nr && w->lost.data[nr - 1].to.ns > since.ns;
}

static void fill_name(struct asked *a, const struct who_object *o, struct who_answer *ret)
{
	const struct who_facts *f = &a->w->facts;
	struct clew_perf_ns time = a->has_time ? a->time : clew_perf_ns_none();

	ret->comm = o->comm;
	if (!o->comm)
		return;
	if (is_stale(a->w, o->comm_since, time, &a->until))
		ret->has |= WHO_A_NAME_STALE;
	if (o->is_found && f->is_same_proc.is != WHO_FACT_YES && !who_ran_is_root(a->w))
		ret->has |= WHO_A_NAME_ASSUMED;
}

/** The thread that has the local id at that time. */
static void fill_thread(struct asked *a, struct who_local_id id, struct who_answer *ret)
{
	const struct who_ran *w = a->w;
	struct who_object o;
	bool is_known;

	ret->has |= WHO_A_LOCAL;
	ret->local = id;
	is_known = who_history_object(w->history, (uint32_t)id.n,
				      a->has_time || w->has_no_time ? a->time
								    : (struct clew_perf_ns){0},
				      w->ignores_found, &o);
	/* Without a time: if it is the same at all of them. */
	if ((a->has_time && clew_perf_ns_is_known(a->place.until) &&
	     o.to.ns <= a->place.until.ns) ||
	    (!a->has_time && !w->has_no_time && clew_perf_ns_is_known(o.to)))
		return;
	a->until = o.to;
	ret->has |= WHO_A_THREAD;
	ret->serial = o.serial;
	ret->pid = who_local_id_of(o.pid);
	ret->space = o.space;
	fill_name(a, &o, ret);
	if (!is_known || (o.is_reborn && !o.comm))
		ret->reason = WHO_REUSE_UNSEEN;
}

static void answer_task(struct asked *a, enum who_evidence by, struct who_answer *ret)
{
	ret->kind = WHO_TASK;
	ret->evidence = by;
	if (a->has_root) {
		ret->has |= WHO_A_ROOT;
		ret->root = a->root;
	}
	if (a->has_local && a->local.n > 0)
		fill_thread(a, a->local, ret);
}

static void answer_outside(struct asked *a, enum who_evidence by, struct who_answer *ret)
{
	const uint64_t *pair = a->has_root ? map_u64_get(&a->w->pairs, a->root.n) : NULL;

	answer_task(a, by, ret);
	ret->kind = WHO_OUTSIDE;
	if (pair && *pair == WHO_PAIR_SEVERAL)
		ret->has |= WHO_A_MAY_BE_SEVERAL;
}

static void answer_idle(enum who_evidence by, struct who_answer *ret)
{
	ret->kind = WHO_IDLE;
	ret->evidence = by;
	ret->has |= WHO_A_ROOT;
	ret->root.n = 0;
}

static bool is_seen_outside(const struct asked *a)
{
	unsigned int el2 = a->w->facts.kernel_level == WHO_EL2;

	return map_u64_get(&a->w->notes->of_el[el2].outside, a->root.n);
}

/** Both ids name a thread. */
static void answer_both(struct asked *a, enum who_evidence by, struct who_answer *ret)
{
	struct who_local_id mapped;

	if (who_local_of_root(a->w, a->root, a->time, &mapped) && mapped.n > 0 &&
	    mapped.n != a->local.n)
		who_answer_unknown(ret, WHO_CONFLICT);
	else
		answer_task(a, by, ret);
}

/** A root id in a recorder's namespace that is, or may be, another one. */
static void answer_mapped(struct asked *a, enum who_evidence by, struct who_answer *ret)
{
	bool is_not_root = who_ran_is_not_root(a->w);
	struct who_local_id mapped;

	if (a->has_local && a->local.n > 0) {
		answer_both(a, by, ret);
		return;
	}
	if (is_not_root && a->has_local) {
		answer_outside(a, by, ret);
		return;
	}
	a->is_of_then = map_u64_get(&a->w->derived, a->root.n);
	if (who_local_of_root(a->w, a->root, a->time, &mapped) && mapped.n >= 0) {
		a->has_local = mapped.n > 0;
		a->local = mapped;
		by = map_u64_get(&a->w->pairs, a->root.n) ? by : WHO_BY_DERIVED;
		if (mapped.n > 0)
			answer_task(a, by, ret);
		else
			answer_outside(a, by, ret);
		return;
	}
	a->has_local = false;
	if (is_not_root && is_seen_outside(a) && !map_u64_get(&a->w->derived, a->root.n) &&
	    !map_u64_get(&a->w->pairs, a->root.n))
		answer_outside(a, by, ret);
	else
		answer_task(a, by, ret);
}

static void answer_root(struct asked *a, struct who_answer *ret)
{
	enum who_evidence by = a->is_by_context ? WHO_BY_CONTEXT : WHO_BY_SCHED_SWITCH;

	if (!a->root.n) {
		if (a->q->level == WHO_EL0)
			who_answer_unknown(ret, WHO_CONFLICT);
		else
			answer_idle(by, ret);
		return;
	}
	if (!who_ran_is_root(a->w)) {
		answer_mapped(a, by, ret);
		return;
	}
	if (a->has_local && a->local.n != (int32_t)a->root.n)
		ret->has |= WHO_A_CLOCK_ERROR;
	a->has_local = who_local_of_root(a->w, a->root, a->time, &a->local);
	answer_task(a, by, ret);
}

/** Local id 0. */
static void answer_zero(struct asked *a, struct who_answer *ret)
{
	enum who_kind kind = who_kind_of_zero(a->w->facts.is_root.is, a->q->level == WHO_EL0,
					      a->end >= WHO_END_SLEEPS);

	if (kind == WHO_IDLE) {
		answer_idle(a->by, ret);
	} else if (kind == WHO_OUTSIDE) {
		answer_outside(a, a->by, ret);
	} else {
		ret->kind = kind;
		ret->evidence = a->by;
	}
}

static bool is_thread_run(const struct who_run *r)
{
	return r->kind == WHO_RUN_THREAD && !r->is_sched;
}

static void fill_candidates(const struct who_run_cursor *at, bool is_before, struct who_answer *ret)
{
	const struct who_run *next = is_before ? &at->run : &at->next;

	ret->candidates[0] = ret->candidates[1] = (struct who_local_id){-1};
	if (is_before || at->has_next)
		ret->candidates[1] = is_thread_run(next) ? next->id : ret->candidates[1];
	if (!is_before && at->has_prev && is_thread_run(&at->prev))
		ret->candidates[0] = at->prev.id;
	ret->has |= WHO_A_SWITCHING;
}

static void answer_window(const struct asked *a, bool is_before, struct who_answer *ret)
{
	bool is_kernel = a->q->level != WHO_EL0;

	who_answer_unknown(ret, is_kernel ? WHO_SWITCHING : WHO_CLOCK_CONFLICT);
	if (is_kernel)
		fill_candidates(a->place.at, is_before, ret);
}

/** Of a record where the line of its CPU names no thread. */
static void answer_place(const struct asked *a, struct who_answer *ret)
{
	const struct who_run_cursor *at = a->place.at;
	/* The tick of a boundary is in what ends there, too. */
	bool is_before = a->place.is_on_edge && at->has_prev && at->run.kind != WHO_RUN_SWITCH &&
			 at->run.kind != WHO_RUN_HOLE;
	const struct who_run *r = is_before ? &at->prev : &at->run;

	switch (r->kind) {
	case WHO_RUN_HOLE:
		who_answer_unknown(ret, WHO_LOST);
		break;
	case WHO_RUN_SWITCH:
		answer_window(a, is_before, ret);
		break;
	case WHO_RUN_THREAD:
		who_answer_unknown(ret, a->place.is_inside && r->id.n == -1 ? WHO_DEAD
					: a->place.has_order                ? WHO_SWITCHING
									    : WHO_NO_CLOCK);
		break;
	case WHO_RUN_NONE:
		who_answer_unknown(ret, a->place.has_order ? WHO_NO_EVIDENCE : WHO_NO_CLOCK);
		break;
	}
}

static void answer_unknown(const struct asked *a, struct who_answer *ret)
{
	const struct who_ran *w = a->w;
	const uint64_t *at = a->q->has & WHO_Q_CPU ? map_u64_get(&w->by_cpu, a->q->cpu) : NULL;

	if (a->q->has & WHO_Q_DAMAGED)
		who_answer_unknown(ret, WHO_DAMAGED);
	else if (!at || !w->cpus.data[*at]->fold.runs.nr)
		who_answer_unknown(ret, WHO_NO_EVIDENCE);
	else if (a->place.is_conflict)
		who_answer_unknown(ret, WHO_CLOCK_CONFLICT);
	else if (!w->is_clock_usable && a->q->has & WHO_Q_TICKS &&
		 (!a->place.at || a->place.at->run.kind == WHO_RUN_THREAD))
		who_answer_unknown(ret, w->is_clock_untrusted ? WHO_CLOCK_UNTRUSTED : WHO_NO_CLOCK);
	else if (a->place.at)
		answer_place(a, ret);
	else
		who_answer_unknown(ret, clew_perf_ns_is_known(a->place.time) ? WHO_BEFORE_FIRST
									     : WHO_NO_CLOCK);
}

static void fill_vcpu(const struct who_ran *w, struct who_answer *ret)
{
	const uint64_t *ordinal;

	if (ret->comm && who_vcpu_of_name(ret->comm, &ret->vcpu)) {
		ret->has |= WHO_A_VCPU;
		return;
	}
	if (!(ret->has & WHO_A_LOCAL))
		return;
	ordinal = map_u64_get(&w->runners, (uint32_t)ret->local.n);
	if (ordinal && *ordinal) {
		ret->vcpu = (uint32_t)(*ordinal - 1);
		ret->has |= WHO_A_VCPU;
		return;
	}
	ordinal = map_u64_get(&w->ordinals, (uint32_t)ret->local.n);
	if (!ordinal)
		return;
	ret->vcpu = (uint32_t)*ordinal;
	ret->has |= WHO_A_VCPU | WHO_A_VCPU_GUESSED;
}

/** By the switches of the guest's own recording. @return why its thread is unknown. */
static enum who_reason find_guest_local(struct asked *a, struct who_answer *ret)
{
	const struct who_vcpu vcpu = {(uint32_t)ret->machine.n, ret->vcpu};
	struct clew_perf_ns until;
	enum who_reason why;

	if (!a->w->vcpus.lines.nr || !(ret->has & WHO_A_VCPU) || !who_local_is_thread(ret->machine))
		return WHO_GUEST_THREAD;
	why = who_vcpus_find(&a->w->vcpus,
			     &(struct who_vcpu_span){vcpu, a->place.time, a->place.until},
			     &ret->guest_local, &until);
	if (!why && !ret->guest_local.n && a->q->level == WHO_EL0) /* it is never idle */
		why = WHO_CLOCK_CONFLICT;
	ret->has |= why ? 0 : (uint32_t)WHO_A_GUEST_LOCAL;
	a->until = until.ns < a->until.ns ? until : a->until;
	return why;
}

static void answer_guest(struct asked *a, struct who_answer *ret)
{
	enum who_reason why;

	const struct who_question *q = a->q;
	bool writes = ret->has & WHO_A_THREAD && ret->pid.n > 0 &&
		      map_u64_get(&a->w->writing_guests, (uint32_t)ret->pid.n);

	ret->has |= WHO_A_GUEST;
	ret->machine = ret->has & WHO_A_THREAD ? ret->pid : (struct who_local_id){-1};
	fill_vcpu(a->w, ret);
	if (writes && q->has & WHO_Q_CONTEXT_EL1) {
		ret->has |= WHO_A_GUEST_ROOT;
		ret->guest_root.n = q->context_el1;
	}
	why = find_guest_local(a, ret);
	if (why && !(ret->has & WHO_A_GUEST_ROOT) && ret->kind != WHO_UNKNOWN)
		ret->reason = why;
}

static enum who_world find_world(struct asked *a, const struct who_answer *ret)
{
	struct who_local_id id = ret->has & WHO_A_LOCAL ? ret->local : (struct who_local_id){-1};
	enum who_world world = who_world_of(a->w, a->q, may_be_vcpu(a, id, ret->comm));

	return world == WHO_WORLD_UNKNOWN ? who_world_by_kvm(kvm_of(a), a->q->level) : world;
}

static void answer_world(struct asked *a, struct who_answer *ret)
{
	switch (find_world(a, ret)) {
	case WHO_WORLD_GUEST:
		if (ret->kind == WHO_IDLE)
			who_answer_unknown(ret, WHO_CONFLICT);
		answer_guest(a, ret);
		break;
	case WHO_WORLD_UNKNOWN:
		if (ret->kind != WHO_IDLE)
			who_answer_unknown(ret, WHO_WORLD);
		break;
	case WHO_WORLD_HOST:
	case WHO_WORLD_OF_SPE:
		break;
	}
}

static void answer(struct asked *a, struct who_answer *ret)
{
	find_local(a);
	if (!find_root(a))
		who_answer_unknown(ret, WHO_CONFLICT);
	else if (a->has_root)
		answer_root(a, ret);
	else if (a->has_local && a->local.n > 0)
		answer_task(a, a->by, ret);
	else if (a->has_local)
		answer_zero(a, ret);
	else
		answer_unknown(a, ret);
	answer_world(a, ret);
}

/* --- answers that hold for a while --- */

static bool is_same_question(const struct who_question *a, const struct who_question *b)
{
	return a->has == b->has && a->cpu == b->cpu && a->level == b->level &&
	       a->security == b->security && a->world == b->world && a->queue.n == b->queue.n &&
	       a->owner.n == b->owner.n && a->context_el1 == b->context_el1 &&
	       a->context_el2 == b->context_el2 && a->landmark.n == b->landmark.n;
}

/** Does it hold for @p ticks, in the chunk of @p q? */
static bool holds(const struct who_ran *w, struct who_ask_state *s, const struct who_question *q,
		  struct clew_ticks ticks)
{
	uint64_t order = perf_ticks_order(&w->conv, ticks);

	return order >= s->since && order < s->until &&
	       (!(q->has & WHO_Q_TICKS_TO) || order <= s->last) &&
	       (s->is_by_id || !who_is_outside_chunk(w, s, q, order));
}

static bool is_answered(const struct who_ran *w, struct who_ask_state *s,
			const struct who_question *q)
{
	if (!s->has_answer || !is_same_question(&s->question, q))
		return false;
	if (q->has & WHO_Q_TICKS_TO && perf_ticks_order(&w->conv, q->ticks_to) != s->last)
		return false;
	return holds(w, s, q, q->ticks);
}

bool who_ran_holds(const struct who_ran *w, struct who_cursor *c, struct clew_ticks ticks)
{
	struct who_ask_state *s = who_ask_state_of(w, c);

	return s->has_answer && holds(w, s, &s->question, ticks);
}

static void keep_answer(const struct asked *a, struct who_ask_state *s,
			const struct who_answer *answer)
{
	bool is_exact = a->place.is_inside && !(a->q->has & WHO_Q_TICKS_TO);
	/* Nothing is known of the CPU: the time does not matter. */
	bool is_nowhere = !a->place.cpu && !a->is_of_then &&
			  !(answer->has & WHO_A_LOCAL && !(answer->has & WHO_A_THREAD));

	s->is_by_id = (a->is_by_context && who_ran_is_root(a->w)) || is_nowhere;
	s->has_answer = a->place.has_order && !a->place.is_conflict && (is_exact || s->is_by_id);
	if (!s->has_answer)
		return;
	s->since = a->place.first;
	s->last = a->place.order;
	s->until = a->place.at               ? a->place.to
		 : a->place.cpu && s->is_set ? s->from /* of the CPU's first run */
					     : UINT64_MAX;
	if (clew_perf_ns_is_known(a->until)) {
		uint64_t until = who_order_of_ns(a->w, a->until);

		s->until = until < s->until ? until : s->until;
	}
	s->question = *a->q;
	s->answer = *answer;
}

void who_ran_ask(const struct who_ran *w, struct who_cursor *c, const struct who_question *q,
		 struct who_answer *ret)
{
	struct who_ask_state *s = who_ask_state_of(w, c);
	struct asked a = {.w = w, .q = q, .until = clew_perf_ns_none()};

	if (is_answered(w, s, q)) {
		*ret = s->answer;
		return;
	}
	*ret = (struct who_answer){.level = q->level,
				   .security = q->security,
				   .pid = {-1},
				   .space = WHO_NONE,
				   .machine = {-1}};
	who_find_place(w, c, q, 0, &a.place);
	a.time = a.place.time;
	a.has_time = clew_perf_ns_is_known(a.time);
	answer(&a, ret);
	keep_answer(&a, s, ret);
}

bool who_ran_stay(const struct who_ran *w, struct who_cursor *c, const struct who_question *q,
		  struct who_stay *ret)
{
	const struct who_ask_state *s = who_ask_state_of(w, c);
	uint64_t last;

	*ret = (struct who_stay){0, UINT64_MAX};
	if (!w->is_clock_usable || !(q->has & WHO_Q_TICKS))
		return true; /* the answer does not depend on ticks */
	if (!s->has_answer || q->has & WHO_Q_TICKS_TO)
		return false;
	*ret = (struct who_stay){s->since, s->until};
	if (s->is_by_id)
		return true;
	ret->to = who_until_chunk_ends(w, s, q, ret->to);
	if (q->has & WHO_Q_FROM && q->from.ns && !who_ran_follows_tasks(w)) {
		last = s->chunk_from.order > w->tolerance_ticks
			     ? s->chunk_from.order - w->tolerance_ticks
			     : 0;
		ret->from = last > ret->from ? last : ret->from;
	}
	return true;
}
