/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "make/cs_etm_make.h"
#include "make/elf_build.h"
#include "make/splitmix.h"
#include "trace/events/trace_events.h"
#include "trace/perf/perf_trace.h"
#include "unit/test_dir.h"

/*
 * Random recordings of several CPUs, with timestamps: what comes out is in order of time, recorded
 * events among it, and of each CPU it is what comes out unit by unit.
 */
enum { RET = 0xd65f03c0, TEXT = 128, START = 0x10000, NR_WORDS = 256, NR_CPUS = 3, NR_PARTS = 40 };

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(splitmix64(&seed) % n);
}

static void write_program(void)
{
	struct elf_build b = {.machine = 183};
	uint32_t words[NR_WORDS];

	for (unsigned int i = 0; i < NR_WORDS; i++)
		words[i] = RET;
	elf_build_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, words,
			  sizeof(words));
	elf_build_finish(&b);
	test_dir_write("prog", b.file.data, b.file.nr);
	elf_build_done(&b);
}

/* --- recordings --- */

enum form { OWN_RINGS, ONE_RING };

static void put_runs(struct cs_etm_make *m, struct buf *t)
{
	for (uint32_t nr = below(4); nr > 0; nr--) {
		cs_etm_go(m, t,
			  &(struct cs_etm_place){.addr = START + TEXT + 4 * below(NR_WORDS),
						 .cid = 100});
		enc_atoms(t, 1, 1);
	}
}

/** Each CPU has its ring, and its clock advances by itself. */
static void put_own_rings(struct cs_etm_make *m)
{
	for (uint32_t cpu = 0; cpu < NR_CPUS; cpu++) {
		uint64_t ticks = 1000 + below(50);
		bool is_first_late = below(2);
		struct buf t = {0};

		for (int part = 0; part < NR_PARTS; part++) {
			if (part % 10 == 0) {
				if (part)
					cs_etm_trace(m, cpu, 2 * ticks + 1, &t);
				cs_etm_sync(&t);
			}
			ticks += below(20);
			if (below(3) && (part || !is_first_late))
				enc_timestamp(&t, ticks, 9);
			put_runs(m, &t);
		}
		cs_etm_trace(m, cpu, 2 * ticks + 1, &t);
		buf_done(&t);
	}
}

/** All share one, in the order in which it came. */
static void put_one_ring(struct cs_etm_make *m)
{
	struct buf frames = {0}, t = {0};
	uint64_t ticks = 1000;

	for (int part = 0; part < NR_CPUS * NR_PARTS; part++) {
		uint32_t cpu = part < NR_CPUS ? (uint32_t)part : below(NR_CPUS);

		if (part < NR_CPUS)
			cs_etm_sync(&t);
		enc_timestamp(&t, ticks++, 9);
		put_runs(m, &t);
		cs_etm_frames(&frames, (uint8_t)(0x10 + 2 * cpu), &t);
		buf_clear(&t);
	}
	cs_etm_aux(m, 0, 100, 2 * ticks + 1, frames.nr);
	cs_etm_auxtrace(m, 0, 100, 0, bytes_of(frames.data, frames.nr));
	buf_done(&frames);
	buf_done(&t);
}

/* --- what comes out --- */

struct story {
	struct buf all, traced, cpus[NR_CPUS]; /* traced: all but the recorded */
	uint64_t last;
	size_t nr_back, nr_events, nr_recorded;
};

static enum clew_err take(void *ctx, const struct ana_batch *b)
{
	struct story *s = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		const struct ana_event *e = &b->events[i];

		if (clew_perf_ns_is_known(e->time)) {
			s->nr_back += e->time.ns < s->last;
			s->last = e->time.ns > s->last ? e->time.ns : s->last;
		}
		if (!e->synth) {
			s->nr_recorded++;
			buf_printf(&s->all, "recorded %" PRIu64 "\n", e->time.ns);
			continue;
		}
		s->nr_events++;
		buf_printf(&s->all, "%u %" PRIx64 "\n", e->cpu, e->sample->ip);
		buf_printf(&s->traced, "%u %" PRIx64 "\n", e->cpu, e->sample->ip);
		buf_printf(&s->cpus[e->cpu], "%" PRIx64 " %" PRIx64 " %x\n", e->sample->ip,
			   e->sample->addr, e->synth->flow);
	}
	return CLEW_OK;
}

static void story_done(struct story *s)
{
	buf_done(&s->all);
	buf_done(&s->traced);
	for (int i = 0; i < NR_CPUS; i++)
		buf_done(&s->cpus[i]);
}

/** Recorded events, one each 30 ns, in batches. */
static enum clew_err give_recorded(struct trace_events *e, const struct ana_consumer *consumer)
{
	struct ana_event events[8] = {0};
	struct ana_batch b = {.events = events};
	enum clew_err err = CLEW_OK;

	for (uint64_t time = 2000; !err && time < 5000;) {
		for (b.nr = 0; b.nr < 1 + below(7); b.nr++, time += 30)
			events[b.nr].time.ns = time;
		err = trace_events_take_recorded(e, consumer, &b);
	}
	return err;
}

static void run(struct bytes file, const char *itrace, unsigned int nr_threads, struct story *s)
{
	struct dso_store_opts symbols = {.symfs = test_dir, .no_host_kernel = true};
	struct perf_input in = {.data = file.pos, .size = bytes_left(&file)};
	struct trace_events_opts opts = {.nr_threads = nr_threads};
	const struct ana_consumer consumer = {take, s};
	struct perf_evlist recorded = {0};
	struct trace_input *t = NULL;
	struct trace_events *e = NULL;
	const char *at, *why;
	enum clew_err err = perf_trace_open(&t, &in, &symbols, NULL);

	*s = (struct story){0};
	itrace_opts_parse(&opts.itrace, itrace, &at, &why);
	opts.recorded = &recorded;
	if (!err)
		err = trace_events_new(&e, t, &opts, NULL);
	if (!err)
		err = give_recorded(e, &consumer);
	if (!err)
		err = trace_events_run(e, &consumer, NULL);
	CHECK_EQ(err, CLEW_OK, "%s, %u threads", itrace, nr_threads);
	trace_events_free(e);
	trace_input_free(t);
}

static void make(struct cs_etm_make *m, enum form form, bool has_conv)
{
	*m = (struct cs_etm_make){
		.version = 1, .nr_cpus = NR_CPUS, .ts_source = 1, .configr = 1u << 6 | 1u << 11};
	cs_etm_begin(m);
	if (has_conv)
		cs_etm_time_conv(m, 0);
	cs_etm_comm(m, 5, 100, 100, "one", false);
	cs_etm_map(m, 6, 100, START, "/prog");
	if (form == ONE_RING)
		put_one_ring(m);
	else
		put_own_rings(m);
}

static bool is_recorded_first(const struct story *s)
{
	const char *last = NULL, *text = buf_cstr((struct buf *)(uintptr_t)&s->all);

	for (const char *at = text; (at = strstr(at, "recorded")); at++)
		last = at;
	return last && !strncmp(text, "recorded", 8) && strstr(last, "\n") &&
	       (size_t)(last - text) < s->nr_recorded * sizeof("recorded 1234");
}

static void check_form(enum form form, bool has_conv, const char *itrace)
{
	struct cs_etm_make m;
	struct story merged, again, apart;
	struct bytes file;
	char timeless[16];
	uint64_t from;

	make(&m, form, has_conv);
	file = perf_build_finish(&m.file);
	snprintf(timeless, sizeof(timeless), "%sZ", itrace);
	from = seed;
	run(file, itrace, 1, &merged);
	seed = from;
	run(file, itrace, 4, &again);
	run(file, timeless, 1, &apart);
	CHECK(merged.nr_events > 50 && merged.nr_recorded > 90, "%zu and %zu events",
	      merged.nr_events, merged.nr_recorded);
	CHECK_EQ(merged.nr_back, 0, "in order of time");
	CHECK_STR(buf_cstr(&again.all), buf_cstr(&merged.all), "with four threads too");
	for (int i = 0; i < NR_CPUS; i++)
		CHECK_STR(buf_cstr(&merged.cpus[i]), buf_cstr(&apart.cpus[i]), "CPU %d's own", i);
	CHECK(is_recorded_first(&apart), "with Z recorded events come first");
	CHECK_EQ(is_recorded_first(&merged), !has_conv, "and where times do not compare");
	story_done(&merged);
	story_done(&again);
	story_done(&apart);
	cs_etm_done(&m);
}

/** The same recording with and without a known clock: its trace is in one order. */
static void check_ticks(enum form form)
{
	struct story with, without;
	struct cs_etm_make m;
	uint64_t from = seed;

	make(&m, form, true);
	run(perf_build_finish(&m.file), "b", 1, &with);
	cs_etm_done(&m);
	seed = from;
	make(&m, form, false);
	run(perf_build_finish(&m.file), "b", 1, &without);
	cs_etm_done(&m);
	CHECK_STR(buf_cstr(&without.traced), buf_cstr(&with.traced), "ticks order as times do");
	story_done(&with);
	story_done(&without);
}

int main(void)
{
	test_dir_make("etm-merge-test");
	CHECK(!access(test_dir, W_OK), "a folder");
	write_program();
	for (seed = 0; seed < 20; seed++) {
		uint64_t number = seed;

		check_form(OWN_RINGS, true, "b");
		check_form(OWN_RINGS, true, "i1i");
		check_form(OWN_RINGS, false, "b");
		check_form(ONE_RING, true, "b");
		check_form(ONE_RING, false, "i1i");
		check_ticks(OWN_RINGS);
		check_ticks(ONE_RING);
		seed = number;
	}
	test_dir_remove();
	return tap_done();
}
