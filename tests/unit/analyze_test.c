/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/analyze.h"

#include <inttypes.h>
#include <time.h>

#include "base/buf.h"
#include "make/perf_build.h"
#include "make/perf_random.h"
#include "unit/tap.h"

enum {
	SAMPLE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
		 PERF_SAMPLE_PERIOD
};

/* What a consumer sees, as text: two runs agree when their texts do. */
static enum clew_err write_batch(void *ctx, const struct ana_batch *b)
{
	struct buf *out = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		const struct ana_event *e = &b->events[i];

		buf_printf(out, "%s %u/%u %" PRIu64 " %s", e->comm ? e->comm : "-", e->pid, e->tid,
			   e->time.ns,
			   e->sample ? e->evsel->name : perf_record_type_name(e->record.type));
		if (e->loc)
			buf_printf(out, " %s+%" PRIx64, e->loc->dso ? dso_path(e->loc->dso) : "?",
				   e->loc->rel);
		for (uint32_t j = 0; e->chain && j < e->chain->nr; j++)
			buf_printf(out, " %d:%" PRIx64, e->chain->locs[j]->level,
				   e->chain->locs[j]->rel);
		buf_char(out, '\n');
	}
	return CLEW_OK;
}

static enum clew_err run(struct bytes file, struct ana_opts opts, struct buf *out,
			 struct ana_summary *ret_summary)
{
	struct perf_input in = {.data = file.pos, .size = bytes_left(&file)};
	struct clew_diag diag = {0};
	struct analyze *a;
	enum clew_err err;

	opts.symbols.no_host_kernel = true;
	err = analyze_open(&a, &in, &opts, &diag);
	if (err != CLEW_OK)
		return err;
	err = analyze_run(a, &(struct ana_consumer){write_batch, out}, &diag);
	if (ret_summary)
		*ret_summary = *analyze_summary(a);
	analyze_free(a);
	return err;
}

static struct perf_sample_id at(uint64_t time, uint32_t pid, uint32_t tid)
{
	return (struct perf_sample_id){
		.time = time, .pid = pid, .tid = tid, .id = UINT64_MAX, .stream_id = UINT64_MAX};
}

static void put_sample(struct perf_build *b, uint64_t time, uint32_t tid, uint64_t ip)
{
	perf_build_sample(b, 0,
			  &(struct perf_sample){.misc = PERF_RECORD_MISC_USER,
						.ip = ip,
						.time = time,
						.pid = tid,
						.tid = tid,
						.period = 1});
}

/* A process forks, execs and maps over an old mapping, written out of order in two rounds. */
static void fill_story(struct perf_build *b)
{
	struct perf_attr attr = {
		.sample_type = SAMPLE, .sample_period = 1, .flags = PERF_ATTR_SAMPLE_ID_ALL};
	struct perf_sample_id id;
	union perf_view v;

	perf_build_event(b, &attr, "cycles", (uint64_t[]){7}, 1);
	perf_build_event_desc(b);
	put_sample(b, 50, 100, 0x1010);
	put_sample(b, 20, 100, 0x1010);
	id = at(10, 100, 100);
	v = (union perf_view){
		.comm = {.pid = 100, .tid = 100, .comm = "sh"}
        };
	perf_build_view(b, PERF_RECORD_COMM, 0, &v, &id);
	id = at(15, 100, 100);
	v = (union perf_view){
		.mmap = {.pid = 100,
			 .tid = 100,
			 .start = 0x1000,
			 .len = 0x1000,
			 .pgoff = 0x400,
			 .filename = "/no/such/sh",
			 .is_mmap2 = true,
			 .prot = 5}
        };
	perf_build_view(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &v, &id);
	perf_build_round(b);
	id = at(30, 101, 101);
	v = (union perf_view){
		.task = {.pid = 101, .ppid = 100, .tid = 101, .ptid = 100, .time = 30}
        };
	perf_build_view(b, PERF_RECORD_FORK, 0, &v, &id);
	put_sample(b, 35, 101, 0x1020);
	id = at(40, 101, 101);
	v = (union perf_view){
		.comm = {.pid = 101, .tid = 101, .comm = "ls", .is_exec = true}
        };
	perf_build_view(b, PERF_RECORD_COMM, 0, &v, &id);
	put_sample(b, 45, 101, 0x1020);
	perf_build_round(b);
}

static const char story[] = "sh 100/100 20 cycles /no/such/sh+410\n"
			    "sh 101/101 35 cycles /no/such/sh+420\n"
			    "ls 101/101 45 cycles ?+1020\n"
			    "sh 100/100 50 cycles /no/such/sh+410\n";

static void test_story(bool big, bool pipe)
{
	struct perf_build b = {
		.opts = {.big = big, .pipe = pipe}
        };
	struct ana_summary summary = {0};
	struct buf out = {0};

	fill_story(&b);
	CHECK_EQ(run(perf_build_finish(&b), (struct ana_opts){0}, &out, &summary), CLEW_OK,
		 "a file of two rounds");
	CHECK_STR(buf_cstr(&out), story, "time order; fork inherits, exec empties (%s, %s)",
		  big ? "big" : "little", pipe ? "pipe" : "file");
	CHECK_EQ(summary.nr_samples, 4, "samples counted");
	CHECK(summary.first_time.ns == 20 && summary.last_time.ns == 50, "first and last time");
	buf_done(&out);
	perf_build_done(&b);
}

static void test_filter(void)
{
	struct perf_build b = {0};
	struct ana_summary summary = {0};
	struct buf out = {0};
	struct bytes file;

	fill_story(&b);
	file = perf_build_finish(&b);
	run(file, (struct ana_opts){.filter = {.comms = "ls,cat"}}, &out, &summary);
	CHECK(summary.nr_samples == 1 && summary.nr_filtered == 3, "by name");
	run(file, (struct ana_opts){.filter = {.pids = "100"}}, &out, &summary);
	CHECK_EQ(summary.nr_samples, 2, "by pid");
	run(file,
	    (struct ana_opts){
		    .filter = {.time_from = {35}, .time_to = {45}}
        },
	    &out, &summary);
	CHECK_EQ(summary.nr_samples, 2, "by time, both ends inclusive");
	CHECK_EQ(run(file, (struct ana_opts){.filter = {.cpus = "0-x"}}, &out, &summary),
		 CLEW_INVALID, "a list that is none");
	buf_done(&out);
	perf_build_done(&b);
}

/* AUX records without any trace: the payload got lost on the way. */
static void test_missing_trace(void)
{
	struct perf_attr attr = {.sample_type = SAMPLE, .flags = PERF_ATTR_SAMPLE_ID_ALL};
	struct perf_sample_id id = at(10, 1, 1);
	union perf_view v = {
		.aux = {.offset = 0, .size = 4096}
        };
	struct ana_summary summary = {0};
	struct perf_build b = {0};
	struct buf out = {0};

	perf_build_event(&b, &attr, "trace", (uint64_t[]){1}, 1);
	perf_build_view(&b, PERF_RECORD_AUX, 0, &v, &id);
	perf_build_view(&b, PERF_RECORD_AUX, 0, &v, &id);
	run(perf_build_finish(&b), (struct ana_opts){0}, &out, &summary);
	CHECK(summary.nr_aux_missing == 8192 && !summary.nr_aux_bytes,
	      "AUX records without trace are counted");
	buf_done(&out);
	perf_build_done(&b);
}

/* A leader's sample carries the counts of its group: each member gets what it counted since. */
static void test_group_values(void)
{
	struct perf_attr attr = {.sample_type = SAMPLE | PERF_SAMPLE_ID | PERF_SAMPLE_READ,
				 .flags = PERF_ATTR_SAMPLE_ID_ALL,
				 .read_format = PERF_FORMAT_ID | PERF_FORMAT_GROUP};
	uint64_t words[][4] = {
		{100, 1, 7, 2},
                {150, 1, 7, 2}
        };
	struct perf_build b = {0};
	struct ana_summary summary;
	struct buf out = {0};

	perf_build_event(&b, &attr, "a", (uint64_t[]){1}, 1);
	perf_build_event(&b, &attr, "b", (uint64_t[]){2}, 1);
	perf_build_event_desc(&b);
	for (int i = 0; i < 2; i++) {
		struct perf_sample s = {
			.time = 1 + (uint64_t)i, .id = 1, .pid = 1, .tid = 1, .ip = 0x10};

		s.read = (struct perf_read){
			.nr = 2,
			.read_format = attr.read_format,
			.words = {(const uint8_t *)words[i], 4, false}
                };
		perf_build_sample(&b, 0, &s);
	}
	run(perf_build_finish(&b), (struct ana_opts){0}, &out, &summary);
	CHECK_EQ(summary.nr_samples, 3,
		 "two events in the first sample; one in the second, the other did not count");
	buf_done(&out);
	perf_build_done(&b);
}

static void test_same_in_any_way(void)
{
	int differ = 0, empty = 0;

	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct perf_random r = {.state = seed, .big = seed % 2};
		struct perf_build b = {0};
		struct perf_random_opts opts = {
			.build = {.big = seed % 2}, .nr_records = 3000, .is_ordered = true};
		struct buf a = {0}, c = {0}, d = {0};
		struct bytes file;

		perf_random_fill(&r, &opts, &b);
		file = perf_build_finish(&b);
		run(file, (struct ana_opts){.wants_records = true, .is_single_threaded = true}, &a,
		    NULL);
		run(file, (struct ana_opts){.wants_records = true}, &c, NULL);
		run(file, (struct ana_opts){.wants_records = true, .cache_bytes = 200000}, &d,
		    NULL);
		differ += strcmp(buf_cstr(&a), buf_cstr(&c)) || strcmp(buf_cstr(&a), buf_cstr(&d));
		empty += a.nr < 10000;
		buf_done(&a);
		buf_done(&c);
		buf_done(&d);
		perf_build_done(&b);
		perf_random_done(&r);
	}
	CHECK(!differ && !empty, "one thread, two threads and many epochs give the same text");
}

/* --- virtual machines --- */

enum { HOST_EVENT = 7, GUEST_EVENT = 8, MACHINE = 500 };

static void put_map_of(struct perf_build *b, uint16_t misc, uint64_t event, uint64_t start,
		       const char *path)
{
	struct perf_sample_id id = at(5, 100, 100);
	const union perf_view v = {
		.mmap = {.pid = 100,
			 .tid = 100,
			 .start = start,
			 .len = 0x1000,
			 .filename = path,
			 .is_mmap2 = true,
			 .prot = 5}
        };

	id.id = event;
	perf_build_view(b, PERF_RECORD_MMAP2, misc, &v, &id);
}

static void put_comm_of(struct perf_build *b, uint64_t event, uint32_t pid, const char *name)
{
	struct perf_sample_id id = at(4, pid, pid);

	id.id = event;
	perf_build_view(b, PERF_RECORD_COMM, 0,
			&(union perf_view){
				.comm = {pid, pid, name, false}
        },
			&id);
}

static void put_sample_of(struct perf_build *b, uint16_t misc, uint64_t event, uint32_t pid,
			  uint64_t ip)
{
	const uint64_t chain[] = {PERF_CONTEXT_KERNEL, 0x20010, PERF_CONTEXT_USER, 0x1024};

	perf_build_sample(b, 0,
			  &(struct perf_sample){
				  .misc = misc,
				  .id = event,
				  .ip = ip,
				  .time = 21 + b->log.nr,
				  .pid = pid,
				  .tid = pid,
				  .period = 1,
				  .callchain = {(const uint8_t *)chain, 4, false}
        });
}

/* ID_INDEX: one event, of which a machine's samples are. */
static void put_machine(struct perf_build *b)
{
	const uint64_t words[] = {1, GUEST_EVENT, 0, UINT64_MAX, UINT64_MAX, MACHINE, UINT64_MAX};

	perf_build_raw(b, PERF_RECORD_ID_INDEX, 0, bytes_of(words, sizeof(words)));
}

static void test_guests(void)
{
	struct perf_attr attr = {.sample_type =
					 SAMPLE | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CALLCHAIN,
				 .sample_period = 1,
				 .flags = PERF_ATTR_SAMPLE_ID_ALL};
	struct perf_build b = {0};
	struct buf out = {0};

	perf_build_event(&b, &attr, "cycles", (uint64_t[]){HOST_EVENT, GUEST_EVENT}, 2);
	perf_build_event_desc(&b);
	put_machine(&b);
	put_comm_of(&b, HOST_EVENT, 100, "host");
	put_comm_of(&b, HOST_EVENT, MACHINE, "vcpu");
	put_map_of(&b, PERF_RECORD_MISC_USER, HOST_EVENT, 0x1000, "/bin/host");
	put_comm_of(&b, GUEST_EVENT, 100, "inside");
	put_map_of(&b, PERF_RECORD_MISC_GUEST_USER, GUEST_EVENT, 0x1000, "/bin/inside");
	put_map_of(&b, PERF_RECORD_MISC_GUEST_KERNEL, GUEST_EVENT, 0x20000, "/boot/image");
	put_sample_of(&b, PERF_RECORD_MISC_USER, HOST_EVENT, 100, 0x1010);
	put_sample_of(&b, PERF_RECORD_MISC_GUEST_USER, GUEST_EVENT, 100, 0x1020);
	put_sample_of(&b, PERF_RECORD_MISC_GUEST_KERNEL, GUEST_EVENT, 100, 0x20030);
	put_sample_of(&b, PERF_RECORD_MISC_GUEST_KERNEL, HOST_EVENT, MACHINE, 0x20040);
	put_sample_of(&b, PERF_RECORD_MISC_GUEST_USER, HOST_EVENT, MACHINE, 0x1050);
	put_sample_of(&b, PERF_RECORD_MISC_GUEST_USER, GUEST_EVENT, 101, 0x1060);
	run(perf_build_finish(&b), (struct ana_opts){.is_single_threaded = true}, &out, NULL);
	CHECK_STR(buf_cstr(&out),
		  "host 100/100 28 cycles /bin/host+10 2:20010 1:24\n"
		  "inside 100/100 29 cycles /500/bin/inside+20 5:10 4:24\n"
		  "inside 100/100 30 cycles /500/boot/image+30 5:10 4:24\n"
		  "vcpu 500/500 31 cycles /500/boot/image+40 2:20010 1:1024\n"
		  "vcpu 500/500 32 cycles ?+1050 2:20010 1:1024\n"
		  ":101 101/101 33 cycles ?+1060 5:10 4:1024\n",
		  "a guest's samples are of its own threads, mappings and kernel");
	buf_done(&out);
	perf_build_done(&b);
}

static enum clew_err stop(void *ctx, const struct ana_batch *b)
{
	(void)b;
	++*(int *)ctx;
	return CLEW_STOPPED;
}

static void test_stop(void)
{
	struct perf_random r = {.state = 5};
	struct perf_random_opts opts = {.nr_records = 20000, .is_ordered = true};
	struct clew_diag diag;
	struct perf_build b = {0};
	struct analyze *a;
	struct bytes file;
	int calls = 0;

	perf_random_fill(&r, &opts, &b);
	file = perf_build_finish(&b);
	analyze_open(&a, &(struct perf_input){.data = file.pos, .size = bytes_left(&file)},
		     &(struct ana_opts){.wants_records = true}, &diag);
	CHECK_EQ(analyze_run(a, &(struct ana_consumer){stop, &calls}, &diag), CLEW_STOPPED,
		 "the consumer's error ends the run");
	CHECK_EQ(calls, 1, "and it is not called again");
	analyze_free(a);
	perf_build_done(&b);
	perf_random_done(&r);
}

static void test_no_memory(void)
{
	struct perf_build b = {0};
	int nr_failed = 0, wrong = 0;
	struct bytes file;

	fill_story(&b);
	file = perf_build_finish(&b);
	for (uint64_t n = 0; n < 120; n++) {
		struct buf out = {0};
		enum clew_err err;

		mem_fail_after(n);
		err = run(file, (struct ana_opts){.is_single_threaded = true}, &out, NULL);
		nr_failed += mem_has_failed();
		wrong += mem_has_failed() && err != CLEW_NO_MEMORY && !out.is_failed;
		mem_fail_after(UINT64_MAX);
		buf_done(&out);
	}
	CHECK(nr_failed > 20, "each allocation failing in turn: no crash, no leak");
	CHECK_EQ(wrong, 0, "and the run says so");
	perf_build_done(&b);
}

static void test_too_many_maps(void)
{
	struct perf_attr attr = {
		.sample_type = SAMPLE, .sample_period = 1, .flags = PERF_ATTR_SAMPLE_ID_ALL};
	struct perf_sample_id id = at(5, 1, 1);
	struct ana_summary summary = {0};
	struct perf_build b = {0};
	struct buf out = {0};
	uint64_t most = 1 << 18;

	perf_build_event(&b, &attr, "cycles", (uint64_t[]){7}, 1);
	perf_build_event_desc(&b);
	for (uint64_t i = 1; i <= most + 3; i++) {
		union perf_view v = {
			.mmap = {.pid = 1,
				 .tid = 1,
				 .start = i << 12,
				 .len = 1 << 12,
				 .filename = "/no/such"}
                };

		perf_build_view(&b, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, &v, &id);
	}
	put_sample(&b, 10, 1, most << 12);
	put_sample(&b, 11, 1, (most + 2) << 12);
	run(perf_build_finish(&b), (struct ana_opts){0}, &out, &summary);
	CHECK_STR(buf_cstr(&out), ":1 1/1 10 cycles /no/such+0\n:1 1/1 11 cycles ?+40002000\n",
		  "maps are taken up to a limit");
	CHECK_EQ(summary.nr_maps_dropped, 3, "and those above it are reported");
	buf_done(&out);
	perf_build_done(&b);
}

struct watch {
	int nr_calls;
	_Atomic int nr_running; /* read by the pipeline's thread after the run */
};

/* Slow enough for the pipeline to be ahead. */
static enum clew_err dawdle(void *ctx, const struct ana_batch *b)
{
	struct watch *w = ctx;

	(void)b;
	w->nr_running++;
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	w->nr_calls++;
	w->nr_running--;
	return CLEW_OK;
}

static void test_no_call_after_failure(void)
{
	struct perf_random r = {.state = 9};
	struct perf_random_opts opts = {.nr_records = 12000, .is_ordered = true};
	struct perf_build b = {0};
	int nr_failed = 0, nr_late = 0;
	struct bytes file;

	perf_random_fill(&r, &opts, &b);
	file = perf_build_finish(&b);
	for (uint64_t n = 40; n < 1200; n += 90) {
		struct watch watch = {0};
		struct clew_diag diag;
		struct analyze *a;
		int nr_calls;

		analyze_open(&a, &(struct perf_input){.data = file.pos, .size = bytes_left(&file)},
			     &(struct ana_opts){.wants_records = true}, &diag);
		mem_fail_after(n);
		analyze_run(a, &(struct ana_consumer){dawdle, &watch}, &diag);
		nr_failed += mem_has_failed();
		mem_fail_after(UINT64_MAX);
		nr_late += watch.nr_running;
		nr_calls = watch.nr_calls;
		analyze_free(a);
		nr_late += watch.nr_calls != nr_calls;
	}
	CHECK(nr_failed > 2 && !nr_late, "a run that fails leaves no consumer at work");
	perf_build_done(&b);
	perf_random_done(&r);
}

int main(void)
{
	test_story(false, false);
	test_story(true, false);
	test_story(false, true);
	test_filter();
	test_missing_trace();
	test_group_values();
	test_same_in_any_way();
	test_guests();
	test_stop();
	test_no_memory();
	test_too_many_maps();
	test_no_call_after_failure();
	return tap_done();
}
