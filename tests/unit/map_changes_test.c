/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/stacks/tables/map_changes.h"

#include "base/mem.h"
#include "tap.h"

static void check_places(void)
{
	struct map_changes m = {0};
	const uint64_t below[] = {0x1000, 0x1fff}, at[] = {0x1000, 0x2800}, after[] = {0x3000};

	CHECK(!map_changes_any(&m, 1, 0), "nothing yet");
	CHECK(map_changes_add(&m, 1, 100, 0x2000, 0x3000), "a mapping");
	CHECK(map_changes_any(&m, 1, 100), "since its time");
	CHECK(!map_changes_any(&m, 1, 101), "not since later");
	CHECK(!map_changes_any(&m, 2, 0), "not of another process");
	CHECK(!map_changes_at(&m, 1, 0, below, 2), "not below it");
	CHECK(map_changes_at(&m, 1, 0, at, 2), "one of the addresses lies in it");
	CHECK(map_changes_at(&m, 1, 0, after, 1), "a call may be its last instruction");
	CHECK(!map_changes_at(&m, 1, 101, at, 2), "nor was it there then");
	CHECK(map_changes_add(&m, 1, 200, 0, UINT64_MAX), "an exec");
	CHECK(map_changes_at(&m, 1, 150, below, 2), "changes everything");
	map_changes_done(&m);
}

static void check_rounds(void)
{
	struct map_changes m = {0};

	map_changes_add(&m, 1, 100, 0x2000, 0x3000);
	map_changes_age(&m);
	CHECK(map_changes_any(&m, 1, 100), "the round before still counts");
	map_changes_add(&m, 2, 200, 0x2000, 0x3000);
	map_changes_age(&m);
	CHECK(map_changes_any(&m, 1, 100), "what was before is forgotten: it may have changed");
	CHECK(!map_changes_any(&m, 1, 101), "it has not since");
	CHECK(map_changes_any(&m, 2, 200), "the second has become the one before");
	for (uint32_t i = 0; i <= 1 << 16; i++)
		map_changes_add(&m, 3, i, 0, 1);
	CHECK(map_changes_any(&m, 4, UINT64_MAX), "too many to know: anything may have changed");
	map_changes_age(&m);
	map_changes_age(&m);
	CHECK(map_changes_any(&m, 4, 1 << 16), "forgotten, those that were too many as well");
	CHECK(!map_changes_any(&m, 4, (1 << 16) + 1), "since then nothing has");
	map_changes_done(&m);
}

static void check_memory(void)
{
	struct map_changes m = {0};

	mem_fail_after(0);
	CHECK(!map_changes_add(&m, 1, 100, 0x2000, 0x3000), "out of memory");
	mem_fail_after(UINT64_MAX);
	CHECK(map_changes_add(&m, 1, 100, 0x2000, 0x3000), "and again");
	map_changes_done(&m);
}

int main(void)
{
	check_places();
	check_rounds();
	check_memory();
	return tap_done();
}
