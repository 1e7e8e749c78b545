/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_own.h"

#include "who/vcpu_name.h"
#include "who/who_history.h"

enum { MAX_CPUS = 1 << 20, MAX_VCPU = 65535 };

enum who_kind who_kind_of_zero(enum who_fact is_root, bool is_user, bool sleeps)
{
	/* The idle task has no user code, and is always runnable. */
	if (is_root == WHO_FACT_YES)
		return WHO_IDLE;
	return is_user || sleeps ? WHO_OUTSIDE : WHO_IDLE_OR_OUTSIDE;
}

static void fill_local(const struct who_own *o, struct who_answer *ret)
{
	ret->has |= WHO_A_LOCAL;
	ret->local = o->tid;
	if (o->is_root != WHO_FACT_YES)
		return;
	ret->has |= WHO_A_ROOT;
	ret->root.n = (uint32_t)o->tid.n;
}

static void answer_host(const struct who_own *o, struct who_answer *ret)
{
	ret->evidence = WHO_BY_SAMPLE;
	if (!o->has_ids)
		who_answer_unknown(ret, WHO_NO_EVIDENCE);
	else if (o->tid.n == -1)
		who_answer_unknown(ret, WHO_DEAD);
	else if (!o->tid.n)
		ret->kind = who_kind_of_zero(o->is_root, o->is_user, false);
	else
		fill_local(o, ret);
	if (o->is_contradicted || (ret->kind == WHO_IDLE && o->is_user))
		who_answer_unknown(ret, WHO_CONFLICT);
}

static void fill_vcpu(const struct who_own *o, struct who_answer *ret)
{
	bool is_known = o->has_vcpu && o->vcpu <= MAX_VCPU;

	if (is_known)
		ret->vcpu = o->vcpu;
	else if (!o->is_of_guest && o->comm)
		is_known = who_vcpu_of_name(o->comm, &ret->vcpu);
	ret->has |= is_known ? (uint32_t)WHO_A_VCPU : 0;
}

static void answer_guest(const struct who_own *o, struct who_answer *ret)
{
	ret->has |= WHO_A_GUEST;
	ret->machine = o->pid.n > 0 ? o->pid : (struct who_local_id){-1};
	fill_vcpu(o, ret);
	if (ret->kind == WHO_IDLE)
		who_answer_unknown(ret, WHO_CONFLICT);
	else if (ret->kind != WHO_UNKNOWN)
		ret->reason = WHO_GUEST_THREAD;
}

/* Its ids are the guest's; the host's are unknown. */
static void answer_of_guest(const struct who_own *o, struct who_answer *ret)
{
	ret->evidence = WHO_BY_SAMPLE;
	ret->has |= WHO_A_GUEST;
	ret->machine = o->guest;
	fill_vcpu(o, ret);
	if (!o->has_ids)
		who_answer_unknown(ret, WHO_NO_EVIDENCE);
	else if (o->tid.n == -1)
		who_answer_unknown(ret, WHO_DEAD);
	else if (!o->tid.n)
		ret->kind = who_kind_of_zero(WHO_FACT_UNKNOWN, o->is_user, false);
}

void who_answer_own(const struct who_own *o, struct who_answer *ret)
{
	*ret = (struct who_answer){.kind = WHO_TASK,
				   .level = WHO_LEVEL_UNKNOWN,
				   .security = ARM_SECURITY_UNKNOWN,
				   .pid = {-1},
				   .space = WHO_NONE,
				   .machine = {-1}};
	if (o->is_of_guest) {
		answer_of_guest(o, ret);
		return;
	}
	answer_host(o, ret);
	if (o->world == WHO_WORLD_GUEST)
		answer_guest(o, ret);
}

/* --- who is on each CPU --- */

bool who_on_takes(uint32_t type)
{
	return type == PERF_RECORD_SWITCH_CPU_WIDE || type == PERF_RECORD_LOST;
}

/* NULL: no memory, or more CPUs than any machine. */
static struct who_on_cpu *cpu_of(struct who_on *o, uint32_t cpu)
{
	size_t i, nr = o->cpus.nr;

	if (!vec_reserve(&o->cpus, nr + 1) || !map_u64_number(&o->by_cpu, cpu, nr, MAX_CPUS, &i))
		return NULL;
	if (i == nr)
		o->cpus.data[o->cpus.nr++] = (struct who_on_cpu){{0}};
	return &o->cpus.data[i];
}

enum clew_err who_on_take(struct who_on *o, const struct perf_record *r,
			  const struct who_ran_stamp *stamp)
{
	struct who_on_cpu *c = stamp->cpu == WHO_NONE ? NULL : cpu_of(o, stamp->cpu);
	struct perf_switch s;

	if (!c)
		return stamp->cpu == WHO_NONE || o->cpus.nr >= MAX_CPUS ? CLEW_OK : CLEW_NO_MEMORY;
	*c = (struct who_on_cpu){.since = stamp->time};
	if (r->type == PERF_RECORD_LOST)
		return CLEW_OK;
	if (perf_switch_parse(r, &s))
		return CLEW_BAD_FILE;
	c->is_known = s.has_other;
	c->tids[0] = c->tids[1] = who_local_id_of(stamp->tid);
	c->pids[0] = c->pids[1] = who_local_id_of(stamp->pid);
	if (s.is_out) {
		c->tids[1] = who_local_id_of(s.next_prev_tid);
		c->pids[1] = who_local_id_of(s.next_prev_pid);
	}
	return CLEW_OK;
}

static bool may_be(const struct who_on_cpu *c, unsigned int i, const struct who_ran_stamp *s)
{
	struct who_local_id tid = who_local_id_of(s->tid), pid = who_local_id_of(s->pid);

	if (tid.n == c->tids[i].n || tid.n == -1 || c->tids[i].n == -1)
		return true;
	/* A thread that calls exec takes the id of its process while it runs. */
	return tid.n == pid.n && pid.n == c->pids[i].n;
}

bool who_on_contradicts(const struct who_on *o, const struct who_ran_stamp *sample)
{
	const uint64_t *at = o->cpus.nr ? map_u64_get(&o->by_cpu, sample->cpu) : NULL;
	const struct who_on_cpu *c = at ? &o->cpus.data[*at] : NULL;

	if (!c || !c->is_known || sample->time.ns <= c->since.ns)
		return false;
	return !may_be(c, 0, sample) && !may_be(c, 1, sample);
}

void who_on_done(struct who_on *o)
{
	map_u64_done(&o->by_cpu);
	vec_done(&o->cpus);
}
