/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/heap.h"

#include <string.h>

#include "tap.h"

enum { NR_TABLES = 5, NR_STEPS = 1 << 20 };

struct table {
	VEC(uint32_t);
};

static bool is_whole(const struct table *t, uint32_t nr)
{
	for (uint32_t i = 0; i < t->nr; i++) {
		if (t->data[i] != i * NR_TABLES + nr)
			return false;
	}
	return true;
}

/** Tables that grow in turn, some faster, and all keep what they hold. */
static void test_tables(void)
{
	struct table tables[NR_TABLES] = {0};
	struct os_heap h;
	bool ok = os_heap_init(&h, 256 << 20);
	size_t bytes = 0;

	for (uint32_t i = 0; ok && i < NR_STEPS; i++) {
		for (uint32_t k = 0; ok && k < NR_TABLES; k++) {
			struct table *t = &tables[k];

			if (i % (k + 1))
				continue;
			ok = os_heap_reserve(&h, t, t->nr + 1);
			if (ok)
				t->data[t->nr] = (uint32_t)t->nr * NR_TABLES + k;
			t->nr += ok;
		}
	}
	for (uint32_t k = 0; ok && k < NR_TABLES; k++) {
		ok = is_whole(&tables[k], k);
		bytes += tables[k].cap * sizeof(uint32_t);
	}
	CHECK(ok, "tables that grow keep what they hold");
	CHECK(h.nr < 3 * bytes, "%zu bytes were taken for %zu", h.nr, bytes);
	os_heap_done(&h);
}

static void test_reuse(void)
{
	struct os_heap h;
	size_t n = 5000, same = 5000, less = 10;
	void *a, *b;
	bool ok = os_heap_init(&h, 0);

	a = ok ? os_heap_grow(&h, NULL, 0, &n) : NULL;
	CHECK(a && n >= 5000 && (uintptr_t)a % 64 == 0, "%zu bytes for 5000", n);
	os_heap_free(&h, a, n);
	CHECK(ok && os_heap_grow(&h, NULL, 0, &same) == a, "what was given up is given again");
	b = ok ? os_heap_grow(&h, NULL, 0, &less) : NULL;
	CHECK(b && b != a && less >= 10, "and once");
	os_heap_done(&h);
}

static void test_limits(void)
{
	struct os_heap h;
	size_t n = (size_t)1 << 30, all = SIZE_MAX, one = 1;
	bool ok = os_heap_init(&h, 0);
	void *kept = ok ? os_heap_grow(&h, NULL, 0, &one) : NULL;

	CHECK(ok && !os_heap_grow(&h, NULL, 0, &n), "more than there is");
	CHECK(ok && !os_heap_grow(&h, NULL, 0, &all), "more than there can be");
	CHECK(kept && !os_heap_grow(&h, kept, one, &n), "and what there was stays");
	mem_fail_after(0);
	n = 1;
	CHECK(ok && !os_heap_grow(&h, NULL, 0, &n) && mem_has_failed(), "refused as other memory");
	mem_fail_after(UINT64_MAX);
	os_heap_done(&h);
	os_heap_done(&h);
}

int main(void)
{
	test_tables();
	test_reuse();
	test_limits();
	return tap_done();
}
