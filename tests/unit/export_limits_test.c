/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Limits of an export: whatever has no room, totals are those of the samples. With every format,
 * and memory that runs short anywhere. */
#include "export/export.h"
#include "format/export/export_formats.h"
#include "format/gzip_sink.h"
#include "unit/tap.h"

enum { NR_STACKS = 40, DEPTH = 5, NR_SAMPLES = 400, PERIOD = 10 };

/* A recording in memory: stacks of functions f0, f1, ..., with two events and some threads. */
struct made {
	struct dso_sym syms[NR_STACKS];
	char names[NR_STACKS][16];
	struct dso_line lines[NR_STACKS][2];
	struct ana_loc locs[NR_STACKS];
	struct ana_chain *chains[NR_STACKS];
	struct perf_evsel evsels[2];
	struct perf_sample sample;
	struct ana_event events[NR_SAMPLES];
};

static void make_places(struct made *m)
{
	for (uint32_t i = 0; i < NR_STACKS; i++) {
		snprintf(m->names[i], sizeof(m->names[i]), "f%u", i);
		m->syms[i] = (struct dso_sym){i * 16, i * 16 + 16, m->names[i], m->names[i]};
		m->lines[i][0] = (struct dso_line){"inlined", "a.h", i, 0, "inlined"};
		m->lines[i][1] = (struct dso_line){NULL, "a.c", i + 1, 0, m->names[i]};
		m->locs[i] = (struct ana_loc){
			.rel = i * 16, .sym = &m->syms[i], .id = i, .level = ANA_USER};
		if (i % 3 == 0) {
			m->locs[i].lines = m->lines[i];
			m->locs[i].nr_lines = 2;
		}
	}
	for (uint32_t i = 0; i < NR_STACKS; i++) {
		struct ana_chain *c = mem_zalloc(sizeof(*c) + DEPTH * sizeof(c->locs[0]));

		if (!c)
			exit(1);
		c->id = i;
		c->nr = DEPTH;
		for (uint32_t k = 0; k < DEPTH; k++)
			c->locs[k] = &m->locs[(i + k * 7) % NR_STACKS];
		m->chains[i] = c;
	}
}

static void make_events(struct made *m)
{
	static const char *const comms[] = {"one", "two", "three"};

	for (uint32_t i = 0; i < 2; i++) {
		m->evsels[i].index = i;
		m->evsels[i].name = i ? "b" : "a";
	}
	for (uint32_t i = 0; i < NR_SAMPLES; i++) {
		uint32_t stack = i % NR_STACKS;

		m->events[i] = (struct ana_event){
			.evsel = &m->evsels[i % 10 == 9],
			.sample = &m->sample,
			.time.ns = 100 + i,
			.period = PERIOD,
			.pid = i % 3,
			.tid = i % 7,
			.comm = comms[i % 3],
			.loc = m->chains[stack]->locs[0],
			.chain = m->chains[stack],
			.has_user_state = true,
			.user_state = i % 50 ? STITCH_COMPLETE : STITCH_LOST,
			.user_reason = i % 50 ? STITCH_NO_REASON : STITCH_END,
		};
	}
}

static enum clew_err write_buf(void *ctx, const void *data, size_t size)
{
	buf_add(ctx, data, size);
	return ((struct buf *)ctx)->is_failed ? CLEW_NO_MEMORY : CLEW_OK;
}

struct result {
	struct buf out;
	struct export_summary summary;
	enum clew_err err;
};

static enum clew_err run_batches(struct export *x, const struct made *m)
{
	const struct ana_summary s = {.nr_samples = NR_SAMPLES};
	enum clew_err err = CLEW_OK;

	for (uint32_t i = 0; i < NR_SAMPLES && err == CLEW_OK; i += 100) {
		const struct ana_batch b = {m->events + i, 100, i / 200};

		err = export_batch(x, &b);
	}
	return err ? err : export_finish(x, &s);
}

static struct result run(const struct made *m, const struct export_opts *opts)
{
	struct result r = {.err = CLEW_OK};
	const struct clew_sink sink = {write_buf, &r.out};
	struct export *x = NULL;

	r.err = export_new(&x, opts, &sink, NULL);
	if (r.err == CLEW_OK)
		r.err = run_batches(x, m);
	if (x)
		r.summary = *export_summary(x);
	export_free(x);
	return r;
}

/* --- a format that only counts --- */

struct counter {
	uint64_t nr, period, parts, threads, frames;
};

static struct counter counted;

static enum clew_err count_sample(struct export *x, const struct export_sample *s)
{
	struct export_stack stack;

	counted.parts++;
	counted.nr += s->nr;
	counted.period += s->period;
	if (!export_stack(x, s->node, &stack))
		return CLEW_NO_MEMORY;
	counted.frames += stack.nr;
	return export_key_at(x, s->key) ? CLEW_OK : CLEW_INVALID;
}

static enum clew_err count_thread(struct export *x, uint32_t thread, struct clew_perf_ns time)
{
	(void)time;
	counted.threads++;
	return thread < export_nr_threads(x) ? CLEW_OK : CLEW_INVALID;
}

static enum clew_err end(struct export *x)
{
	(void)x;
	return CLEW_OK;
}

static const struct export_format plain = {.name = "plain",
					   .sample = count_sample,
					   .thread = count_thread,
					   .end = end};
static const struct export_format sums = {.name = "sums",
					  .has_sums = true,
					  .sample = count_sample,
					  .end = end};

static struct export_summary count(const struct made *m, struct export_opts opts)
{
	struct result r;

	counted = (struct counter){0};
	r = run(m, &opts);
	buf_done(&r.out);
	return r.summary;
}

static bool is_all(void)
{
	return counted.nr == NR_SAMPLES && counted.period == (uint64_t)NR_SAMPLES * PERIOD;
}

static void check_limits(const struct made *m)
{
	struct export_summary s = count(m, (struct export_opts){.format = &plain});

	CHECK(is_all() && counted.parts == NR_SAMPLES && !s.nr_short, "each sample comes once");
	CHECK_EQ(s.nr_cut, NR_SAMPLES / 50, "cut stacks are counted");
	CHECK(counted.threads >= 21, "each thread is announced, also with a new name");
	s = count(m, (struct export_opts){.format = &sums});
	CHECK(is_all() && counted.parts < 100, "sums: equal samples come once");
	s = count(m, (struct export_opts){.format = &sums, .max_sums = 3});
	CHECK(is_all() && counted.parts > 100, "sums in parts: the total is the same");
	s = count(m, (struct export_opts){.format = &plain, .max_nodes = 20});
	CHECK(is_all() && s.nr_short > 100 && s.nr_short < NR_SAMPLES,
	      "too many stacks: samples keep their function, and are counted");
	s = count(m, (struct export_opts){.format = &plain, .max_frames = 10});
	CHECK(is_all() && s.nr_short > 100, "too many functions: the same");
	s = count(m, (struct export_opts){.format = &plain, .max_nodes = 2, .max_frames = 1});
	CHECK(is_all() && s.nr_short == NR_SAMPLES && counted.frames == NR_SAMPLES,
	      "no room at all: all are unknown");
	count(m, (struct export_opts){.format = &plain, .max_text_bytes = 1});
	CHECK(is_all(), "no room for names: the total is the same");
	s = count(m, (struct export_opts){.format = &plain, .event = "b"});
	CHECK(counted.nr == NR_SAMPLES / 10 && s.nr_omitted == NR_SAMPLES - NR_SAMPLES / 10,
	      "one event: others are omitted, and counted");
	count(m, (struct export_opts){.format = &plain, .no_inline = true, .no_cut_frames = true});
	CHECK_EQ(counted.frames, NR_SAMPLES * DEPTH, "a frame per place");
}

static void check_memory(const struct made *m, const struct export_format *f)
{
	const struct export_opts opts = {.format = f, .max_sums = 50};
	struct result whole = run(m, &opts), r = {.err = CLEW_NO_MEMORY};
	uint64_t n = 0, nr_wrong = 0;

	CHECK(whole.err == CLEW_OK && whole.out.nr, "%s: written", f->name);
	for (; r.err != CLEW_OK && n < 100000; n += 1 + n / 16) {
		mem_fail_after(n);
		r = run(m, &opts);
		mem_fail_after(UINT64_MAX);
		nr_wrong += r.err != CLEW_OK && r.err != CLEW_NO_MEMORY;
		if (r.err == CLEW_OK)
			nr_wrong += r.out.nr != whole.out.nr ||
				    memcmp(r.out.data, whole.out.data, r.out.nr) != 0;
		buf_done(&r.out);
	}
	CHECK(!nr_wrong && r.err == CLEW_OK && n > 20,
	      "%s: each refused allocation is an error, and nothing else", f->name);
	buf_done(&whole.out);
}

/* In parts, the second event comes after costs of the first. */
static void check_late_event(const struct made *m)
{
	const struct export_opts whole = {.format = &export_callgrind};
	const struct export_opts parts = {.format = &export_callgrind, .max_sums = 3};
	struct result a = run(m, &whole), b = run(m, &parts);

	CHECK(a.err == CLEW_OK && b.err == CLEW_OK && a.out.nr == b.out.nr &&
		      !memcmp(a.out.data, b.out.data, a.out.nr),
	      "callgrind: an event that comes late has its columns");
	buf_done(&a.out);
	buf_done(&b.out);
}

static void check_gzip(void)
{
	struct buf out = {0};
	const struct clew_sink to = {write_buf, &out};
	struct gzip_sink *g = gzip_sink_new(&to, 1);
	const struct clew_sink *sink = gzip_sink_of(g);
	char zeros[1000] = "";
	enum clew_err err = CLEW_OK;

	for (int i = 0; i < 1000; i++)
		err = err ? err : sink->write(sink->ctx, zeros, sizeof(zeros));
	err = err ? err : gzip_sink_end(g);
	CHECK(err == CLEW_OK && out.nr > 20 && out.nr < 10000 &&
		      !memcmp(out.data, "\x1f\x8b\x08\0\0\0\0\0", 8),
	      "gzip: a million bytes, without name and time");
	gzip_sink_free(g);
	buf_done(&out);
}

int main(void)
{
	static struct made m;
	const struct export_format *f;

	make_places(&m);
	make_events(&m);
	check_limits(&m);
	check_late_event(&m);
	/* Others copy a recording, or load a library with an allocator of its own. */
	for (size_t i = 0; (f = export_format_at(i)); i++) {
		if (f->sample && !f->library)
			check_memory(&m, f);
	}
	check_gzip();
	for (size_t i = 0; i < NR_STACKS; i++)
		mem_free(m.chains[i]);
	return tap_done();
}
