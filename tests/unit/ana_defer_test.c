/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "base/buf.h"
#include "base/mem.h"
#include "make/defer_make.h"
#include "make/splitmix.h"
#include "perfdata/perf_deferred.h"
#include "unit/analyze_made.h"
#include "unit/tap.h"

/* Each sample: time in us after 1 s, thread, outcome, stop, chain (k: kernel). */
static enum clew_err write_batch(void *ctx, const struct ana_batch *b)
{
	struct buf *out = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		const struct ana_event *e = &b->events[i];

		if (!e->sample)
			continue;
		buf_printf(out, "%d %s", (int)((e->time.ns - 1000000000) / 1000), e->comm);
		if (e->has_user_state)
			buf_printf(out, " %s",
				   e->user_reason ? stitch_reason_name(e->user_reason)
						  : stitch_state_name(e->user_state));
		if (e->user_stop)
			buf_printf(out, "/%s", unw_stop_name(e->user_stop));
		buf_char(out, ':');
		for (uint32_t j = 0; e->chain && j < e->chain->nr; j++)
			buf_printf(out, " %s%" PRIx64,
				   e->chain->locs[j]->level == ANA_KERNEL ? "k" : "",
				   e->chain->locs[j]->ip & 0xfffff);
		buf_char(out, '\n');
	}
	return CLEW_OK;
}

static const char story[] = "10 eleven unproven: k10 k20 310 401\n"
			    "11 ten complete/outermost: 10 101 201\n"
			    "13 ten unproven: 10 101 201\n"
			    "20 ten unproven: k10 k20 310 401\n"
			    "21 ten unproven: k10 k20 310 401\n"
			    "23 ten unproven: k10 k20 310 401\n"
			    "30 ten no-record: k10 k20\n"
			    "31 ten partial/no-info: k10 k20 310 401 k30\n"
			    "40 ten unproven: k10 k20 10 20\n"
			    "41 ten refused: k10 k20\n"
			    "42 ten kernel-thread: k10 k20\n"
			    "43 ten idle: k10 k20\n"
			    "44 ten exiting: k10 k20\n"
			    "45 ten map-full: k10 k20\n"
			    "46 ten ring-full: k10 k20\n"
			    "47 ten refused: k10 k20\n"
			    "48 ten unmatched: k10 k20\n"
			    "50 ten empty: k10 k20\n"
			    "60 twelve exec: k10 k20\n"
			    "62 execed unproven: k10 k20 10\n"
			    "64 execed exit: k10 k20\n"
			    "80 eleven end: k10 k20\n";

struct stream {
	struct bytes left;
	size_t chunk;
};

static long read_stream(void *ctx, void *buf, size_t size)
{
	struct stream *s = ctx;
	size_t n = bytes_left(&s->left);

	n = n > size ? size : n;
	n = n > s->chunk ? s->chunk : n;
	memcpy(buf, s->left.pos, n);
	s->left.pos += n;
	return (long)n;
}

static enum clew_err run_with(struct bytes file, size_t chunk, struct ana_opts opts,
			      enum clew_err (*batch)(void *, const struct ana_batch *),
			      struct buf *out, struct ana_summary *ret)
{
	struct stream stream = {file, chunk};
	struct perf_input in = {.data = file.pos, .size = bytes_left(&file)};

	if (chunk)
		in = (struct perf_input){.read = read_stream, .ctx = &stream};
	opts.symbols.no_host_kernel = true;
	buf_clear(out);
	return analyze_made(&in, &opts, (struct ana_consumer){batch, out}, ret);
}

static enum clew_err run(struct bytes file, size_t chunk, struct ana_opts opts, struct buf *out,
			 struct ana_summary *ret)
{
	return run_with(file, chunk, opts, write_batch, out, ret);
}

static bool adds_up(const struct ana_summary *s)
{
	uint64_t sum = 0;

	for (int i = 0; i < NR_STITCH_REASONS; i++)
		sum += s->users.by_reason[i];
	return sum == s->users.nr && s->users.nr == s->nr_samples;
}

static const struct form {
	const char *name;
	struct perf_build_opts opts;
	uint32_t compress;
	size_t chunk;
} forms[] = {
	{"file",            {0},			 0,                      0   },
	{"big-endian file", {.big = true},               0,                      0   },
	{"compressed file", {0},                         PERF_RECORD_COMPRESSED, 0   },
	{"mapped pipe",     {.pipe = true},              0,                      0   },
	{"pipe",            {.pipe = true},              0,                      1   },
	{"big-endian pipe", {.pipe = true, .big = true}, 0,                      4096},
	{"compressed pipe", {.pipe = true},              PERF_RECORD_COMPRESSED, 100 },
};

static void test_forms(void)
{
	struct buf out = {0};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct form *f = &forms[i];
		struct perf_build b = {.opts = f->opts};
		struct ana_summary s;
		struct bytes file;

		if (f->compress)
			perf_build_compress(&b, f->compress);
		defer_make_story(&b);
		if (f->compress)
			perf_build_compress_end(&b, 200);
		file = perf_build_finish(&b);
		CHECK_EQ(run(file, f->chunk, (struct ana_opts){0}, &out, &s), CLEW_OK, "%s: read",
			 f->name);
		CHECK_STR(buf_cstr(&out), story, "%s: the whole story", f->name);
		CHECK(adds_up(&s) && s.users.by_reason[STITCH_NO_REASON] == 9 &&
			      s.stitch.nr_duplicates == 1 && s.stitch.nr_late == 1 &&
			      s.users.by_stop[UNW_STOP_OUTERMOST] == 1 && s.users.nr_stops == 2,
		      "%s: each sample has one outcome", f->name);
		run(file, f->chunk, (struct ana_opts){.wants_records = true}, &out, &s);
		CHECK_STR(buf_cstr(&out), story, "%s: the same beside other records", f->name);
		perf_build_done(&b);
	}
	buf_done(&out);
}

static void test_choices(void)
{
	struct perf_build b = {0};
	struct buf out = {0};
	struct ana_summary s;
	struct bytes file;

	defer_make_story(&b);
	file = perf_build_finish(&b);
	run(file, 0, (struct ana_opts){.filter = {.comms = "eleven"}}, &out, &s);
	CHECK_STR(buf_cstr(&out), "10 eleven unproven: k10 k20 310 401\n80 eleven end: k10 k20\n",
		  "a filter leaves the others' stacks where they belong");
	CHECK(adds_up(&s), "the outcomes are those of the samples it keeps");
	run(file, 0, (struct ana_opts){.no_chains = true}, &out, &s);
	CHECK(!s.users.nr && !s.stitch.nr_stacks, "without chains no stacks are looked for");
	run(file, 0, (struct ana_opts){.no_chains = true, .wants_outcomes = true}, &out, &s);
	CHECK(adds_up(&s) && s.users.by_reason[STITCH_NO_REASON] == 9,
	      "but the outcomes can be had");
	run(file, 0, (struct ana_opts){.no_merge = true}, &out, &s);
	CHECK(!strstr(buf_cstr(&out), " 401"), "without merging stacks stay in their records");
	buf_done(&out);
	perf_build_done(&b);
}

static enum clew_err write_files(void *ctx, const struct ana_batch *b)
{
	for (size_t i = 0; i < b->nr; i++) {
		const struct ana_chain *c = b->events[i].chain;

		for (uint32_t j = 0; c && j < c->nr; j++)
			buf_printf(ctx, "%s+%x ", c->locs[j]->dso ? dso_path(c->locs[j]->dso) : "?",
				   (unsigned int)c->locs[j]->rel);
	}
	return CLEW_OK;
}

/* The first frame, return addresses, and one that a signal interrupted, each at a file's start. */
static void test_returns(const struct form *f)
{
	static const uint64_t ips[] = {0x500000, 0x500000, 0x500000, 0x500000, 0x500000};
	static const uint8_t methods[] = {0, UNW_EH_FRAME, UNW_EH_FRAME | PERF_DEFERRED_EXACT,
					  UNW_SFRAME, UNW_TRAMPOLINE};
	struct ana_summary s;
	struct perf_build b = {.opts = f->opts};
	struct buf out = {0};

	if (f->compress)
		perf_build_compress(&b, f->compress);
	defer_make_events(&b);
	defer_make_process(&b, 1, 1000, "x");
	perf_build_view(&b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER,
			&(union perf_view){
				.mmap = {.pid = 1,
					 .tid = 1,
					 .start = 0x500000,
					 .len = 0x1000,
					 .filename = "/b",
					 .is_mmap2 = true,
					 .prot = 5}
        },
			&(struct perf_sample_id){
				.pid = 1, .tid = 1, .time = 2000, .id = DEFER_MAKE_OUTPUT_ID});
	defer_make_sample(&b, &(struct defer_sample){
				      .tid = 1, .time = 3000, .cookie = 0x10001, .in_user = true});
	defer_make_stack(&b, &(struct defer_stack){.tid = 1,
						   .time = 4000,
						   .cookie = 0x10001,
						   .ips = ips,
						   .nr = 5,
						   .has_trailer = true,
						   .methods = methods});
	if (f->compress)
		perf_build_compress_end(&b, 100);
	perf_build_round(&b);
	run_with(perf_build_finish(&b), f->chunk, (struct ana_opts){0}, write_files, &out, &s);
	CHECK_STR(buf_cstr(&out), "/b+0 /no/such/program+500000 /b+0 /no/such/program+500000 /b+0 ",
		  "%s: return addresses are looked up at their calls, others where they are",
		  f->name);
	buf_done(&out);
	perf_build_done(&b);
}

enum { NR_LONG = 20000 };

static enum clew_err write_nothing(void *ctx, const struct ana_batch *b)
{
	(void)ctx, (void)b;
	return CLEW_OK;
}

/* A task that sleeps while another one runs; then its stack comes. @p step: ns between records. */
static void fill_long(struct perf_build *b, uint64_t step)
{
	static const uint64_t ips[] = {0x400010, 0x400101, 0x400201, 0x400301};
	uint64_t time = 1000000000;

	defer_make_events(b);
	defer_make_process(b, 1, 1000, "sleeper");
	defer_make_process(b, 2, 1000, "worker");
	defer_make_sample(b, &(struct defer_sample){.tid = 1, .time = time, .cookie = 0x10001});
	for (uint64_t i = 0; i < NR_LONG; i++) {
		uint64_t cookie = (i + 1) << 16 | 2;

		time += step;
		defer_make_sample(b,
				  &(struct defer_sample){.tid = 2, .time = time, .cookie = cookie});
		defer_make_stack(
			b,
			&(struct defer_stack){
				.tid = 2, .time = time + 1, .cookie = cookie, .ips = ips, .nr = 4});
		if (i % 100 == 99)
			perf_build_round(b);
	}
	defer_make_stack(
		b, &(struct defer_stack){
			   .tid = 1, .time = time + 2, .cookie = 0x10001, .ips = ips, .nr = 4});
	perf_build_round(b);
}

static void test_long_wait(const struct form *f)
{
	struct perf_build b = {.opts = f->opts};
	struct ana_summary s;

	if (f->compress)
		perf_build_compress(&b, f->compress);
	fill_long(&b, 1000000); /* 20 s in all */
	if (f->compress)
		perf_build_compress_end(&b, 60000);
	run_with(perf_build_finish(&b), f->chunk * 100, (struct ana_opts){0}, write_nothing,
		 &(struct buf){0}, &s);
	CHECK_EQ(s.users.by_reason[STITCH_NO_REASON], NR_LONG + 1,
		 "%s: a sample that waits 20 s gets its stack, and so do all after it", f->name);
	/* A file remembers samples, not records; where it is compressed their stacks too. */
	CHECK(f->chunk || s.stitch.peak_bytes < NR_LONG * (f->compress ? 140 : 100),
	      "%s: %d bytes for each sample after it", f->name,
	      (int)(s.stitch.peak_bytes / NR_LONG));
	if (f->chunk) {
		run_with(perf_build_finish(&b), f->chunk * 100, (struct ana_opts){.is_live = true},
			 write_nothing, &(struct buf){0}, &s);
		CHECK(s.users.by_reason[STITCH_TIMEOUT] == 1 &&
			      s.users.by_reason[STITCH_NO_REASON] == NR_LONG,
		      "%s that is watched: it goes without after 10 s, the others with theirs",
		      f->name);
	}
	perf_build_done(&b);
}

/* Nothing announces the marks. */
static void test_unannounced(bool pipe)
{
	struct perf_build b = {.opts = {.pipe = pipe}};
	struct buf out = {0};
	struct ana_summary s;

	defer_make_announces = false;
	defer_make_story(&b);
	defer_make_announces = true;
	run(perf_build_finish(&b), pipe ? 100 : 0, (struct ana_opts){0}, &out, &s);
	CHECK_STR(buf_cstr(&out), story, "%s without the attr's bit: the mark does",
		  pipe ? "pipe" : "file");
	buf_done(&out);
	perf_build_done(&b);
}

/* As a file and as a stream: damage ends neither, and each sample that is delivered has one
 * outcome. */
static void test_damage(void)
{
	uint64_t state = 1;
	unsigned int bad = 0, nr_read = 0;
	struct buf out = {0};

	for (int pipe = 0; pipe < 2; pipe++) {
		struct perf_build b = {.opts = {.pipe = pipe}};
		struct bytes file;
		uint8_t *copy;
		size_t size;

		defer_make_story(&b);
		file = perf_build_finish(&b);
		size = bytes_left(&file);
		copy = malloc(size);
		for (int i = 0; i < 3000; i++) {
			struct ana_summary s;

			memcpy(copy, file.pos, size);
			for (uint64_t n = 1 + splitmix64(&state) % 6; n; n--)
				copy[100 + splitmix64(&state) % (size - 100)] =
					(uint8_t)(splitmix64(&state) % 3 ? splitmix64(&state)
									 : splitmix64(&state) % 12);
			if (run(bytes_of(copy, size), pipe ? 1000 : 0,
				(struct ana_opts){.is_live = i % 2}, &out, &s) != CLEW_OK)
				continue;
			nr_read++;
			bad += s.users.nr && !adds_up(&s);
		}
		free(copy);
		perf_build_done(&b);
	}
	CHECK_EQ(bad, 0, "6000 damaged copies: one outcome a sample in all %u that can be read",
		 nr_read);
	buf_done(&out);
}

/* Memory may run short anywhere: an error, or the whole. */
static void test_memory(size_t chunk)
{
	struct perf_build b = {.opts = {.pipe = chunk != 0}};
	struct buf out = {0};
	struct ana_summary s;
	struct bytes file;
	bool is_ok = true;
	uint64_t n;

	defer_make_story(&b);
	file = perf_build_finish(&b);
	for (n = 0; n < 5000; n++) {
		enum clew_err err;

		buf_done(&out);
		mem_fail_after(n);
		err = run(file, chunk, (struct ana_opts){.is_single_threaded = true}, &out, &s);
		if (!mem_has_failed())
			break;
		mem_fail_after(UINT64_MAX);
		is_ok &= err != CLEW_OK || out.is_failed || !strcmp(buf_cstr(&out), story);
	}
	mem_fail_after(UINT64_MAX);
	CHECK(is_ok && n > 50, "%s: each of %d allocations may fail", chunk ? "pipe" : "file",
	      (int)n);
	buf_done(&out);
	perf_build_done(&b);
}

/* More words than one record holds: a sample's and its stack's. */
static void test_deep(void)
{
	enum { NR = 8150, NR_KERNEL = 250 };
	static uint64_t ips[NR];
	struct perf_build b = {0};
	struct buf out = {0};
	struct ana_summary s;
	size_t nr = 0;

	for (size_t i = 0; i < NR; i++)
		ips[i] = 0x400100 + i;
	defer_make_events(&b);
	defer_make_process(&b, 1, 1000, "deep");
	defer_make_sample(&b, &(struct defer_sample){.tid = 1,
						     .time = 1000000000,
						     .cookie = 0x10001,
						     .nr_after = NR_KERNEL});
	defer_make_stack(&b, &(struct defer_stack){.tid = 1,
						   .time = 1000000001,
						   .cookie = 0x10001,
						   .ips = ips,
						   .nr = NR,
						   .has_trailer = true,
						   .stop = UNW_STOP_OUTERMOST});
	CHECK_EQ(run(perf_build_finish(&b), 0, (struct ana_opts){0}, &out, &s), CLEW_OK,
		 "a deep stack");
	for (const char *p = buf_cstr(&out); (p = strchr(p, ' ')); p++)
		nr++;
	CHECK(nr > NR + NR_KERNEL, "all its frames are there, and those of the kernel: %d",
	      (int)nr);
	perf_build_done(&b);
	buf_done(&out);
}

int main(void)
{
	test_forms();
	test_deep();
	test_choices();
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		test_returns(&forms[i]);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		test_long_wait(&forms[i]);
	test_unannounced(false);
	test_unannounced(true);
	test_damage();
	test_memory(0);
	test_memory(4096);
	return tap_done();
}
