/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_offline.h"

#include <stdio.h>

#include "os/clock.h"
#include "os/proc.h"
#include "record/aux/aux_report.h"
#include "record/open/reopen.h"
#include "record/open/trace_times.h"

enum { CHECK_MS = 500 };

static bool read_online(const struct rec_counters *c, struct rec_ints *ret)
{
	const char *sysfs = c->events && c->events->sysfs ? c->events->sysfs : "/sys";
	struct rec_error error;
	char path[512], text[4096];

	snprintf(path, sizeof(path), "%s/devices/system/cpu/online", sysfs);
	return os_read_first_line(path, text, sizeof(text)) &&
	       rec_cpus_parse(text, ret, &error) == CLEW_OK;
}

static bool is_in(const struct rec_ints *cpus, int cpu)
{
	vec_for_each (cpus, i)
		if (*i == cpu)
			return true;
	return false;
}

/* The CPU may have come back before anyone looked: an event that nothing switches off stands. */
static bool is_dead(struct aux_area *a, const struct rec_counters *c)
{
	struct aux_offline *o = &a->offline;
	uint64_t ran;
	bool is_known = rec_tracker_ran(c, a->ring, &ran);
	bool stands = is_known && o->has_ran && ran == o->ran;

	o->has_ran = is_known;
	o->ran = ran;
	return stands;
}

static void note_offline(const struct aux_cpus *c, struct aux_area *a)
{
	const struct rec_aux_seen *s = &a->ring->aux_seen;
	struct aux_offline *o = &a->offline;

	o->since_ns = os_clock_ns();
	if (!o->nr++ && s->nr)
		o->first_ns = s->last[(s->nr - 1) % REC_AUX_SEEN_KEPT].time;
	rec_say(c->ui, REC_WARNING, "CPU %d went offline: its trace ends there%s", a->ring->cpu,
		c->may_reopen ? "" : ", and does not continue when it comes back");
}

static void reopen(const struct aux_cpus *c, struct aux_area *a)
{
	struct aux_offline *o = &a->offline;
	uint64_t base = a->ring->again.aux_bytes, off_ns = os_clock_ns() - o->since_ns;
	struct rec_error error = {0};

	o->is_given_up = rec_counters_reopen(c->counters, a->ring->cpu, &error) != CLEW_OK;
	if (o->is_given_up) {
		rec_say(c->ui, REC_WARNING, "CPU %d came back, but its trace does not continue: %s",
			a->ring->cpu, error.text);
		return;
	}
	o->sum_ns += off_ns;
	o->since_ns = 0;
	o->has_ran = false;
	aux_area_renew(a, base);
	rec_say(c->ui, REC_NOTE, "CPU %d came back: its trace continues", a->ring->cpu);
}

/* What the old ring held is read between the two. */
static void check_area(const struct aux_cpus *c, struct aux_area *a, const struct rec_ints *online)
{
	bool is_here = is_in(online, a->ring->cpu);

	if (a->offline.since_ns && is_here && c->may_reopen && !a->offline.is_given_up)
		reopen(c, a);
	else if (!a->offline.since_ns && (is_dead(a, c->counters) || !is_here))
		note_offline(c, a);
}

void aux_cpus_check(struct aux_cpus *c)
{
	const struct rec_target *t = c->counters->target;
	uint64_t now = os_clock_ns();
	struct rec_ints online = {0};

	if (!t || !t->is_system_wide || now < c->next_ns)
		return;
	c->next_ns = now + CHECK_MS * NS_PER_MS;
	if (read_online(c->counters, &online))
		vec_for_each (c->areas, a)
			check_area(c, a, &online);
	vec_done(&online);
}
