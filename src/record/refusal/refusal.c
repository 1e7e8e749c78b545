/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/refusal/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "record/plan/aux_pmu.h"
#include "record/refusal/refusal_text.h"

static bool is_hardware(const struct perf_attr *a)
{
	return a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_HW_CACHE ||
	       a->type == PERF_TYPE_RAW;
}

static void not_there(const struct refusal_case *c)
{
	const struct perf_attr *a = c->r->attr;

	if (is_hardware(a) && !c->w->has_core_pmu) {
		refusal_cause(c, "this machine shows no hardware counters (virtual machines often "
				 "hide them)");
		refusal_remedy(c, "use -e cpu-clock, or give the virtual machine a virtual PMU");
	} else if (is_hardware(a)) {
		refusal_cause(c, "the CPU's PMU has no such event");
		refusal_remedy(c, "`clew list` shows what there is");
	} else if (a->type == PERF_TYPE_TRACEPOINT) {
		refusal_cause(c,
			      "the kernel no longer has this tracepoint (a module was unloaded)");
	} else if (c->r->pmu && !strcmp(c->r->pmu, "uprobe")) {
		refusal_cause(c, "the probed file cannot be found by the kernel");
		refusal_remedy(c, "give the path as this mount namespace sees it");
	} else if (c->r->pmu && !strcmp(c->r->pmu, "kprobe")) {
		refusal_cause(c, "the kernel has no such function to probe");
		refusal_remedy(c, "grep FUNCTION /proc/kallsyms: inlined functions are not listed");
	} else {
		refusal_cause(c, "%s%s has no such event", c->r->pmu ? "PMU " : "this kernel",
			      c->r->pmu ? c->r->pmu : "");
		refusal_remedy(c, "`clew list` shows what there is");
	}
}

static void no_device(const struct refusal_case *c)
{
	if (c->r->cpu >= 0)
		refusal_cause(c, "CPU %d is offline or not counted by this PMU (online: %s)",
			      c->r->cpu, c->w->cpus_online);
	else
		refusal_cause(c, "the PMU of this event does not exist");
	refusal_remedy(c, "choose other CPUs with -C, or another event");
}

static void too_many_files(const struct refusal_case *c)
{
	const struct os_caps *caps = &c->w->caps;

	if (c->r->os_errno == ENFILE) {
		refusal_cause(c, "the system is out of file descriptors");
		refusal_remedy(c, "sudo sysctl fs.file-max=1000000");
		return;
	}
	refusal_cause(c,
		      "out of file descriptors: each event takes one per CPU and thread, and this "
		      "process may have %llu",
		      (unsigned long long)caps->nr_files);
	if (caps->nr_files_hard > caps->nr_files)
		refusal_remedy(c, "ulimit -n %llu, or record fewer events, CPUs (-C) or threads",
			       (unsigned long long)caps->nr_files_hard);
	else
		refusal_remedy(c, "raise the hard limit (nofile in /etc/security/limits.conf), or "
				  "record fewer events, CPUs (-C) or threads");
}

static void no_space(const struct refusal_case *c)
{
	if (c->r->attr->type == PERF_TYPE_BREAKPOINT) {
		refusal_cause(c,
			      "all hardware breakpoints are in use (x86 has 4 per CPU; debuggers "
			      "use them, too)");
		refusal_remedy(c, "record fewer mem: events at once");
		return;
	}
	refusal_cause(c, "the PMU has no free counter for it");
	refusal_remedy(c, "record fewer events of this PMU at once");
}

/* Of one PMU: an event of all CPUs, or such of tasks. What is mapped holds its place when the event
 * is closed. */
static void busy_trace(const struct refusal_case *c)
{
	refusal_cause(
		c,
		"PMU %s is in exclusive use: by another recording of it (of all CPUs or of tasks, "
		"never both), or a buffer of one that is not yet released",
		c->r->pmu ? c->r->pmu : "");
	refusal_remedy(c, "end the other recording: `pgrep -a 'perf|clew'`");
}

static void busy(const struct refusal_case *c)
{
	const struct os_perf_holder *holder = &c->w->holder;

	if (holder->pid) {
		refusal_cause(
			c,
			"PMU %s is in exclusive use, probably by %s (process %d), which holds "
			"events of perf",
			c->r->pmu ? c->r->pmu : "", holder->name, holder->pid);
		refusal_remedy(c, "wait for it, or: kill -INT %d", holder->pid);
		return;
	}
	if (c->r->pmu && !strcmp(c->r->pmu, "intel_pt")) {
		refusal_cause(c, "Intel PT is in use, for example by a hypervisor (kvm) or another "
				 "recording");
	} else if (c->r->is_trace) {
		busy_trace(c);
		return;
	} else {
		refusal_cause(c, "this PMU is in exclusive use (by another recording, a debugger "
				 "or a hypervisor)");
	}
	refusal_remedy(c, "end the other user: `sudo fuser -v /dev/kvm`, `pgrep -a perf`");
}

static void too_deep(const struct refusal_case *c)
{
	refusal_cause(c,
		      "call chains of %u addresses are more than kernel.perf_event_max_stack "
		      "allows (%lld)",
		      c->r->attr->sample_max_stack, (long long)c->w->max_stack);
	refusal_remedy(c, "sudo sysctl kernel.perf_event_max_stack=%u, or a smaller max-stack",
		       c->r->attr->sample_max_stack);
}

static void too_large(const struct refusal_case *c)
{
	refusal_cause(c, "it needs a newer kernel: perf_event_attr has only %u bytes in this one",
		      c->w->features.attr_bytes);
	refusal_remedy(c, "omit the newest terms (config3, config4, aux-action), or use a newer "
			  "kernel");
}

static void refused_open(const struct refusal_case *c)
{
	switch (c->r->os_errno) {
	case EACCES:
	case EPERM:
		refusal_of_permission(c);
		break;
	case EINVAL:
		refusal_of_attr(c);
		break;
	case EOPNOTSUPP:
		refusal_of_ability(c);
		break;
	case ENOENT:
		not_there(c);
		break;
	case ENODEV:
	case ENXIO:
		no_device(c);
		break;
	case EMFILE:
	case ENFILE:
		too_many_files(c);
		break;
	case EBUSY:
		busy(c);
		break;
	case ENOSPC:
		no_space(c);
		break;
	case ESRCH:
		refusal_cause(c, "process or thread %d has ended", c->r->pid);
		break;
	case E2BIG:
		too_large(c);
		break;
	case EOVERFLOW:
		too_deep(c);
		break;
	case ENOSYS:
		refusal_cause(c, "this kernel is built without perf events (CONFIG_PERF_EVENTS)");
		break;
	case ENOMEM:
		refusal_cause(c, "the kernel is out of memory for it");
		break;
	case 524: /* ENOTSUPP, which leaks out of uprobes */
		refusal_cause(c, "the instruction at this place cannot be probed");
		refusal_remedy(c, "probe another offset of the function");
		break;
	default:
		refusal_cause(c, "perf_event_open: %s", strerror(c->r->os_errno));
		break;
	}
}

static size_t round_down_pow2(size_t v)
{
	size_t p = 1;

	while (p <= v / 2)
		p *= 2;
	return p;
}

/* The pages of all rings of a user are summed, and there is one per CPU. The sysctl's KiB per CPU
 * are free, the rest counts as the process's. Spec: Linux kernel/events/core.c, perf_mmap(). */
static void locked_too_much(const struct refusal_case *c)
{
	const struct os_caps *caps = &c->w->caps;
	unsigned long long kib = c->r->map_bytes >> 10;
	size_t pages = c->r->map_bytes / 4096;

	refusal_cause(c,
		      "its buffer of %llu KiB per CPU would lock more memory than this user may: "
		      "kernel.perf_event_mlock_kb is %llu, ulimit -l %llu KiB",
		      kib, (unsigned long long)caps->mlock_kb,
		      (unsigned long long)caps->memlock_bytes >> 10);
	refusal_remedy(c,
		       "ask for less: -m %s%zu, or allow more: sudo sysctl "
		       "kernel.perf_event_mlock_kb=%llu",
		       c->r->call == REC_CALL_MMAP_AUX ? "," : "",
		       pages > 2 ? round_down_pow2(pages / 2) : 1, kib * 2 + 4);
}

/* Each task of an inherited event has a context of its own, and a buffer has one writer. */
static bool is_inherited_thread(const struct refusal_case *c)
{
	return c->r->cpu < 0 && refusal_has(c, PERF_ATTR_INHERIT);
}

static void unfit_map(const struct refusal_case *c, bool is_aux)
{
	if (is_inherited_thread(c)) {
		refusal_cause(
			c,
			"the threads that inherit it cannot write into the buffer of one thread");
		refusal_remedy(c, "omit its inherit, or --per-thread");
		return;
	}
	refusal_cause(c,
		      "its %s of %zu bytes is refused: the size must be a power of two of pages%s",
		      is_aux ? "AUX area" : "buffer", c->r->map_bytes,
		      is_aux ? " that this PMU can handle" : "");
	refusal_remedy(c, "-m %s16M", is_aux ? "," : "");
}

static void refused_map(const struct refusal_case *c)
{
	bool is_aux = c->r->call == REC_CALL_MMAP_AUX;
	const char *what = is_aux ? "AUX area" : "buffer";

	switch (c->r->os_errno) {
	case EPERM:
		locked_too_much(c);
		break;
	case EINVAL:
		unfit_map(c, is_aux);
		break;
	case ENOMEM:
		refusal_cause(c, "no memory for its %s of %zu KiB", what, c->r->map_bytes >> 10);
		refusal_remedy(c, "ask for less with -m");
		break;
	case EOPNOTSUPP:
	case ENODEV:
		refusal_cause(c, "PMU %s has no AUX area", c->r->pmu ? c->r->pmu : "");
		break;
	case EBUSY:
		refusal_cause(c, "its %s is mapped already", what);
		break;
	default:
		refusal_cause(c, "mmap of its %s: %s", what, strerror(c->r->os_errno));
		break;
	}
}

/* What we checked before: the file may have gone, or the driver has fewer filters than it says. */
static void refused_addresses(const struct refusal_case *c, const char *filter)
{
	switch (c->r->os_errno) {
	case EOPNOTSUPP:
		refusal_cause(c,
			      "%s refuses the address filter '%.200s': it is one too many, or of a "
			      "kind that this PMU lacks, or of a file where whole CPUs are traced",
			      c->r->pmu, filter);
		refusal_remedy(c,
			       "fewer filters, or of another kind: see clew-events(7), \"Address "
			       "filters\"");
		break;
	case EINVAL:
		refusal_cause(
			c, "%s refuses the address filter '%.200s': it has none, or not this form",
			c->r->pmu, filter);
		refusal_remedy(c, "omit --filter, or see clew-events(7), \"Address filters\"");
		break;
	case ENOENT:
		refusal_cause(c, "the file of the address filter '%.200s' has gone", filter);
		break;
	default:
		refusal_cause(c, "%s refuses the address filter '%.200s': %s", c->r->pmu, filter,
			      strerror(c->r->os_errno));
		break;
	}
}

static void refused_filter(const struct refusal_case *c)
{
	const char *filter = c->r->filter ? c->r->filter : "";

	if (c->r->is_trace) {
		refused_addresses(c, filter);
	} else if (c->r->os_errno == EINVAL) {
		refusal_cause(c, "the filter '%.200s' is not understood by the kernel", filter);
		refusal_remedy(
			c, "fields and their types: cat /sys/kernel/tracing/events/*/%s/format",
			strchr(c->r->event, ':') ? strchr(c->r->event, ':') + 1 : c->r->event);
	} else {
		refusal_cause(c, "the filter '%.200s' is refused: %s", filter,
			      strerror(c->r->os_errno));
	}
}

static void refused_output(const struct refusal_case *c)
{
	if (c->r->is_trace && c->r->os_errno == EINVAL) {
		refusal_cause(c, "traces of two PMUs cannot share the buffer of a CPU or task");
		refusal_remedy(c, "record one at a time");
		return;
	}
	if (c->r->os_errno == EINVAL) {
		refusal_cause(
			c,
			"cannot share a buffer with the other events: those of a buffer are of one CPU "
			"or thread, of one clock, and written in one direction");
		refusal_remedy(c, "omit its clock and overwrite terms, or record it separately");
		return;
	}
	refusal_cause(c, "cannot share a buffer with the other events: %s",
		      strerror(c->r->os_errno));
}

enum clew_err rec_refusal_explain(const struct rec_refusal *r, const struct rec_host_facts *w,
				  struct rec_error *ret)
{
	struct rec_host_facts now;
	struct refusal_case c = {r, w, ret};

	if (!w) {
		rec_host_facts_read(r->pid, &now);
		c.w = &now;
		if (r->os_errno == EBUSY)
			os_perf_holder_find(&now.holder);
	}
	switch (r->call) {
	case REC_CALL_OPEN:
		refused_open(&c);
		break;
	case REC_CALL_MMAP:
	case REC_CALL_MMAP_AUX:
		refused_map(&c);
		break;
	case REC_CALL_OUTPUT:
		refused_output(&c);
		break;
	case REC_CALL_FILTER:
		refused_filter(&c);
		break;
	}
	return CLEW_OS;
}
