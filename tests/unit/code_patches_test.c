/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image/code_patches.h"

#include "base/bytes.h"
#include "unit/tap.h"

static const uint8_t bytes[64] = {0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x20, 0x21, 0x22,
				  0x23, 0x24, 0x25, 0x26, 0x27, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35,
				  0x36, 0x37, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47};

static void poke(struct code_patches *p, struct arena *a, uint64_t time, uint64_t addr,
		 uint16_t old, uint16_t new, size_t from)
{
	if (code_patches_poke(p, a, &(struct code_poke){{time}, addr, bytes + from, old, new}))
		abort();
}

/** What is at @p addr at @p time: its first byte; -1 not patched, -2 removed. */
static int at(const struct code_patches *p, uint64_t time, uint64_t addr, struct code_region *r)
{
	enum code_patched patched = code_patches_find(p, (struct clew_perf_ns){time}, addr, r);

	if (patched == CODE_NOT_PATCHED)
		return -1;
	return patched == CODE_REMOVED ? -2 : r->bytes[addr - r->start];
}

static void test_pokes(void)
{
	struct code_patches *p = code_patches_new();
	struct arena a = {0};
	struct code_region r;

	poke(p, &a, 10, 0x1000, 8, 8, 0);  /* 10.. -> 20.. */
	poke(p, &a, 20, 0x1004, 8, 8, 16); /* 30.. -> 40.. */
	poke(p, &a, 30, 0x2000, 0, 8, 0);  /* nothing -> 10.. */
	poke(p, &a, 40, 0x2000, 8, 0, 0);  /* and nothing again */
	poke(p, &a, 50, 0x3000, 4, 8, 0);  /* longer */
	CHECK_EQ(code_patches_close(p), CLEW_OK, "patches are put into order");

	CHECK_EQ(at(p, 5, 0x1000, &r), 0x10, "before a poke: its old bytes");
	CHECK_EQ(at(p, 10, 0x1000, &r), 0x20, "from its time on: its new ones");
	CHECK(r.start == 0x1000 && r.end == 0x1004, "up to the next one's place");
	CHECK_EQ(at(p, 15, 0x1005, &r), 0x25, "where two overlap: the first");
	CHECK_EQ(at(p, 20, 0x1005, &r), 0x41, "then the second");
	CHECK_EQ(at(p, 5, 0x1005, &r), 0x15, "before both: the first one's old bytes");
	CHECK_EQ(at(p, 15, 0x1009, &r), 0x35, "where there is the second only");
	CHECK_EQ(at(p, 35, 0x2001, &r), 0x11, "new code");
	CHECK_EQ(at(p, 5, 0x2001, &r), 0x11, "is seen before its time: nothing was there");
	CHECK_EQ(at(p, 45, 0x2001, &r), -2, "code that is gone");
	CHECK_EQ(at(p, 60, 0x3005, &r), 0x21, "the longer part of new code");
	CHECK_EQ(at(p, 60, 0x1800, &r), -1, "no patch");
	CHECK(r.start == 0x100c && r.end == 0x2000 && !r.bytes, "the stretch without patches");
	CHECK(at(p, 60, 0, &r) == -1 && r.start == 0 && r.end == 0x1000, "below all");
	CHECK(at(p, 60, UINT64_MAX - 1, &r) == -1, "above all");
	code_patches_free(p);
	arena_done(&a);
}

static void test_replacing(void)
{
	struct code_patches *p = code_patches_new();
	struct arena a = {0};
	unsigned int nr = 0;

	poke(p, &a, 30, 0x1000, 0, 8, 0); /* later than the next: order is by time */
	poke(p, &a, 10, 0x1004, 0, 8, 0);
	poke(p, &a, 20, 0x2000, 0, 8, 0);
	CHECK_EQ(code_patches_close(p), CLEW_OK, "three additions");
	for (size_t i = 0; i < p->all.nr; i++)
		nr += p->all.data[i].replaces;
	CHECK(nr == 1 && p->all.data[2].replaces && p->all.data[2].time.ns == 30,
	      "only what takes the place of other code is a version");
	code_patches_free(p);
	arena_done(&a);

	p = code_patches_new();
	for (uint64_t i = 0; i < 20000; i++) {
		struct code_patch patch = {.start = i,
					   .end = UINT64_MAX - i,
					   .time = {i},
					   .bytes = bytes,
					   .order = (uint32_t)i};

		if (!vec_push(&p->all, patch))
			abort();
	}
	CHECK(code_patches_close(p) == CLEW_OK && p->all.nr < 20000,
	      "nested patches are taken up to a limit");
	code_patches_free(p);
}

int main(void)
{
	test_pokes();
	test_replacing();
	return tap_done();
}
