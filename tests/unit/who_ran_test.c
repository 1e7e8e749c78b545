/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_ran.h"

#include "unit/tap.h"
#include "who/who_history.h"
#include "who/who_play.h"

/*
 * The decision rule, one line per question: what the recording and the record hold, and the answer.
 * CPU 0 of the story (see records[]): 5 until 1000, 7 from 1100 to 2000, 0 from 2100 to 3000 (it
 * sleeps), 7 from 3100, records lost 4000 to 5000, 5 until 6000, then 0 from 6100 (preempted at
 * 7000). A tick is 10 ns.
 */

enum { MISC_OUT = 1 << 13, MISC_PREEMPT = 1 << 14 };

struct made {
	uint32_t type;
	uint16_t misc;
	uint64_t time;
	uint32_t tid, other; /* pid: tid / 10 * 10 + 5 ... */
	const char *comm;
};

static const struct made records[] = {
	{PERF_RECORD_COMM,            0,                       0,    5,          0, "five" },
	{PERF_RECORD_COMM,            0,                       0,    7,          0, "seven"},
	{PERF_RECORD_SWITCH_CPU_WIDE, MISC_OUT,                1000, 5,          7, NULL   },
	{PERF_RECORD_SWITCH_CPU_WIDE, 0,                       1100, 7,          5, NULL   },
	{PERF_RECORD_COMM,            0,                       1500, 7,          0, "7th"  },
	{PERF_RECORD_SWITCH_CPU_WIDE, MISC_OUT,                2000, 7,          0, NULL   },
	{PERF_RECORD_SWITCH_CPU_WIDE, 0,                       2100, 0,          7, NULL   },
	{PERF_RECORD_SWITCH_CPU_WIDE, MISC_OUT,                3000, 0,          7, NULL   },
	{PERF_RECORD_SWITCH_CPU_WIDE, 0,                       3100, 7,          0, NULL   },
	{PERF_RECORD_ITRACE_START,    0,                       4000, 7,          0, NULL   },
	{PERF_RECORD_LOST,            0,                       5000, 0,          0, NULL   },
	{PERF_RECORD_SWITCH_CPU_WIDE, MISC_OUT,                6000, 5,          0, NULL   },
	{PERF_RECORD_SWITCH_CPU_WIDE, 0,                       6100, 0,          5, NULL   },
	{PERF_RECORD_SWITCH_CPU_WIDE, MISC_OUT | MISC_PREEMPT, 7000, 0,          7, NULL   },
	{PERF_RECORD_SWITCH_CPU_WIDE, 0,                       7100, 7,          0, NULL   },
	{PERF_RECORD_EXIT,            0,                       7500, 7,          0, NULL   },
	{PERF_RECORD_SWITCH_CPU_WIDE, MISC_OUT,                8000, UINT32_MAX, 5, NULL   },
	{PERF_RECORD_SWITCH_CPU_WIDE, 0,                       8100, 5,          7, NULL   },
	{PERF_RECORD_SWITCH_CPU_WIDE, MISC_OUT,                9000, 5,          7, NULL   },
	{PERF_RECORD_SWITCH_CPU_WIDE, 0,                       9100, 7,          5, NULL   },
	{PERF_RECORD_AUX,             0,                       9500, 7,          0, NULL   },
};

/** The body; pid is tid. */
static uint16_t put_body(const struct made *m, uint8_t *p)
{
	const uint32_t ids[] = {m->tid, m->tid, m->tid, m->tid, 0, 0};

	memset(p, 0, 48);
	if (m->type == PERF_RECORD_SWITCH_CPU_WIDE) {
		memcpy(p, &m->other, 4);
		memcpy(p + 4, &m->other, 4);
	} else if (m->type != PERF_RECORD_AUX && m->type != PERF_RECORD_LOST) {
		memcpy(p, ids, sizeof(ids));
	}
	if (m->comm)
		snprintf((char *)p + 8, 16, "%s", m->comm);
	return 8 + 48;
}

static void take(struct who_history *h, struct who_ran *w, const struct made *m)
{
	uint8_t data[8 + 48] = {0};
	struct perf_record r = {.data = data, .type = m->type, .misc = m->misc};
	const struct who_ran_stamp stamp = {.time = {m->time},
					    .cpu = m->time ? 0 : WHO_NONE,
					    .pid = m->tid,
					    .tid = m->tid,
					    .has_time = true};

	r.size = put_body(m, data + 8);
	who_play(&who_player_of_history, h, &h->guests, &r,
		 &(struct who_stamp){stamp.time, 0, stamp.cpu, stamp.pid, stamp.tid});
	if (who_ran_takes(r.type))
		who_ran_take(w, &r, &stamp);
}

enum recorder { ANY, ROOT, BOX };
enum { NO = -1 };

static const struct {
	const char *what;
	enum recorder recorder;
	enum who_level level;
	int64_t ns; /* NO: no time */
	int context, owner, queue;
	const char *answer;
} rows[] = {
	{"user code in a stay",					ANY,  WHO_EL0, 1200,      NO, NO, NO, "task switch - L7 seven"     },
	{"a new name from its time on",                                ANY,  WHO_EL0, 1500,      NO, NO, NO, "task switch - L7 7th"       },
	{"before the first switch",				    ANY,  WHO_EL0, 1000 - 10, NO, NO, NO, "unknown - before-first"     },
	{"the tick of a boundary",				     ANY,  WHO_EL2, 1100,      NO, NO, NO, "unknown - switching"        },
	{"kernel code in a switch",				    ANY,  WHO_EL2, 1050,      NO, NO, NO, "unknown - switching"        },
	{"user code in a switch",				      ANY,  WHO_EL0, 1050,      NO, NO, NO, "unknown - clock-conflict"   },
	{"a context there",					    ROOT, WHO_EL2, 1050,      7,  NO, NO, "task context - R7 L7 seven" },
	{"where records were lost",				    ANY,  WHO_EL0, 4500,      NO, NO, NO, "unknown - lost"             },
	{"a context there: the name is not proven",                    ROOT, WHO_EL0, 5500,      7,  NO, NO,
	 "task context - R7 L7 7th?"												      },
	{"backward to the end of the hole",                            ANY,  WHO_EL0, 5500,      NO, NO, NO,
	 "task switch-backward - L5 five?"												},
	{"id 0, root recorder",					ROOT, WHO_EL2, 2500,      NO, NO, NO, "idle switch - R0"           },
	{"id 0 that sleeps",					   BOX,  WHO_EL2, 2500,      NO, NO, NO, "outside switch -"           },
	{"id 0 that was preempted",				    BOX,  WHO_EL2, 6500,      NO, NO, NO, "idle-or-outside switch -"   },
	{"id 0 runs user code",					BOX,  WHO_EL0, 6500,      NO, NO, NO, "outside switch -"           },
	{"a root id where the local one is 0",                         BOX,  WHO_EL0, 2500,      77, NO, NO,
	 "outside context - R77"													  },
	{"both ids",						   BOX,  WHO_EL0, 1200,      77, NO, NO, "task context - R77 L7 seven"},
	{"no user code is idle",				       ROOT, WHO_EL0, 1200,      0,  NO, NO, "unknown - conflict"         },
	{"context 0 in the kernel",				    BOX,  WHO_EL2, 2500,      0,  NO, NO, "idle context - R0"          },
	{"the ring of a thread",				       ANY,  WHO_EL0, NO,        NO, NO, 5,  "task queue - L5 five?"      },
	{"owners of AUX records count only where events follow tasks", ANY,  WHO_EL0, 1200,      NO, 5,
	 NO,												 "task switch - L7 seven"     },
	{"no time",						    ANY,  WHO_EL0, NO,        NO, NO, NO, "unknown - no-clock"         },
	{"an exiting thread runs on",                                  ANY,  WHO_EL2, 7600,      NO, NO, NO, "task switch - L7 7th?"      },
	{"its id after that is of another",                            ANY,  WHO_EL0, 9200,      NO, NO, NO,
	 "task switch reuse-unseen L7"												    },
};

static void print_answer(const struct who_answer *a, char *p, size_t size)
{
	int n = snprintf(p, size, "%s %s %s", who_kind_name(a->kind),
			 a->evidence ? who_evidence_name(a->evidence) : "-",
			 a->reason ? who_reason_name(a->reason) : "-");

	if (a->has & WHO_A_ROOT)
		n += snprintf(p + n, size - (size_t)n, " R%u", a->root.n);
	if (a->has & WHO_A_LOCAL)
		n += snprintf(p + n, size - (size_t)n, " L%d", a->local.n);
	if (a->has & WHO_A_THREAD && a->comm)
		snprintf(p + n, size - (size_t)n, " %s%s", a->comm,
			 a->has & WHO_A_NAME_STALE ? "?" : "");
}

static struct who_question question(size_t row)
{
	struct who_question q = {.has = WHO_Q_CPU | WHO_Q_CONTEXT_EL2,
				 .level = rows[row].level,
				 .world = WHO_WORLD_OF_SPE,
				 .context_el2 = (uint32_t)rows[row].context,
				 .owner = {rows[row].owner},
				 .queue = {rows[row].queue},
				 .ticks = {(uint64_t)rows[row].ns / 10}};

	if (rows[row].context == NO)
		q.has &= ~(uint32_t)WHO_Q_CONTEXT_EL2;
	q.has |= rows[row].ns == NO ? 0 : (uint32_t)WHO_Q_TICKS;
	q.has |= rows[row].owner == NO ? 0 : (uint32_t)WHO_Q_OWNER;
	q.has |= rows[row].queue == NO ? 0 : (uint32_t)WHO_Q_QUEUE;
	return q;
}

static struct who_ran *make(struct who_history *h, enum recorder recorder)
{
	static const struct perf_time_conv conv = {.shift = 20, .mult = 10 << 20};
	const struct who_question el2 = {
		.has = WHO_Q_CPU, .level = WHO_EL2, .world = WHO_WORLD_OF_SPE};
	struct who_notes *n = who_notes_new();
	struct who_cursor c = {0};
	struct who_ran *w;

	who_history_init(h, 0, NULL);
	w = who_ran_new(h);
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		take(h, w, &records[i]);
	who_ran_set_clock(w, &conv);
	if (recorder != ANY)
		who_ran_set_root(w, recorder == ROOT);
	who_ran_close(w);
	who_ran_note(w, n, &c, &el2);
	who_ran_add_notes(w, n);
	who_notes_free(n);
	who_ran_settle(w);
	return w;
}

static void test_rows(enum recorder recorder)
{
	struct who_counts counts = {{0}};
	struct who_cursor c = {0};
	struct who_history h;
	struct who_ran *w = make(&h, recorder);
	uint64_t nr = 0, sum = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct who_question q = question(i);
		struct who_answer a;
		char got[128];

		if (rows[i].recorder != recorder)
			continue;
		who_ran_ask(w, &c, &q, &a);
		print_answer(&a, got, sizeof(got));
		CHECK_STR(got, rows[i].answer, "%s", rows[i].what);
		who_counts_add(&counts, &a);
		nr++;
	}
	for (unsigned int i = 0; i < WHO_NR_EVIDENCE; i++)
		sum += counts.by_evidence[i];
	for (unsigned int i = 0; i < WHO_NR_REASONS; i++)
		sum += counts.by_reason[i];
	CHECK_EQ(sum, nr, "evidence and reasons sum to the records");
	who_ran_free(w);
	who_history_done(&h);
}

int main(void)
{
	test_rows(ANY);
	test_rows(ROOT);
	test_rows(BOX);
	return tap_done();
}
