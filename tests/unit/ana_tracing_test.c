/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "format/tracing_text.h"
#include "make/cs_etm_make.h"
#include "make/elf_build.h"
#include "trace/events/trace_events.h"
#include "trace/perf/perf_trace.h"
#include "unit/test_dir.h"

/* Intervals of tracing in recordings: made ones, with decoded trace, and rings that Linux wrote. */

enum { MS = 1000000, NONE = UINT32_MAX, AUX_ID = 1, RESUME_ID = 2, PAUSE_ID = 3, TID = 100 };

#define ID_TYPE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* --- records alone --- */

static void add_event(struct perf_build *b, const char *name, uint32_t type, uint32_t action,
		      uint64_t id, uint64_t flags)
{
	const struct perf_attr a = {.type = type,
				    .sample_type = ID_TYPE,
				    .flags = PERF_ATTR_SAMPLE_ID_ALL | flags,
				    .aux_action = action};

	perf_build_event(b, &a, name, &id, 1);
}

static void add_events(struct perf_build *b, uint32_t action, uint64_t flags)
{
	add_event(b, "softaux//", 40, action, AUX_ID, flags);
	add_event(b, "resume", PERF_TYPE_TRACEPOINT, PERF_AUX_RESUME, RESUME_ID, flags);
	add_event(b, "pause", PERF_TYPE_TRACEPOINT, PERF_AUX_PAUSE, PAUSE_ID, flags);
}

static void put_ids(struct perf_build *b, uint32_t cpu, uint32_t tid)
{
	uint64_t words[3][4];

	for (uint64_t i = 0; i < 3; i++) {
		words[i][0] = AUX_ID + i;
		words[i][1] = 0;
		words[i][2] = cpu == NONE ? UINT64_MAX : cpu;
		words[i][3] = tid == NONE ? UINT64_MAX : tid;
	}
	perf_build_view(b, PERF_RECORD_ID_INDEX, 0,
			&(union perf_view){
				.id_index = {.nr = 3, .entries = (const uint8_t *)words}
        },
			NULL);
}

static void put_sample(struct perf_build *b, uint64_t id, uint32_t tid, uint32_t cpu,
		       uint64_t at_ms)
{
	const struct perf_sample s = {
		.id = id, .pid = tid, .tid = tid, .cpu = cpu, .time = at_ms * MS};

	perf_build_sample(b, (uint32_t)(id - AUX_ID), &s);
}

static void put_aux(struct perf_build *b, uint32_t tid, uint32_t cpu, uint64_t at_ms,
		    uint64_t bytes, uint64_t flags)
{
	const struct perf_sample_id id = {
		.id = AUX_ID, .pid = tid, .tid = tid, .cpu = cpu, .time = at_ms * MS};

	perf_build_view(b, PERF_RECORD_AUX, 0,
			&(union perf_view){
				.aux = {0, bytes, flags}
        },
			&id);
}

static enum clew_err ignore(void *ctx, const struct ana_batch *b)
{
	(void)ctx, (void)b;
	return CLEW_OK;
}

/** The text of all that is said, as lines; "": nothing is switched. */
static void text_of(struct perf_build *b, struct buf *ret)
{
	struct bytes file = perf_build_finish(b);
	const struct perf_input in = {.data = file.pos, .size = bytes_left(&file)};
	const struct ana_opts opts = {.no_symbols = true};
	const struct ana_tracing *x = NULL;
	struct analyze *a = NULL;

	CHECK(analyze_open(&a, &in, &opts, NULL) == CLEW_OK &&
		      analyze_run(a, &(struct ana_consumer){ignore, NULL}, NULL) == CLEW_OK,
	      "a recording is read");
	x = analyze_summary(a)->tracing;
	if (x)
		tracing_text(ret, x, TRACING_ALL, "");
	for (unsigned int i = 0; x && tracing_sentence(ret, x, i); i++)
		buf_char(ret, '\n');
	analyze_free(a);
	perf_build_done(b);
}

static void expect(struct perf_build *b, const char *const lines[], const char *what)
{
	struct buf text = {0};
	bool is_good = true;

	text_of(b, &text);
	for (; *lines; lines++)
		is_good &= strstr(buf_cstr(&text), *lines) != NULL;
	CHECK(is_good, "%s", what);
	if (!is_good)
		printf("# %s\n", buf_cstr(&text));
	buf_done(&text);
}

static void test_per_cpu(void)
{
	struct perf_build b = {0};

	add_events(&b, PERF_AUX_START_PAUSED, 0);
	put_ids(&b, 3, NONE);
	put_sample(&b, RESUME_ID, 10, 3, 10);
	put_sample(&b, PAUSE_ID, 11, 3, 20);
	put_aux(&b, 0, 3, 30, 100, 0);
	put_sample(&b, RESUME_ID, 12, 3, 40);
	put_aux(&b, 0, 3, 50, 100, 0);
	expect(&b,
	       (const char *const[]){"CPU 3: 2 intervals, 20.000000 ms\n",
				     "    0.010000000 to 0.020000000, 10.000000 ms\n",
				     "    0.040000000 to still running\n",
				     "           3  samples of events", "           0  unpaired",
				     "     unknown  lost pauses", NULL},
	       "whichever thread sets it off, a CPU has one state");
}

static void test_inherited(void)
{
	struct perf_build b = {0};

	add_events(&b, PERF_AUX_START_PAUSED, PERF_ATTR_INHERIT);
	put_ids(&b, 1, 10);
	put_sample(&b, RESUME_ID, 10, 1, 10);
	put_sample(&b, RESUME_ID, 11, 1, 12);
	put_sample(&b, PAUSE_ID, 11, 1, 20);
	perf_build_view(
		&b, PERF_RECORD_EXIT, 0,
		&(union perf_view){
			.task = {.pid = 10, .ppid = 1, .tid = 10, .ptid = 1, .time = 25 * MS}
        },
		&(struct perf_sample_id){.id = AUX_ID, .tid = 10, .cpu = 1, .time = 25 * MS});
	expect(&b,
	       (const char *const[]){"thread 10 on CPU 1: 1 interval, 15.000000 ms\n",
				     "to 0.025000000, 15.000000 ms, the thread ended\n",
				     "thread 11 on CPU 1: 1 interval, 8.000000 ms\n", NULL},
	       "an inherited event has a state per thread and CPU");
}

static void test_lost(void)
{
	struct perf_build b = {0};

	add_events(&b, PERF_AUX_START_PAUSED, 0);
	put_ids(&b, NONE, 10);
	put_sample(&b, RESUME_ID, 10, 1, 10);
	put_sample(&b, PAUSE_ID, 10, 0, 20);
	put_aux(&b, 10, 0, 30, 0, 0);
	put_sample(&b, RESUME_ID, 10, 1, 40);
	put_sample(&b, PAUSE_ID, 10, 0, 50);
	put_aux(&b, 10, 0, 60, 0, PERF_AUX_FLAG_TRUNCATED);
	perf_build_view(
		&b, PERF_RECORD_THROTTLE, 0,
		&(union perf_view){
			.throttle = {70 * MS, PAUSE_ID, PAUSE_ID}
        },
		&(struct perf_sample_id){.id = PAUSE_ID, .tid = 10, .cpu = 1, .time = 70 * MS});
	expect(&b,
	       (const char *const[]){
		       "thread 10: 2 intervals", "10.000000 ms; no trace after the resume\n",
		       "10.000000 ms; no trace: the buffer was full\n",
		       "           1  lost resumes",
		       "           1  times that the kernel throttled",
		       "no trace after resume at 0.010000000: ",
		       "triggers may be missing between 0.070000000 and 0.070000000", NULL},
	       "a lost resume, a full buffer, a throttled trigger");
}

static void test_none(void)
{
	struct perf_build b = {0};
	struct buf text = {0};

	add_event(&b, "softaux//", 40, 0, AUX_ID, 0);
	put_aux(&b, 10, 0, 30, 100, 0);
	text_of(&b, &text);
	CHECK(!text.nr, "without triggers nothing is said");
	buf_done(&text);
}

/* --- decoded trace: each block ran at its timestamp --- */

enum { RET = 0xd65f03c0, TEXT = 128, START = 0x10000, NR_WORDS = 16 };

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

static void run_at(struct cs_etm_make *m, struct buf *t, uint64_t at_ms)
{
	const struct cs_etm_place at = {.addr = START + TEXT, .cid = TID};

	enc_timestamp(t, at_ms * MS / 2, 9);
	cs_etm_go(m, t, &at);
	enc_atoms(t, 1, 1);
	enc_atoms(t, 1, 1);
}

/* The pause at 20 ms is lost, and so is the resume at 40. */
static struct bytes make_trace(struct cs_etm_make *m, const char *path)
{
	struct buf t = {0};

	cs_etm_begin(m);
	add_event(&m->file, "resume", PERF_TYPE_TRACEPOINT, PERF_AUX_RESUME, RESUME_ID,
		  PERF_ATTR_INHERIT);
	add_event(&m->file, "pause", PERF_TYPE_TRACEPOINT, PERF_AUX_PAUSE, PAUSE_ID,
		  PERF_ATTR_INHERIT);
	m->file.events.data[0].attr.aux_action = PERF_AUX_START_PAUSED;
	m->file.events.data[0].attr.sample_type &= ~PERF_SAMPLE_IP;
	cs_etm_time_conv(m, 0);
	cs_etm_comm(m, 1, TID, TID, "one", true);
	cs_etm_map(m, 2, TID, START, path);
	for (uint64_t at = 10; at < 60; at += 30) {
		put_sample(&m->file, RESUME_ID, TID, 0, at);
		put_sample(&m->file, PAUSE_ID, TID, 0, at + 10);
	}
	put_sample(&m->file, RESUME_ID, TID, 0, 60);
	cs_etm_sync(&t);
	run_at(m, &t, 12);
	run_at(m, &t, 25);
	run_at(m, &t, 65);
	cs_etm_trace(m, 0, 70 * MS, &t);
	buf_done(&t);
	return perf_build_finish(&m->file);
}

static enum clew_err list_paused(void *ctx, const struct ana_batch *b)
{
	struct buf *out = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		const struct ana_event *e = &b->events[i];

		if (e->synth && e->sample)
			buf_printf(out, "%llu%s ", (unsigned long long)e->time.ns / MS,
				   e->synth->is_paused ? "P" : "");
	}
	return CLEW_OK;
}

static void test_decoded(void)
{
	struct cs_etm_make m = {.version = 1, .nr_cpus = 1, .is_raw = true, .ts_source = 1};
	const struct trace_events_opts opts = {.itrace = {.branches = true}, .nr_threads = 1};
	const struct ana_consumer consumer = {list_paused, &(struct buf){0}};
	struct buf *out = consumer.ctx, text = {0};
	struct dso_store_opts symbols = {0};
	struct trace_input *t = NULL;
	struct trace_events *e = NULL;
	char path[96];
	struct bytes file;

	snprintf(path, sizeof(path), "%s/prog", test_dir);
	file = make_trace(&m, path);
	CHECK(perf_trace_open(&t, &(struct perf_input){.data = file.pos, .size = bytes_left(&file)},
			      &symbols, NULL) == CLEW_OK &&
		      trace_events_new(&e, t, &opts, NULL) == CLEW_OK &&
		      trace_events_run(e, &consumer, NULL) == CLEW_OK,
	      "trace with pauses is decoded");
	CHECK(strstr(buf_cstr(out), "12 ") && strstr(buf_cstr(out), "25P ") &&
		      strstr(buf_cstr(out), "65 ") && !strstr(buf_cstr(out), "65P "),
	      "what ran while paused is kept and marked: %s", buf_cstr(out));
	tracing_text(&text, t->ops->tracing(t), TRACING_ALL, "");
	CHECK(strstr(buf_cstr(&text), "; trace ran 5000 us after the pause\n") &&
		      strstr(buf_cstr(&text), "; no trace after the resume\n") &&
		      strstr(buf_cstr(&text), "           1  lost pauses") &&
		      strstr(buf_cstr(&text), "           1  times of the trace outside"),
	      "lost triggers, by the times of the trace");
	trace_events_free(e);
	trace_input_free(t);
	cs_etm_done(&m);
	buf_done(out);
	buf_done(&text);
}

/* --- rings of the laboratory: ../spikes/softaux --- */

enum { REC_BYTES = 64, REC_TICK = 2, REC_RESUME = 5, MAX_BYTES = 1 << 16 };

static size_t read_golden(const char *data, const char *name, uint8_t *ret)
{
	char path[512];
	size_t nr;
	FILE *f;

	snprintf(path, sizeof(path), "%s/../spikes/softaux/golden/%s", data, name);
	f = fopen(path, "rb");
	nr = f ? fread(ret, 1, MAX_BYTES, f) : 0;
	if (f)
		fclose(f);
	return nr;
}

/** The ids of the ring: of its AUX event, and of the resume, which comes first. */
static bool find_ids(const uint8_t *ring, size_t size, uint64_t *ret_aux, uint64_t *ret_resume)
{
	*ret_aux = *ret_resume = 0;
	for (size_t at = 0; at + 8 <= size; at += load_u16(ring + at + 6, false)) {
		uint32_t type = load_u32(ring + at, false);

		if (!load_u16(ring + at + 6, false))
			return false;
		if (type == PERF_RECORD_AUX)
			*ret_aux = load_u64(ring + at + 56, false);
		if (type == PERF_RECORD_SAMPLE && !*ret_resume)
			*ret_resume = load_u64(ring + at + 8, false);
	}
	return *ret_aux && *ret_resume;
}

static uint64_t note_ticks(struct ana_intervals *x, const uint8_t *aux, size_t size)
{
	uint64_t nr_resumes = 0;

	for (size_t at = 0; at + REC_BYTES <= size; at += REC_BYTES) {
		struct clew_perf_ns time = {load_u64(aux + at + 16, false)};

		nr_resumes += aux[at + 4] == REC_RESUME;
		if (aux[at + 4] == REC_TICK)
			ana_intervals_payload(x, load_u32(aux + at + 28, false),
					      load_u16(aux + at + 6, false), time);
	}
	return nr_resumes;
}

static void add_golden(struct perf_build *b, uint64_t aux, uint64_t resume)
{
	const uint64_t ids[] = {aux, resume, resume + 1};
	const uint32_t actions[] = {PERF_AUX_START_PAUSED, PERF_AUX_RESUME, PERF_AUX_PAUSE};

	for (size_t i = 0; i < 3; i++)
		add_event(b, "golden", i ? (uint32_t)PERF_TYPE_TRACEPOINT : 40, actions[i], ids[i],
			  0);
}

static void test_golden(const char *data, const char *name)
{
	static uint8_t ring[MAX_BYTES], aux[MAX_BYTES];
	struct perf_build b = {0};
	char ring_name[64], aux_name[64];
	struct ana_tracing x = {0};
	struct perf_file *f = NULL;
	uint64_t aux_id, resume_id, nr_resumes;
	struct ana_intervals_totals sum;
	struct perf_record r;
	size_t nr, nr_aux;
	struct bytes file;
	struct perf_input in = {0};

	snprintf(ring_name, sizeof(ring_name), "%s.ring", name);
	snprintf(aux_name, sizeof(aux_name), "%s.aux", name);
	nr = read_golden(data, ring_name, ring);
	nr_aux = read_golden(data, aux_name, aux);
	if (!nr || !nr_aux || !find_ids(ring, nr, &aux_id, &resume_id)) {
		SKIP("no golden rings of softaux");
		return;
	}
	add_golden(&b, aux_id, resume_id);
	perf_build_bytes(&b, bytes_of(ring, nr), true);
	file = perf_build_finish(&b);
	in = (struct perf_input){.data = file.pos, .size = bytes_left(&file)};
	CHECK(perf_file_open(&f, &in, NULL) == CLEW_OK, "%s: the ring is read", name);
	while (perf_file_next(f, &r, NULL) == CLEW_OK)
		ana_tracing_take(&x, perf_file_evlist(f), &r, clew_perf_ns_none());
	ana_tracing_close(&x);
	nr_resumes = note_ticks(&x.intervals, aux, nr_aux);
	sum = ana_intervals_totals(&x.intervals);
	CHECK(sum.nr_intervals && sum.nr_intervals == nr_resumes && !sum.nr_unpaired &&
		      sum.nr_triggers == 2 * nr_resumes,
	      "%s: %llu intervals, as the PMU was resumed %llu times", name,
	      (unsigned long long)sum.nr_intervals, (unsigned long long)nr_resumes);
	CHECK(x.intervals.nr_payload && !x.intervals.nr_outside &&
		      !sum.by_outcome[ANA_INTERVAL_RAN_ON] &&
		      !sum.by_outcome[ANA_INTERVAL_NO_TRACE],
	      "%s: each of %llu times of trace is in an interval", name,
	      (unsigned long long)x.intervals.nr_payload);
	ana_tracing_done(&x);
	perf_file_free(f);
	perf_build_done(&b);
}

int main(int argc, char **argv)
{
	const char *data = getenv("CLEW_TEST_DATA");

	if (!data)
		data = argc > 1 ? argv[1] : "../shared/data";
	test_dir_make("tracing");
	write_program();
	test_per_cpu();
	test_inherited();
	test_lost();
	test_none();
	test_decoded();
	test_golden(data, "pause");
	test_golden(data, "pausesync");
	test_dir_remove();
	return tap_done();
}
