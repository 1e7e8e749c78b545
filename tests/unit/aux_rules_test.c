/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which events may act on a trace, and how they are opened. */
#include "record/open/aux_rules.h"

#include "unit/tap.h"

static const struct aux_pmu pt = {"intel_pt", PERF_AUXTRACE_INTEL_PT, true, true};

struct one {
	const char *name;
	uint32_t leader, type, action;
	uint64_t period, flags;
	bool is_trace;
	uint32_t sample;
};

/* clang-format off */
static const struct row {
	const char *what;
	struct one events[3];
	bool has_clock;
	const char *cause; /* part of the text; NULL: allowed */
} rows[] = {
	{ "a trace that starts paused, and what resumes and pauses it",
	  { { "pt", 0, 9, PERF_AUX_START_PAUSED, 1, 0, true }, { "a", 0, 2, PERF_AUX_RESUME, 1 }, { "b", 0, 2, PERF_AUX_PAUSE, 5 } },
	  false, NULL },
	{ "no trace before it", { { "a", 0, 2, PERF_AUX_PAUSE, 1 } }, false, "nearest hardware trace before it" },
	{ "a trace that pauses", { { "pt", 0, 9, PERF_AUX_PAUSE, 1, 0, true } }, false, "not for the trace itself" },
	{ "an event that starts paused", { { "a", 0, 2, PERF_AUX_START_PAUSED, 1 } }, false, "this event is none" },
	{ "an event that only counts",
	  { { "pt", 0, 9, 0, 1, 0, true }, { "a", 0, 2, PERF_AUX_PAUSE, 0 } }, false, "it only counts" },
	{ "a dummy",
	  { { "pt", 0, 9, 0, 1, 0, true }, { "dummy", 0, PERF_TYPE_SOFTWARE, PERF_AUX_RESUME, 1 } }, false, "never resume" },
	{ "a pinned event",
	  { { "pt", 0, 9, 0, 1, 0, true }, { "a", 0, 2, PERF_AUX_PAUSE, 1, PERF_ATTR_PINNED } }, false, "neither pinned" },
	{ "a clock beside the CPU's counter", { { "pt", 0, 9, 0, 1, 0, true } }, true, "no clock chosen by -k" },
	{ "two traces of a PMU",
	  { { "pt", 0, 9, 0, 1, 0, true }, { "pt2", 1, 9, 0, 1, 0, true } }, false, "'pt' is one" },
	{ "an exclusive event",
	  { { "pt", 0, 9, 0, 1, 0, true }, { "a", 0, 2, PERF_AUX_PAUSE, 1, PERF_ATTR_EXCLUSIVE } }, false, "nor exclusive" },
	{ "samples with trace", { { "pt", 0, 9, 0, 1, 0, true }, { "a", 0, 2, 0, 1, 0, false, 64 } }, false, NULL },
	{ "no trace for samples", { { "a", 0, 2, 0, 1, 0, false, 64 } }, false, "no hardware trace before it" },
	{ "a trace with samples of itself", { { "pt", 0, 9, 0, 1, 0, true, 64 } }, false, "not for the trace itself" },
	{ "a trace in a trace's group",
	  { { "pt", 0, 9, 0, 1, 0, true }, { "x", 0, 10, 0, 1, 0, true } }, false, "leads it already" },
};
/* clang-format on */

static void add(struct rec_counters *c, const struct one *o)
{
	static struct rec_event trace;
	struct rec_counter e = {.name = o->name, .leader = o->leader};

	trace.aux = &pt;
	if (o->is_trace) {
		e.event = &trace;
		e.aux = trace.aux;
	}
	e.attr.type = o->type;
	e.attr.config = o->type == PERF_TYPE_SOFTWARE ? PERF_COUNT_SW_DUMMY : 0;
	e.attr.aux_action = o->action;
	e.attr.sample_period = o->period;
	e.attr.flags = o->flags;
	e.attr.aux_sample_size = o->sample;
	vec_push(&c->list, e);
}

static void test_rules(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rec_options o = {.has_clockid = rows[i].has_clock};
		struct rec_counters c = {0};
		struct rec_error error = {0};
		enum clew_err err;

		for (int k = 0; k < 3 && rows[i].events[k].name; k++)
			add(&c, &rows[i].events[k]);
		err = rec_aux_rules(&c, &o, &error);
		if (!rows[i].cause)
			CHECK(err == CLEW_OK, "%s", rows[i].what);
		else
			CHECK(err == CLEW_INVALID && strstr(error.text, rows[i].cause) &&
				      *error.hint && error.subject,
			      "%s: %s", rows[i].what, error.text);
		vec_done(&c.list);
	}
}

static char said[1024];

static void say(void *ctx, enum rec_level level, const char *text)
{
	(void)ctx;
	(void)level;
	snprintf(said, sizeof(said), "%s", text);
}

static const char *warned(uint32_t trace, uint32_t trigger)
{
	const struct rec_ui ui = {.say = say};
	const struct one events[] = {
		{"pt", 0, 9, trace,   1, 0, true },
                {"a",  0, 2, trigger, 1, 0, false}
        };
	struct rec_counters c = {0};

	*said = '\0';
	add(&c, &events[0]);
	add(&c, &events[1]);
	rec_aux_warn(&c, &ui);
	vec_done(&c.list);
	return said;
}

static void test_warnings(void)
{
	CHECK(strstr(warned(PERF_AUX_START_PAUSED, PERF_AUX_PAUSE), "nothing will be traced"),
	      "never resumed");
	CHECK(strstr(warned(0, PERF_AUX_RESUME), "runs from the start"), "resumed while it runs");
	CHECK(!*warned(0, PERF_AUX_PAUSE), "pause alone: stop when");
	CHECK(!*warned(PERF_AUX_START_PAUSED, PERF_AUX_RESUME), "start when");
}

static void test_attr(void)
{
	const struct rec_options o = {.freq = 999, .stacks.kind = REC_STACKS_FP};
	const struct rec_target t = {.is_inherited = true};
	struct rec_event trace = {.aux = &pt, .attr.sample_period = 7};
	struct rec_event trigger = {.attr.aux_action = PERF_AUX_RESUME};
	struct rec_event sampler = {.attr.aux_sample_size = 100};
	struct perf_attr a = trace.attr;

	rec_attr_setup(&a, &trace, &o, &t);
	CHECK(a.sample_period == 7 && !(a.flags & PERF_ATTR_FREQ) &&
		      !(a.sample_type & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_READ)),
	      "-F and -g do not concern a trace");
	a = trigger.attr;
	rec_attr_setup(&a, &trigger, &o, &t);
	CHECK(a.sample_period == 1 && !(a.flags & PERF_ATTR_FREQ) && a.flags & PERF_ATTR_INHERIT &&
		      a.sample_type & PERF_SAMPLE_READ,
	      "a trigger acts each time; inherited, it keeps contexts apart");
	trigger.has_period = true;
	trigger.attr.sample_period = 3;
	a = trigger.attr;
	rec_attr_setup(&a, &trigger, &o, &t);
	CHECK_EQ(a.sample_period, 3, "unless a term says otherwise");
	a = sampler.attr;
	rec_attr_setup(&a, &sampler, &o, &t);
	CHECK(a.aux_sample_size == 96 && a.sample_type & PERF_SAMPLE_AUX,
	      "a sample with trace asks for it, in words");
}

int main(void)
{
	test_rules();
	test_warnings();
	test_attr();
	return tap_done();
}
