/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_restart.h"

#include "unit/tap.h"

/* A millisecond of one period of 100. */
#define MS 1000000ull

static const struct aux_restart quiet = {.area = 65536,
					 .page = 4096,
					 .fill = 1000,
					 .has_times = true,
					 .due = 100 * MS,
					 .ran = 100 * MS};

int main(void)
{
	struct aux_restart r = quiet;

	CHECK(!aux_restart_is_due(&r), "what runs is left alone");
	r.has_truncated = true;
	CHECK(aux_restart_is_due(&r), "a truncated AUX record");
	r = quiet;
	r.has_lost = true;
	CHECK(aux_restart_is_due(&r), "lost records: a truncated one may be among them");
	r = quiet;
	r.fill = 65536 - 8192;
	CHECK(!aux_restart_is_due(&r), "room for a quarter of the watermark was left");
	r.fill++;
	CHECK(aux_restart_is_due(&r), "less than that was left");
	r.watermark = 4096;
	CHECK(!aux_restart_is_due(&r), "a small watermark: a page");
	r.fill = 65536 - 4095;
	CHECK(aux_restart_is_due(&r), "less than a page was left");
	r = quiet;
	r.area = 4096;
	r.fill = 0;
	CHECK(!aux_restart_is_due(&r), "an empty area of one page was not full");
	r = quiet;
	r.ran_before = 100 * MS;
	CHECK(aux_restart_is_due(&r), "it should have run, and did not");
	r = quiet;
	r.ran_before = MS;
	CHECK(aux_restart_is_due(&r), "it did not run all the time");
	r.has_times = false;
	CHECK(!aux_restart_is_due(&r), "no time is known");
	r = quiet;
	r.ran_before = 40000;
	CHECK(!aux_restart_is_due(&r), "two times are never quite equal");
	r = quiet;
	r.due_before = r.ran_before = 100 * MS;
	CHECK(!aux_restart_is_due(&r), "its task slept");
	r.due_before += MS;
	CHECK(!aux_restart_is_due(&r), "it ran longer than is known to be due");
	return tap_done();
}
