/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `clew stat` counts on machines that a sysfs of files describes; and that each list parses.
 */
#include "record/count/count_default.h"

#include "record/plan/event_list.h"
#include "unit/test_dir.h"

#define CPU "bus/event_source/devices/cpu/"

static void check(bool is_wide, unsigned int detail, const char *want, size_t nr, const char *what)
{
	struct rec_event_list l = {.sysfs = test_dir};
	struct rec_error error = {0};
	struct buf text = {0};

	count_default_events(test_dir, is_wide, detail, &text);
	CHECK_STR(buf_cstr(&text), want, "%s", what);
	CHECK(rec_events_parse(&l, buf_cstr(&text), &error) == CLEW_OK && l.events.nr == nr,
	      "%s: %zu events %s", what, l.events.nr, error.text);
	rec_events_done(&l);
	buf_done(&text);
}

#define BASE \
 ",context-switches,cpu-migrations,page-faults,cycles,instructions,branches,branch-misses"
#define CACHES  ",L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses"
#define STALLS  ",stalled-cycles-frontend,stalled-cycles-backend"
#define TOPDOWN ",{slots,topdown-retiring,topdown-bad-spec,topdown-fe-bound,topdown-be-bound}"

int main(void)
{
	static const char *const names[] = {"topdown-retiring", "topdown-bad-spec",
					    "topdown-fe-bound", "topdown-be-bound"};
	char path[128];

	test_dir_make("count-default");
	check(false, 0, "task-clock" BASE, 8, "a machine without counters");
	check(true, 1, "cpu-clock" BASE CACHES, 12, "of CPUs, with -d");
	test_dir_put(CPU "type", "4\n");
	test_dir_put(CPU "format/event", "config:0-7\n");
	test_dir_put(CPU "format/umask", "config:8-15\n");
	test_dir_put(CPU "events/stalled-cycles-frontend", "event=0xa9\n");
	test_dir_put(CPU "events/stalled-cycles-backend", "event=0xaa\n");
	check(false, 0, "task-clock" BASE STALLS, 10, "a core that counts stalls");
	test_dir_put(CPU "events/slots", "event=0x00,umask=0x4\n");
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), CPU "events/%s", names[i]);
		test_dir_put(path, "event=0x00,umask=0x80\n");
	}
	check(false, 0, "task-clock" BASE STALLS TOPDOWN, 15, "and slots");
	test_dir_remove();
	return tap_done();
}
