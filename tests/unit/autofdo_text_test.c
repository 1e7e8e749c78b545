/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/profile/autofdo_text.h"

#include "base/buf.h"
#include "format/profile/bolt_text.h"
#include "unit/tap.h"

static enum clew_err keep(void *text, const void *data, size_t size)
{
	buf_add(text, data, size);
	return CLEW_OK;
}

static enum clew_err refuse(void *ctx, const void *data, size_t size)
{
	(void)ctx, (void)data, (void)size;
	return CLEW_STOPPED;
}

static void run(struct counted_binary *b, uint64_t first, uint64_t last, uint64_t nr,
		uint64_t nr_part)
{
	code_counts_add_run(
		&b->counts,
		&(struct code_count){
			.a = first, .b = last, .nr = nr, .nr_part = nr_part, .last_bytes = 4});
}

static void branch(struct counted_binary *b, uint64_t from, uint64_t to, uint64_t nr, uint8_t flags)
{
	code_counts_add_branch(&b->counts,
			       &(struct code_count){.a = from, .b = to, .nr = nr, .flags = flags});
}

/* A loop with a call through a pointer in it, and what it calls; loaded from 0x10000 on. */
static struct counted_binary program(void)
{
	struct counted_binary b = {.path = "/bin/a\nb", .base = 0x10000};

	b.build_id = (struct dso_build_id){
		.size = 2, .bytes = {0xab, 0x01}
        };
	run(&b, 0x10100, 0x1010c, 10, 0);
	run(&b, 0x10110, 0x10114, 10, 1);
	run(&b, 0x10118, 0x10118, 1, 0);
	run(&b, 0x10200, 0x10204, 7, 0);
	run(&b, 0xf000, 0xf000, 1, 0);
	branch(&b, 0x1010c, 0x10200, 7, CODE_INDIRECT);
	branch(&b, 0x1010c, CODE_ELSEWHERE, 3, CODE_INDIRECT);
	branch(&b, 0x10114, 0x10100, 9, 0);
	branch(&b, 0x10204, 0x10110, 7, CODE_INDIRECT | CODE_RETURN);
	branch(&b, CODE_ELSEWHERE, 0x10110, 3, CODE_INDIRECT | CODE_RETURN);
	branch(&b, 0x10118, 0xf000, 1, 0);
	code_counts_sort(&b.counts);
	return b;
}

static void autofdo(struct counted_binary *b, bool has_indirect, const char *want)
{
	struct autofdo_opts opts = {.base = AUTOFDO_SEGMENT, .has_indirect = has_indirect};
	struct buf text = {0};
	const struct clew_sink sink = {keep, &text};

	CHECK_EQ(autofdo_text(b, &opts, &sink), CLEW_OK, "AutoFDO text is written");
	CHECK_STR(buf_cstr(&text), want, "AutoFDO, %s indirect targets",
		  has_indirect ? "with" : "no");
	buf_done(&text);
}

static void bolt(struct counted_binary *b)
{
	struct buf text = {0};
	const struct clew_sink sink = {keep, &text};

	CHECK_EQ(bolt_text(b, &sink), CLEW_OK, "BOLT text is written");
	CHECK_STR(buf_cstr(&text),
		  "B 1010c 10200 7 0\nB 1010c X:0 3 0\nB 10114 10100 9 0\nB 10118 f000 1 0\n"
		  "B 10204 10110 7 0\nB X:0 10110 3 0\n"
		  "F f000 f000 1\nF 10100 1010c 10\nf 10110 10114 9\nf 10110 10118 1\n"
		  "F 10118 10118 1\nF 10200 10204 7\n",
		  "BOLT: a run that is passed reaches the next one, f is after a call");
	buf_done(&text);
}

#define HEAD "4\n100-10c:10\n110-114:10\n118-118:1\n200-204:7\n1\n104:2\n"
#define TAIL "// build_id: 0xab01000000000000000000000000000000000000\n// /bin/a\\x0ab\n\n"

static void stacks(void)
{
	struct counted_binary b = {.path = "app"};
	struct buf text = {0};
	const struct clew_sink sink = {keep, &text};

	code_counts_add_run(
		&b.counts, &(struct code_count){
				   .a = 16, .b = 32, .nr = 9, .nr_part = 4, .flags = CODE_ENTERED});
	code_counts_add_branch(&b.counts,
			       &(struct code_count){.a = 32, .b = 16, .nr = 9, .nr_part = 2});
	code_counts_sort(&b.counts);
	CHECK_EQ(bolt_text(&b, &sink), CLEW_OK, "BOLT text is written");
	CHECK_STR(buf_cstr(&text), "B 20 10 9 2\nF 10 20 5\nf 10 20 4\n",
		  "of branch stacks: mispredictions, and runs that another function led to");
	buf_done(&text);
	code_counts_done(&b.counts);
}

static void empty(void)
{
	struct counted_binary none = {.path = "[unknown]"};

	autofdo(&none, false,
		"0\n0\n0\n// build_id: 0x0000000000000000000000000000000000000000\n// "
		"[unknown]\n\n");
}

/* Of code without a file: the address as it is. */
static void bases(void)
{
	struct counted_binary b = {.path = "[unknown]", .base = 0x100};
	struct autofdo_opts opts = {0};
	struct buf text = {0};
	const struct clew_sink sink = {keep, &text};
	enum autofdo_base base;

	code_counts_add_sample(&b.counts, 0x180, 3);
	CHECK_EQ(autofdo_text(&b, &opts, &sink), CLEW_OK, "written without a base");
	CHECK(!strncmp(buf_cstr(&text), "0\n1\n180:3\n0\n", 12), "not counted from a segment");
	CHECK(autofdo_bases_differ(&b), "which differs from an offset");
	b.base = 0;
	CHECK(!autofdo_bases_differ(&b), "but not where the segment begins at 0");
	CHECK(autofdo_find_base(NULL, &base) && base == AUTOFDO_OFFSET, "offsets by default");
	CHECK(autofdo_find_base("segment", &base) && base == AUTOFDO_SEGMENT, "or by name");
	CHECK(!autofdo_find_base("offsets", &base), "no other name");
	buf_done(&text);
	code_counts_done(&b.counts);
}

static void errors(void)
{
	struct counted_binary b = program();
	struct autofdo_opts opts = {0};
	const struct clew_sink sink = {refuse, NULL};

	CHECK_EQ(autofdo_text(&b, &opts, &sink), CLEW_STOPPED, "the sink's error");
	CHECK_EQ(bolt_text(&b, &sink), CLEW_STOPPED, "the sink's error");
	mem_fail_after(0);
	CHECK_EQ(autofdo_text(&b, &opts, &sink), CLEW_NO_MEMORY, "no memory");
	mem_fail_after(0);
	CHECK_EQ(bolt_text(&b, &sink), CLEW_NO_MEMORY, "no memory");
	mem_fail_after(UINT64_MAX);
	code_counts_done(&b.counts);
}

int main(void)
{
	struct counted_binary b = program();

	code_counts_add_sample(&b.counts, 0x10104, 2);
	code_counts_sort(&b.counts);
	autofdo(&b, false, HEAD "4\n10c->0:10\n114->100:9\n118->0:1\n204->0:7\n" TAIL);
	autofdo(&b, true, HEAD "5\n10c->0:3\n10c->200:7\n114->100:9\n118->0:1\n204->110:7\n" TAIL);
	bolt(&b);
	code_counts_done(&b.counts);
	stacks();
	empty();
	bases();
	errors();
	return tap_done();
}
