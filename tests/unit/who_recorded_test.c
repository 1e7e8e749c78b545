/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a recorder says of ids, in the rule of who ran. */
#include "make/perf_encode.h"
#include "unit/tap.h"
#include "who/who_history.h"
#include "who/who_ran.h"

enum { TRACKED = 100, FIRST_SWITCH = 200 };

static struct perf_who_task task = {.procfs = 840, .local = 2, .inner = 2, .depth = 2};
static struct perf_who_enabled enabled = {.cpu = 0, .ns = TRACKED};

static const struct perf_who_facts inside = {
	.has_recorder = true,
	.recorder = PERF_WHO_NAMESPACE_OTHER,
	.proc = PERF_WHO_NAMESPACE_INITIAL,
	.ids = PERF_WHO_PROCFS_TRANSLATED,
	.tasks = {.data = &task,    .nr = 1},
	.enabled = {.data = &enabled, .nr = 1},
};

static struct who_ran *ran_of(const struct perf_who_facts *f, struct who_history *h)
{
	const struct who_ran_stamp stamp = {
		.time = {FIRST_SWITCH}, .cpu = 0, .pid = 2, .tid = 2, .has_time = true};
	const struct perf_attr attr = {0};
	struct who_ran *w;
	struct perf_put p = {0};
	struct perf_record r;
	union perf_view v = {
		.sw = {.is_out = true, .has_other = true, .next_prev_pid = 3, .next_prev_tid = 3}
        };

	who_history_init(h, 1, NULL);
	w = who_ran_new(h);
	if (!who_ran_take_facts(w, f))
		return w;
	vec_for_each (&f->enabled, e)
		who_ran_begin_cpu(w, e->cpu, (struct clew_perf_ns){e->ns});
	perf_encode_record(&p, PERF_RECORD_SWITCH_CPU_WIDE, 0, &v, &attr, NULL);
	r = perf_record_of(put_result(&p), false);
	who_ran_take(w, &r, &stamp);
	who_ran_close(w);
	who_ran_settle(w);
	buf_done(&p.buf);
	return w;
}

/* Of trace that was written between two times, without a clock that both share. */
static struct who_answer ask(const struct who_ran *w, uint64_t from, uint64_t to)
{
	const struct who_question q = {.has = WHO_Q_CPU | WHO_Q_FROM | WHO_Q_TO,
				       .level = WHO_EL0,
				       .from = {from},
				       .to = {to}};
	struct who_cursor c = {0};
	struct who_answer a;

	who_ran_ask(w, &c, &q, &a);
	return a;
}

static void test_inside(void)
{
	struct who_history h;
	struct who_ran *w = ran_of(&inside, &h);
	const struct who_facts *f = who_ran_facts(w);
	struct who_answer a = ask(w, 120, 150);

	CHECK(f->is_root.is == WHO_FACT_NO && f->is_same_proc.is == WHO_FACT_YES,
	      "the recording says where it was made, and its made-up records have local ids");
	CHECK(a.kind == WHO_TASK && a.local.n == 2 && a.evidence == WHO_BY_SWITCH_BACKWARD,
	      "who leaves the CPU first ran since that CPU was tracked");
	a = ask(w, 50, 90);
	CHECK(a.kind == WHO_UNKNOWN, "... but not before");
	who_ran_free(w);
	who_history_done(&h);
}

static void test_silent(void)
{
	const struct perf_who_facts none = {0};
	struct who_history h;
	struct who_ran *w = ran_of(&none, &h);

	CHECK(who_ran_facts(w)->is_root.is == WHO_FACT_UNKNOWN &&
		      ask(w, 120, 150).kind == WHO_UNKNOWN,
	      "without such records nothing is known of the time before the first");
	who_ran_free(w);
	who_history_done(&h);
}

int main(void)
{
	test_inside();
	test_silent();
	return tap_done();
}
