/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_restart.h"

#include "unit/tap.h"

static const struct aux_restart quiet =
	{.area = 65536, .page = 4096, .fill = 1000, .has_times = true, .enabled = 20, .ran = 20};

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
	r.ran_before = 20;
	CHECK(aux_restart_is_due(&r), "enabled, and does not run");
	r.has_times = false;
	CHECK(!aux_restart_is_due(&r), "unless it may rest: its task ran elsewhere");
	r = quiet;
	r.enabled_before = r.ran_before = 20;
	CHECK(!aux_restart_is_due(&r), "its task slept");
	return tap_done();
}
