/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/bpf/entry_guess.h"

#include <stddef.h>

#include "unit/tap.h"

/* A task's way: entries to the kernel at a place, each with so many samples. */
struct part {
	uint64_t place;
	uint32_t nr_samples;
	bool is_after_user; /* a sample of user mode went before */
};

struct tally {
	uint32_t at_once, put_off, entries_put_off;
};

static void one_entry(struct entry_guess *g, const struct part *p, struct tally *t)
{
	bool is_pending = false;

	if (p->is_after_user)
		entry_guess_user(g);
	for (uint32_t i = 0; i < p->nr_samples; i++) {
		if (is_pending) {
			g->is_shared = true;
		} else if (entry_guess_is_short(g, p->place)) {
			t->at_once++;
		} else {
			is_pending = true;
			t->put_off++;
		}
	}
}

static struct tally run(struct entry_guess *g, const struct part *parts, size_t nr, uint32_t times)
{
	struct tally t = {0};

	for (uint32_t n = 0; n < times; n++)
		for (size_t i = 0; i < nr; i++)
			one_entry(g, &parts[i], &t);
	return t;
}

#define RUN(g, times, ...)                  \
 run(g, (const struct part[]){__VA_ARGS__}, \
     sizeof((const struct part[]){__VA_ARGS__}) / sizeof(struct part), times)

static void long_entries(void)
{
	struct entry_guess g = entry_guess_new();
	struct tally t = RUN(&g, 1, {5, 100, false});

	CHECK(t.at_once == 1 && t.put_off == 1,
	      "a long entry is put off from its second sample on");
	t = RUN(&g, 50, {5, 100, false});
	CHECK(t.at_once == 0 && t.put_off == 50, "the next ones from their first");
	t = RUN(&g, 50, {5, 100, false}, {6, 100, false}, {7, 2, true});
	CHECK(t.at_once == 0 && t.put_off == 150, "those from elsewhere, too");
}

static void short_entries(void)
{
	struct entry_guess g = entry_guess_new();
	struct tally t = RUN(&g, 1600, {5, 1, false});

	CHECK(t.put_off >= 100 && t.put_off <= 105,
	      "of short entries in a row one of 16 is put off");
	CHECK_EQ(t.at_once + t.put_off, 1600, "each is walked once");
	g = entry_guess_new();
	t = RUN(&g, 1000, {5, 1, false}, {6, 1, false});
	CHECK(!t.put_off && t.at_once == 2000, "none where two places take turns");
	g = entry_guess_new();
	t = RUN(&g, 1000, {5, 1, true});
	CHECK(!t.put_off && t.at_once == 1000, "none where user mode runs in between");
}

static void what_changes(void)
{
	struct entry_guess g = entry_guess_new();
	struct tally t;

	RUN(&g, 10, {5, 100, false});
	t = RUN(&g, 1000, {5, 1, false}, {6, 1, false});
	CHECK(t.put_off == 1 && t.at_once == 1999, "after long entries one short one is put off");
	RUN(&g, 1000, {5, 1, false});
	t = RUN(&g, 10, {5, 100, false});
	CHECK(t.put_off == 10 && t.at_once <= ENTRY_MAX_IN_ROW,
	      "after short entries the first long one has few stacks too many");
}

int main(void)
{
	long_entries();
	short_entries();
	what_changes();
	return tap_done();
}
