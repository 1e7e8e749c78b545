/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/profile/profgen_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/profile/bolt_text.h"
#include "report/code_levels.h"
#include "unit/tap.h"

/* Usage: profgen_text_test DIR: DIR/pgo.counts is what ran of a program, by single steps;
 * DIR/pgo.profgen the same, as llvm-profgen took it. */

enum { STEP = 0x1820, STEP_ENTERED = 20020 };

static enum clew_err keep(void *text, const void *data, size_t size)
{
	buf_add(text, data, size);
	return CLEW_OK;
}

static FILE *open_in(const char *dir, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return fopen(path, "r");
}

static bool read_counts(struct code_counts *c, const char *dir)
{
	FILE *f = open_in(dir, "pgo.counts");
	char kind, line[256];
	uint64_t a, b, nr;

	while (f && fgets(line, sizeof(line), f)) {
		struct code_count e = {0};

		if (sscanf(line, "%c %" SCNx64 " %" SCNx64 " %" SCNu64, &kind, &a, &b, &nr) != 4)
			return false;
		e = (struct code_count){.a = a, .b = b, .nr = nr};
		if (!(kind == 'R' ? code_counts_add_run(c, &e) : code_counts_add_branch(c, &e)))
			return false;
	}
	if (f)
		fclose(f);
	code_counts_sort(c);
	return c->runs.nr && c->branches.nr;
}

static void test_truth(struct counted_binary *b, const char *dir)
{
	struct buf want = {0}, text = {0};
	FILE *f = open_in(dir, "pgo.profgen");
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		buf_str(&want, line);
	if (f)
		fclose(f);
	CHECK_EQ(profgen_text(b, &(struct clew_sink){keep, &text}), CLEW_OK, "written");
	CHECK_STR(buf_cstr(&text), buf_cstr(&want), "what llvm-profgen took");
	buf_done(&want);
	buf_done(&text);
}

static void test_entries(const struct counted_binary *b)
{
	struct code_levels levels = {0};
	uint64_t nr = 0;

	vec_for_each (&b->counts.branches, e)
		nr += e->b == STEP ? e->nr : 0;
	CHECK_EQ(nr, STEP_ENTERED, "branches to step()");
	CHECK(code_levels_make(&levels, &b->counts.runs), "levels");
	CHECK_EQ(code_levels_at(&levels, STEP), STEP_ENTERED,
		 "executions of its first instruction");
	code_levels_done(&levels);
}

/** Branches are the same lines for all. */
static void test_bolt(const struct counted_binary *b)
{
	struct buf text = {0};
	uint64_t from, to, nr, sum = 0;
	unsigned int nr_branches = 0;

	CHECK_EQ(bolt_text(b, &(struct clew_sink){keep, &text}), CLEW_OK, "BOLT's");
	for (const char *at = buf_cstr(&text); at && *at; at = strchr(at, '\n') + 1) {
		if (sscanf(at, "B %" SCNx64 " %" SCNx64 " %" SCNu64 " 0\n", &from, &to, &nr) != 3)
			continue;
		nr_branches++;
		sum += to == STEP ? nr : 0;
	}
	CHECK_EQ(nr_branches, b->counts.branches.nr, "all branches");
	CHECK_EQ(sum, STEP_ENTERED, "and those to step()");
	buf_done(&text);
}

/** Code outside of the binary. */
static void test_elsewhere(void)
{
	struct counted_binary b = {.path = "app"};
	struct buf text = {0};

	code_counts_add_branch(&b.counts, &(struct code_count){CODE_ELSEWHERE, 0x100, 3, 0, 0, 0});
	code_counts_add_branch(&b.counts, &(struct code_count){0x104, CODE_ELSEWHERE, 3, 0, 0, 0});
	code_counts_sort(&b.counts);
	CHECK_EQ(profgen_text(&b, &(struct clew_sink){keep, &text}), CLEW_OK, "written");
	CHECK_STR(buf_cstr(&text), "0\n1\n1->100:3\n",
		  "branches from elsewhere are entries, those to elsewhere nothing");
	code_counts_done(&b.counts);
	buf_done(&text);
}

int main(int argc, char **argv)
{
	struct counted_binary b = {.path = "pgo"};

	CHECK(argc == 2 && read_counts(&b.counts, argv[1]), "the truth is there");
	test_truth(&b, argv[1]);
	test_entries(&b);
	test_bolt(&b);
	test_elsewhere();
	code_counts_done(&b.counts);
	return tap_done();
}
