/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Host or guest, and the thread, by samples of kvm_entry and kvm_exit; with the kernel at EL2 and
 * at EL1. */
#include <stdio.h>
#include <string.h>

#include "unit/tap.h"
#include "who/who_history.h"
#include "who/who_play.h"
#include "who/who_ran.h"

enum { QEMU = 70, VCPU = 71, OTHER = 5, MISC_OUT = 1 << 13 };

struct made {
	char what; /* e, x: entry, exit; i, o: switch in, out; l: lost */
	uint64_t time;
};

/* 71 runs from 1000 to 2000 and from 5000 on, 5 in between. Of 2600 a sample is missing. */
static const struct made records[] = {
	{'i', 1000},
        {'e', 1100},
        {'x', 1200},
        {'e', 1300},
        {'x', 1400},
        {'o', 2000},
	{'i', 5000},
        {'e', 5100},
        {'x', 5200},
        {'x', 5300},
        {'e', 5400},
        {'l', 5600},
	{'e', 5700},
        {'x', 5800},
        {'e', 5900},
        {'x', 6000},
        {'o', 7000},
};

static void take_record(struct who_history *h, struct who_ran *w, const struct made *m,
			const struct who_ran_stamp *stamp)
{
	const uint32_t ids[] = {OTHER, OTHER, 0, 0};
	uint8_t data[24] = {0};
	struct perf_record r = {.data = data,
				.size = sizeof(data),
				.type = m->what == 'l' ? PERF_RECORD_LOST
						       : PERF_RECORD_SWITCH_CPU_WIDE,
				.misc = m->what == 'o' ? MISC_OUT : 0};

	memcpy(data + 8, ids, sizeof(ids));
	who_play(&who_player_of_history, h, &h->guests, &r,
		 &(struct who_stamp){stamp->time, 0, 0, QEMU, VCPU});
	who_ran_take(w, &r, stamp);
}

static void take_comm(struct who_history *h, uint32_t tid, const char *comm)
{
	const uint32_t ids[] = {QEMU, tid};
	uint8_t data[32] = {0};
	struct perf_record r = {.data = data, .size = sizeof(data), .type = PERF_RECORD_COMM};

	memcpy(data + 8, ids, sizeof(ids));
	snprintf((char *)data + 16, 16, "%s", comm);
	who_play(&who_player_of_history, h, &h->guests, &r,
		 &(struct who_stamp){{0}, 0, WHO_NONE, QEMU, tid});
}

static struct who_ran *make(struct who_history *h, enum who_level level, uint32_t vcpu)
{
	static const struct perf_time_conv conv = {.shift = 20, .mult = 10 << 20};
	struct who_ran *w;

	who_history_init(h, 0, NULL);
	w = who_ran_new(h);
	take_comm(h, VCPU, "vm");
	take_comm(h, OTHER, "five");
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		const struct made *m = &records[i];
		const struct who_ran_stamp stamp = {
			.time = {m->time}, .cpu = 0, .pid = QEMU, .tid = VCPU, .has_time = true};

		if (m->what == 'e' || m->what == 'x')
			who_ran_take_kvm(w, m->what == 'e', vcpu, &stamp);
		else
			take_record(h, w, m, &stamp);
	}
	who_ran_set_clock(w, &conv);
	who_ran_set_root(w, true);
	who_ran_set_kernel_level(w, level);
	who_ran_close(w);
	who_ran_settle(w);
	return w;
}

enum { NO = -1, HOST = 'h', GUEST = 'g', UNKNOWN = '?' };

static const struct row {
	const char *what;
	enum who_level kernel, level;
	uint64_t from, to; /* ns, multiples of 10; to 0: as from */
	int context;       /* of the kernel's register */
	char world;
} rows[] = {
	{"user code between entry and exit",       WHO_EL2, WHO_EL0, 1150, 0,    NO,    GUEST  },
	{"between exit and entry",                 WHO_EL2, WHO_EL0, 1250, 0,    NO,    HOST   },
	{"in the tick of an entry",                WHO_EL2, WHO_EL0, 1100, 0,    NO,    UNKNOWN},
	{"in the tick of an exit",                 WHO_EL2, WHO_EL0, 1200, 0,    NO,    UNKNOWN},
	{"at a time that holds an exit",           WHO_EL2, WHO_EL0, 1150, 1250, NO,    UNKNOWN},
	{"before the first entry",                 WHO_EL2, WHO_EL0, 1050, 0,    NO,    UNKNOWN},
	{"an exit, and none before the next one",  WHO_EL2, WHO_EL0, 5250, 0,    NO,    UNKNOWN},
	{"between an entry and a loss",            WHO_EL2, WHO_EL0, 5500, 0,    NO,    UNKNOWN},
	{"after a loss",			   WHO_EL2, WHO_EL0, 5650, 0,    NO,    UNKNOWN},
	{"after the entry that follows it",        WHO_EL2, WHO_EL0, 5750, 0,    NO,    GUEST  },
	{"after the last sample",                  WHO_EL2, WHO_EL0, 6500, 0,    NO,    UNKNOWN},
	{"kernel at EL1, user code",               WHO_EL1, WHO_EL0, 1150, 0,    OTHER, GUEST  },
	{"kernel code between entry and exit",     WHO_EL1, WHO_EL1, 1150, 0,    OTHER, UNKNOWN},
	{"between exit and entry, kernel code",    WHO_EL1, WHO_EL1, 1250, 0,    VCPU,  HOST   },
	{"a guest may have written the context",   WHO_EL1, WHO_EL1, 6500, 0,    OTHER, UNKNOWN},
	{"the context of a thread without guests", WHO_EL1, WHO_EL1, 3000, 0,    OTHER, HOST   },
};

static struct who_answer ask(const struct who_ran *w, const struct row *r)
{
	struct who_question q = {.has = WHO_Q_CPU | WHO_Q_TICKS,
				 .level = r->level,
				 .world = WHO_WORLD_UNKNOWN,
				 .context_el1 = (uint32_t)r->context,
				 .ticks = {r->from / 10},
				 .ticks_to = {r->to / 10}};
	struct who_cursor c = {0};
	struct who_answer a;

	q.has |= r->to ? (uint32_t)WHO_Q_TICKS_TO : 0;
	q.has |= r->context != NO ? (uint32_t)WHO_Q_CONTEXT_EL1 : 0;
	who_ran_ask(w, &c, &q, &a);
	return a;
}

static char world_of(const struct who_answer *a)
{
	if (a->has & WHO_A_GUEST)
		return GUEST;
	return a->kind == WHO_UNKNOWN ? UNKNOWN : HOST;
}

static void test_rows(enum who_level kernel)
{
	struct who_history h;
	struct who_ran *w = make(&h, kernel, WHO_NONE);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct who_answer a = ask(w, &rows[i]);

		if (rows[i].kernel == kernel)
			CHECK_EQ(world_of(&a), rows[i].world, "%s", rows[i].what);
	}
	who_ran_free(w);
	who_history_done(&h);
}

static void test_numbers(void)
{
	struct who_history h;
	struct who_ran *w = make(&h, WHO_EL2, 3);
	struct who_answer a = ask(w, &rows[0]);

	CHECK(a.has & WHO_A_VCPU && a.vcpu == 3 && !(a.has & WHO_A_VCPU_GUESSED),
	      "KVM's number of a virtual CPU without a name");
	who_ran_free(w);
	who_history_done(&h);
	w = make(&h, WHO_EL2, WHO_NONE);
	a = ask(w, &rows[0]);
	CHECK(a.has & WHO_A_VCPU && a.vcpu == 0 && a.has & WHO_A_VCPU_GUESSED,
	      "without one, its place among those of its process");
	who_ran_free(w);
	who_history_done(&h);
}

int main(void)
{
	test_rows(WHO_EL2);
	test_rows(WHO_EL1);
	test_numbers();
	return tap_done();
}
