/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_steps.h"
#include "format/script/script_text.h"
#include "unit/script_recording.h"
#include "unit/tap.h"

/* Lines of steps are those of their events, one by one. */

enum { NR_STEPS = 64, NR_EVENTS = 40, MAX_RUN = 200, LONG_NAME = 70000 };

static struct perf_evlist events;
static struct ana_step steps[NR_STEPS];
static struct ana_loc locs[NR_STEPS];
static struct dso_sym syms[NR_STEPS];
static char long_name[LONG_NAME + 1], names[NR_STEPS][80];
static uint64_t seed = 1;

static uint32_t next(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static void make_names(void)
{
	memset(long_name, 'x', LONG_NAME);
	for (size_t i = 0; i < NR_STEPS; i++) {
		memset(names[i], 'a' + (int)(i % 26), next(sizeof(names[i]) - 1));
		syms[i] = (struct dso_sym){0x1000, 0x2000, names[i], names[i]};
	}
	syms[7].name = "";
	syms[8].name = long_name;
	syms[9].name = "\033[2J";
	syms[10].name = "main";
	syms[11].name = "work";
}

static void make_steps(void)
{
	static const uint32_t flows[] = {
		ANA_FLOW_BRANCH,
		ANA_FLOW_BRANCH | ANA_FLOW_COND,
		ANA_FLOW_BRANCH | ANA_FLOW_CALL,
		ANA_FLOW_BRANCH | ANA_FLOW_RETURN,
	};

	make_names();
	for (uint32_t i = 0; i < NR_STEPS; i++) {
		locs[i] = (struct ana_loc){.ip = 0x1000 + 16 * i,
					   .rel = 0x1000 + 16 * i,
					   .sym = i % 3 ? &syms[i] : NULL,
					   .id = i,
					   .level = ANA_USER};
		steps[i] = (struct ana_step){
			.ip = locs[i].ip,
			.addr = 0x5000 + i,
			.loc = &locs[i],
			.to = &locs[next(i + 1)],
			.flow = flows[i % 4],
			.isa = ANA_X86_64,
			.insn_bytes = (uint8_t)(1 + i % 15),
			.insn = {0x90},
		};
	}
}

/** One batch, with its steps or their events. @return of the writer. */
static enum clew_err batch(struct script_text *t, const struct ana_event *ev,
			   const struct ana_batch *b, bool is_whole)
{
	struct ana_batch of = *b;

	of.events = ev;
	of.nr = 1;
	if (!is_whole)
		return script_text_batch(t, &of);
	of.steps = NULL;
	for (size_t i = 0; i < ev->steps->nr; i++) {
		struct ana_step_event x;
		enum clew_err err;

		ana_step_event(b, ev, i, &x);
		of.events = &x.event;
		err = script_text_batch(t, &of);
		if (err)
			return err;
	}
	return CLEW_OK;
}

static struct buf text_of(const struct script_text_opts *opts, bool is_whole)
{
	struct buf out = {0};
	struct script_text *t = script_text_new(opts, NULL, &(struct clew_sink){script_keep, &out});
	struct ana_batch b = {.steps = steps, .nr_steps = NR_STEPS};
	const struct ana_synth none = {0};

	seed = 99;
	for (uint32_t i = 0; i < NR_EVENTS; i++) {
		uint32_t ids[MAX_RUN], depths[MAX_RUN], nr = 1 + next(MAX_RUN);
		struct ana_steps run = {ids, depths, nr};
		struct ana_event ev = {.record = {.type = PERF_RECORD_SAMPLE},
				       .evsel = events.evsels.data[0],
				       .steps = &run,
				       .synth = &none,
				       .period = 1,
				       .pid = 10,
				       .tid = 11 + next(3),
				       .cpu = next(2) ? next(4) : UINT32_MAX,
				       .comm = "comm"};

		ev.time = next(4) ? (struct clew_perf_ns){next(1u << 31) * 7ull}
				  : clew_perf_ns_none();
		b.epoch = i / 16;
		for (uint32_t k = 0; k < nr; k++) {
			ids[k] = next(1000) ? next(NR_STEPS) : 8;
			depths[k] = next(40) / (1 + next(40));
		}
		if (batch(t, &ev, &b, is_whole) != CLEW_OK)
			buf_str(&out, "failed");
	}
	script_text_flush(t);
	script_text_free(t);
	return out;
}

static void check(struct script_text_opts *opts, const char *fields)
{
	struct buf want, got;
	const char *word;

	script_fields_init(&opts->fields);
	script_fields_parse(&opts->fields, fields, &word);
	opts->events = &events;
	CHECK(script_text_takes_steps(opts), "%s: takes steps", fields);
	want = text_of(opts, true);
	got = text_of(opts, false);
	CHECK(want.nr > 1000 && want.nr == got.nr && !memcmp(want.data, got.data, want.nr),
	      "%s: the lines of the events", fields);
	buf_done(&want);
	buf_done(&got);
}

static bool takes(struct script_text_opts *opts, const char *fields)
{
	const char *word;

	script_fields_init(&opts->fields);
	script_fields_parse(&opts->fields, fields, &word);
	return script_text_takes_steps(opts);
}

int main(void)
{
	struct perf_attr branches = {.type = PERF_TYPE_HARDWARE,
				     .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
				     .sample_period = 1,
				     .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						    PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
						    PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD};

	make_steps();
	perf_evlist_add(&events, &branches, "branches", NULL, 0, false);
	check(&(struct script_text_opts){0}, "+addr");
	check(&(struct script_text_opts){.is_ns = true}, "+flags,+symoff,+insn,+insnlen,+dsoff");
	check(&(struct script_text_opts){.pads_dso = true}, "-ip,-addr,-event,-period,+callindent");
	check(&(struct script_text_opts){0}, "+callindent,+flags,+addr");
	check(&(struct script_text_opts){.symbols = "main,work"}, "comm,time,ip,sym,dso");
	check(&(struct script_text_opts){.is_latency = true}, "ip,sym");
	CHECK(!takes(&(struct script_text_opts){.max_events = 1}, "+ip"), "not to count them");
	CHECK(!takes(&(struct script_text_opts){.is_deltatime = true}, "+ip"), "nor by difference");
	CHECK(!takes(&(struct script_text_opts){0}, "+who"), "nor who ran");
	perf_evlist_done(&events);
	return tap_done();
}
