/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_ran.h"

#include <string.h>

#include "base/bytes.h"
#include "base/vec.h"
#include "perfdata/perf_clock.h"
#include "who/who_history.h"
#include "who/who_play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * A byte for the recording, one for the clock, then steps of 8 bytes: what, flags, CPU and pid,
 * tid, the other tid, a time (16 bits, and how far they are shifted). Those above FIRST_QUESTION
 * are asked once all others were taken.
 */
enum { STEP_BYTES = 8, FIRST_QUESTION = 0x90, MAX_STEPS = 1 << 12, BODY_BYTES = 64 };

/** Where records of a CPU were lost. */
struct hole {
	uint32_t cpu;
	uint64_t from, to;
};

struct story {
	struct who_history history;
	struct who_ran *ran;
	struct perf_time_conv conv;
	uint64_t now, last[16]; /* by CPU: its last record */
	struct {
		VEC(struct hole);
	} holes;
	bool follows, has_no_time;
};

static uint32_t tid_of(uint8_t b)
{
	return b == 255 ? UINT32_MAX : b;
}

static uint64_t time_of(const uint8_t *p)
{
	return (uint64_t)load_u16(p + 5, false) << (p[7] & 15);
}

static const uint32_t types[] = {
	PERF_RECORD_SWITCH_CPU_WIDE,
	PERF_RECORD_SWITCH_CPU_WIDE,
	PERF_RECORD_SWITCH_CPU_WIDE,
	PERF_RECORD_SWITCH,
	PERF_RECORD_LOST,
	PERF_RECORD_COMM,
	PERF_RECORD_FORK,
	PERF_RECORD_EXIT,
	PERF_RECORD_ITRACE_START,
	PERF_RECORD_AUX,
	PERF_RECORD_NAMESPACES,
	PERF_RECORD_MMAP,
};

static struct perf_record record_of(uint32_t type, const uint8_t *p, uint8_t *data)
{
	const uint32_t ids[] = {p[2] >> 4, tid_of(p[3]), tid_of(p[4]), tid_of(p[4])};

	memset(data, 0, BODY_BYTES);
	memcpy(data + 8, ids, sizeof(ids));
	if (type == PERF_RECORD_COMM)
		strcpy((char *)data + 16, p[1] & 1 ? "CPU 1/KVM" : "name");
	return (struct perf_record){.data = data,
				    .type = type,
				    .misc = (uint16_t)(p[1] << 8),
				    .size = (uint16_t)(p[1] & 0x80 ? 12 + p[1] % 32 : BODY_BYTES)};
}

static void note_record(struct story *s, uint32_t cpu, uint32_t type)
{
	uint64_t *last = &s->last[cpu];

	if (type == PERF_RECORD_LOST && *last)
		(void)vec_push(&s->holes, (struct hole){cpu, *last, s->now});
	*last = s->now;
}

static void take(struct story *s, const uint8_t *p)
{
	uint8_t data[BODY_BYTES];
	uint32_t type = types[p[0] % (sizeof(types) / sizeof(*types))], cpu = p[2] & 15;
	struct perf_record r = record_of(type, p, data);
	struct who_ran_stamp stamp = {.cpu = cpu,
				      .pid = p[2] >> 4,
				      .tid = tid_of(p[3]),
				      .is_inherited = s->follows,
				      .has_time = !s->has_no_time};

	s->now += time_of(p);
	stamp.time.ns = p[7] & 0x80 ? 0 : s->now;
	who_play(&who_player_of_history, &s->history, &s->history.guests, &r,
		 &(struct who_stamp){stamp.time, 0, stamp.cpu, stamp.pid, stamp.tid});
	if (p[0] & 0x80) {
		who_ran_take_sched(s->ran, (struct who_root_id){p[3]}, (struct who_root_id){p[4]},
				   &stamp);
		note_record(s, cpu, PERF_RECORD_SAMPLE);
	} else if (who_ran_takes(type) && !who_ran_take(s->ran, &r, &stamp) && stamp.time.ns) {
		note_record(s, cpu, type);
	}
}

static struct who_question question_of(const struct story *s, const uint8_t *p)
{
	static const uint16_t has[] = {
		WHO_Q_CPU | WHO_Q_TICKS,
		WHO_Q_CPU | WHO_Q_TICKS | WHO_Q_CONTEXT_EL2,
		WHO_Q_CPU | WHO_Q_TICKS | WHO_Q_CONTEXT_EL1,
		WHO_Q_CPU | WHO_Q_TICKS | WHO_Q_TICKS_TO | WHO_Q_CONTEXT_EL1,
		WHO_Q_CPU | WHO_Q_TICKS | WHO_Q_FROM | WHO_Q_TO,
		WHO_Q_CPU | WHO_Q_FROM | WHO_Q_TO | WHO_Q_OWNER,
		WHO_Q_QUEUE | WHO_Q_TICKS,
		WHO_Q_CPU | WHO_Q_TICKS | WHO_Q_LANDMARK,
	};
	uint64_t at = time_of(p);

	(void)s;
	return (struct who_question){
		.has = has[p[0] % (sizeof(has) / sizeof(*has))],
		.cpu = p[2] & 15,
		.level = (enum who_level)(p[1] & 3),
		.world = (enum who_world)(p[1] >> 2 & 3),
		.queue = who_local_id_of(tid_of(p[3])),
		.owner = who_local_id_of(tid_of(p[3])),
		.landmark = who_local_id_of(tid_of(p[3])),
		.context_el1 = p[3],
		.context_el2 = p[4],
		.ticks = {at},
		.ticks_to = {at + p[4]},
		.from = {at},
		.to = {at + (uint64_t)p[4] * 16},
	};
}

static bool is_same(const struct who_answer *a, const struct who_answer *b)
{
	return a->has == b->has && a->kind == b->kind && a->evidence == b->evidence &&
	       a->reason == b->reason && a->level == b->level && a->root.n == b->root.n &&
	       a->local.n == b->local.n && a->serial == b->serial && a->pid.n == b->pid.n &&
	       a->space == b->space && a->comm == b->comm && a->machine.n == b->machine.n &&
	       a->vcpu == b->vcpu && a->guest_root.n == b->guest_root.n &&
	       a->candidates[0].n == b->candidates[0].n && a->candidates[1].n == b->candidates[1].n;
}

/** Nothing but switches says it, and those of then were lost. */
static bool is_in_hole(const struct story *s, const struct who_question *q)
{
	uint64_t ns = q->ticks.ticks * s->conv.mult;

	if (q->has != (WHO_Q_CPU | WHO_Q_TICKS))
		return false;
	vec_for_each (&s->holes, h) {
		if (h->cpu == q->cpu && ns > h->from + s->conv.mult && ns + s->conv.mult < h->to)
			return true;
	}
	return false;
}

static void check(const struct story *s, const struct who_question *q, const struct who_answer *a)
{
	bool is_known = a->kind != WHO_UNKNOWN;

	if (a->kind >= WHO_NR_KINDS || is_known != (a->evidence != WHO_BY_NOTHING) ||
	    (!is_known && a->reason == WHO_REASON_NONE))
		__builtin_trap(); /* an answer without evidence, or none without a reason */
	if (a->kind == WHO_TASK && !(a->has & (WHO_A_ROOT | WHO_A_LOCAL)))
		__builtin_trap(); /* no one */
	if (a->has & WHO_A_LOCAL && a->local.n <= 0)
		__builtin_trap(); /* 0 and -1 are no threads */
	if (is_known && is_in_hole(s, q))
		__builtin_trap();
}

/** It does not matter what was asked before. */
static void ask(const struct story *s, struct who_cursor *c, const struct who_question *q,
		uint64_t ahead)
{
	struct who_question later = *q;
	struct who_cursor own = {0}, of_later = {0};
	struct who_answer a, b;

	who_ran_ask(s->ran, c, q, &a);
	who_ran_ask(s->ran, &own, q, &b);
	if (!is_same(&a, &b))
		__builtin_trap();
	check(s, q, &a);
	later.ticks.ticks += ahead;
	if (!(q->has & WHO_Q_TICKS) || !who_ran_holds(s->ran, &own, later.ticks))
		return;
	who_ran_ask(s->ran, &of_later, &later, &b);
	if (!is_same(&a, &b))
		__builtin_trap();
}

static void begin(struct story *s, const uint8_t *data)
{
	s->conv = (struct perf_time_conv){.mult = 1 + (data[1] & 7)};
	s->follows = data[0] & 1;
	s->has_no_time = data[0] & 2;
	if (data[0] & 4)
		who_ran_set_root(s->ran, data[0] & 8);
	if (data[0] & 16)
		who_ran_set_kernel_level(s->ran, data[0] & 32 ? WHO_EL2 : WHO_EL1);
	if (!(data[0] & 64))
		who_ran_set_clock(s->ran, &s->conv);
}

static void note_all(struct story *s, const uint8_t *steps, size_t nr)
{
	struct who_notes *n = who_notes_new();
	struct who_cursor c = {0};

	for (size_t i = 0; n && i < nr; i++) {
		struct who_question q = question_of(s, steps + i * STEP_BYTES);

		if (steps[i * STEP_BYTES] >= FIRST_QUESTION)
			who_ran_note(s->ran, n, &c, &q);
	}
	if (n)
		who_ran_add_notes(s->ran, n);
	who_notes_free(n);
	who_ran_settle(s->ran);
}

static void play(struct story *s, const uint8_t *steps, size_t nr)
{
	struct who_cursor c = {0};

	for (size_t i = 0; i < nr; i++) {
		if (steps[i * STEP_BYTES] < FIRST_QUESTION)
			take(s, steps + i * STEP_BYTES);
	}
	if (who_ran_close(s->ran))
		return;
	note_all(s, steps, nr);
	for (size_t i = 0; i < nr; i++) {
		const uint8_t *p = steps + i * STEP_BYTES;
		struct who_question q = question_of(s, p);

		if (*p >= FIRST_QUESTION)
			ask(s, &c, &q, (uint64_t)(p[0] & 15) << (p[1] >> 4));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct story s = {.now = 1};
	size_t nr = size > 2 ? (size - 2) / STEP_BYTES : 0;

	if (!nr || nr > MAX_STEPS || who_history_init(&s.history, 1, NULL))
		return 0;
	s.ran = who_ran_new(&s.history);
	if (s.ran) {
		begin(&s, data);
		play(&s, data + 2, nr);
	}
	who_ran_free(s.ran);
	who_history_done(&s.history);
	vec_done(&s.holes);
	return 0;
}
