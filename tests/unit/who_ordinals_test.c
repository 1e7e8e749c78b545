/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Virtual CPUs without a name that numbers them; contexts that contradict switches. */
#include <stdio.h>
#include <string.h>

#include "unit/tap.h"
#include "who/who_history.h"
#include "who/who_play.h"
#include "who/who_ran.h"

enum { QEMU = 70, MISC_OUT = 1 << 13 };

static void take(struct who_history *h, struct who_ran *w, struct perf_record *r, uint64_t ns,
		 uint32_t tid)
{
	const struct who_ran_stamp stamp = {
		.time = {ns}, .cpu = ns ? 0 : WHO_NONE, .pid = QEMU, .tid = tid, .has_time = true};

	who_play(&who_player_of_history, h, &h->guests, r,
		 &(struct who_stamp){stamp.time, 0, stamp.cpu, stamp.pid, stamp.tid});
	who_ran_take(w, r, &stamp);
}

static void take_comm(struct who_history *h, struct who_ran *w, uint32_t tid, const char *comm)
{
	const uint32_t ids[] = {QEMU, tid};
	uint8_t data[32] = {0};
	struct perf_record r = {.data = data, .size = sizeof(data), .type = PERF_RECORD_COMM};

	memcpy(data + 8, ids, sizeof(ids));
	snprintf((char *)data + 16, 16, "%s", comm);
	take(h, w, &r, 0, tid);
}

static void take_switch(struct who_history *h, struct who_ran *w, uint64_t ns, bool is_out,
			uint32_t tid, uint32_t other)
{
	const uint32_t ids[] = {QEMU, other};
	uint8_t data[16] = {0};
	struct perf_record r = {.data = data,
				.size = sizeof(data),
				.type = PERF_RECORD_SWITCH_CPU_WIDE,
				.misc = is_out ? MISC_OUT : 0};

	memcpy(data + 8, ids, sizeof(ids));
	take(h, w, &r, ns, tid);
}

static struct who_question question(enum who_level level, uint32_t context)
{
	return (struct who_question){.has = WHO_Q_CPU | WHO_Q_CONTEXT_EL2 | WHO_Q_TICKS,
				     .level = level,
				     .world = WHO_WORLD_OF_SPE,
				     .context_el2 = context,
				     .ticks = {150}};
}

/* 73 runs in the stay that is asked about. */
static struct who_ran *make(struct who_history *h)
{
	static const struct perf_time_conv conv = {.shift = 20, .mult = 10 << 20};
	struct who_notes *n = who_notes_new();
	struct who_cursor c = {0};
	struct who_ran *w;

	who_history_init(h, 0, NULL);
	w = who_ran_new(h);
	take_comm(h, w, 72, "vm");
	take_comm(h, w, 71, "vm");
	take_comm(h, w, 73, "CPU 5/KVM");
	take_comm(h, w, 74, "vm");
	take_switch(h, w, 1000, false, 73, 0);
	take_switch(h, w, 2000, true, 73, 0);
	who_ran_set_clock(w, &conv);
	who_ran_set_root(w, true);
	who_ran_close(w);
	for (uint32_t context = 73; context >= 71; context--) {
		const struct who_question q = question(WHO_EL1, context);

		who_ran_note(w, n, &c, &q);
	}
	who_ran_add_notes(w, n);
	who_notes_free(n);
	who_ran_settle(w);
	return w;
}

static struct who_answer ask(const struct who_ran *w, enum who_level level, uint32_t context)
{
	const struct who_question q = question(level, context);
	struct who_cursor c = {0};
	struct who_answer a;

	who_ran_ask(w, &c, &q, &a);
	return a;
}

static bool is_vcpu(struct who_answer a, uint32_t vcpu, bool is_guessed)
{
	return a.has & WHO_A_GUEST && a.has & WHO_A_VCPU && a.vcpu == vcpu && a.machine.n == QEMU &&
	       !(a.has & WHO_A_VCPU_GUESSED) == !is_guessed;
}

int main(void)
{
	struct who_history h;
	struct who_ran *w = make(&h);
	struct who_counts counts = {{0}};
	struct who_answer a = ask(w, WHO_EL2, 71);

	CHECK(is_vcpu(ask(w, WHO_EL1, 73), 5, false), "a name numbers the virtual CPU");
	CHECK(is_vcpu(ask(w, WHO_EL1, 71), 0, true) && is_vcpu(ask(w, WHO_EL1, 72), 1, true),
	      "others have numbers in order of their ids, marked");
	CHECK(!(ask(w, WHO_EL1, 74).has & WHO_A_VCPU), "not those that were at no guest level");
	CHECK(a.kind == WHO_TASK && a.root.n == 71 && a.has & WHO_A_CLOCK_ERROR,
	      "a context wins over the switches of its time");
	who_counts_add(&counts, &a);
	CHECK_EQ(counts.nr_clock_errors, 1, "which is counted");
	CHECK(!(ask(w, WHO_EL2, 73).has & WHO_A_CLOCK_ERROR), "where both agree there is none");
	who_ran_free(w);
	who_history_done(&h);
	return tap_done();
}
