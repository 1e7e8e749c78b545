/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "make/perf_random.h"
#include "prop/cookie_model.h"
#include "stitch/stitch.h"
#include "unit/tap.h"

/*
 * Long random lives of the cookie model, its samples and stacks given to the stitcher: what comes
 * out has the stack of its own user state or a reason, and nothing is missing.
 */
enum { NR_WALKS = 3000, NR_STEPS = 400, MAX_SAMPLES = 256 };

struct life {
	struct perf_random random;
	struct stitch *stitch;
	uint64_t time;
	unsigned nr_samples, nr_out, nr_wrong, nr_without_reason;
	unsigned nr_complete;
	uint8_t users[MAX_SAMPLES]; /* of sample n: its item points here */
	uint8_t stacks[256];        /* of user state n: its record points here */
};

static unsigned choose(void *ctx, unsigned n)
{
	struct life *l = ctx;

	return (unsigned)perf_random_below(&l->random, n);
}

static void on_sample(void *ctx, unsigned task, uint64_t cookie, uint8_t user)
{
	struct life *l = ctx;
	uint8_t *item = &l->users[l->nr_samples++];

	*item = user;
	if (cookie)
		stitch_sample(l->stitch, 100 + task, cookie, (struct clew_perf_ns){++l->time}, item,
			      8);
	else
		stitch_settled(l->stitch, (struct clew_perf_ns){++l->time}, STITCH_LOST,
			       STITCH_REFUSED, item, 8);
}

static void on_stack(void *ctx, unsigned task, uint64_t cookie, uint8_t user)
{
	static const uint8_t ips[8];
	struct life *l = ctx;
	struct stitch_stack stack = {.ips = ips, .nr = 1, .bytes = 8, .record = &l->stacks[user]};

	l->stacks[user] = user;
	stitch_stack_record(l->stitch, 100 + task, cookie, (struct clew_perf_ns){++l->time},
			    &stack);
}

static void on_exec(void *ctx, unsigned task)
{
	stitch_task_exec(((struct life *)ctx)->stitch, 100 + task);
}

static void on_end(void *ctx, unsigned task)
{
	stitch_task_exit(((struct life *)ctx)->stitch, 100 + task);
}

static void take_out(struct life *l)
{
	struct stitch_item item;

	while (stitch_next(l->stitch, &item)) {
		l->nr_wrong += item.item != &l->users[l->nr_out];
		l->nr_out++;
		if (item.state == STITCH_COMPLETE) {
			l->nr_complete++;
			l->nr_wrong +=
				*(const uint8_t *)item.item != *(const uint8_t *)item.stack->record;
		} else {
			l->nr_without_reason += item.reason == STITCH_NO_REASON;
		}
	}
}

/* One random step that the world can do. */
static void step(struct model *m, struct model_world *w)
{
	for (int i = 0; i < 64; i++) {
		unsigned task = m->choose(m->ctx, MODEL_TASKS);
		unsigned kind = m->choose(m->ctx, NR_MODEL_STEPS);

		if (!model_can(m, w, task, kind))
			continue;
		model_step(m, w, task, kind);
		return;
	}
}

static bool live(struct life *l, uint64_t seed)
{
	static const struct model_budget budget = {120, 100, 60, 5, 10, 10, 4, 4, 3, 3, 2};
	static const struct model_protocol protocol = {
		.request = cookie_request,
		.asked = cookie_asked,
		.begin = cookie_callback_begin,
		.end = cookie_callback_end,
		.make = cookie_make,
	};
	struct model_hooks hooks = {on_sample, on_stack, on_exec, on_end, l};
	struct model m = {.protocol = &protocol, .hooks = &hooks, .choose = choose, .ctx = l};
	struct stitch_opts opts = {0};
	struct stitch_counts counts;
	struct model_world w;
	bool ok;

	*l = (struct life){.random.state = seed, .stitch = stitch_new(&opts)};
	model_start(&w, &budget);
	for (int i = 0; i < NR_STEPS && !m.fault; i++) {
		step(&m, &w);
		take_out(l);
	}
	stitch_end(l->stitch);
	take_out(l);
	stitch_counts(l->stitch, &counts);
	ok = !m.fault && l->nr_out == l->nr_samples && counts.nr_samples == l->nr_samples &&
	     !l->nr_wrong && !l->nr_without_reason;
	if (!ok)
		printf("# seed %llu: %s; %u samples, %u came out, %u wrong, %u without a reason\n",
		       (unsigned long long)seed, model_fault_name(m.fault), l->nr_samples,
		       l->nr_out, l->nr_wrong, l->nr_without_reason);
	stitch_free(l->stitch);
	return ok;
}

int main(void)
{
	unsigned nr_bad = 0;
	uint64_t nr_samples = 0, nr_complete = 0;
	static struct life l;

	for (uint64_t seed = 1; seed <= NR_WALKS; seed++) {
		nr_bad += !live(&l, seed);
		nr_samples += l.nr_samples;
		nr_complete += l.nr_complete;
	}
	CHECK_EQ(nr_bad, 0, "%d random lives: %llu samples, %llu with a stack, none with another's",
		 NR_WALKS, (unsigned long long)nr_samples, (unsigned long long)nr_complete);
	return tap_done();
}
