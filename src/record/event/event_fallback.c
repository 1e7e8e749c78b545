/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/caps.h"
#include "perfdata/perf_evlist.h"
#include "record/plan/event_list.h"

static unsigned int precise_of(const struct rec_event *e)
{
	return (unsigned int)(e->attr.flags >> PERF_ATTR_PRECISE_IP_SHIFT) & 3;
}

static void set_precise(struct rec_event *e, unsigned int precise)
{
	e->attr.flags &= ~(3ull << PERF_ATTR_PRECISE_IP_SHIFT);
	e->attr.flags |= (uint64_t)precise << PERF_ATTR_PRECISE_IP_SHIFT;
}

static const char *copy(struct rec_event_list *list, const char *s)
{
	return arena_strndup(&list->memory, s, strlen(s));
}

/* ":u", or "u" after what are modifiers already: "cycles:P", "cpu-clock/period=9/p". Breakpoints
 * and probes have other things after their last ':'. */
static const char *name_user_only(struct rec_event_list *list, const struct rec_event *e)
{
	const char *colon = strrchr(e->name, ':'), *slash = strrchr(e->name, '/');
	const char *last = colon > slash ? colon : slash;
	bool has_place = e->attr.type == PERF_TYPE_BREAKPOINT || e->probe_path || e->probe_symbol;
	bool is_open = last && (has_place ? last == slash && !last[1] : true);
	size_t n = strlen(e->name);
	char *name = arena_alloc(&list->memory, n + 3);

	if (name) {
		memcpy(name, e->name, n);
		memcpy(name + n, is_open ? "u" : ":u", is_open ? 2 : 3);
	}
	return name;
}

static bool to_cpu_clock(struct rec_event_list *list, struct rec_event *e, const char **ret_note)
{
	char name[64];

	e->attr.type = PERF_TYPE_SOFTWARE;
	e->attr.config = PERF_COUNT_SW_CPU_CLOCK;
	set_precise(e, 0);
	e->is_precise_max = false;
	/* As for any event without precision; where a level is omitted, names imply it. */
	if (!e->has_world && !(e->attr.flags & (PERF_ATTR_EXCLUDE_USER | PERF_ATTR_EXCLUDE_KERNEL)))
		e->attr.flags |= PERF_ATTR_EXCLUDE_GUEST;
	perf_attr_name(&e->attr, name, sizeof(name));
	e->name = copy(list, name);
	*ret_note = "this machine has no hardware counter for cycles: sampling by cpu-clock";
	return e->name;
}

static bool needs_privilege(const struct rec_event *e)
{
	bool is_probe = e->pmu && (!strcmp(e->pmu, "uprobe") || !strcmp(e->pmu, "kprobe"));
	bool is_in_kernel = e->attr.type == PERF_TYPE_BREAKPOINT && e->attr.config1 >> 63;

	return is_probe || is_in_kernel;
}

/* perf's rule: from paranoid level 2 on, others than root measure user space only. */
static bool to_user_only(struct rec_event_list *list, struct rec_event *e, const char **ret_note)
{
	struct os_caps caps;

	/* Neither would user space be more open to them. */
	if (needs_privilege(e))
		return false;
	os_caps_read(&caps);
	if (e->attr.flags & (PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_USER) ||
	    os_caps_can_profile_kernel(&caps))
		return false;
	e->attr.flags |= PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_HV;
	if (!e->is_tracepoint)
		e->name = name_user_only(list, e);
	if (list->has_noted_user_only)
		return e->name;
	list->has_noted_user_only = true;
	*ret_note = "kernel.perf_event_paranoid keeps the kernel from this user: recording user "
		    "space only (root can allow it: sysctl kernel.perf_event_paranoid=1)";
	return e->name;
}

bool rec_event_fall_back(struct rec_event_list *list, struct rec_event *e, int os_errno,
			 const char **ret_note)
{
	bool is_missing = os_errno == ENOENT || os_errno == ENXIO || os_errno == ENODEV;
	bool is_denied = os_errno == EACCES || os_errno == EPERM;

	*ret_note = NULL;
	if (is_denied)
		return to_user_only(list, e, ret_note);
	if (is_missing && e->attr.type == PERF_TYPE_HARDWARE &&
	    (uint32_t)e->attr.config == PERF_COUNT_HW_CPU_CYCLES)
		return to_cpu_clock(list, e, ret_note);
	if (e->is_precise_max && precise_of(e) && (os_errno == EINVAL || os_errno == EOPNOTSUPP)) {
		set_precise(e, precise_of(e) - 1);
		return true;
	}
	/* PMUs that cannot distinguish guests from the host refuse the default as a whole. */
	if (os_errno == EINVAL && !e->has_world && e->attr.flags & PERF_ATTR_EXCLUDE_GUEST) {
		e->attr.flags &= ~PERF_ATTR_EXCLUDE_GUEST;
		return true;
	}
	return false;
}

enum clew_err rec_events_default(struct rec_event_list *list)
{
	return rec_events_parse(list, "cycles:P", NULL);
}
