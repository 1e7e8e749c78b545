/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/budget.h"

#include "unit/tap.h"

static void test_counting(void)
{
	struct budget b = {.limit = 100};

	CHECK(budget_take(&b, 60) && budget_left(&b) == 40, "what is taken is no longer left");
	CHECK(!budget_take(&b, 41) && b.used == 60, "more than is left is not taken in part");
	CHECK(budget_take(&b, 40) && !budget_left(&b), "all of it can be taken");
	budget_give(&b, 70);
	CHECK(budget_left(&b) == 70 && b.peak == 100, "what is given back can be taken again");
	CHECK(!budget_take(&b, UINT64_MAX), "a size that overflows is not taken");
	CHECK(b.nr_refused == 0, "taking alone refuses nothing");
}

static void test_without_limit(void)
{
	struct budget b = {0};

	CHECK(budget_take(NULL, UINT64_MAX) && budget_left(NULL) == UINT64_MAX,
	      "no budget: no limit");
	budget_give(NULL, 1);
	budget_refuse(NULL, 1, "x", "y");
	CHECK(budget_take(&b, (uint64_t)1 << 62) && budget_left(&b) == UINT64_MAX,
	      "a zeroed one counts without a limit");
	CHECK_EQ(b.peak, (uint64_t)1 << 62, "and remembers the most that was taken");
}

static void test_refusing(void)
{
	struct budget b = {.limit = 10};
	char name[600];

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	CHECK(!budget_take_for(&b, 11, "the symbols of", name) && b.nr_refused == 1,
	      "what is left out is counted");
	CHECK(!budget_take_for(&b, 12, "other", "other") && b.nr_refused == 2 &&
		      b.refused_bytes == 23,
	      "with its bytes");
	CHECK_STR(b.first_what, "the symbols of", "the first one is remembered");
	CHECK(b.first_bytes == 11 && strlen(b.first_input) == sizeof(b.first_input) - 1,
	      "its size, and its name as far as there is room");
	CHECK(budget_take_for(&b, 10, "third", NULL) && b.nr_refused == 2,
	      "the next one may have room");
}

static void test_holding(void)
{
	struct budget b = {.limit = 100};

	budget_hold(&b, 25);
	CHECK(!budget_holds_much(&b) && budget_left(&b) == 75, "what is held counts as used");
	budget_hold(&b, 200);
	CHECK(budget_holds_much(&b) && !budget_left(&b), "and is held in any case");
	budget_let_go(&b, 225);
	CHECK(!budget_holds_much(&b) && budget_left(&b) == 100, "until it is released");
	budget_hold(NULL, 1);
	budget_let_go(NULL, 1);
	CHECK(!budget_holds_much(NULL), "no budget: never too much");
}

int main(void)
{
	test_holding();
	test_counting();
	test_without_limit();
	test_refusing();
	return tap_done();
}
