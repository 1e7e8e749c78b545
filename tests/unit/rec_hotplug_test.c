/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A traced CPU goes offline and comes back, without a kernel: the new event's records continue
 * those of the old one. */
#include <signal.h>

#include "make/fake_kernel.h"
#include "os/file.h"
#include "perfdata/perf_file.h"
#include "record/session/rec_session.h"
#include "unit/tap.h"

enum { CYCLE = 20 }; /* waits of 100 ms */

static char directory[] = "/tmp/rec_hotplug_test.XXXXXX", path[64];
static char *command[] = {(char *)"program", NULL};
static struct buf said;

struct seen {
	uint64_t aux[8], sizes[8], flags[8]; /* AUX records */
	uint64_t trace[8];                   /* offsets of AUXTRACE */
	uint64_t first_id, others;           /* of the AUX records; such with another id */
	size_t nr_aux, nr_trace;
	uint64_t lost_id, nr_lost;
};

struct scene {
	int nr_times;                 /* that the CPU goes */
	int refusal;                  /* of the events that are opened then; 0: none */
	bool is_snapshot, is_trigger; /* asked for by a signal; by an event */
	bool ends_offline;
	size_t nr_enabled; /* of the three events that were opened last */
};

static void set_online(const char *cpus)
{
	char text[256];

	snprintf(text, sizeof(text), "echo %s >%s/sys/devices/system/cpu/online", cpus, directory);
	if (system(text))
		abort();
}

static struct fake_event *newest_ring(void)
{
	struct fake_event *found = NULL;

	vec_for_each (&fake_kernel.events, e)
		if (e->aux)
			found = e;
	return found;
}

static void trace(uint64_t time)
{
	struct fake_event *e = newest_ring();
	uint64_t head;
	union perf_view v = {.aux = {.size = 100}};
	const struct perf_sample_id id = {.time = time, .id = e->id, .cpu = 0};

	memcpy(&head, e->memory + 1056, sizeof(head));
	v.aux.offset = head;
	fake_kernel_trace(e, 7, 100);
	fake_kernel_record(e, PERF_RECORD_AUX, &v, &id);
}

/* Each cycle: trace, offline, online. */
static void step(struct fake_kernel *k, int n)
{
	struct scene *s = k->ctx;
	int cycle = n / CYCLE;
	const union perf_view lost = {
		.lost = {.id = newest_ring()->id, .lost = 5}
        };
	const struct perf_sample_id id = {.time = 1000 + (uint64_t)n, .id = newest_ring()->id};

	if (n % CYCLE == 0)
		trace(1000 + (uint64_t)n);
	if (s->is_snapshot && !s->is_trigger && n % CYCLE == 1)
		fake_kernel_signal(SIGUSR2);
	if (s->is_trigger && n % CYCLE == 1)
		fake_kernel_newest(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK)->count++;
	if (cycle == s->nr_times && n % CYCLE == 3) {
		fake_kernel_record(newest_ring(), PERF_RECORD_LOST, &lost, &id);
		fake_kernel_child_ends(0);
		for (size_t i = k->events.nr - 3; i < k->events.nr; i++)
			s->nr_enabled += k->events.data[i].is_enabled;
	}
	if (cycle == s->nr_times)
		return;
	if (n % CYCLE == 3) {
		set_online("1");
		k->refuses = s->refusal;
	}
	if (n % CYCLE == 10 && !s->ends_offline)
		set_online("0-1");
}

static void read_record(struct seen *s, struct perf_file *f, const struct perf_record *r)
{
	const struct perf_attr *attr = &perf_file_evlist(f)->evsels.data[0]->attr;
	struct perf_auxtrace x;
	struct perf_sample_id id;
	struct perf_aux aux;
	struct perf_lost lost;

	if (r->type == PERF_RECORD_AUXTRACE && !perf_auxtrace_parse(r, &x) && s->nr_trace < 8)
		s->trace[s->nr_trace++] = x.offset;
	if (r->type == PERF_RECORD_LOST && !perf_lost_parse(r, &lost))
		s->lost_id = lost.id, s->nr_lost++;
	if (r->type != PERF_RECORD_AUX || perf_aux_parse(r, &aux) || s->nr_aux == 8)
		return;
	perf_sample_id_parse(perf_record_body(r), false, attr, &id);
	s->first_id = s->nr_aux ? s->first_id : id.id;
	s->others += id.id != s->first_id;
	s->aux[s->nr_aux] = aux.offset;
	s->sizes[s->nr_aux] = aux.size;
	s->flags[s->nr_aux++] = aux.flags;
}

static void read_file(struct seen *s)
{
	struct perf_file *f = NULL;
	struct clew_diag diag = {0};
	struct perf_input in = {0};
	struct perf_record record;
	struct os_map map = {0};

	if (os_map_file(path, &map, &diag) != CLEW_OK)
		return;
	in.data = map.data;
	in.size = map.size;
	if (perf_file_open(&f, &in, &diag) == CLEW_OK)
		while (perf_file_next(f, &record, &diag) == CLEW_OK)
			read_record(s, f, &record);
	perf_file_free(f);
	os_map_done(&map);
}

static void say(void *ctx, enum rec_level level, const char *text)
{
	buf_printf(ctx, "%s%s\n", level == REC_WARNING ? "warning: " : "", text);
}

static struct seen record(struct scene *scene)
{
	const struct rec_ui ui = {.say = say, .ctx = &said};
	struct rec_options o = {.argv = command,
				.cpus = "0",
				.aux_bytes = 4096,
				.data_bytes = 64 * 1024,
				.output = path,
				.snapshot = {.is_on = scene->is_snapshot}};
	struct rec_event_list events = {0};
	struct rec_result result;
	struct rec_error error;
	struct seen seen = {0};
	char sysfs[64];

	snprintf(sysfs, sizeof(sysfs), "%s/sys", directory);
	set_online("0-1");
	fake_kernel_reset(step, scene);
	buf_clear(&said);
	events.sysfs = sysfs;
	rec_events_parse(&events, "arm_spe_0//,cpu-clock:u", NULL);
	events.events.data[1].takes_snapshot = scene->is_trigger;
	if (rec_session_run(&o, &events, &ui, &result, &error) == CLEW_OK)
		read_file(&seen);
	else
		printf("# %s\n", error.text);
	rec_events_done(&events);
	return seen;
}

static size_t nr_opened(uint32_t type, uint64_t config)
{
	size_t nr = 0;

	vec_for_each (&fake_kernel.events, e)
		nr += e->attr.type == type && e->attr.config == config;
	return nr;
}

static void test_comes_back(void)
{
	struct scene scene = {.nr_times = 2};
	struct seen s = record(&scene);

	CHECK(nr_opened(PERF_TYPE_SOFTWARE, 0) == 3 && nr_opened(10, 0) == 3,
	      "all events of the CPU are opened again, each time");
	CHECK(scene.nr_enabled == 3 && !fake_kernel.nr_untracked, "and run, the trace last");
	CHECK(newest_ring()->aux_bytes == 4096 && !newest_ring()->is_aux_overwritten,
	      "with an area as before");
	CHECK(s.nr_trace == 3 && s.trace[0] == 0 && s.trace[1] == 100 && s.trace[2] == 200,
	      "what is traced then continues the offsets");
	CHECK(s.nr_aux == 3 && s.aux[0] == 0 && s.aux[1] == 100 && s.aux[2] == 200,
	      "so do the records of it");
	CHECK(s.flags[0] == 0 && s.flags[1] == PERF_AUX_FLAG_PARTIAL &&
		      s.flags[2] == PERF_AUX_FLAG_PARTIAL,
	      "which say that something is missing before them");
	CHECK(s.first_id && !s.others && s.lost_id == s.first_id,
	      "with the ids that the file began with");
	CHECK_EQ(s.nr_lost, 3, "each time, what was not recorded is said to be lost");
	CHECK(strstr(buf_cstr(&said), "warning: CPU 0 went offline") &&
		      strstr(buf_cstr(&said), "CPU 0 came back: its trace continues"),
	      "both is said");
	CHECK(strstr(buf_cstr(&said), "offline: 2 times, first at 0.000001000, for about 1000 ms;"),
	      "and for how long");
}

static void test_snapshots(void)
{
	struct scene scene = {.nr_times = 2, .is_snapshot = true};
	struct seen s = record(&scene);

	CHECK(s.nr_trace == 3 && s.trace[0] == 0 && s.trace[1] == 100 && s.trace[2] == 200,
	      "snapshots, too, continue");
	CHECK(newest_ring()->is_aux_overwritten, "of an overwritten area");
	scene.is_trigger = true;
	s = record(&scene);
	CHECK(s.nr_trace == 3 && strstr(buf_cstr(&said), "\n3 snapshots of the trace") &&
		      !strstr(buf_cstr(&said), "merged"),
	      "one each time that an event happens, whose new count begins at 0");
}

static void test_refused(void)
{
	struct scene scene = {.nr_times = 1, .refusal = -1 /* EPERM */};
	struct seen s = record(&scene);

	CHECK(s.nr_trace == 1 && s.nr_aux == 1, "a refusal ends the trace of the CPU");
	CHECK(strstr(buf_cstr(&said),
		     "warning: CPU 0 came back, but its trace does not continue: "),
	      "with the reason");
}

static void test_stays_away(void)
{
	struct scene scene = {.nr_times = 1, .ends_offline = true};
	struct seen s = record(&scene);

	CHECK(s.nr_trace == 2 && nr_opened(10, 0) == 1, "nothing is opened while it is offline");
	CHECK(strstr(buf_cstr(&said), "(and the last time to the end)"), "the gap has no end");
}

int main(void)
{
	char text[256];

	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof(path), "%s/data", directory);
	snprintf(text, sizeof(text),
		 "cd %s && mkdir -p sys/bus/event_source/devices/arm_spe_0/format "
		 "sys/devices/system/cpu && echo 10 >sys/bus/event_source/devices/arm_spe_0/type",
		 directory);
	if (system(text))
		return 1;
	test_comes_back();
	test_snapshots();
	test_refused();
	test_stays_away();
	buf_done(&said);
	fake_kernel_reset(NULL, NULL);
	snprintf(text, sizeof(text), "rm -r %s", directory);
	return system(text) ? 1 : tap_done();
}
