/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/open/counters.h"

#include <stdio.h>
#include <string.h>

#include "os/file.h"
#include "os/perf/cgroup_root.h"
#include "os/perf/perf_event.h"
#include "os/proc.h"
#include "record/open/aux_rules.h"
#include "record/open/open_impl.h"
#include "record/open/probe_defs.h"

/* The ids come last in every record, so that a reader finds them without knowing the event. */
static void set_ids(struct rec_counters *c, const struct rec_options *o)
{
	if (c->list.nr < 2 && !o->with_identifier)
		return;
	vec_for_each (&c->list, e) {
		e->attr.sample_type |= PERF_SAMPLE_IDENTIFIER;
		e->attr.read_format |= PERF_FORMAT_ID;
	}
}

/* ":S": only the leader samples, and reads the whole group with each sample. */
static void set_groups(struct rec_counters *c)
{
	vec_for_each (&c->list, e) {
		struct rec_counter *leader = &c->list.data[e->leader];

		if (e != leader)
			e->attr.flags &= ~PERF_ATTR_DISABLED; /* goes with its leader */
		if (!(leader->attr.sample_type & PERF_SAMPLE_READ))
			continue;
		e->attr.read_format |= PERF_FORMAT_ID | PERF_FORMAT_GROUP;
		e->attr.flags &= ~PERF_ATTR_INHERIT; /* refused with groups before Linux 6.13 */
		if (e != leader) {
			e->attr.sample_period = 0;
			e->attr.flags &= ~PERF_ATTR_FREQ;
			e->attr.sample_type = leader->attr.sample_type;
			e->stacks = leader->stacks;
		}
	}
}

static bool is_starting_at_exec(const struct rec_options *o, const struct rec_target *t)
{
	return o->argv && !t->is_system_wide && !t->is_attached && !o->delay_ms;
}

/* Sideband from an event of its own: it must run before, or outlive, what the user asked for. */
static bool needs_dummy(const struct rec_counters *c, const struct rec_options *o,
			const struct rec_target *t)
{
	const struct rec_counter *first = c->list.data;

	return !is_starting_at_exec(o, t) || o->control || first->aux || first->cpus.nr ||
	       first->attr.type == PERF_TYPE_BREAKPOINT ||
	       !(first->attr.sample_type & PERF_SAMPLE_TIME) ||
	       first->attr.flags & PERF_ATTR_WRITE_BACKWARD;
}

static enum clew_err add_dummy(struct rec_counters *c, const struct rec_options *o,
			       const struct rec_target *t)
{
	static const struct rec_event plain;
	struct rec_options bare = {.cpus = o->cpus,
				   .with_cpu = o->with_cpu,
				   .with_cgroups = o->with_cgroups,
				   .has_clockid = o->has_clockid,
				   .clockid = o->clockid,
				   .period = 1};
	struct rec_counter d = {
		.name = "dummy:u",
		.leader = (uint32_t)c->list.nr,
		.cgroup_fd = -1,
		.keep_fd = -1,
		.is_tracking = true,
		.is_enabled_at_open = t->is_system_wide || t->is_attached,
		.attr = {.type = PERF_TYPE_SOFTWARE,
			 .config = PERF_COUNT_SW_DUMMY,
			 .flags = PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_HV},
	};

	rec_attr_setup(&d.attr, &plain, &bare, t);
	rec_attr_track(&d.attr, o);
	if (d.is_enabled_at_open)
		d.attr.flags &= ~PERF_ATTR_DISABLED;
	else
		d.attr.flags |= PERF_ATTR_ENABLE_ON_EXEC;
	return vec_push(&c->list, d) ? CLEW_OK : CLEW_NO_MEMORY;
}

/* Address filters that the kernel refuses without a word, or that filter nothing. */
static enum clew_err check_filter(const struct rec_event *e, const struct perf_attr *attr,
				  const struct rec_target *t, struct rec_error *error)
{
	if (e->filters_user && t->is_system_wide)
		return rec_fail(
			error, CLEW_INVALID,
			"'%s': addresses of a file filter the trace of tasks (a command, -p, "
			"-t), not of whole CPUs (-a, -C)",
			e->name);
	if (e->filters_kernel && !e->filters_user && attr->flags & PERF_ATTR_EXCLUDE_KERNEL)
		return rec_fail(
			error, CLEW_INVALID,
			"'%s': the filter is of the kernel's addresses, and the kernel is "
			"not traced (:u, --all-user); addresses of a program need its file: "
			"'%.200s@FILE'",
			e->name, e->filter);
	return CLEW_OK;
}

static bool is_grouped(const struct rec_event_list *events, const struct rec_event *e)
{
	size_t nr = 0;

	vec_for_each (&events->events, other)
		nr += other->leader == e->leader;
	return nr > 1;
}

static enum clew_err add_event(struct rec_counters *c, struct rec_event *e,
			       const struct rec_options *o, const struct rec_target *t,
			       struct rec_error *error)
{
	struct rec_counter n = {.attr = e->attr,
				.name = e->name,
				.event = e,
				.leader = e->leader,
				.cgroup_fd = -1,
				.keep_fd = -1,
				.aux = e->aux,
				.keeps_regs = o->has_user_regs,
				.stacks = rec_stacks_of(e, o)};
	enum clew_err err;

	if (e->max_events)
		return rec_fail(error, CLEW_INVALID,
				"'%s': a limit of events (nr=) is not supported; -D and --control "
				"bound a recording in time, --max-size in size",
				e->name);
	if (o->is_counting && e->aux)
		return rec_fail(error, CLEW_INVALID,
				"'%s' records a trace and counts nothing: 'clew record' takes it",
				e->name);
	if (o->is_counting) {
		e->is_precise_max = false; /* precision is of samples: x86 refuses it here */
		e->attr.flags &= ~(3ull << PERF_ATTR_PRECISE_IP_SHIFT);
		n.attr.flags = e->attr.flags;
		n.stacks = REC_STACKS_NONE;
		rec_attr_count(&n.attr, e, o, t, is_grouped(c->events, e));
	} else {
		rec_attr_setup(&n.attr, e, o, t);
	}
	if (e->aux && e->aux->is_soft) /* it sees no other mode, whatever was spelled */
		n.attr.flags |= PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_HV;
	err = check_filter(e, &n.attr, t, error);
	if (err != CLEW_OK)
		return err;
	if (is_starting_at_exec(o, t) && e->leader == c->list.nr)
		n.attr.flags |= PERF_ATTR_ENABLE_ON_EXEC;
	c->has_backward |= (n.attr.flags & PERF_ATTR_WRITE_BACKWARD) != 0;
	if (e->cpus) { /* a task's event, too, opens on the CPUs of its PMU only */
		err = rec_cpus_parse(e->cpus, &n.cpus, error);
		if (err != CLEW_OK)
			return err;
	}
	return vec_push(&c->list, n) ? CLEW_OK : rec_fail_memory(error);
}

static enum clew_err open_cgroup(const char *root, const char *name, size_t len, int *ret_fd,
				 struct rec_error *error)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%.*s", root, (int)len, name);
	*ret_fd = os_open_directory(path);
	if (*ret_fd < 0)
		return rec_fail_os(error, *ret_fd, "-G: cannot open the cgroup '%s'", path);
	return CLEW_OK;
}

/* -G: the n-th name is the n-th event's; the last serves the events that are left. */
static enum clew_err set_cgroups(struct rec_counters *c, const struct rec_options *o,
				 struct rec_error *error)
{
	const char *at = o->cgroups, *name = at;
	enum clew_err err = CLEW_OK;
	size_t len = 0;
	char root[1024];

	if (!o->cgroups)
		return CLEW_OK;
	if (!c->target->is_system_wide)
		return rec_fail(error, CLEW_INVALID,
				"-G needs -a or -C: a cgroup is watched on CPUs, not on tasks");
	if (!os_cgroup_root(root, sizeof(root)))
		return rec_fail(error, CLEW_NOT_FOUND,
				"-G: no cgroup file system is mounted; as root: mount -t cgroup2 "
				"none /sys/fs/cgroup");
	vec_for_each (&c->list, e) {
		if (!e->event)
			continue;
		if (*at || e == c->list.data) {
			name = at;
			len = strcspn(at, ",");
			at += len + (at[len] == ',');
		}
		if (len && err == CLEW_OK)
			err = open_cgroup(root, name, len, &e->cgroup_fd, error);
	}
	return err;
}

/* A trace that stands still is seen by its times, beside those of another event (trace_times.h). */
static void want_times(struct rec_counters *c)
{
	bool has_trace = false;

	vec_for_each (&c->list, e)
		has_trace |= e->aux != NULL;
	vec_for_each (&c->list, e)
		if (has_trace && (e->aux || (e->is_tracking && !e->event)))
			e->attr.read_format |=
				PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

/* What records have besides samples: the traces' rules, side-band, ids and times. */
static enum clew_err add_recording(struct rec_counters *c, const struct rec_options *o,
				   const struct rec_target *target, struct rec_error *error)
{
	enum clew_err err = rec_aux_rules(c, o, error);

	if (err != CLEW_OK)
		return err;
	if (needs_dummy(c, o, target)) {
		if (add_dummy(c, o, target) != CLEW_OK)
			return rec_fail_memory(error);
	} else {
		c->list.data[0].is_tracking = true;
		rec_attr_track(&c->list.data[0].attr, o);
	}
	set_ids(c, o);
	if (o->stacks.kind == REC_STACKS_KERNEL_DEFERRED)
		vec_for_each (&c->list, e)
			e->attr.flags |= e->is_tracking ? PERF_ATTR_DEFER_OUTPUT : 0;
	want_times(c);
	return CLEW_OK;
}

enum clew_err rec_counters_build(struct rec_counters *c, struct rec_event_list *events,
				 const struct rec_options *o, const struct rec_target *target,
				 struct rec_error *error)
{
	enum clew_err err = CLEW_OK;

	c->target = target;
	c->events = events;
	c->is_counting = o->is_counting;
	c->is_verbose = o->is_verbose;
	rec_probe_features(&c->features);
	for (size_t i = 0; i < events->events.nr && err == CLEW_OK; i++)
		err = add_event(c, &events->events.data[i], o, target, error);
	if (err != CLEW_OK)
		return err;
	set_groups(c);
	if (!o->is_counting)
		err = add_recording(c, o, target, error);
	if (err != CLEW_OK)
		return err;
	vec_for_each (&c->list, e)
		rec_features_fit(&c->features, &e->attr);
	c->nr_places = target->cpus.nr * target->tids.nr;
	vec_for_each (&c->list, e) {
		e->fds = arena_alloc(&c->memory, c->nr_places * sizeof(*e->fds));
		e->ids = arena_zalloc(&c->memory, c->nr_places * sizeof(*e->ids));
		e->before = arena_zalloc(&c->memory, c->nr_places * sizeof(*e->before));
		e->is_on = &c->list.data[e->leader] != e || is_starting_at_exec(o, target);
		if (!e->fds || !e->ids || !e->before)
			return rec_fail_memory(error);
		memset(e->fds, 0xff, c->nr_places * sizeof(*e->fds));
	}
	return set_cgroups(c, o, error);
}

static bool has_deferred(const struct rec_counters *c)
{
	vec_for_each (&c->list, e)
		if (rec_stacks_is_rewritten(e->stacks) || e->stacks == REC_STACKS_KERNEL_DEFERRED)
			return true;
	return false;
}

uint64_t rec_counter_tracepoint(const struct rec_counter *e)
{
	return e->attr.type == PERF_TYPE_TRACEPOINT ? e->attr.config : e->probe_id;
}

bool rec_counters_want_build_ids(const struct rec_counters *c)
{
	vec_for_each (&c->list, e)
		if (e->is_tracking && e->attr.flags & PERF_ATTR_BUILD_ID)
			return true;
	return false;
}

enum clew_err rec_counters_evlist(const struct rec_counters *c, struct perf_evlist *ret)
{
	bool is_deferred = has_deferred(c);

	vec_for_each (&c->list, e) {
		struct perf_attr attr = e->attr;
		struct perf_evsel *sel;
		uint64_t *ids = arena_alloc(&ret->memory, (c->nr_places + 1) * sizeof(*ids));
		uint32_t nr = 0;

		for (size_t i = 0; ids && i < c->nr_places; i++)
			if (e->fds[i] >= 0)
				ids[nr++] = e->ids[i];
		if (e->event && (e->event->probe_path || e->event->probe_symbol))
			attr.config1 = 0; /* our pointer to the name */
		rec_attr_of_file(&attr, e->stacks, e->keeps_regs, e->is_tracking, is_deferred);
		sel = ids ? perf_evlist_add(ret, &attr, e->name, (const uint8_t *)ids, nr, false)
			  : NULL;
		if (!sel)
			return CLEW_NO_MEMORY;
		sel->leader = e->leader;
		sel->group_name = e->event ? e->event->group_name : NULL;
		if (e->leader != sel->index)
			ret->evsels.data[e->leader]->nr_group++;
	}
	for (size_t i = 0; i < ret->evsels.nr; i++)
		if (ret->evsels.data[i]->nr_group)
			ret->evsels.data[i]->nr_group++; /* itself */
	return CLEW_OK;
}

static void switch_places(const struct rec_counters *c, const struct rec_counter *e, bool is_on)
{
	for (size_t i = 0; i < c->nr_places; i++) {
		if (e->fds[i] < 0)
			continue;
		if (is_on)
			os_perf_enable(e->fds[i]);
		else
			os_perf_disable(e->fds[i]);
	}
}

static void switch_leader(const struct rec_counters *c, struct rec_counter *e, bool is_on)
{
	e->is_on = is_on;
	if (!is_on || !e->aux || !c->is_held)
		switch_places(c, e, is_on);
}

/* What is switched on under a running trace sleeps until the group is next scheduled in. */
static void switch_under_trace(const struct rec_counters *c, struct rec_counter *e, bool is_on)
{
	const struct rec_counter *leader = &c->list.data[e->leader];

	e->is_on = is_on;
	switch_places(c, leader, false);
	switch_places(c, e, is_on);
	if (leader->is_on && !c->is_held)
		switch_places(c, leader, true);
}

static bool is_switched(const struct rec_counter *e, const char *name, bool is_on)
{
	if (e->is_enabled_at_open || (name && strcmp(name, e->name) != 0))
		return false;
	return e->event || name || is_on; /* tasks are tracked through pauses */
}

/* Traces come on last and go off first: what acts on them is then at work, and what describes
 * them is recorded. */
size_t rec_counters_switch(struct rec_counters *c, const char *name, bool is_on)
{
	size_t nr = 0;

	for (int turn = 0; turn < 2; turn++) {
		vec_for_each (&c->list, e) {
			const struct rec_counter *leader = &c->list.data[e->leader];

			if ((leader->aux != NULL) != (turn == is_on) ||
			    !is_switched(e, name, is_on))
				continue;
			nr++;
			if (e == leader)
				switch_leader(c, e, is_on);
			else if (leader->aux && (name || (is_on && !e->is_on)))
				switch_under_trace(c, e, is_on);
		}
	}
	return nr;
}

bool rec_counter_traces(const struct rec_counters *c, const struct rec_counter *e)
{
	return e->aux && e->is_on && &c->list.data[e->leader] == e;
}

bool rec_counters_trace(const struct rec_counters *c)
{
	vec_for_each (&c->list, e)
		if (rec_counter_traces(c, e))
			return true;
	return false;
}

void rec_counters_hold_traces(struct rec_counters *c, bool is_held)
{
	c->is_held = is_held;
	vec_for_each (&c->list, e)
		if (rec_counter_traces(c, e))
			switch_places(c, e, !is_held);
}

void rec_counters_restart(const struct rec_counters *c, const struct rec_ring *r)
{
	vec_for_each (&c->list, e) {
		for (size_t i = r->from; rec_counter_traces(c, e) && i < r->to; i++) {
			if (e->fds[i] < 0)
				continue;
			os_perf_disable(e->fds[i]);
			os_perf_enable(e->fds[i]);
		}
	}
}

bool rec_counters_lost(const struct rec_counters *c, size_t counter, size_t place,
		       struct rec_lost *ret)
{
	const struct rec_counter *e = &c->list.data[counter];
	uint64_t format = e->attr.read_format, words[64], at = 1;
	long n;

	if (!(format & PERF_FORMAT_LOST) || format & PERF_FORMAT_GROUP)
		return false;
	*ret = (struct rec_lost){e->ids[place], e->before[place].lost};
	n = e->fds[place] < 0 ? 0 : os_read(e->fds[place], words, sizeof(words));
	at += (format & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0;
	at += (format & PERF_FORMAT_TOTAL_TIME_RUNNING) != 0;
	at += (format & PERF_FORMAT_ID) != 0;
	if (n >= (long)(8 * (at + 1)))
		ret->lost += words[at];
	return ret->lost;
}

uint64_t rec_counter_count(const struct rec_counter *e, size_t place)
{
	uint64_t words[8];

	if (e->fds[place] < 0 || os_read(e->fds[place], words, sizeof(words)) < 8)
		return e->before[place].count;
	return e->before[place].count + words[0];
}

uint64_t rec_counters_triggers(const struct rec_counters *c)
{
	uint64_t sum = 0;

	vec_for_each (&c->list, e)
		for (size_t i = 0; e->event && e->event->takes_snapshot && i < c->nr_places; i++)
			sum += rec_counter_count(e, i);
	return sum;
}

void rec_counters_close(struct rec_counters *c, size_t from, size_t to)
{
	for (int turn = 0; turn < 2; turn++) {
		vec_for_each (&c->list, e) {
			bool is_leader = &c->list.data[e->leader] == e;

			for (size_t i = from; e->fds && is_leader == turn && i < to; i++) {
				os_close(e->fds[i]);
				e->fds[i] = -1;
			}
		}
	}
}

void rec_counters_done(struct rec_counters *c)
{
	rec_counters_close(c, 0, c->nr_places);
	vec_for_each (&c->rings, r) {
		os_ring_unmap(&r->ring);
		vec_done(&r->again.ids);
	}
	vec_for_each (&c->list, e) {
		os_close(e->cgroup_fd);
		os_close(e->keep_fd);
		vec_done(&e->cpus);
	}
	rec_probe_defs_remove(c);
	vec_done(&c->rings);
	vec_done(&c->list);
	arena_done(&c->memory);
}
