/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/counted_code.h"

#include "unit/tap.h"

static struct ana_loc place(const struct dso *d, uint64_t rel)
{
	return (struct ana_loc){.ip = 0x5500000000 + rel, .rel = rel, .dso = d};
}

static const struct code_count *find(const struct code_table *t, uint64_t a, uint64_t b)
{
	vec_for_each (t, e) {
		if (e->a == a && e->b == b)
			return e;
	}
	return NULL;
}

static void gather(struct counted_code *c, const struct dso *a, const struct dso *b)
{
	struct ana_loc in_a = place(a, 0x100), in_b = place(b, 0x40), nowhere = place(NULL, 8);
	struct code_count run = {.a = in_a.ip, .b = in_a.ip + 8, .nr = 5, .last_bytes = 4};
	struct code_count one = {.nr = 2};
	bool is_ok = true;

	is_ok &= counted_code_add_run(c, &in_a, &run);
	run.nr = 9;
	run.a = in_b.ip;
	run.b = in_b.ip;
	is_ok &= counted_code_add_run(c, &in_b, &run);
	is_ok &= counted_code_add_branch(c, &in_a, &in_b, &one);
	is_ok &= counted_code_add_branch(c, &in_a, &in_a, &one);
	is_ok &= counted_code_add_branch(c, &in_a, NULL, &one);
	is_ok &= counted_code_add_branch(c, NULL, &in_b, &one);
	is_ok &= counted_code_add_sample(c, &nowhere, 3);
	CHECK(is_ok, "all is taken");
}

static void binaries(void)
{
	struct dso_store *s = dso_store_new(&(struct dso_store_opts){0});
	const struct dso *a =
		dso_store_get(s, &(struct dso_key){.kind = DSO_JIT, .path = "//anon"});
	const struct dso *b =
		dso_store_get(s, &(struct dso_key){.kind = DSO_USER, .path = "/does/not/exist"});
	struct counted_code c = {0};
	const struct counted_binary *of_a, *of_b;

	gather(&c, a, b);
	counted_code_finish(&c);
	CHECK_EQ(c.binaries.nr, 3, "a table for each binary, and one for what is in none");
	of_b = &c.binaries.data[0];
	of_a = &c.binaries.data[1];
	CHECK_STR(of_b->path, "/does/not/exist", "the heaviest comes first");
	CHECK(of_b->is_not_found, "and the missing file is reported");
	CHECK_STR(c.binaries.data[2].path, "[unknown]", "what is nowhere is last");
	CHECK_EQ(c.binaries.data[2].counts.samples.data[0].nr, 3, "and counted");
	CHECK(find(&of_a->counts.runs, 0x100, 0x108), "runs are by address in the binary");
	CHECK(find(&of_a->counts.branches, 0x100, 0x100), "a branch inside");
	CHECK_EQ(find(&of_a->counts.branches, 0x100, CODE_ELSEWHERE)->nr, 4,
		 "out of it, and to an unknown place");
	CHECK_EQ(find(&of_b->counts.branches, CODE_ELSEWHERE, 0x40)->nr, 4,
		 "into it, from another one and from nowhere");
	counted_code_done(&c);
	dso_store_free(s);
}

static void without_memory(void)
{
	struct ana_loc at = place(NULL, 8);
	struct code_count run = {.a = 8, .b = 8, .nr = 1};
	struct counted_code c = {0};
	uint64_t n = 0;

	for (;; n++) {
		bool is_ok;

		mem_fail_after(n);
		is_ok = counted_code_add_run(&c, &at, &run) &&
			counted_code_add_branch(&c, &at, &at, &run);
		mem_fail_after(UINT64_MAX);
		if (is_ok)
			break;
		counted_code_done(&c);
	}
	CHECK(n > 3, "each allocation may fail");
	counted_code_finish(&c);
	CHECK_EQ(c.binaries.nr, 1, "and then it works");
	counted_code_done(&c);
}

int main(void)
{
	binaries();
	without_memory();
	return tap_done();
}
