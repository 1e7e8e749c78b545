/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/file.h"
#include "os/perf/perf_event.h"
#include "perfdata/perf_attr.h"
#include "record/soft/soft_thread.h"

/* The system calls that resume the trace of a paused thread. An event of the kernel that raises
 * SIGTRAP when they are over (Linux 5.13) costs all other system calls nothing; else each of them
 * stops. */

static bool resumes_at_call(const struct soft_trigger *g)
{
	return g->is_resume && (g->place == SOFT_AT_CALL_ENTRY || g->place == SOFT_AT_CALL_EXIT);
}

static int open_event(const struct soft_tracer *x, const struct soft_thread *t,
		      const struct soft_trigger *g)
{
	struct perf_attr attr = x->samples->counters->list.data[g->event].attr;
	uint8_t bytes[PERF_ATTR_SIZE_VER9];

	attr.flags = PERF_ATTR_SIGTRAP | PERF_ATTR_REMOVE_ON_EXEC;
	attr.sig_data = OS_TRAP_DATA;
	attr.sample_type = PERF_SAMPLE_IP;
	attr.read_format = 0;
	attr.aux_action = 0;
	perf_attr_for_kernel(&attr, bytes);
	return os_perf_open(bytes, t->tid, -1, -1, 0);
}

void soft_watch_begin(struct soft_tracer *x, struct soft_thread *t)
{
	soft_watch_end(t);
	t->stops_at_calls = false;
	vec_for_each (&x->plan->triggers, g) {
		int fd = resumes_at_call(g) && !t->stops_at_calls ? open_event(x, t, g) : -1;

		if (!resumes_at_call(g) || (fd >= 0 && vec_push(&t->events, fd)))
			continue;
		os_close(fd);
		t->stops_at_calls = true;
	}
	if (t->stops_at_calls)
		soft_watch_end(t);
}

void soft_watch_end(struct soft_thread *t)
{
	vec_for_each (&t->events, fd)
		os_close(*fd);
	t->events.nr = 0;
}
