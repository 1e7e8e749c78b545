/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/file.h"
#include "os/perf/perf_event.h"
#include "os/proc.h"
#include "os/thread.h"
#include "record/open/aux_rules.h"
#include "record/open/open_impl.h"
#include "record/open/probe_defs.h"
#include "record/open/probe_keep.h"
#include "record/refusal/refusal.h"

enum {
	/* A locked-memory allowance of 516 KiB a CPU (the default) holds 512 KiB and the control
	 * page. */
	RING_BYTES = 512 * 1024,
	RING_BYTES_PRIVILEGED = 1024 * 1024,
	RING_BYTES_BESIDE_TRACE = 256 * 1024, /* the AUX area takes of the same allowance */
	ALL_RINGS_BYTES = 256 * 1024 * 1024,
	/* Samples with a copy of the stack: 100 ms of them at 5,000 Hz. */
	RING_BYTES_COPIES = 16 * 1024 * 1024,
};

static int cpu_of(const struct rec_counters *c, size_t place)
{
	return c->target->cpus.data[place / c->target->tids.nr];
}

static int tid_of(const struct rec_counters *c, size_t place)
{
	return c->target->tids.data[place % c->target->tids.nr];
}

bool rec_counter_is_wanted_on(const struct rec_counter *e, int cpu)
{
	if (!e->cpus.nr || cpu < 0)
		return true;
	for (size_t i = 0; i < e->cpus.nr; i++)
		if (e->cpus.data[i] == cpu)
			return true;
	return false;
}

static int open_in(const struct rec_counters *c, const struct rec_counter *e, size_t place,
		   int group)
{
	struct perf_attr attr = e->attr;
	uint8_t bytes[PERF_ATTR_SIZE_VER9];

	if (c->list.data[e->leader].aux && c->list.data[e->leader].aux->is_soft)
		attr.aux_action = 0; /* done by the source, not by the kernel */
	if (e->aux && e->aux->is_soft) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_DUMMY;
	} else if (e->probe_id) {
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = e->probe_id;
		attr.config2 = 0;
	} else if (e->event && e->event->probe_path)
		attr.config1 = (uint64_t)(uintptr_t)e->event->probe_path;
	else if (e->event && e->event->probe_symbol)
		attr.config1 = (uint64_t)(uintptr_t)e->event->probe_symbol;
	perf_attr_for_kernel(&attr, bytes);
	if (e->cgroup_fd >= 0)
		return os_perf_open(bytes, e->cgroup_fd, cpu_of(c, place), group,
				    OS_PERF_PID_CGROUP);
	return os_perf_open(bytes, tid_of(c, place), cpu_of(c, place), group, 0);
}

int rec_counter_open_at(const struct rec_counters *c, const struct rec_counter *e, size_t place)
{
	const struct rec_counter *leader = &c->list.data[e->leader];
	int group = leader == e ? -1 : leader->fds[place];

	if (leader != e && group < 0)
		return -ESRCH; /* its leader's task has gone */
	return open_in(c, e, place, group);
}

/* Copy the event's own part of the attr again, after a fallback changed the event; what the session
 * added stays. */
static void take_over(struct rec_counter *e)
{
	const uint64_t event_flags = PERF_ATTR_EXCLUDE_USER | PERF_ATTR_EXCLUDE_KERNEL |
				     PERF_ATTR_EXCLUDE_HV | PERF_ATTR_EXCLUDE_HOST |
				     PERF_ATTR_EXCLUDE_GUEST | 3ull << PERF_ATTR_PRECISE_IP_SHIFT;

	e->name = e->event->name;
	e->attr.type = e->event->attr.type;
	e->attr.config = e->event->attr.config;
	e->attr.flags = (e->attr.flags & ~event_flags) | (e->event->attr.flags & event_flags);
}

/* The machine has no such event. */
static bool is_missing(int err)
{
	return err == -ENOENT || err == -ENXIO || err == -ENODEV || err == -ENOSYS;
}

/* Counting shows what the others have counted. */
static bool is_counted_without(const struct rec_counters *c, int err)
{
	return c->is_counting && (is_missing(err) || err == -EOPNOTSUPP || err == -EINVAL);
}

/* Why an event is not counted: always where it may be a mistake. */
static enum clew_err say_refused(const struct rec_counters *c, const struct rec_counter *e,
				 const struct rec_ui *ui)
{
	struct rec_error why;

	if (e->refused != -EINVAL && !c->is_verbose)
		return CLEW_OK;
	rec_counter_refuse(c, e, 0, (struct rec_refusal){.os_errno = e->refused}, &why);
	rec_say(ui, REC_NOTE, "%s: not counted: %s", e->name, why.text);
	return CLEW_OK;
}

/* Change what can be changed after the first refusal. @return try again? */
static bool has_substitute(struct rec_counters *c, struct rec_counter *e, int err,
			   const struct rec_ui *ui)
{
	const char *note = NULL;

	if (!e->event || (c->is_counting && is_missing(err)))
		return false;
	if (rec_event_fall_back(c->events, e->event, -err, &note)) {
		take_over(e);
		if (note)
			rec_say(ui, REC_NOTE, "%s", note);
		return true;
	}
	if (e->event->is_weak && e->leader != (uint32_t)(e - c->list.data)) {
		e->leader = (uint32_t)(e - c->list.data);
		e->is_on = c->list.data[0].is_on;
		e->attr.flags |= PERF_ATTR_DISABLED |
				 (c->list.data[0].attr.flags & PERF_ATTR_ENABLE_ON_EXEC);
		return true;
	}
	return false;
}

/* By opening, as versions say nothing. The trace itself may be open there: that it is in use is
 * found after what it can do. */
static enum rec_pausing pausing_of(const struct rec_counters *c, const struct rec_counter *trace,
				   size_t place)
{
	struct rec_counter paused = *trace;
	int fd;

	if (!trace->aux)
		return REC_PAUSING_UNKNOWN;
	paused.attr.aux_action = PERF_AUX_START_PAUSED;
	fd = open_in(c, &paused, place, -1);
	if (fd >= 0)
		os_close(fd);
	if (fd >= 0 || fd == -EBUSY)
		return REC_PAUSING_POSSIBLE;
	return fd == -EOPNOTSUPP ? REC_PAUSING_IMPOSSIBLE : REC_PAUSING_UNKNOWN;
}

enum clew_err rec_counter_refuse(const struct rec_counters *c, const struct rec_counter *e,
				 size_t place, struct rec_refusal r, struct rec_error *error)
{
	r.os_errno = r.os_errno < 0 ? -r.os_errno : r.os_errno;
	r.attr = &e->attr;
	r.event = e->name;
	r.pmu = e->event ? e->event->pmu : NULL;
	r.pid = tid_of(c, place);
	r.cpu = cpu_of(c, place);
	r.has_leader = &c->list.data[e->leader] != e;
	r.is_trace = e->aux;
	if (r.has_leader && c->list.data[e->leader].event)
		r.leader_pmu = c->list.data[e->leader].event->pmu;
	if (e->attr.aux_action && r.call == REC_CALL_OPEN)
		r.pausing = pausing_of(c, &c->list.data[e->leader], place);
	return rec_refusal_explain(&r, NULL, error);
}

/* What a group counts is counted together, or not at all. */
static enum clew_err skip_member(const struct rec_counters *c, const struct rec_counter *e,
				 const struct rec_ui *ui)
{
	rec_say(ui, REC_NOTE, "%s: not counted: '%s', which leads its group, is not supported",
		e->name, c->list.data[e->leader].name);
	return CLEW_OK;
}

static enum clew_err opened_nowhere(const struct rec_counter *e, int err, struct rec_error *error)
{
	if (err == -ESRCH)
		return rec_fail(error, CLEW_NOT_FOUND, "all named tasks have ended");
	if (e->event && e->event->is_spread)
		return CLEW_OK; /* the other kind of cores has its own */
	return rec_fail(error, CLEW_INVALID, "the event '%s' exists on none of the chosen CPUs",
			e->name);
}

static enum clew_err open_counter(struct rec_counters *c, struct rec_counter *e,
				  const struct rec_ui *ui, struct rec_error *error)
{
	size_t nr = 0;
	int fd = 0, err, refused = 0;

	if (c->list.data[e->leader].refused)
		return skip_member(c, e, ui);
	for (size_t i = 0; i < c->nr_places; i++) {
		if (!rec_counter_is_wanted_on(e, cpu_of(c, i)))
			continue;
		do {
			fd = rec_counter_open_at(c, e, i);
		} while (fd < 0 && !nr && has_substitute(c, e, fd, ui));
		if (fd == -ESRCH && c->target->tids.nr > 1)
			continue;
		if (is_counted_without(c, fd)) {
			refused = fd;
			continue;
		}
		err = fd < 0 ? fd : os_perf_id(fd, &e->ids[i]);
		e->fds[i] = fd < 0 ? -1 : fd;
		if (err < 0)
			return rec_counter_refuse(c, e, i, (struct rec_refusal){.os_errno = err},
						  error);
		nr++;
	}
	if (nr)
		return CLEW_OK;
	e->refused = refused;
	if (refused)
		return say_refused(c, e, ui);
	return opened_nowhere(e, fd, error);
}

enum clew_err rec_counters_open(struct rec_counters *c, const struct rec_ui *ui,
				struct rec_error *error)
{
	enum clew_err err = CLEW_OK;

	rec_aux_warn(c, ui);
	os_raise_file_limit();
	if (rec_probe_defs_make(c, ui) != CLEW_OK)
		return rec_fail_memory(error);
	for (int turn = 0; turn < 2; turn++) /* who tracks tasks is there before all others */
		vec_for_each (&c->list, e)
			if (err == CLEW_OK && (!e->event && e->is_tracking) == !turn)
				err = open_counter(c, e, ui, error);
	if (err == CLEW_OK)
		rec_probes_keep(c, ui);
	return err;
}

bool rec_may_lock_memory(void)
{
	struct os_caps caps;

	os_caps_read(&caps);
	return os_caps_has(&caps, OS_CAP_IPC_LOCK);
}

/* What a user may lock for each of so many rings: a share for each CPU, and RLIMIT_MEMLOCK. */
static size_t allowed_bytes(size_t nr_rings)
{
	struct os_caps caps;
	uint64_t all;

	os_caps_read(&caps);
	all = caps.memlock_bytes < ALL_RINGS_BYTES ? caps.memlock_bytes : ALL_RINGS_BYTES;
	all += caps.mlock_kb * 1024 * os_nr_cpus_usable();
	return (size_t)(all / nr_rings);
}

static size_t choose_ring_bytes(const struct rec_counters *c, size_t nr_rings)
{
	size_t bytes = rec_may_lock_memory() ? RING_BYTES_PRIVILEGED : RING_BYTES, allowed;
	bool has_copies = false;

	vec_for_each (&c->list, e) {
		has_copies |= e->attr.sample_type & PERF_SAMPLE_STACK_USER;
		if (e->aux && bytes == RING_BYTES)
			bytes = RING_BYTES_BESIDE_TRACE;
	}
	if (has_copies && rec_may_lock_memory()) {
		bytes = RING_BYTES_COPIES;
	} else if (has_copies) {
		allowed = allowed_bytes(nr_rings);
		while (bytes * 2 + os_page_bytes() <= allowed && bytes < RING_BYTES_COPIES)
			bytes *= 2;
	}
	while (bytes > 4 * os_page_bytes() && bytes * nr_rings > ALL_RINGS_BYTES)
		bytes /= 2;
	return bytes;
}

static int map_smaller(int fd, size_t *bytes, bool may_shrink, bool is_backward,
		       struct os_ring *ret)
{
	int err;

	while ((err = os_ring_map(fd, *bytes, is_backward, ret)) == -EPERM && may_shrink &&
	       *bytes > 4 * os_page_bytes())
		*bytes /= 2;
	return err;
}

static enum clew_err map_ring(struct rec_counters *c, const struct rec_ring *of,
			      const struct rec_options *o, struct rec_error *error)
{
	const struct rec_counter *owner = of->owner;
	size_t place = of->place;
	struct rec_ring r = *of;
	int err;

	r.fd = owner->fds[place];
	r.cpu = cpu_of(c, place);
	r.tid = r.cpu < 0 ? tid_of(c, place) : -1;
	err = map_smaller(r.fd, &c->data_bytes, !o->data_bytes, r.is_backward, &r.ring);
	if (err)
		return rec_counter_refuse(c, owner, place,
					  (struct rec_refusal){.call = REC_CALL_MMAP,
							       .os_errno = err,
							       .map_bytes = c->data_bytes},
					  error);
	if (!vec_push(&c->rings, r)) {
		os_ring_unmap(&r.ring);
		return rec_fail_memory(error);
	}
	return CLEW_OK;
}

/* The event that owns a CPU's (or task's) ring: the AUX event where there is one, as its area hangs
 * on the ring; else the first. */
static const struct rec_counter *ring_owner(const struct rec_counters *c, size_t from, size_t to,
					    bool is_backward, size_t *ret_place)
{
	const struct rec_counter *found = NULL;

	vec_for_each (&c->list, e) {
		if (!(e->attr.flags & PERF_ATTR_WRITE_BACKWARD) == is_backward)
			continue;
		for (size_t i = from; i < to && (!found || (e->aux && found != e)); i++) {
			if (e->fds[i] < 0)
				continue;
			found = e;
			*ret_place = i;
		}
	}
	return found;
}

enum clew_err rec_counters_redirect(const struct rec_counters *c, size_t from, size_t to, int owner,
				    bool is_backward, struct rec_error *error)
{
	vec_for_each (&c->list, e) {
		if (!(e->attr.flags & PERF_ATTR_WRITE_BACKWARD) == is_backward)
			continue;
		for (size_t i = from; i < to; i++) {
			int err = e->fds[i] < 0 || e->fds[i] == owner
					? 0
					: os_perf_set_output(e->fds[i], owner);

			if (err)
				return rec_counter_refuse(
					c, e, i,
					(struct rec_refusal){.call = REC_CALL_OUTPUT,
							     .os_errno = err},
					error);
		}
	}
	return CLEW_OK;
}

/* One ring, and all events of the places [from, to) in it. */
static enum clew_err map_places(struct rec_counters *c, size_t from, size_t to, bool is_backward,
				const struct rec_options *o, struct rec_error *error)
{
	struct rec_ring r = {.from = from, .to = to, .is_backward = is_backward};
	enum clew_err err;

	r.owner = ring_owner(c, from, to, is_backward, &r.place);
	if (!r.owner)
		return CLEW_OK;
	err = map_ring(c, &r, o, error);
	if (err == CLEW_OK)
		err = rec_counters_redirect(c, from, to, r.owner->fds[r.place], is_backward, error);
	return err;
}

enum clew_err rec_counters_filter(const struct rec_counters *c, size_t from, size_t to,
				  struct rec_error *error)
{
	vec_for_each (&c->list, e) {
		const char *filter = e->event ? e->event->filter : NULL;

		for (size_t i = from; filter && i < to; i++) {
			int err = e->fds[i] < 0 ? 0 : os_perf_set_filter(e->fds[i], filter);

			if (err)
				return rec_counter_refuse(
					c, e, i,
					(struct rec_refusal){.call = REC_CALL_FILTER,
							     .os_errno = err,
							     .filter = filter},
					error);
		}
	}
	return CLEW_OK;
}

enum clew_err rec_counters_map(struct rec_counters *c, const struct rec_options *o,
			       struct rec_error *error)
{
	/* With CPUs, tasks of one CPU share a ring; without, each task has its own. */
	bool is_per_cpu = c->target->cpus.data[0] >= 0;
	size_t step = is_per_cpu ? c->target->tids.nr : 1;
	enum clew_err err = CLEW_OK;

	c->data_bytes = o->data_bytes ? o->data_bytes : choose_ring_bytes(c, c->nr_places / step);
	for (size_t at = 0; at < c->nr_places && err == CLEW_OK; at += step) {
		err = map_places(c, at, at + step, false, o, error);
		if (err == CLEW_OK && c->has_backward)
			err = map_places(c, at, at + step, true, o, error);
	}
	return err == CLEW_OK ? rec_counters_filter(c, 0, c->nr_places, error) : err;
}
