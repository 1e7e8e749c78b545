/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "record/refusal/refusal_text.h"

/*
 * What perf_event_open() allows whom. Spec: Linux Documentation/admin-guide/perf-security.rst and
 * kernel/events/core.c, perf_event_open().
 *
 *   kernel.perf_event_paranoid   without CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8)
 *   -1                           all
 *    0                           no raw samples of tracepoints
 *    1                           ... no events of whole CPUs
 *    2                           ... nothing of the kernel
 *    3 and above                 nothing (Debian's and Android's addition)
 */

static bool is_system_wide(const struct refusal_case *c)
{
	return c->r->pid == -1;
}

static bool counts_kernel(const struct refusal_case *c)
{
	return !refusal_has(c, PERF_ATTR_EXCLUDE_KERNEL);
}

static bool wants_physical(const struct refusal_case *c)
{
	return c->r->attr->sample_type & PERF_SAMPLE_PHYS_ADDR;
}

static bool is_raw_tracepoint(const struct refusal_case *c)
{
	return c->r->attr->type == PERF_TYPE_TRACEPOINT &&
	       c->r->attr->sample_type & PERF_SAMPLE_RAW;
}

/* The highest level at which the event as asked for is open to all. */
static int level_needed(const struct refusal_case *c)
{
	if (is_raw_tracepoint(c))
		return -1;
	if (is_system_wide(c))
		return 0;
	return counts_kernel(c) || wants_physical(c) ? 1 : 2;
}

static const char *what_needs_it(const struct refusal_case *c)
{
	if (is_raw_tracepoint(c))
		return "raw samples of tracepoints";
	if (is_system_wide(c))
		return "recording all processes of a CPU";
	if (counts_kernel(c))
		return "recording what happens in the kernel";
	return wants_physical(c) ? "recording physical addresses" : "recording";
}

static void advise_level(const struct refusal_case *c, int level)
{
	const char *program = *c->w->program ? c->w->program : "$(command -v clew)";
	const char *instead = "";

	if (!is_system_wide(c) && counts_kernel(c) && !is_raw_tracepoint(c) && !wants_physical(c))
		instead = "record user space only (-e EVENT:u), or ";
	refusal_remedy(
		c,
		"%ssudo sysctl kernel.perf_event_paranoid=%d, or give this program the right: "
		"sudo setcap " REC_SETCAP " %s, or run it as root",
		instead, level, program);
}

static void needs_capability(const struct refusal_case *c, const char *what, const char *upper,
			     const char *lower)
{
	const char *program = *c->w->program ? c->w->program : "$(command -v clew)";

	refusal_cause(c, "%s needs the capability %s", what, upper);
	refusal_remedy(c, "run as root, or: sudo setcap %s %s", lower, program);
}

static bool is_others_process(const struct refusal_case *c)
{
	return c->w->is_uid_known && c->w->pid_uid != c->w->caps.uid;
}

static void others_process(const struct refusal_case *c)
{
	refusal_cause(c, "process %d belongs to user %u, but this is user %u", c->r->pid,
		      c->w->pid_uid, c->w->caps.uid);
	refusal_remedy(c, "run as root or as that user, or: sudo setcap " REC_SETCAP " %s",
		       *c->w->program ? c->w->program : "$(command -v clew)");
}

/* Some things are for the privileged at any level. @return whether it is one of them. */
static bool is_always_privileged(const struct refusal_case *c)
{
	const struct perf_attr *a = c->r->attr;

	bool is_perfmon = os_caps_is_perfmon(&c->w->caps);

	if (!is_perfmon && refusal_has(c, PERF_ATTR_NAMESPACES))
		needs_capability(c, "--namespaces", "CAP_PERFMON", REC_SETCAP);
	else if (a->type == PERF_TYPE_BREAKPOINT && a->config1 >> 63)
		needs_capability(c, "a breakpoint on a kernel address", "CAP_SYS_ADMIN",
				 "cap_sys_admin=ep");
	else if (!is_perfmon && c->r->pmu &&
		 (!strcmp(c->r->pmu, "uprobe") || !strcmp(c->r->pmu, "kprobe")))
		needs_capability(c, "placing a probe", "CAP_PERFMON", REC_SETCAP);
	else
		return false;
	return true;
}

/* The sysctl allows it, or capabilities do: something else is in the way. */
static void refused_nevertheless(const struct refusal_case *c)
{
	const struct os_caps *caps = &c->w->caps;

	if (caps->seccomp == 2) {
		refusal_cause(c,
			      "the seccomp filter refuses perf_event_open: this is a sandbox%s%s",
			      caps->is_container ? " of " : "",
			      caps->is_container ? caps->container : "");
		refusal_remedy(
			c, "docker run --cap-add PERFMON --security-opt seccomp=unconfined ..., "
			   "or record from the host with -p or -G");
	} else if (!caps->is_initial_user_ns) {
		refusal_cause(c, "root of this user namespace is not root of the machine, which is "
				 "required here");
		refusal_remedy(
			c,
			"record from the host, or: sudo sysctl kernel.perf_event_paranoid=%d "
			"there",
			level_needed(c));
	} else if (strstr(c->w->lockdown, "[confidentiality]")) {
		refusal_cause(c, "the kernel is locked down (lockdown=confidentiality)");
		refusal_remedy(c, "boot with lockdown=integrity, or without Secure Boot");
	} else {
		refusal_cause(c,
			      "a security module of the kernel (SELinux, AppArmor) refuses it: %s",
			      strerror(c->r->os_errno));
		refusal_remedy(
			c, "`sudo dmesg | tail` and `sudo ausearch -m avc -ts recent` say which "
			   "rule");
	}
}

void refusal_of_permission(const struct refusal_case *c)
{
	const struct os_caps *caps = &c->w->caps;
	int level = level_needed(c);

	if (os_caps_has(caps, OS_CAP_SYS_ADMIN) ||
	    (!caps->is_initial_user_ns && caps->paranoid > level)) {
		refused_nevertheless(c);
	} else if (is_always_privileged(c)) {
		return;
	} else if (os_caps_is_perfmon(caps)) {
		refused_nevertheless(c);
	} else if (caps->paranoid != OS_PARANOID_UNKNOWN && caps->paranoid > level) {
		refusal_cause(c,
			      "%s is closed to this user: kernel.perf_event_paranoid is %d, and it "
			      "takes %d or less, or the capability CAP_PERFMON",
			      what_needs_it(c), caps->paranoid, level);
		advise_level(c, level);
	} else if (is_others_process(c)) {
		others_process(c);
	} else {
		refused_nevertheless(c);
	}
}
