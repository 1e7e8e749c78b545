/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counting without a kernel: groups, shared counters, intervals, several runs, absent events. */
#include "record/count/rec_count.h"

#include <errno.h>
#include <signal.h>

#include "make/fake_kernel.h"
#include "unit/tap.h"

static char *command[] = {(char *)"program", NULL};

/** What events have counted by the n-th wait; the command ends after the last. */
struct scene {
	int nr_waits;
	uint64_t faults[4], switches[4];
	uint32_t waits_percent;
	uint64_t faults_seen[4];
	int nr_intervals;
	int nr_notes;
};

static struct fake_event *faults_event(void)
{
	return fake_kernel_newest(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
}

static struct fake_event *switches_event(void)
{
	return fake_kernel_newest(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
}

static void step(struct fake_kernel *k, int n)
{
	struct scene *s = k->ctx;
	int at = n % s->nr_waits;

	if (faults_event()) {
		faults_event()->count = s->faults[at];
		faults_event()->waits_percent = s->waits_percent;
	}
	if (switches_event())
		switches_event()->count = s->switches[at];
	if (at == s->nr_waits - 1)
		fake_kernel_child_ends(0);
}

static void say(void *ctx, enum rec_level level, const char *text)
{
	struct scene *s = ctx;

	(void)level;
	printf("# %s\n", text);
	s->nr_notes++;
}

static void on_interval(void *ctx, const struct counts *c)
{
	struct scene *s = ctx;

	s->faults_seen[s->nr_intervals++] = (uint64_t)counts_at(c, 0, 0)->value.mean;
}

static enum clew_err count(struct scene *s, const char *text, const struct rec_count_plan *plan,
			   int refuses, struct counts *ret)
{
	const struct rec_options o = {.argv = command, .is_counting = true};
	const struct rec_ui ui = {.say = say, .ctx = s};
	struct rec_event_list events = {0};
	struct rec_count_result result;
	struct rec_error error = {0};
	enum clew_err err;

	*ret = (struct counts){0};
	fake_kernel_reset(step, s);
	fake_kernel.refuses = refuses;
	rec_events_parse(&events, text, NULL);
	err = rec_count_run(&o, plan, &events, &ui, ret, &result, &error);
	if (err != CLEW_OK)
		printf("# %s\n", error.text);
	rec_events_done(&events);
	return err;
}

static void test_alone(void)
{
	struct scene s = {.nr_waits = 1, .faults = {70}, .switches = {3}};
	struct counts c;

	CHECK_EQ(count(&s, "page-faults,cs", &(struct rec_count_plan){0}, 0, &c), CLEW_OK,
		 "two events");
	CHECK_EQ(counts_at(&c, 0, 0)->value.mean, 70, "the first");
	CHECK_EQ(counts_at(&c, 1, 0)->value.mean, 3, "the second");
	CHECK_EQ(c.nr_runs, 1, "one run");
	CHECK(faults_event()->attr.flags & PERF_ATTR_INHERIT, "children are counted");
	CHECK(faults_event()->attr.flags & PERF_ATTR_ENABLE_ON_EXEC, "from the exec on");
	CHECK_EQ(faults_event()->attr.sample_period, 0, "without samples");
	CHECK_EQ(faults_event()->cpu, -1, "wherever it runs");
	counts_done(&c);
}

static void test_group(void)
{
	struct scene s = {.nr_waits = 1, .faults = {70}, .switches = {3}};
	struct counts c;

	CHECK_EQ(count(&s, "{cs,page-faults,minor-faults}", &(struct rec_count_plan){0}, 0, &c),
		 CLEW_OK, "a group");
	CHECK_EQ(counts_at(&c, 0, 0)->value.mean, 3, "its leader");
	CHECK_EQ(counts_at(&c, 1, 0)->value.mean, 70, "and a member, by its id");
	CHECK(faults_event()->attr.read_format & PERF_FORMAT_GROUP, "are read at once");
	counts_done(&c);
}

static void test_shared(void)
{
	struct scene s = {.nr_waits = 1, .faults = {50}, .waits_percent = 75};
	struct counts c;

	count(&s, "page-faults", &(struct rec_count_plan){0}, 0, &c);
	CHECK_EQ(counts_at(&c, 0, 0)->value.mean, 200,
		 "what ran a quarter of the time is scaled to all of it");
	counts_done(&c);
	count(&s, "page-faults", &(struct rec_count_plan){.is_unscaled = true}, 0, &c);
	CHECK_EQ(counts_at(&c, 0, 0)->value.mean, 50, "or not");
	counts_done(&c);
	s.waits_percent = 100;
	count(&s, "page-faults", &(struct rec_count_plan){0}, 0, &c);
	CHECK(!count_is_counted(counts_at(&c, 0, 0)), "what never ran was not counted");
	counts_done(&c);
}

static void test_intervals(void)
{
	struct scene s = {
		.nr_waits = 3, .faults = {10, 25, 26}
        };
	const struct rec_count_plan plan = {.interval_ms = 10, .interval = on_interval, .ctx = &s};
	struct counts c;
	uint64_t sum = 0;

	CHECK_EQ(count(&s, "page-faults", &plan, 0, &c), CLEW_OK, "intervals");
	for (int i = 0; i < s.nr_intervals; i++)
		sum += s.faults_seen[i];
	CHECK(s.nr_intervals > 1, "there are several");
	CHECK_EQ(sum, 26, "each has what was counted in it");
	CHECK_EQ(s.faults_seen[0], 10, "the first, too");
	counts_done(&c);
}

static void test_runs(void)
{
	struct scene s = {.nr_waits = 1, .faults = {70}};
	struct counts c;

	CHECK_EQ(count(&s, "page-faults", &(struct rec_count_plan){.nr_runs = 3}, 0, &c), CLEW_OK,
		 "three runs");
	CHECK_EQ(fake_kernel.nr_starts, 3, "start the command three times");
	CHECK_EQ(c.nr_runs, 3, "are counted");
	CHECK_EQ(counts_at(&c, 0, 0)->value.nr, 3, "and give one mean");
	CHECK_EQ(counts_at(&c, 0, 0)->value.mean, 70, "of what each counted");
	counts_done(&c);
}

static void test_absent(void)
{
	struct scene s = {.nr_waits = 1};
	struct counts c;

	CHECK_EQ(count(&s, "cycles", &(struct rec_count_plan){.nr_runs = 2}, -ENOENT, &c), CLEW_OK,
		 "an event that the machine does not have");
	CHECK(!c.events[0].is_supported, "is not supported");
	CHECK_STR(c.events[0].name, "cycles", "and no other takes its place");
	CHECK_EQ(s.nr_notes, 0, "which needs no word");
	counts_done(&c);
	CHECK_EQ(count(&s, "{cycles,page-faults}", &(struct rec_count_plan){.nr_runs = 2}, -ENOENT,
		       &c),
		 CLEW_OK, "one that leads a group");
	CHECK(c.events[1].is_supported && !count_is_counted(counts_at(&c, 1, 0)),
	      "its members are not counted");
	CHECK_EQ(s.nr_notes, 1, "which is said, once");
	counts_done(&c);
	CHECK(count(&s, "cycles", &(struct rec_count_plan){0}, -EMFILE, &c) != CLEW_OK,
	      "any other error ends it");
	counts_done(&c);
}

int main(void)
{
	test_alone();
	test_group();
	test_shared();
	test_intervals();
	test_runs();
	test_absent();
	return tap_done();
}
