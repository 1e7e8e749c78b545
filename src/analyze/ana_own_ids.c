/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_own_ids.h"

#include "analyze/ana_queue.h"
#include "analyze/ana_resolve.h"
#include "analyze/analyze_impl.h"
#include "who/who_guests.h"

#define BY_ITSELF(what)                                                          \
 {                                                                               \
  .kind = (what), .evidence = WHO_BY_SAMPLE, .level = WHO_LEVEL_UNKNOWN,         \
  .security = ARM_SECURITY_UNKNOWN, .pid = {-1}, .space = WHO_NONE, .machine = { \
	  -1                                                                     \
  }                                                                              \
 }
static const struct who_answer idle = BY_ITSELF(WHO_IDLE), outside = BY_ITSELF(WHO_OUTSIDE),
			       one_of_both = BY_ITSELF(WHO_IDLE_OR_OUTSIDE);

/* Spec: Linux kernel/sched/idle.c and what it calls: arch/x86/kernel/process.c,
 * arch/arm64/kernel/idle.c, drivers/cpuidle, drivers/idle, drivers/acpi/processor_idle.c. */
static const char *const idle_functions[] = {
	"acpi_idle_do_entry",  "acpi_idle_enter",     "acpi_processor_ffh_cstate_enter",
	"acpi_safe_halt",      "amd_e400_idle",       "arch_cpu_idle",
	"cpu_do_idle",         "cpu_idle_poll",       "cpu_startup_entry",
	"cpuidle_enter",       "cpuidle_enter_state", "cpuidle_idle_call",
	"default_idle",        "default_idle_call",   "do_idle",
	"haltpoll_enter_idle", "intel_idle",          "intel_idle_ibrs",
	"intel_idle_irq",      "mwait_idle",          "mwait_idle_with_hints.constprop.0",
	"native_safe_halt",    "poll_idle",           "psci_enter_idle_state",
	"pv_native_safe_halt",
};

bool ana_is_idle_function(const char *name)
{
	for (size_t i = 0; i < sizeof(idle_functions) / sizeof(*idle_functions); i++)
		if (!strcmp(name, idle_functions[i]))
			return true;
	return false;
}

static bool is_idle_code(const struct ana_loc *loc)
{
	return loc && loc->sym && ana_is_idle_function(loc->sym->link_name);
}

/* x86 with PEBS takes the mode from the sign of the address, and the address of an idle CPU may be
 * 0: no code is there. Spec: Linux 6.12 arch/x86/events/perf_event.h, set_linear_ip(). */
bool ana_is_user_code(const struct perf_sample *s)
{
	enum ana_level level = ana_level_of_misc(s->misc);

	return (level == ANA_USER || level == ANA_GUEST_USER) &&
	       (s->ip || !(s->sample_type & PERF_SAMPLE_IP));
}

/* User code is never the idle task's, whatever else is known. In the kernel, without a recorder
 * that says where it ran, 0 is taken for idle. */
const struct who_answer *ana_answer_of_sample(const struct perf_who_facts *f,
					      const struct perf_sample *s,
					      const struct ana_loc *loc)
{
	if (s->tid || !(s->sample_type & PERF_SAMPLE_TID) ||
	    f->recorder == PERF_WHO_NAMESPACE_INITIAL)
		return NULL;
	if (ana_level_of_misc(s->misc) == ANA_USER && ana_is_user_code(s))
		return &outside;
	if (f->recorder != PERF_WHO_NAMESPACE_OTHER)
		return NULL;
	return is_idle_code(loc) ? &idle : &one_of_both;
}

static enum who_fact root_of(const struct analyze *a)
{
	enum perf_who_namespace n = perf_file_who_facts(a->file)->recorder;

	if (n == PERF_WHO_NAMESPACE_UNKNOWN)
		return a->is_root;
	return n == PERF_WHO_NAMESPACE_INITIAL ? WHO_FACT_YES : WHO_FACT_NO;
}

static bool is_contradicted(const struct analyze *a, const struct perf_sample *s)
{
	enum { NEEDED = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU };
	const struct who_ran_stamp at = {
		.time = {s->time}, .cpu = s->cpu, .pid = s->pid, .tid = s->tid};

	return (s->sample_type & NEEDED) == NEEDED && who_on_contradicts(&a->on, &at);
}

enum clew_err ana_ask_sample(struct analyze *a, const struct perf_sample *s,
			     const struct who_thread *t, uint32_t machine, struct ana_event *e)
{
	struct who_answer *ret = ana_queue_alloc(a->queue, sizeof(*ret));
	enum ana_level level = ana_level_of_misc(s->misc);
	bool is_guest = level == ANA_GUEST_USER || level == ANA_GUEST_KERNEL;
	struct who_own own = {.has_ids = s->sample_type & PERF_SAMPLE_TID,
			      .pid = who_local_id_of(s->pid),
			      .tid = who_local_id_of(s->tid),
			      .is_user = ana_is_user_code(s),
			      .is_root = root_of(a),
			      .is_contradicted = !machine && is_contradicted(a, s),
			      .world = is_guest ? WHO_WORLD_GUEST : WHO_WORLD_HOST,
			      .comm = t->has_comm ? t->comm : NULL,
			      .is_of_guest = machine,
			      .guest = who_local_id_of(machine)};

	if (!ret)
		return CLEW_NO_MEMORY;
	if (machine)
		own.vcpu = who_guests_vcpu_of(who_guests(a->who), s->id).vcpu;
	own.has_vcpu = machine && own.vcpu != WHO_NONE;
	who_answer_own(&own, ret);
	ana_settle_idle(ret, e->loc);
	who_counts_add(&a->summary.who, ret);
	e->who = ret;
	return CLEW_OK;
}

enum clew_err ana_take_switch(struct analyze *a, const struct perf_record *r,
			      struct clew_perf_ns time)
{
	const struct perf_evsel *evsel = perf_evlist_of_record(perf_file_evlist(a->file), r->type,
							       perf_record_body(r), r->swap);
	struct perf_sample_id id;
	struct who_ran_stamp stamp;

	if (!evsel || perf_sample_id_parse(perf_record_body(r), r->swap, &evsel->attr, &id) ||
	    who_guests_machine(who_guests(a->who), id.id))
		return CLEW_OK;
	stamp = (struct who_ran_stamp){.time = time, .cpu = id.cpu, .pid = id.pid, .tid = id.tid};
	return who_on_take(&a->on, r, &stamp);
}

void ana_settle_idle(struct who_answer *a, const struct ana_loc *loc)
{
	if (a->kind == WHO_IDLE_OR_OUTSIDE && is_idle_code(loc))
		who_answer_in_idle_code(a);
}

enum who_kind ana_kind_of_record(const struct perf_who_facts *f, const struct perf_record *r)
{
	struct perf_switch s;

	if (f->recorder != PERF_WHO_NAMESPACE_OTHER)
		return WHO_TASK;
	switch (r->type) {
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_NAMESPACES:
		return WHO_OUTSIDE; /* the idle task has none of these */
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return ana_level_of_misc(r->misc) == ANA_USER ? WHO_OUTSIDE : WHO_TASK;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		/* The idle task is always runnable, so that it is preempted. */
		return perf_switch_parse(r, &s) == CLEW_OK && s.is_out && !s.is_preempt
			     ? WHO_OUTSIDE
			     : WHO_IDLE_OR_OUTSIDE;
	default:
		return WHO_IDLE_OR_OUTSIDE;
	}
}

const char *ana_name_of_kind(enum who_kind kind)
{
	switch (kind) {
	case WHO_IDLE:
		return "[idle]";
	case WHO_OUTSIDE:
		return "[outside]";
	case WHO_IDLE_OR_OUTSIDE:
		return "[idle-or-outside]";
	case WHO_TASK:
	case WHO_UNKNOWN:
	case WHO_NR_KINDS:
		break;
	}
	return "[unknown]";
}
