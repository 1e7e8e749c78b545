/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A recording's life from its first wait to the finished file, without a kernel. */
#include "record/session/rec_session.h"

#include <signal.h>
#include <unistd.h>

#include "make/fake_kernel.h"
#include "os/caps.h"
#include "os/file.h"
#include "perfdata/perf_file.h"
#include "record/open/own_ids.h"
#include "record/session/open_events.h"
#include "unit/tap.h"

enum { RAN = 0, EXIT_3 = 3 << 8, OWN_ID = 7777 };

static char directory[] = "/tmp/rec_session_test.XXXXXX", path[64], spare[64];
static struct buf said; /* messages of the last recording */
static char *command[] = {(char *)"program", NULL};

struct recording {
	struct rec_options o;
	const char *event, *sysfs; /* NULL: cpu-clock:u, the machine's */
	const char *filter;        /* NULL: none */
	bool is_inside;            /* a container */
	struct rec_result result;
	struct rec_error error;
	enum clew_err err;
	char names[64]; /* of the last file's events, a space after each */
	uint64_t samples, rounds, by_type[PERF_RECORD_HEADER_END]; /* as the file says */
};

static void read_file(struct recording *r, const char *name)
{
	struct perf_file *f = NULL;
	struct clew_diag diag = {0};
	struct perf_input in = {0};
	struct perf_record record;
	struct os_map map = {0};

	if (os_map_file(name, &map, &diag) != CLEW_OK)
		return;
	in.data = map.data;
	in.size = map.size;
	if (perf_file_open(&f, &in, &diag) == CLEW_OK) {
		const struct perf_evlist *l = perf_file_evlist(f);
		size_t n = 0;

		vec_for_each (&l->evsels, e)
			n += (size_t)snprintf(r->names + n, sizeof(r->names) - n, "%s ",
					      (*e)->name);
		while (perf_file_next(f, &record, &diag) == CLEW_OK)
			if (record.type < PERF_RECORD_HEADER_END)
				r->by_type[record.type]++;
	}
	r->samples = r->by_type[PERF_RECORD_SAMPLE];
	r->rounds = r->by_type[PERF_RECORD_FINISHED_ROUND];
	perf_file_free(f);
	os_map_done(&map);
}

static void say(void *ctx, enum rec_level level, const char *text)
{
	buf_printf(ctx, "%s%s\n", level == REC_WARNING ? "warning: " : "", text);
}

static void record(struct recording *r, void (*step)(struct fake_kernel *k, int n), void *ctx)
{
	const struct rec_ui quiet = {.say = say, .ctx = &said};
	struct rec_event_list events = {0};

	fake_kernel_reset(step, ctx);
	fake_kernel.is_inside = r->is_inside;
	buf_clear(&said);
	r->o.output = path;
	/* One ring, whatever CPUs this machine has. */
	r->o.is_per_thread = !r->o.cpus;
	r->o.data_bytes = 64 * 1024;
	events.sysfs = r->sysfs;
	rec_events_parse(&events, r->event ? r->event : "cpu-clock:u", NULL);
	if (r->filter)
		rec_events_filter(&events, r->filter, NULL);
	r->err = rec_session_run(&r->o, &events, &quiet, &r->result, &r->error);
	if (r->err == CLEW_OK)
		read_file(r, r->result.last_path);
	rec_events_done(&events);
}

static void sample(size_t ring, uint64_t time)
{
	struct fake_event *e = fake_kernel_ring(ring);

	fake_kernel_sample(e, &(struct perf_sample){.ip = 0x1000,
						    .time = time,
						    .pid = 7,
						    .tid = 7,
						    .id = e->id,
						    .misc = PERF_RECORD_MISC_USER});
}

/* --- a command, from its start to its end --- */

static void of_command(struct fake_kernel *k, int n)
{
	const union perf_view lost = {.lost = {.lost = 5}};
	const struct perf_sample_id id = {.time = 30, .id = 100};

	(void)k;
	if (n == 0) {
		sample(0, 10);
		sample(0, 20);
	}
	if (n == 2) {
		fake_kernel_record(fake_kernel_ring(0), PERF_RECORD_LOST, &lost, &id);
		sample(0, 40);
		fake_kernel_child_ends(EXIT_3);
	}
}

static void test_command(void)
{
	struct recording r = {.o = {.argv = command}};

	record(&r, of_command, NULL);
	CHECK(r.err == CLEW_OK && fake_kernel.nr_starts == 1, "a command is recorded");
	CHECK(r.result.exit_code == 3 && !r.result.signal, "its exit code comes back");
	CHECK(r.result.samples == 3 && r.samples == 3, "three samples are counted and written");
	CHECK(r.result.lost == 5 && r.by_type[PERF_RECORD_LOST] == 1, "so is what was lost");
	CHECK_EQ(r.rounds, 2, "a round ends after each pass that brought something, and no other");
	CHECK(!r.result.why_empty && r.result.nr_files == 1, "one file, not empty");
	CHECK(r.by_type[PERF_RECORD_COMM] == 1 && r.by_type[PERF_RECORD_FINISHED_INIT] == 1,
	      "before the samples stands who runs");
	CHECK_EQ(fake_kernel.signal_of_child, 0, "a command that has ended gets no signal");
}

static void test_missing(void)
{
	static char *missing[] = {(char *)"missing", NULL};
	struct recording r = {.o = {.argv = missing}};

	record(&r, NULL, NULL);
	CHECK(r.err != CLEW_OK && r.result.exit_code == 127 && r.result.has_command_failed_to_start,
	      "a missing command ends it with 127");
	CHECK(access(path, F_OK) != 0 && !fake_kernel.events.nr,
	      "before a file or an event is made");
}

/* --- what ends a recording --- */

static void interrupt(struct fake_kernel *k, int n)
{
	(void)k;
	if (n == 1) {
		sample(0, 10);
		fake_kernel_signal(SIGINT);
	}
}

static void test_signal(void)
{
	struct recording r = {.o = {.argv = command}};

	record(&r, interrupt, NULL);
	CHECK(r.err == CLEW_OK && r.result.signal == SIGINT, "SIGINT stops it");
	CHECK(r.samples == 1, "what came with it is in the file");
	CHECK_EQ(fake_kernel.signal_of_child, SIGTERM, "the command is asked to end");
}

static void tasks_end(struct fake_kernel *k, int n)
{
	(void)k;
	if (n == 1)
		sample(0, 10);
	if (n == 2)
		fake_kernel_tasks_end();
	if (n == 5)
		fake_kernel_signal(SIGTERM); /* it should have stopped */
}

static void test_attached(void)
{
	struct recording r = {0};
	char self[16];

	snprintf(self, sizeof(self), "%d", getpid());
	r.o.tids = self;
	record(&r, tasks_end, NULL);
	CHECK(r.err == CLEW_OK && !r.result.signal, "it ends with the last of the watched tasks");
	CHECK(fake_kernel.nr_enables && fake_kernel.nr_waits == 3,
	      "running tasks are recorded at once, until then");
	CHECK(r.samples == 1 && r.by_type[PERF_RECORD_MMAP2] > 1, "their mappings are written");
}

static void fill(struct fake_kernel *k, int n)
{
	(void)k;
	for (int i = 0; i < 100; i++)
		sample(0, (uint64_t)(1000 * n + i + 1));
	if (n == 50)
		fake_kernel_signal(SIGTERM);
}

static void test_max_size(void)
{
	struct recording r = {
		.o = {.argv = command, .max_bytes = 20000}
        };

	record(&r, fill, NULL);
	CHECK(r.err == CLEW_OK && !r.result.signal && r.result.bytes >= 20000 &&
		      r.result.bytes < 40000,
	      "--max-size stops it");
	CHECK(r.samples == r.result.samples, "after a whole pass");
}

/* --- when counting starts --- */

static void delayed(struct fake_kernel *k, int n)
{
	bool *was_on = k->ctx;

	if (k->now_ns < 1000000000 + 1500000000ull)
		*was_on |= fake_kernel_ring(0)->is_enabled;
	else if (fake_kernel_ring(0)->is_enabled)
		fake_kernel_child_ends(RAN);
	if (n == 20)
		fake_kernel_signal(SIGTERM);
}

static void test_delay(void)
{
	struct recording r = {
		.o = {.argv = command, .delay_ms = 1500}
        };
	bool was_on = false;

	record(&r, delayed, &was_on);
	CHECK(r.err == CLEW_OK && !r.result.signal && !was_on, "-D 1500: off until then, on after");
	CHECK(r.result.why_empty && strstr(r.result.why_empty, "delayed"),
	      "a recording without samples says why");
}

static void switch_twice(struct fake_kernel *k, int n)
{
	(void)k;
	sample(0, (uint64_t)n + 1);
	if (n == 1 || n == 3)
		fake_kernel_signal(SIGUSR2);
	if (n == 5)
		fake_kernel_child_ends(RAN);
}

static void test_switch(void)
{
	struct recording r = {
		.o = {.argv = command,
		      .is_stamped = true,
		      .switch_output = {.is_on = true, .on_signal = true}}
        };

	record(&r, switch_twice, NULL);
	CHECK(r.err == CLEW_OK && r.result.nr_files == 3, "SIGUSR2 begins another file, twice");
	CHECK(r.result.samples == 6 && r.samples == 2, "each sample is in one of them");
}

/* --- control --- */

static void send_line(struct fake_kernel *k, int n)
{
	static const char *const lines[] = {"disable\n", "ena", "ble\n", "ping\nevlist\n",
					    "stop\n"};
	const int *to = k->ctx;

	if (n < 5 && write(*to, lines[n], strlen(lines[n])) < 0)
		fake_kernel_signal(SIGTERM);
	if (n == 10)
		fake_kernel_signal(SIGTERM);
}

static void test_control(void)
{
	struct recording r = {.o = {.argv = command}};
	char spec[32], answer[256] = "";
	int in[2], out[2];

	if (pipe(in) || pipe(out))
		exit(1);
	snprintf(spec, sizeof(spec), "fd:%d,%d", in[0], out[1]);
	r.o.control = spec;
	record(&r, send_line, &in[1]);
	CHECK(r.err == CLEW_OK && !r.result.signal, "a stop by --control ends it");
	CHECK(read(out[0], answer, sizeof(answer) - 1) > 0 &&
		      !strcmp(answer, "ack\nack\nack\ncpu-clock:u\ndummy:u\nack\nack\n"),
	      "each whole line is answered once");
	CHECK(fake_kernel.nr_disables > 1, "disable reached the events");
	for (int i = 0; i < 2; i++) {
		close(in[i]);
		close(out[i]);
	}
}

/* --- a source of the test, after those that the session opens --- */

static struct {
	struct buf story; /* each call once, however often it comes in a row */
	enum rec_pending pending;
	int nr_asked, nr_until_done; /* pending() says NONE after so many questions */
	uint64_t stopped_at, last_call_at;
	bool holds_rounds, is_used, has_refused;
} own;

static void note(const char *what)
{
	size_t n = strlen(what);

	if (own.story.nr >= n && !memcmp(own.story.data + own.story.nr - n, what, n))
		return;
	if (own.story.nr)
		buf_char(&own.story, ' ');
	buf_str(&own.story, what);
}

static void own_prepare(void *ctx)
{
	(void)ctx;
	note(fake_kernel.nr_starts ? "late" : "prepare");
}

static bool own_watch(void *ctx, struct os_poll *p)
{
	(void)ctx;
	note("watch");
	return p->nr > 0;
}

static enum clew_err own_add_events(void *ctx, struct perf_evlist *l)
{
	const struct perf_attr *first = &l->evsels.data[0]->attr;
	uint64_t id = OWN_ID;

	(void)ctx;
	note("add-events");
	return perf_evlist_add(l, first, "toy", (const uint8_t *)&id, 1, false) ? CLEW_OK
										: CLEW_NO_MEMORY;
}

static void own_begin_file(void *ctx, struct buf *records)
{
	const struct perf_event_header info = {.type = PERF_RECORD_AUXTRACE_INFO, .size = 24};

	(void)ctx;
	note("begin-file");
	buf_add(records, &info, sizeof(info));
	buf_fill(records, 0, info.size - sizeof(info));
}

static enum clew_err own_start(void *ctx, const struct rec_start *s, struct rec_error *error)
{
	(void)ctx;
	note(s->child_pid == getpid() && !fake_kernel.nr_starts ? "start" : "start-unheld");
	if (s->is_delayed)
		note("delayed");
	return own.has_refused ? rec_fail(error, CLEW_UNSUPPORTED, "not here") : CLEW_OK;
}

static size_t own_order(void *ctx, const struct rec_order *o)
{
	static const char *const names[] = {"enable", "disable", "snapshot"};

	(void)ctx;
	note(names[o->kind]);
	return o->event && !strcmp(o->event, "toy");
}

static enum clew_err own_pass(void *ctx, struct rec_pass *p)
{
	(void)ctx;
	note(p->is_last ? "last-pass" : "pass");
	return CLEW_OK;
}

static bool own_may_end_round(void *ctx)
{
	(void)ctx;
	return !own.holds_rounds;
}

static void own_stop(void *ctx)
{
	(void)ctx;
	own.stopped_at = fake_kernel.now_ns;
	note("stop");
}

static enum rec_pending own_pending(const void *ctx)
{
	(void)ctx;
	return own.nr_asked++ < own.nr_until_done ? own.pending : REC_PENDING_NONE;
}

static void own_last_call(void *ctx)
{
	(void)ctx;
	own.last_call_at = fake_kernel.now_ns;
	note("last-call");
}

static void own_report(void *ctx, bool is_verbose)
{
	(void)ctx, (void)is_verbose;
	note("report");
}

static void own_done(void *ctx)
{
	(void)ctx;
	note("done");
}

enum clew_err __real_rec_open_events(const struct rec_opening *o, struct rec_error *error);
enum clew_err __wrap_rec_open_events(const struct rec_opening *o, struct rec_error *error);
enum clew_err __wrap_rec_open_events(const struct rec_opening *o, struct rec_error *error)
{
	static const struct rec_source_ops ops = {.prepare = own_prepare,
						  .watch = own_watch,
						  .add_events = own_add_events,
						  .begin_file = own_begin_file,
						  .start = own_start,
						  .order = own_order,
						  .pass = own_pass,
						  .may_end_round = own_may_end_round,
						  .stop = own_stop,
						  .pending = own_pending,
						  .last_call = own_last_call,
						  .report = own_report,
						  .done = own_done};
	enum clew_err err = __real_rec_open_events(o, error);

	if (err == CLEW_OK && own.is_used)
		rec_sources_add(o->sources, (struct rec_source){&ops, NULL});
	return err;
}

static void record_own(struct recording *r, enum rec_pending pending, int nr_until_done)
{
	buf_done(&own.story);
	memset(&own, 0, sizeof(own));
	own.is_used = true;
	own.pending = pending;
	own.nr_until_done = nr_until_done;
	*r = (struct recording){.o = {.argv = command}};
	record(r, of_command, NULL);
	own.is_used = false;
}

static uint64_t waited_ms(void)
{
	return (own.last_call_at - own.stopped_at) / 1000000;
}

static void test_source(void)
{
	struct recording r;

	record_own(&r, REC_PENDING_NONE, 0);
	CHECK_STR(buf_cstr(&own.story),
		  "prepare watch add-events begin-file start pass disable stop pass last-call "
		  "last-pass report done",
		  "the life of a source, in order");
	CHECK(r.samples == 3 && waited_ms() == 0, "nothing is pending: no wait");
	record_own(&r, REC_PENDING_OTHERS, 1000000);
	CHECK(waited_ms() >= 200 && waited_ms() < 210, "what others owe is waited for 200 ms");
	record_own(&r, REC_PENDING_OWN, 1000000);
	CHECK(waited_ms() >= 10200 && waited_ms() < 10210,
	      "a source at work gets ten seconds more");
	record_own(&r, REC_PENDING_OWN, 100);
	CHECK_EQ(waited_ms(), 200, "or what it needs");
	buf_done(&own.story);
}

static void switch_and_snap(struct fake_kernel *k, int n)
{
	const int *to = k->ctx;

	sample(0, (uint64_t)n + 1);
	if (n == 1)
		fake_kernel_signal(SIGUSR2);
	if (n == 3 && write(*to, "disable toy\nenable toy\nsnapshot\n", 32) != 32)
		fake_kernel_signal(SIGTERM);
	if (n == 5)
		fake_kernel_child_ends(RAN);
}

static void test_source_orders(void)
{
	struct recording r = {
		.o = {.argv = command,
		      .is_stamped = true,
		      .switch_output = {.is_on = true, .on_signal = true}}
        };
	char spec[32];
	int in[2];

	if (pipe(in))
		exit(1);
	snprintf(spec, sizeof(spec), "fd:%d", in[0]);
	r.o.control = spec;
	memset(&own, 0, sizeof(own));
	own.is_used = true;
	record(&r, switch_and_snap, &in[1]);
	own.is_used = false;
	CHECK(r.err == CLEW_OK && r.result.nr_files == 3,
	      "a snapshot is ordered and begins another file, by signal and by command");
	CHECK_STR(buf_cstr(&own.story),
		  "prepare watch add-events begin-file start pass snapshot pass last-pass "
		  "begin-file pass disable enable snapshot pass last-pass begin-file pass disable "
		  "stop pass last-call last-pass report done",
		  "each file begins with the source; the last pass of the one before comes first");
	CHECK(r.by_type[PERF_RECORD_AUXTRACE_INFO] == 1, "its record stands in the last file");
	CHECK_STR(r.names, "cpu-clock:u dummy:u toy ", "so does its event");
	CHECK_EQ(r.samples, 2, "the rings' samples go where they went without it");
	close(in[0]);
	close(in[1]);
	buf_done(&own.story);
}

static void test_source_refuses(void)
{
	struct recording r = {
		.o = {.argv = command, .delay_ms = 100}
        };

	memset(&own, 0, sizeof(own));
	own.is_used = own.has_refused = true;
	record(&r, of_command, NULL);
	own.is_used = own.has_refused = false;
	CHECK_STR(buf_cstr(&own.story), "prepare watch add-events begin-file start delayed done",
		  "a source that cannot start ends the recording");
	CHECK(r.err == CLEW_UNSUPPORTED && !strcmp(r.error.text, "not here") &&
		      !fake_kernel.nr_starts && access(path, F_OK),
	      "with its sentence, before the command runs, and without a file");
	buf_done(&own.story);
}

/* --- an AUX area --- */

static void trace(struct fake_kernel *k, int n)
{
	struct fake_event *e = fake_kernel_ring(0);
	bool *goes_on = k->ctx;

	if (n == 0)
		fake_kernel_trace(e, 1, 4000);
	if (n == 1) {
		e->is_enabled = false; /* as when its area was full */
		fake_kernel_trace(e, 2, 64);
		fake_kernel_signal(SIGUSR2);
	}
	if (n == 2) {
		*goes_on = e->is_enabled;
		fake_kernel_trace(e, 3, 32);
		fake_kernel_child_ends(RAN);
	}
}

static const char *make_sysfs(void)
{
	static char root[64];
	char text[256];

	snprintf(root, sizeof(root), "%s/sys", directory);
	snprintf(text, sizeof(text),
		 "cd %s && mkdir -p sys/bus/event_source/devices/arm_spe_0/format "
		 "sys/bus/event_source/devices/cs_etm/format",
		 directory);
	if (system(text))
		return NULL;
	snprintf(
		text, sizeof(text),
		"cd %s/sys/bus/event_source/devices && "
		"echo 10 >arm_spe_0/type && echo 11 >cs_etm/type && echo 4 >cs_etm/nr_addr_filters",
		directory);
	return system(text) ? NULL : root;
}

/* @return is it enabled again after its area was read? */
static bool record_trace(struct recording *r, const char *event)
{
	bool goes_on = false;

	*r = (struct recording){
		.event = event,
		.sysfs = make_sysfs(),
		.o = {.argv = command,
		      .is_stamped = true,
		      .aux_bytes = 4096,
		      .switch_output = {.is_on = true, .on_signal = true}}
        };
	record(r, trace, &goes_on);
	return goes_on;
}

static void test_aux(void)
{
	struct recording r;

	CHECK(record_trace(&r, "arm_spe_0//"), "a trace continues after its area was read");
	CHECK(r.err == CLEW_OK && r.result.nr_files == 2 &&
		      fake_kernel_ring(0)->aux_bytes == 4096 &&
		      !fake_kernel_ring(0)->is_aux_overwritten,
	      "a trace is recorded into an area of -m's size, which is read as it fills");
	CHECK(r.by_type[PERF_RECORD_AUXTRACE_INFO] == 1 && r.by_type[PERF_RECORD_AUXTRACE] == 1,
	      "the second file describes it, and has what came after the first");
	record_trace(&r, "{arm_spe_0//,cpu-clock/aux-sample-size=64/}");
	CHECK(r.err == CLEW_OK && fake_kernel_ring(0)->is_aux_overwritten &&
		      !r.by_type[PERF_RECORD_AUXTRACE],
	      "an area that is only sampled is overwritten, and not read");
	CHECK(!strstr(buf_cstr(&said), "at most"), "samples that fit their buffer need no warning");
	record_trace(&r, "{arm_spe_0//,cpu-clock/aux-sample-size=8192/}");
	CHECK(r.err == CLEW_OK &&
		      strstr(buf_cstr(&said), "at most the 4 KiB of their trace's buffer"),
	      "those that do not are reported");
}

/* Trace comes all the time, and is asked for twice. */
static void trace_and_ask(struct fake_kernel *k, int n)
{
	struct fake_event *e = fake_kernel_ring(0);
	int *nr_held = k->ctx;

	*nr_held += n > 1 && !e->is_enabled;
	fake_kernel_trace(e, (uint8_t)(n + 1), 500);
	if (n == 1 || n == 3)
		fake_kernel_signal(SIGUSR2);
	if (n == 6)
		fake_kernel_child_ends(RAN);
}

static void record_snapshots(struct recording *r, struct rec_snapshot snapshot, int *nr_held)
{
	*nr_held = 0;
	snapshot.is_on = true;
	*r = (struct recording){
		.event = "arm_spe_0//",
		.sysfs = make_sysfs(),
		.o = {.argv = command, .aux_bytes = 4096, .zstd_level = 1, .snapshot = snapshot}
        };
	record(r, trace_and_ask, nr_held);
}

static void test_snapshots(void)
{
	struct recording r;
	int nr_held;

	record_snapshots(&r, (struct rec_snapshot){0}, &nr_held);
	CHECK(r.err == CLEW_OK && r.by_type[PERF_RECORD_AUXTRACE] == 2 &&
		      fake_kernel_ring(0)->is_aux_overwritten,
	      "each SIGUSR2 writes what is newest, and nothing else does");
	CHECK(nr_held == 0 && strstr(buf_cstr(&said), "2 snapshots"),
	      "the trace is held for that alone");
	record_snapshots(&r, (struct rec_snapshot){.at_end = true}, &nr_held);
	CHECK_EQ(r.by_type[PERF_RECORD_AUXTRACE], 3, "one more at the end");
	record_snapshots(&r, (struct rec_snapshot){.max = 1}, &nr_held);
	CHECK(r.by_type[PERF_RECORD_AUXTRACE] == 1 && fake_kernel.signal_of_child == SIGTERM,
	      "as many as asked for end the recording");
}

/* --- what the rule "who ran" needs --- */

static const struct perf_attr *tracker(void)
{
	vec_for_each (&fake_kernel.events, e)
		if (e->attr.flags & PERF_ATTR_COMM)
			return &e->attr;
	return NULL;
}

static void record_on_cpu(struct recording *r, const char *event, bool is_inside,
			  enum rec_tristate switches)
{
	*r = (struct recording){
		.event = event,
		.sysfs = make_sysfs(),
		.is_inside = is_inside,
		.o = {.argv = command, .cpus = "0", .with_switches = switches, .aux_bytes = 4096}
        };
	record(r, of_command, NULL);
}

static void test_sideband(void)
{
	const uint64_t all = PERF_ATTR_CONTEXT_SWITCH | PERF_ATTR_MMAP | PERF_ATTR_MMAP2 |
			     PERF_ATTR_COMM | PERF_ATTR_TASK;
	struct recording r;

	record_on_cpu(&r, "arm_spe_0//", false, REC_DEFAULT);
	CHECK(r.err == CLEW_OK && (tracker()->flags & all) == all &&
		      tracker()->sample_type & PERF_SAMPLE_CPU,
	      "with a trace, switches, tasks and mappings are recorded, and on which CPU");
	CHECK(fake_kernel.nr_enables && fake_kernel.nr_disables && !fake_kernel.nr_untracked,
	      "side-band is on before a trace is, and still on when that is off");
	/* A second one where tasks of a PID namespace run on this machine. */
	CHECK(r.by_type[PERF_RECORD_HEADER_EVENT_TYPE] >= 1, "the recorder's ids are recorded");
	record_on_cpu(&r, "arm_spe_0//", false, REC_NO);
	CHECK(!(tracker()->flags & PERF_ATTR_CONTEXT_SWITCH), "... unless switches are refused");
	record_on_cpu(&r, NULL, false, REC_DEFAULT);
	CHECK(!(tracker()->flags & PERF_ATTR_CONTEXT_SWITCH), "samples need no switches");
	record_on_cpu(&r, NULL, true, REC_DEFAULT);
	CHECK(tracker()->flags & PERF_ATTR_CONTEXT_SWITCH,
	      "of all tasks in a container they do: idle and outside look alike");
	CHECK(!strstr(buf_cstr(&said), "warning"), "... without a warning");
}

/* Addresses that the kernel would refuse without a word, or that filter nothing. */
static void test_address_filters(void)
{
	struct recording r = {
		.event = "cs_etm//u",
		.sysfs = make_sysfs(),
		.filter = "filter 0x1000/0x10@/proc/self/exe",
		.o = {.argv = command, .cpus = "0", .is_system_wide = true}
        };

	record(&r, NULL, NULL);
	CHECK(r.err == CLEW_INVALID && strstr(r.error.text, "filter the trace of tasks"),
	      "addresses of a file, of whole CPUs: refused");
	r.filter = "filter 0x1000/0x10";
	record(&r, NULL, NULL);
	CHECK(r.err == CLEW_INVALID && strstr(r.error.text, "the kernel is not traced"),
	      "addresses of the kernel, which is not traced: refused");
}

static void test_contexts_inside(void)
{
	const char *what = "initial PID namespace";
	struct os_caps caps;
	struct recording r;

	os_caps_read(&caps);
	record_on_cpu(&r, "arm_spe_0//", true, REC_DEFAULT);
	CHECK(r.err == CLEW_OK &&
		      !strstr(buf_cstr(&said), what) == !os_caps_can_profile_kernel(&caps),
	      "in a container, contexts of SPE are reported as root ids before they are recorded");
	record_on_cpu(&r, "arm_spe_0//", false, REC_DEFAULT);
	CHECK(!strstr(buf_cstr(&said), what), "elsewhere nothing is reported");
	CHECK(strstr(rec_contexts_inside("arm_spe_0", true), what) &&
		      !rec_contexts_inside("arm_spe_0", false),
	      "who may not profile the kernel gets no contexts of SPE");
	CHECK(strstr(rec_contexts_inside("cs_etm", true), "leaves contexts out"),
	      "CoreSight traces have none");
	CHECK(!rec_contexts_inside("cpu", true) && !rec_contexts_inside(NULL, true),
	      "samples have no contexts");
}

static void test_held_round(void)
{
	struct recording r = {.o = {.argv = command}};

	own.is_used = own.holds_rounds = true;
	record(&r, of_command, NULL);
	own.is_used = own.holds_rounds = false;
	CHECK(r.samples == 3 && !r.rounds, "no round ends while a source holds it");
	buf_done(&own.story);
}

int main(void)
{
	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof(path), "%s/data", directory);
	test_missing();
	test_command();
	test_signal();
	test_attached();
	test_max_size();
	test_delay();
	test_switch();
	test_control();
	test_source();
	test_source_orders();
	test_source_refuses();
	test_aux();
	test_snapshots();
	test_sideband();
	test_address_filters();
	test_contexts_inside();
	test_held_round();
	buf_done(&said);
	fake_kernel_reset(NULL, NULL);
	snprintf(spare, sizeof(spare), "rm -r %s", directory);
	return system(spare) ? 1 : tap_done();
}
