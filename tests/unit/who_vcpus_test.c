/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_vcpus.h"

#include "unit/tap.h"

/*
 * Threads of a guest by its own switches. vcpu 1 of machine 40: 5 until 1000, 7 from 1010 to 2000,
 * idle from 2010; records lost until 4000, then 5 until 5000. vcpu 1 of machine 50: 9 from 100
 * to 2500, then idle.
 */

enum { MISC_OUT = 1 << 13 };

struct made {
	uint32_t type, machine;
	bool is_out;
	uint64_t time;
	uint32_t tid, other;
};

static const struct made records[] = {
	{PERF_RECORD_SWITCH_CPU_WIDE, 40, true,  1000, 5, 7},
	{PERF_RECORD_SWITCH_CPU_WIDE, 40, false, 1010, 7, 5},
	{PERF_RECORD_SWITCH_CPU_WIDE, 40, true,  2000, 7, 0},
	{PERF_RECORD_SWITCH_CPU_WIDE, 40, false, 2010, 0, 7},
	{PERF_RECORD_LOST,            40, false, 4000, 0, 0},
	{PERF_RECORD_SWITCH_CPU_WIDE, 40, true,  5000, 5, 0},
	{PERF_RECORD_SWITCH_CPU_WIDE, 50, false, 100,  9, 0},
	{PERF_RECORD_SWITCH_CPU_WIDE, 50, true,  2500, 9, 0},
	{PERF_RECORD_SWITCH_CPU_WIDE, 50, false, 2510, 0, 9},
};

static bool take(struct who_vcpus *v, const struct made *m)
{
	uint8_t bytes[24] = {0};
	const struct perf_event_header h = {m->type, m->is_out ? (uint16_t)MISC_OUT : (uint16_t)0,
					    sizeof(bytes)};
	const struct perf_record r = {
		.type = m->type, .misc = h.misc, .size = sizeof(bytes), .data = bytes};
	const struct who_vcpu vcpu = {m->machine, 1};

	memcpy(bytes, &h, sizeof(h));
	memcpy(bytes + 8, &m->other, 4);
	memcpy(bytes + 12, &m->other, 4);
	return who_vcpus_take(v, &vcpu, &r,
			      &(struct who_ran_stamp){
				      .time = {m->time}, .cpu = 3, .pid = m->tid, .tid = m->tid}) ==
	       CLEW_OK;
}

struct row {
	const char *what;
	uint32_t machine;
	uint64_t band, from, to;
	enum who_reason why;
	uint32_t id;
	uint64_t until; /* where the id is known */
};

static const struct row rows[] = {
	{"inside of a run",                    40, 0,   1500, 1500, WHO_REASON_NONE,  7, 2000},
	{"the same, and a band",               40, 100, 1500, 1500, WHO_REASON_NONE,  7, 1900},
	{"in the switch",                      40, 0,   1005, 1005, WHO_SWITCHING,    0, 0   },
	{"at its end",			 40, 0,   1010, 1010, WHO_SWITCHING,    0, 0   },
	{"just after it",                      40, 0,   1011, 1011, WHO_REASON_NONE,  7, 2000},
	{"after it, in the band",              40, 100, 1110, 1110, WHO_SWITCHING,    0, 0   },
	{"after the band",                     40, 100, 1111, 1111, WHO_REASON_NONE,  7, 1900},
	{"before a switch, in the band",       40, 100, 1900, 1900, WHO_SWITCHING,    0, 0   },
	{"before the band",                    40, 100, 1899, 1899, WHO_REASON_NONE,  7, 1900},
	{"into the band",                      40, 100, 1500, 1950, WHO_SWITCHING,    0, 0   },
	{"a band wider than all runs",         40, 900, 1500, 1500, WHO_SWITCHING,    0, 0   },
	{"over a switch",                      40, 0,   1500, 2100, WHO_SWITCHING,    0, 0   },
	{"where records were lost",            40, 0,   3000, 3000, WHO_LOST,         0, 0   },
	{"after that, before the next switch", 40, 0,   4500, 4500, WHO_REASON_NONE,  5, 5000},
	{"before all",			 40, 0,   10,   10,   WHO_BEFORE_FIRST, 0, 0   },
	{"another machine's vcpu 1",           50, 0,   1500, 1500, WHO_REASON_NONE,  9, 2500},
	{"after its last record",              50, 0,   2600, 2600, WHO_NO_EVIDENCE,  0, 0   },
	{"a machine without records",          60, 0,   1500, 1500, WHO_GUEST_THREAD, 0, 0   },
};

static void check(struct who_vcpus *v, const struct row *row)
{
	const struct who_vcpu_span s = {
		{row->machine, 1},
                {row->from           },
                {row->to}
        };
	struct who_guest_local_id id = {0};
	struct clew_perf_ns until;
	enum who_reason why;

	map_u64_put(&v->bands, row->machine, row->band);
	why = who_vcpus_find(v, &s, &id, &until);
	CHECK_STR(who_reason_name(why), who_reason_name(row->why), "%s", row->what);
	if (why)
		return;
	CHECK_EQ(id.n, row->id, "%s: its thread", row->what);
	CHECK_EQ(until.ns, row->until, "%s: for how long", row->what);
}

int main(void)
{
	struct who_vcpus v = {0};
	const struct who_vcpu_span untimed = {
		{40, 1},
                clew_perf_ns_none(), clew_perf_ns_none()
        };
	struct who_guest_local_id id;
	struct clew_perf_ns until;
	bool ok = true;

	for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++)
		ok = ok && take(&v, &records[i]);
	CHECK(ok && who_vcpus_end(&v), "records are taken");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check(&v, &rows[i]);
	CHECK(who_vcpus_find(&v, &untimed, &id, &until) == WHO_NO_CLOCK,
	      "nothing is said without a time");
	who_vcpus_done(&v);
	return tap_done();
}
