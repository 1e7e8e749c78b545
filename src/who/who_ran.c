/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_ran.h"

#include <stdlib.h>

#include "who/who_ran_impl.h"

/* Side-band records into the lines of CPUs, and into what they prove of the whole recording. */

enum {
	MAX_CPUS = 1 << 20, /* Linux has 8,192 */
	MAX_LOST = 1 << 20,
	RUNS_BEFORE_REST = 1 << 18,
	LINK_PID = 3,       /* of NAMESPACES */
	GROUP_BYTES = 8192, /* of runs that are being filled */
	CPU_BYTES = sizeof(struct who_cpu) + GROUP_BYTES,
};
#define INIT_PID_NAMESPACE UINT64_C(0xeffffffc)

struct who_ran *who_ran_new(struct who_history *history)
{
	struct who_ran *w = mem_zalloc(sizeof(*w));

	if (!w)
		return NULL;
	w->history = history;
	w->facts.kernel_level = WHO_LEVEL_UNKNOWN;
	w->vcpus.store = &w->store;
	w->notes = who_notes_new();
	if (w->notes)
		return w;
	mem_free(w);
	return NULL;
}

void who_ran_free(struct who_ran *w)
{
	if (!w)
		return;
	vec_for_each (&w->cpus, c) {
		who_fold_done(&(*c)->fold);
		who_kvm_done(&(*c)->kvm);
		mem_free(*c);
	}
	vec_done(&w->cpus);
	vec_done(&w->lost);
	map_u64_done(&w->by_cpu);
	map_u64_done(&w->ending);
	map_u64_done(&w->pairs);
	map_u64_done(&w->derived);
	map_u64_done(&w->runners);
	map_u64_done(&w->writing_guests);
	map_u64_done(&w->ordinals);
	who_vcpus_done(&w->vcpus);
	who_notes_free(w->notes);
	mem_free(w);
}

void who_ran_set_root(struct who_ran *w, bool is_root)
{
	w->is_root_set = true;
	w->facts.is_root = (struct who_proof){.is = is_root ? WHO_FACT_YES : WHO_FACT_NO,
					      .why = "the recording says it"};
}

void who_ran_set_kernel_level(struct who_ran *w, enum who_level level)
{
	w->facts.kernel_level = level;
	w->is_level_set = true;
}

void who_ran_assume_root(struct who_ran *w)
{
	w->is_root_assumed = true;
}

void who_ran_set_same_proc(struct who_ran *w, bool is_same)
{
	w->is_same_proc_set = true;
	w->facts.is_same_proc = (struct who_proof){.is = is_same ? WHO_FACT_YES : WHO_FACT_NO,
						   .why = "the recording says it"};
}

bool who_ran_add_pair(struct who_ran *w, struct who_root_id root, struct who_local_id local)
{
	uint64_t *at = map_u64_get(&w->pairs, root.n);

	if (!root.n || local.n < 0)
		return true;
	w->nr_pairs_equal += (uint32_t)local.n == root.n;
	w->nr_pairs_differ += local.n && (uint32_t)local.n != root.n;
	w->nr_pairs_outside += !local.n;
	if (!at)
		return map_u64_put(&w->pairs, root.n, (uint32_t)local.n);
	if (*at != (uint32_t)local.n)
		*at = WHO_PAIR_SEVERAL;
	return true;
}

void who_ran_set_clock(struct who_ran *w, const struct perf_time_conv *conv)
{
	w->has_conv = true;
	w->conv = *conv;
}

bool who_ran_takes(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_LOST:
	case PERF_RECORD_COMM:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_FORK:
	case PERF_RECORD_AUX:
	case PERF_RECORD_ITRACE_START:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
	case PERF_RECORD_NAMESPACES:
		return true;
	default:
		return false;
	}
}

/** NULL: no memory, or more CPUs than any machine. */
static struct who_cpu *cpu_of(struct who_ran *w, uint32_t cpu)
{
	size_t i, nr = w->cpus.nr;
	struct who_cpu *c;

	if (!vec_reserve(&w->cpus, nr + 1) || !map_u64_number(&w->by_cpu, cpu, nr, MAX_CPUS, &i))
		return NULL;
	if (i < nr)
		return w->cpus.data[i];
	c = mem_zalloc(sizeof(*c));
	if (!c) {
		map_u64_remove(&w->by_cpu, cpu);
		return NULL;
	}
	c->cpu = cpu;
	c->fold.runs.store = c->kvm.runs.store = &w->store;
	return w->cpus.data[w->cpus.nr++] = c;
}

bool who_ran_begin_cpu(struct who_ran *w, uint32_t cpu, struct clew_perf_ns from)
{
	struct who_cpu *c = cpu_of(w, cpu);

	if (!c)
		return w->cpus.nr >= MAX_CPUS;
	who_fold_begin(&c->fold, from);
	return true;
}

/** A thread that has exited leaves the CPU for good when it does not run at that moment. */
static void note_out(struct who_ran *w, struct who_cpu *c, const struct who_fold_out *o)
{
	struct who_local_id from = o->from.n == -1 ? c->on : o->from;
	uint64_t *end = from.n > 0 ? map_u64_get(&w->ending, (uint32_t)from.n) : NULL;

	c->on = (struct who_local_id){0};
	if (end && !o->is_preempt)
		*end = WHO_END_GONE;
}

static enum clew_err note_in(struct who_ran *w, struct who_cpu *c, const struct who_ran_stamp *s)
{
	uint64_t *end = map_u64_get(&w->ending, s->tid);

	c->on = who_local_id_of(s->tid);
	if (!end || *end != WHO_END_GONE)
		return CLEW_OK;
	map_u64_remove(&w->ending, s->tid);
	return who_history_reborn(w->history, s->time, s->pid, s->tid);
}

static enum clew_err take_out(struct who_ran *w, struct who_cpu *c, const struct perf_switch *s,
			      const struct who_ran_stamp *stamp)
{
	struct who_local_id next = who_local_id_of(s->next_prev_tid);
	const struct who_fold_out o = {.from = who_local_id_of(stamp->tid),
				       .next = s->has_other ? &next : NULL,
				       .is_preempt = s->is_preempt};

	note_out(w, c, &o);
	return who_fold_out(&c->fold, stamp->time, &o) ? CLEW_OK : CLEW_NO_MEMORY;
}

static enum clew_err take_in(struct who_ran *w, struct who_cpu *c, const struct perf_switch *s,
			     const struct who_ran_stamp *stamp)
{
	struct who_local_id prev = who_local_id_of(s->next_prev_tid);
	const struct who_fold_in i = {.to = who_local_id_of(stamp->tid),
				      .prev = s->has_other ? &prev : NULL};
	enum clew_err err = note_in(w, c, stamp);

	if (err)
		return err;
	return who_fold_in(&c->fold, stamp->time, &i) ? CLEW_OK : CLEW_NO_MEMORY;
}

static enum clew_err take_switch(struct who_ran *w, struct who_cpu *c, const struct perf_record *r,
				 const struct who_ran_stamp *stamp)
{
	struct perf_switch s;
	enum clew_err err;

	if (perf_switch_parse(r, &s))
		return CLEW_BAD_FILE;
	w->has_switch |= !s.has_other;
	w->has_switch_wide |= s.has_other;
	w->has_clockid |= stamp->has_clockid;
	err = who_history_seen(w->history, stamp->time, stamp->pid, stamp->tid);
	if (err)
		return err;
	return s.is_out ? take_out(w, c, &s, stamp) : take_in(w, c, &s, stamp);
}

/** What samples of kvm say holds up to the CPU's last record before @p time. @return false: no
 * memory. */
static bool break_kvm(struct who_cpu *c, struct clew_perf_ns time)
{
	return who_kvm_break(&c->kvm, c->fold.has_last ? c->fold.last : time);
}

/** Records before @p time are missing. @return false: no memory. */
static bool lose(struct who_cpu *c, struct clew_perf_ns time)
{
	return break_kvm(c, time) && who_fold_lost(&c->fold, time);
}

static enum clew_err take_lost(struct who_ran *w, struct who_cpu *c,
			       const struct who_ran_stamp *stamp)
{
	struct who_lost_span span = {c->fold.has_last ? c->fold.last : (struct clew_perf_ns){0},
				     stamp->time};

	c->on = c->start = (struct who_local_id){0};
	if (w->lost.nr < MAX_LOST && !vec_push(&w->lost, span))
		return CLEW_NO_MEMORY;
	return lose(c, stamp->time) ? CLEW_OK : CLEW_NO_MEMORY;
}

static enum clew_err take_start(struct who_ran *w, struct who_cpu *c, const struct perf_record *r,
				const struct who_ran_stamp *stamp)
{
	struct perf_itrace_start s;
	bool ok;

	if (perf_itrace_start_parse(r, &s))
		return CLEW_BAD_FILE;
	c->start = who_local_id_of(s.tid);
	/* Events of tasks start with each of their timeslices. Others were disabled, perhaps all.
	 */
	if (w->has_switch || (stamp->is_inherited && !w->has_switch_wide))
		ok = who_fold_other(&c->fold, stamp->time);
	else
		ok = break_kvm(c, stamp->time) && who_fold_start(&c->fold, stamp->time, c->start);
	return ok ? CLEW_OK : CLEW_NO_MEMORY;
}

static enum clew_err take_aux(struct who_ran *w, struct who_cpu *c,
			      const struct who_ran_stamp *stamp)
{
	w->is_inherited |= stamp->is_inherited;
	w->aux_owner = who_local_id_of(stamp->tid);
	/* The last stay of a thread: it is dead when its trace is closed. */
	if (w->aux_owner.n == -1 && c->start.n > 0)
		w->aux_owner = c->start;
	return who_fold_other(&c->fold, stamp->time) ? CLEW_OK : CLEW_NO_MEMORY;
}

/** What changes with the thread, and not with the CPU. */
static enum clew_err take_thread(struct who_ran *w, const struct perf_record *r,
				 const struct who_ran_stamp *stamp)
{
	bool is_exit = r->type == PERF_RECORD_EXIT;
	struct perf_task t;

	if (r->type == PERF_RECORD_COMM || !stamp->time.ns)
		return CLEW_OK;
	if (perf_task_parse(r, &t))
		return CLEW_BAD_FILE;
	if (!who_local_is_thread(who_local_id_of(t.tid)))
		return CLEW_OK;
	if (!is_exit)
		map_u64_remove(&w->ending, t.tid);
	return !is_exit || map_u64_put(&w->ending, t.tid, WHO_END_EXITED) ? CLEW_OK
									  : CLEW_NO_MEMORY;
}

static enum clew_err take_namespaces(struct who_ran *w, const struct perf_record *r,
				     const struct who_ran_stamp *stamp)
{
	struct perf_namespaces n;
	uint64_t inode;

	if (perf_namespaces_parse(r, &n))
		return CLEW_BAD_FILE;
	if (!who_local_is_thread(who_local_id_of(n.tid)) || n.nr <= LINK_PID)
		return CLEW_OK;
	inode = load_u64(n.links.pos + 16 * LINK_PID + 8, r->swap);
	if (!stamp->time.ns) {
		w->has_found_namespace = true;
		w->has_found_init_namespace |= inode == INIT_PID_NAMESPACE;
	} else {
		w->has_init_namespace |= inode == INIT_PID_NAMESPACE;
	}
	return CLEW_OK;
}

static enum clew_err take_of_cpu(struct who_ran *w, const struct perf_record *r,
				 const struct who_ran_stamp *stamp)
{
	struct who_cpu *c = cpu_of(w, stamp->cpu);

	if (!c)
		return w->cpus.nr >= MAX_CPUS ? CLEW_OK : CLEW_NO_MEMORY;
	switch (r->type) {
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return take_switch(w, c, r, stamp);
	case PERF_RECORD_LOST:
		return take_lost(w, c, stamp);
	case PERF_RECORD_ITRACE_START:
		return take_start(w, c, r, stamp);
	case PERF_RECORD_AUX:
		return take_aux(w, c, stamp);
	default:
		return who_fold_other(&c->fold, stamp->time) ? CLEW_OK : CLEW_NO_MEMORY;
	}
}

enum clew_err who_ran_take(struct who_ran *w, const struct perf_record *r,
			   const struct who_ran_stamp *stamp)
{
	enum clew_err err = CLEW_OK;

	w->has_no_time |= !stamp->has_time;
	if (r->type == PERF_RECORD_COMM || r->type == PERF_RECORD_FORK ||
	    r->type == PERF_RECORD_EXIT)
		err = take_thread(w, r, stamp);
	else if (r->type == PERF_RECORD_NAMESPACES)
		err = take_namespaces(w, r, stamp);
	/* What the recorder found stands in no ring. */
	if (err || !stamp->time.ns || stamp->cpu == WHO_NONE)
		return err;
	return take_of_cpu(w, r, stamp);
}

enum clew_err who_ran_take_sched(struct who_ran *w, struct who_root_id prev,
				 struct who_root_id next, const struct who_ran_stamp *stamp)
{
	struct who_cpu *c = stamp->cpu == WHO_NONE ? NULL : cpu_of(w, stamp->cpu);

	if (!who_ran_add_pair(w, prev, who_local_id_of(stamp->tid)))
		return CLEW_NO_MEMORY;
	if (!c)
		return stamp->cpu == WHO_NONE || w->cpus.nr >= MAX_CPUS ? CLEW_OK : CLEW_NO_MEMORY;
	return who_fold_sched(&c->fold, stamp->time, prev, next) ? CLEW_OK : CLEW_NO_MEMORY;
}

static bool add_runner(struct who_ran *w, struct who_local_id tid, uint32_t vcpu)
{
	uint64_t *at = who_local_is_thread(tid) ? map_u64_get(&w->runners, (uint32_t)tid.n) : NULL;
	uint64_t number = vcpu == WHO_NONE ? 0 : (uint64_t)vcpu + 1;

	if (at && number)
		*at = number;
	return at || !who_local_is_thread(tid) || map_u64_put(&w->runners, (uint32_t)tid.n, number);
}

enum clew_err who_ran_take_kvm(struct who_ran *w, bool is_entry, uint32_t vcpu,
			       const struct who_ran_stamp *stamp)
{
	struct who_cpu *c = stamp->cpu == WHO_NONE ? NULL : cpu_of(w, stamp->cpu);
	struct who_local_id tid = who_local_id_of(stamp->tid);

	if (!add_runner(w, tid, vcpu))
		return CLEW_NO_MEMORY;
	if (!c)
		return stamp->cpu == WHO_NONE || w->cpus.nr >= MAX_CPUS ? CLEW_OK : CLEW_NO_MEMORY;
	w->nr_kvm_cpus += !c->kvm.has_begun && !c->kvm.has_state;
	if (!who_local_is_thread(tid))
		tid.n = -1;
	if (!is_entry)
		tid.n = 0;
	return who_kvm_take(&c->kvm, stamp->time, tid) && who_fold_other(&c->fold, stamp->time)
		     ? CLEW_OK
		     : CLEW_NO_MEMORY;
}

uint64_t who_ran_bytes(const struct who_ran *w)
{
	return w->store.kept_bytes + w->store.index_bytes + w->nr_kvm_cpus * GROUP_BYTES +
	       (w->cpus.nr + w->vcpus.lines.nr) * CPU_BYTES + w->lost.cap * sizeof(*w->lost.data) +
	       (w->by_cpu.cap + w->ending.cap + w->pairs.cap + w->runners.cap) *
		       (sizeof(*w->pairs.slots) + 1);
}

void who_ran_set_spill(struct who_ran *w, const struct who_spill *spill, uint64_t keep_bytes)
{
	w->store.spill = *spill;
	w->store.keep_bytes = keep_bytes;
}

bool who_ran_cut(struct who_ran *w, struct clew_perf_ns time)
{
	vec_for_each (&w->cpus, c) {
		if (!lose(*c, time))
			return false;
	}
	return true;
}

struct who_local_id who_ran_owner_of_aux(const struct who_ran *w)
{
	return w->aux_owner;
}

bool who_ran_has_lost(const struct who_ran *w)
{
	return w->lost.nr;
}

bool who_ran_has_switches(const struct who_ran *w)
{
	return w->has_switch_wide;
}

const struct who_runs *who_ran_runs(const struct who_ran *w, uint32_t cpu)
{
	const uint64_t *at = map_u64_get(&w->by_cpu, cpu);

	return w->is_clock_usable && at ? &w->cpus.data[*at]->fold.runs : NULL;
}

/* --- all were taken --- */

static int by_from(const void *a, const void *b)
{
	const struct who_lost_span *x = a, *y = b;

	return (x->from.ns > y->from.ns) - (x->from.ns < y->from.ns);
}

/** By from, and each with the latest end up to there. */
static void order_lost(struct who_ran *w)
{
	struct clew_perf_ns to = {0};

	if (w->lost.nr)
		qsort(w->lost.data, w->lost.nr, sizeof(*w->lost.data), by_from);
	vec_for_each (&w->lost, l) {
		if (l->to.ns > to.ns)
			to = l->to;
		l->to = to;
	}
}

struct clock_test {
	uint64_t nr, nr_bad;
};

/** perf's clock is made of the same counter: its times are those of whole ticks. */
static void test_times(const struct who_ran *w, const struct who_runs *l, struct clock_test *t)
{
	const struct who_spill *spill = &w->store.spill;
	struct who_run_cursor c;
	struct clew_ticks ticks;
	struct clew_perf_ns at;

	for (bool ok = who_runs_first(l, &c); ok; ok = who_runs_next(&c)) {
		if (c.index % RUNS_BEFORE_REST == 0 && w->store.spilled_bytes)
			spill->rest(spill->ctx);
		if (c.run.is_sched)
			continue;
		t->nr++;
		t->nr_bad += perf_ticks_of_ns(&w->conv, c.run.from, &ticks) &&
			     perf_ns_of_unwrapped(&w->conv, ticks, &at) &&
			     at.ns - c.run.from.ns > 2;
	}
}

static struct who_proof test_clock(struct who_ran *w)
{
	struct clock_test t = {0};

	if (!w->has_conv || !perf_time_conv_is_usable(&w->conv))
		return (struct who_proof){WHO_FACT_NO, .why = "no usable TIME_CONV record"};
	if (w->has_no_time)
		return (struct who_proof){WHO_FACT_NO, .why = "records have no time"};
	if (w->has_clockid)
		return (struct who_proof){WHO_FACT_NO, .why = "records use another clock"};
	vec_for_each (&w->cpus, c)
		test_times(w, &(*c)->fold.runs, &t);
	w->is_clock_untrusted = t.nr_bad * 1000 > t.nr;
	if (w->is_clock_untrusted)
		return (struct who_proof){WHO_FACT_NO, .why = WHO_WHY_UNTRUSTED};
	return (struct who_proof){WHO_FACT_YES, .why = "TIME_CONV"};
}

static uint64_t ticks_of(const struct perf_time_conv *conv, uint64_t ns)
{
	__extension__ unsigned __int128 shifted = ns;

	shifted = (shifted << conv->shift) / conv->mult;
	return shifted < UINT64_MAX >> 1 ? (uint64_t)shifted + 1 : UINT64_MAX >> 1;
}

static bool map_spilled(struct who_ran *w)
{
	struct who_run_store *s = &w->store;
	const uint8_t *base = s->spilled_bytes ? s->spill.map(s->spill.ctx) : NULL;

	if (!base)
		return !s->spilled_bytes;
	vec_for_each (&w->cpus, c) {
		who_runs_map(&(*c)->fold.runs, base);
		who_runs_map(&(*c)->kvm.runs, base);
	}
	vec_for_each (&w->vcpus.lines, l)
		who_runs_map(&l->runs, base);
	return true;
}

enum clew_err who_ran_close(struct who_ran *w)
{
	vec_for_each (&w->cpus, c) {
		if (!who_fold_end(&(*c)->fold) || !who_kvm_end(&(*c)->kvm))
			return CLEW_NO_MEMORY;
	}
	if (!who_vcpus_end(&w->vcpus) || !map_spilled(w))
		return CLEW_NO_MEMORY;
	order_lost(w);
	w->facts.has_clock = test_clock(w);
	w->is_clock_usable = w->facts.has_clock.is == WHO_FACT_YES;
	if (w->is_clock_usable) {
		w->tolerance_ticks = ticks_of(&w->conv, WHO_TOLERANCE_NS);
		w->margin_ticks = 2 * w->tolerance_ticks;
	}
	return CLEW_OK;
}
