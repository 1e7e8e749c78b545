/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Traces that are switched by --control, by name and at once, and stand still for snapshots:
 * without a kernel. */
#include <signal.h>
#include <unistd.h>

#include "make/fake_kernel.h"
#include "record/session/rec_session.h"
#include "unit/tap.h"

enum { SPE_TYPE = 10, MAX_WAITS = 16 };

static char directory[] = "/tmp/rec_switch_test.XXXXXX", path[64], sysfs[64];
static char *command[] = {(char *)"program", NULL};
static int control[2];

/** At each wait: a line of --control, and whether an event that takes a snapshot happens. */
struct scene {
	const char *lines[MAX_WAITS];
	bool triggers[MAX_WAITS];
	/* Seen at each wait, before its line. */
	bool is_traced[MAX_WAITS], is_pausing[MAX_WAITS];
	uint32_t nr_disables[MAX_WAITS];
};

static struct fake_event *clock_event(void)
{
	return fake_kernel_newest(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
}

static void step(struct fake_kernel *k, int n)
{
	struct scene *s = k->ctx;

	if (n >= MAX_WAITS || !s->lines[n]) {
		fake_kernel_child_ends(0);
		return;
	}
	s->is_traced[n] = fake_kernel_newest(SPE_TYPE, 0)->is_enabled;
	s->is_pausing[n] = clock_event()->is_enabled;
	s->nr_disables[n] = k->nr_disables;
	clock_event()->count += s->triggers[n];
	if (write(control[1], s->lines[n], strlen(s->lines[n])) < 0)
		fake_kernel_signal(SIGTERM);
}

static void say(void *ctx, enum rec_level level, const char *text)
{
	(void)ctx;
	(void)level;
	(void)text;
}

static bool record(struct scene *scene, const char *events_text, struct rec_options o)
{
	const struct rec_ui ui = {.say = say};
	struct rec_event_list events = {.sysfs = sysfs};
	struct rec_result result;
	struct rec_error error = {0};
	enum clew_err err;
	char spec[32];

	snprintf(spec, sizeof(spec), "fd:%d", control[0]);
	o.argv = command;
	o.cpus = "0";
	o.aux_bytes = 4096;
	o.data_bytes = 64 * 1024;
	o.output = path;
	o.control = spec;
	fake_kernel_reset(step, scene);
	rec_events_parse(&events, events_text, NULL);
	if (o.snapshot.is_on)
		events.events.data[1].takes_snapshot = true;
	err = rec_session_run(&o, &events, &ui, &result, &error);
	if (err != CLEW_OK)
		printf("# %s\n", error.text);
	rec_events_done(&events);
	return err == CLEW_OK;
}

static void test_trigger(void)
{
	struct scene s = {
		.lines = {"disable cpu-clock\n", "disable\n", "enable\n", "disable arm_spe_0\n",
			  "disable cpu-clock\n", "enable arm_spe_0\n", "enable cpu-clock\n", "\n"}
        };

	CHECK(record(&s,
		     "arm_spe_0/name=arm_spe_0/,cpu-clock/aux-action=pause,name=cpu-clock,period=100000/",
		     (struct rec_options){0}),
	      "a trace, and what pauses it");
	CHECK(s.is_traced[0] && s.is_pausing[0], "both are on");
	CHECK(s.is_traced[1] && !s.is_pausing[1], "the second is switched off by its name");
	CHECK(!s.is_traced[2] && !s.is_pausing[2], "then all");
	CHECK(s.is_traced[3] && s.is_pausing[3], "and all on: the second, too");
	CHECK(!s.is_traced[4] && s.is_pausing[4], "the trace alone off");
	CHECK(!s.is_traced[5] && !s.is_pausing[5], "a change under it does not switch it on");
	CHECK(s.is_traced[6] && !s.is_pausing[6], "nor it the other");
	CHECK(s.is_traced[7] && s.is_pausing[7], "on again");
}

/* The others are off. */
static void test_alone(void)
{
	struct scene s = {
		.lines = {"enable arm_spe_0\n", "snapshot\n", "\n"}
        };
	const struct rec_options o = {.delay_ms = -1, .snapshot = {.is_on = true}};

	CHECK(record(&s, "arm_spe_0/name=arm_spe_0/,cpu-clock:u", o), "a delayed trace");
	CHECK(!s.is_traced[0] && s.is_traced[1], "is switched on by its name");
	CHECK(s.nr_disables[2] == s.nr_disables[1] + 1 && s.is_traced[2],
	      "stands still for a snapshot, and continues");
}

static void test_held(void)
{
	struct scene s = {
		.lines = {"\n",  "disable\n", "enable\n", "\n", "\n"},
		.triggers = {false, true,            true                 }
        };
	const struct rec_options o = {.snapshot = {.is_on = true}};

	CHECK(record(&s, "arm_spe_0/name=arm_spe_0/,cpu-clock:u", o), "snapshots by an event");
	CHECK(s.is_traced[1] && !s.is_traced[2], "switched off while it stands still: off");
	CHECK(!s.is_traced[3], "switched on while it stands still: not before it was read");
	CHECK(s.is_traced[4], "but then");
}

int main(void)
{
	char text[256];

	if (!mkdtemp(directory) || pipe(control))
		return 1;
	snprintf(path, sizeof(path), "%s/data", directory);
	snprintf(sysfs, sizeof(sysfs), "%s/sys", directory);
	snprintf(
		text, sizeof(text),
		"cd %s && mkdir -p sys/bus/event_source/devices/arm_spe_0/format "
		"sys/devices/system/cpu && echo 10 >sys/bus/event_source/devices/arm_spe_0/type && "
		"echo 0 >sys/devices/system/cpu/online",
		directory);
	if (system(text))
		return 1;
	test_trigger();
	test_alone();
	test_held();
	fake_kernel_reset(NULL, NULL);
	snprintf(text, sizeof(text), "rm -r %s", directory);
	return system(text) ? 1 : tap_done();
}
