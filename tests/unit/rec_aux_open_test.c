/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the kernel is asked for a trace and what acts on it, in each scope: the rules that it
 * enforces with an errno are kept by all that is opened, so that no user meets them. */
#include "make/fake_kernel.h"
#include "os/perf/perf_event.h"
#include "record/session/rec_session.h"
#include "unit/tap.h"

enum { TRACE = 10, ACTS = PERF_AUX_PAUSE | PERF_AUX_RESUME };

static char directory[] = "/tmp/rec_aux_open_test.XXXXXX", path[64], sysfs[64];
static char *command[] = {(char *)"program", NULL};

#define TRIGGERS \
 "arm_spe_0/aux-action=start-paused/,task-clock/aux-action=resume,period=1/,cs/aux-action=pause/"

/* clang-format off */
static const struct row {
	const char *what, *events;
	struct rec_options o;
} rows[] = {
	{ "a command", TRIGGERS, { .argv = command } },
	{ "its threads", TRIGGERS, { .argv = command, .is_per_thread = true } },
	{ "all CPUs", TRIGGERS, { .argv = command, .cpus = "0" } },
	{ "one clock", TRIGGERS, { .argv = command, .has_clockid = true, .clockid = 1 } },
	{ "switched on later", TRIGGERS, { .argv = command, .delay_ms = 5 } },
	{ "snapshots", TRIGGERS, { .argv = command, .snapshot = { .is_on = true, .at_end = true } } },
	{ "samples with trace", "arm_spe_0//,task-clock/aux-sample-size=64/", { .argv = command } },
	{ "a group of the user", "task-clock,{arm_spe_0//,cs,faults/aux-action=pause/}", { .argv = command } },
	{ "both at once", "arm_spe_0//,cs/aux-action=pause,aux-sample-size=64/", { .argv = command } },
};
/* clang-format on */

static void step(struct fake_kernel *k, int n)
{
	struct fake_event *e = fake_kernel_ring(0);

	(void)k;
	if (n == 0)
		fake_kernel_trace(e, 1, 64);
	if (n == 3)
		fake_kernel_child_ends(0);
}

static enum clew_err record(const struct row *row)
{
	const struct rec_ui quiet = {0};
	struct rec_options o = row->o;
	struct rec_event_list events = {.sysfs = sysfs};
	struct rec_result result;
	struct rec_error error = {0};
	enum clew_err err;

	fake_kernel_reset(step, NULL);
	o.output = path;
	o.aux_bytes = 8192;
	o.data_bytes = 64 * 1024;
	err = rec_events_parse(&events, row->events, &error);
	if (err == CLEW_OK)
		err = rec_session_run(&o, &events, &quiet, &result, &error);
	if (err != CLEW_OK)
		printf("# %s\n", error.text);
	rec_events_done(&events);
	return err;
}

/* Not one that only asked what the kernel knows. */
static bool is_recorded(const struct fake_event *e)
{
	return e->attr.flags & PERF_ATTR_SAMPLE_ID_ALL;
}

static const struct fake_event *leader_of(const struct fake_event *e)
{
	vec_for_each (&fake_kernel.events, l)
		if (l->fd == e->group && is_recorded(l))
			return l;
	return NULL;
}

/* Spec: Linux 6.12 kernel/events/core.c, perf_event_open() and perf_get_aux_event(). */
static bool is_of_leader(const struct fake_event *e)
{
	const uint64_t same = PERF_ATTR_INHERIT | PERF_ATTR_USE_CLOCKID;
	const struct fake_event *l = leader_of(e);

	return l && l->group == -1 && l->pid == e->pid && l->cpu == e->cpu &&
	       (l->attr.flags & same) == (e->attr.flags & same) &&
	       l->attr.clockid == e->attr.clockid &&
	       !(e->attr.flags & (PERF_ATTR_PINNED | PERF_ATTR_EXCLUSIVE)) &&
	       (l->attr.type == TRACE || !(e->attr.aux_action & ACTS));
}

static bool has_good_action(const struct fake_event *e)
{
	uint32_t a = e->attr.aux_action;

	if (a & ~(ACTS | PERF_AUX_START_PAUSED) || a & (a - 1))
		return false;
	if (a & PERF_AUX_START_PAUSED)
		return e->attr.type == TRACE;
	return !a || (e->group >= 0 && e->attr.sample_period);
}

struct kept {
	size_t nr, nr_triggers, nr_members;
	bool are_places, are_actions, are_leaders, are_triggers_on, are_reads, are_maps, are_closed;
};

static struct kept look(void)
{
	struct kept k = {0, 0, 0, true, true, true, true, true, true, true};

	vec_for_each (&fake_kernel.events, e) {
		bool acts = e->attr.aux_action & ACTS;

		if (!is_recorded(e))
			continue;
		k.nr++;
		k.nr_members += e->group >= 0;
		k.nr_triggers += acts;
		k.are_places &= (e->pid >= 0 || e->cpu >= 0) && !e->flags;
		k.are_actions &= has_good_action(e);
		k.are_leaders &= e->group < 0 || is_of_leader(e);
		k.are_triggers_on &=
			!acts || (!(e->attr.flags & PERF_ATTR_DISABLED) && !e->nr_enables);
		k.are_reads &= !acts || !(e->attr.flags & PERF_ATTR_INHERIT) ||
			       e->attr.sample_type & PERF_SAMPLE_READ;
		k.are_maps &=
			!e->aux || (e->attr.type == TRACE && e->memory && e->aux_bytes == 8192);
		k.are_closed &= e->closed && (e->group < 0 || e->closed < leader_of(e)->closed);
	}
	return k;
}

static void test_rows(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *what = rows[i].what;
		struct kept k;

		if (record(&rows[i]) != CLEW_OK) {
			CHECK(false, "%s", what);
			continue;
		}
		k = look();
		CHECK(k.nr > 1 && k.nr_members, "%s: %zu events, %zu of them members, %zu act",
		      what, k.nr, k.nr_members, k.nr_triggers);
		CHECK(k.are_places, "%s: each of a task or CPU, by no flag of perf_event_open",
		      what);
		CHECK(k.are_actions,
		      "%s: no reserved bit of aux_action, never two, none that never acts", what);
		CHECK(k.are_leaders,
		      "%s: members are of their leader's task, CPU, clock and inheritance", what);
		CHECK(k.are_triggers_on,
		      "%s: what acts is on from the start, and never switched on", what);
		CHECK(k.are_reads, "%s: what acts and is inherited is read with samples", what);
		CHECK(k.are_maps,
		      "%s: areas are mapped by the trace's own descriptor, after its ring", what);
		CHECK(k.are_closed, "%s: all are closed, members before their leaders", what);
	}
}

int main(void)
{
	char text[256];

	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof(path), "%s/perf.data", directory);
	snprintf(sysfs, sizeof(sysfs), "%s/sys", directory);
	snprintf(
		text, sizeof(text),
		"cd %s && mkdir -p sys/bus/event_source/devices/arm_spe_0 sys/devices/system/cpu && "
		"echo 10 >sys/bus/event_source/devices/arm_spe_0/type && "
		"echo 0-1 >sys/devices/system/cpu/online",
		directory);
	if (system(text))
		return 1;
	test_rows();
	fake_kernel_reset(NULL, NULL);
	snprintf(text, sizeof(text), "rm -r %s", directory);
	return system(text) || tap_done();
}
