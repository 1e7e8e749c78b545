/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "record/plan/aux_pmu.h"
#include "record/refusal/refusal_text.h"

/* EINVAL and EOPNOTSUPP: something in the attr, and the kernel does not say what. First what it
 * does not know at all, then the rules it has. */

static const struct rec_feature_name *first_unknown(const struct rec_feature_name *names,
						    uint64_t known, uint64_t wanted)
{
	for (; names->name; names++) {
		if (wanted & ~known & names->bit)
			return names;
	}
	return NULL;
}

static bool has_unknown_bit(const struct refusal_case *c)
{
	const struct rec_features *f = &c->w->features;
	const struct perf_attr *a = c->r->attr;
	const struct rec_feature_name *n = first_unknown(rec_flag_names, f->flags, a->flags);
	const char *field = "";

	if (!n) {
		n = first_unknown(rec_sample_names, f->sample_type, a->sample_type);
		field = "sample_type ";
	}
	if (!n) {
		n = first_unknown(rec_read_names, f->read_format, a->read_format);
		field = "read_format ";
	}
	if (!n)
		return false;
	refusal_cause(c, "this kernel does not know attr.%s%s (mainline has it since Linux %s)",
		      field, n->name, n->since);
	refusal_remedy(c, "omit the option that needs it, or use a newer kernel");
	return true;
}

static bool is_bad_clock(const struct refusal_case *c)
{
	const struct perf_attr *a = c->r->attr;

	if (!refusal_has(c, PERF_ATTR_USE_CLOCKID) ||
	    (a->clockid >= 0 && a->clockid < 32 && c->w->features.clockids >> a->clockid & 1))
		return false;
	refusal_cause(c, "the kernel cannot stamp samples with clock %d", a->clockid);
	refusal_remedy(c, "-k monotonic (or mono, raw, real, boot, tai)");
	return true;
}

static bool is_too_frequent(const struct refusal_case *c)
{
	uint64_t freq = c->r->attr->sample_period;

	if (!refusal_has(c, PERF_ATTR_FREQ) || c->w->max_rate <= 0 ||
	    freq <= (uint64_t)c->w->max_rate)
		return false;
	refusal_cause(
		c,
		"%llu samples per second are more than kernel.perf_event_max_sample_rate allows "
		"(%lld)",
		(unsigned long long)freq, (long long)c->w->max_rate);
	refusal_remedy(
		c, "-F %lld (or -F max), or: sudo sysctl kernel.perf_event_max_sample_rate=%llu",
		(long long)c->w->max_rate, (unsigned long long)freq);
	return true;
}

static void cannot_pause(const struct refusal_case *c, const char *pmu)
{
	refusal_cause(c,
		      "PMU %s cannot pause its trace on this kernel (Intel PT can since Linux 6.13 "
		      "and in some stable kernels, CoreSight in newer ones)",
		      pmu);
	refusal_remedy(c, "omit aux-action; address filters (--filter) and -S make traces small, "
			  "too");
}

/* The kernel has one word for what the PMU cannot do and for what no PMU may. */
static void refused_trigger(const struct refusal_case *c)
{
	if (c->r->leader_pmu && c->r->pausing == REC_PAUSING_IMPOSSIBLE) {
		cannot_pause(c, c->r->leader_pmu);
	} else if (c->r->leader_pmu && c->r->pausing == REC_PAUSING_POSSIBLE) {
		refusal_cause(
			c, "what acts on a trace has to be of the same task and CPU, of the same "
			   "clock and as much inherited as the trace, and this event is not");
		refusal_remedy(c, "choose an event of the kernel's software or of tracing, without "
				  "inherit or no-inherit of its own");
	} else {
		refusal_cause(c,
			      "the PMU that leads the group cannot be paused (Intel PT can since "
			      "Linux 6.13, CoreSight in newer kernels)");
	}
}

/* Spec: Linux 6.13 kernel/events/core.c, perf_event_alloc() and perf_get_aux_event(). */
static bool is_bad_aux(const struct refusal_case *c)
{
	const struct perf_attr *a = c->r->attr;
	uint32_t trigger = a->aux_action & (PERF_AUX_PAUSE | PERF_AUX_RESUME);

	if (a->aux_action && !c->w->features.has_aux_action) {
		refusal_cause(c,
			      "this kernel does not know aux-action (mainline has it since Linux "
			      "6.13)");
		refusal_remedy(c, "omit it, or use a newer kernel");
	} else if (trigger == (PERF_AUX_PAUSE | PERF_AUX_RESUME)) {
		refusal_cause(c, "one event cannot both pause and resume");
	} else if (trigger && !c->r->has_leader) {
		refusal_cause(
			c, "aux-action=%s acts on the trace of its group's leader, but it has none",
			trigger == PERF_AUX_PAUSE ? "pause" : "resume");
		refusal_remedy(c,
			       "put the trace first: -e '{intel_pt/aux-action=start-paused/,EVENT/"
			       "aux-action=resume/}'");
	} else if (trigger) {
		refused_trigger(c);
	} else if (a->aux_sample_size) {
		refusal_cause(
			c, "aux-sample-size needs a group led by a trace PMU that can be sampled "
			   "(Intel PT)");
		refusal_remedy(
			c, "put the trace first: -e '{intel_pt//,EVENT/aux-sample-size=4096/}'");
	} else if (refusal_has(c, PERF_ATTR_AUX_OUTPUT)) {
		refusal_cause(c, "aux-output needs a group led by the trace it writes to");
		refusal_remedy(c, "put the trace first: -e '{intel_pt//,EVENT/aux-output/}'");
	} else {
		return false;
	}
	return true;
}

static bool is_bad_breakpoint(const struct refusal_case *c)
{
	const struct perf_attr *a = c->r->attr;

	if (a->type != PERF_TYPE_BREAKPOINT)
		return false;
	if (a->config2 & (a->config2 - 1) || a->config1 & (a->config2 - 1)) {
		refusal_cause(
			c,
			"the address 0x%llx is not a multiple of the %llu bytes watched, as the "
			"hardware requires",
			(unsigned long long)a->config1, (unsigned long long)a->config2);
		refusal_remedy(c, "mem:0x%llx/1 watches a single byte",
			       (unsigned long long)a->config1);
	} else if (a->bp_type == 1) {
		refusal_cause(c, "this CPU cannot watch reads alone");
		refusal_remedy(c, "mem:0x%llx/%llu:rw", (unsigned long long)a->config1,
			       (unsigned long long)a->config2);
	} else {
		refusal_cause(c, "the CPU cannot watch %llu bytes at 0x%llx this way",
			      (unsigned long long)a->config2, (unsigned long long)a->config1);
	}
	return true;
}

static bool is_no_tracepoint(const struct refusal_case *c)
{
	if (c->r->attr->type != PERF_TYPE_TRACEPOINT)
		return false;
	refusal_cause(c, "the kernel has no tracepoint of number %llu",
		      (unsigned long long)c->r->attr->config);
	refusal_remedy(c, "spell it system:name; `clew list tracepoint` shows all");
	return true;
}

static bool is_bad_probe(const struct refusal_case *c)
{
	if (!c->r->pmu || (strcmp(c->r->pmu, "uprobe") && strcmp(c->r->pmu, "kprobe")))
		return false;
	refusal_cause(c, "no probe can be placed there");
	if (*c->r->pmu == 'u')
		refusal_remedy(c, "the file must be a regular file, and the offset the start of an "
				  "instruction in its code");
	else
		refusal_remedy(c, "some functions must not be probed: see "
				  "/sys/kernel/debug/kprobes/blacklist");
	return true;
}

/* PMUs beyond the CPU's cores count for a CPU or a package: there is no such event of a thread. */
static bool is_uncore_of_thread(const struct refusal_case *c)
{
	const struct aux_pmu *trace = aux_pmu_find(c->r->pmu);

	if (!trace && c->r->is_trace)
		trace = &aux_pmu_other;
	if (c->r->attr->type < PERF_TYPE_MAX_STATIC || !c->r->pmu || c->r->pid < 0)
		return false;
	if ((trace && trace->traces_tasks) || !strncmp(c->r->pmu, "cpu", 3))
		return false;
	refusal_cause(c, "PMU %s counts for whole CPUs, not for a process", c->r->pmu);
	refusal_remedy(c, "record all CPUs: -a");
	return true;
}

static bool is_unsampled_pmu(const struct refusal_case *c)
{
	if (c->r->attr->type < PERF_TYPE_MAX_STATIC || !c->r->pmu || !c->r->attr->sample_period)
		return false;
	refusal_cause(c, "PMU %s refuses to sample this event: it may only count", c->r->pmu);
	refusal_remedy(c,
		       "count it with `perf stat -a -e %s`, or join it to a group read by another "
		       "event: '{cpu-clock,%s}:S'",
		       c->r->event, c->r->event);
	return true;
}

void refusal_of_attr(const struct refusal_case *c)
{
	const struct perf_attr *a = c->r->attr;

	if (has_unknown_bit(c) || is_bad_clock(c) || is_too_frequent(c) || is_bad_aux(c) ||
	    is_bad_breakpoint(c) || is_no_tracepoint(c) || is_bad_probe(c) ||
	    is_uncore_of_thread(c) || is_unsampled_pmu(c))
		return;
	if (c->r->has_leader) {
		refusal_cause(c, "the PMU cannot count the whole group at once");
		refusal_remedy(c, "make the group smaller, or add W to its modifiers: '{...}:W'");
	} else if (a->branch_sample_type) {
		refusal_cause(c, "the CPU cannot record these branches");
		refusal_remedy(c, "-b, or -j with fewer types");
	} else if (a->flags >> PERF_ATTR_PRECISE_IP_SHIFT & 3) {
		refusal_cause(c, "the PMU does not support this precision");
		refusal_remedy(c, "fewer p, or P: as precise as possible");
	} else {
		refusal_cause(c, "the kernel finds the event's settings inconsistent, and does not "
				 "say which");
		refusal_remedy(
			c, "omit terms and modifiers one by one; `sudo dmesg | tail` may say more");
	}
}

void refusal_of_ability(const struct refusal_case *c)
{
	const struct perf_attr *a = c->r->attr;
	char pmu[64] = "its PMU";

	if (a->aux_action & PERF_AUX_START_PAUSED && c->r->is_trace && c->r->pmu) {
		cannot_pause(c, c->r->pmu);
	} else if (a->aux_action & PERF_AUX_START_PAUSED) {
		refusal_cause(c,
			      "%s has no trace that could start paused (Intel PT can since Linux "
			      "6.13, CoreSight in newer kernels)",
			      pmu);
		refusal_remedy(c, "put aux-action=start-paused on the trace event itself");
	} else if (a->aux_action && refusal_has(c, PERF_ATTR_AUX_OUTPUT)) {
		refusal_cause(c, "aux-output and aux-action exclude each other");
	} else if (refusal_has(c, PERF_ATTR_AUX_OUTPUT)) {
		refusal_cause(c,
			      "%s cannot write into a trace (aux-output: PEBS of some Intel Atom "
			      "cores)",
			      pmu);
	} else if (a->branch_sample_type) {
		refusal_cause(c, "there is no branch stack for this event");
		refusal_remedy(c, "omit -b, -j and call-graph=lbr");
	} else if (a->flags >> PERF_ATTR_PRECISE_IP_SHIFT & 3) {
		refusal_cause(c, "the PMU does not support this precision");
		refusal_remedy(c, "fewer p, or P: as precise as possible");
	} else if (a->sample_period) {
		refusal_cause(c, "%s cannot sample: it has no interrupt", pmu);
		refusal_remedy(
			c, "use -e cpu-clock (in a virtual machine: give it a full virtual PMU)");
	} else {
		refusal_cause(c, "%s does not support it", pmu);
	}
}
