/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/annotate/annotate_text.h"

#include "format/annotate/jump_lanes.h"
#include "unit/made_annotation.h"

static struct buf out;

static const char *text_of(const struct annotation *a, const struct annotate_text_opts *o)
{
	const struct clew_sink sink = {made_sink, &out};

	buf_clear(&out);
	CHECK_EQ(annotate_text(a, o, &sink), CLEW_OK, "it is written");
	return buf_cstr(&out);
}

static void plain(void)
{
	const struct annotate_text_opts opts = {0};
	struct annotation a;

	made_annotation(&a, false);
	CHECK_STR(text_of(&a, &opts),
		  "# fn\\x1b]0;x in /bin/pr\\x0aog, build id ab01\n"
		  "# cycles: 10 samples, 100 in all\n"
		  "# faults: 4 samples, 4 in all; not precise: a sample may count for an "
		  "instruction before its own\n"
		  " Percent Percent | Source and instructions\n"
		  "   10.00         >        3          if (n)\\x1b[2J\n"
		  "   10.00         | +--     100:  je 0x10c\n"
		  "                 | |   inlined mix at fn.c:4\n"
		  "   70.00   50.00 > |      7                  x       *= 3;\n"
		  "   70.00   50.00 | |+>     104:  mul\n"
		  "                 | ||  fn\\x1b]0;x:\n"
		  "   20.00         > ||  fn.c:4\n"
		  "   20.00         | |+-     108:  jne 0x104\n"
		  "           50.00 | +->     10c:  call 0x200 <other+0x10>\n",
		  "lines, inlined calls, jumps and shares; nothing steers a terminal");
	annotation_done(&a);
}

static void options(void)
{
	const struct annotate_text_opts counts = {.has_counts = true, .no_source = true},
					places = {.has_places = true, .is_colored = true};
	struct annotation a;

	made_annotation(&a, true);
	CHECK(strstr(text_of(&a, &counts),
		     "    Samples    Samples    Executed       Taken   Not taken | Source and "
		     "instructions\n"
		     "          1                      3           0           3 | +--     100:  je "
		     "0x10c\n"
		     "          7          2          30                         | |+>     104:  "
		     "mul\n"),
	      "samples, and what ran, in place of shares and source");
	CHECK(strstr(buf_cstr(&out),
		     "          2                     30          27           3 | |+-     108:  "),
	      "taken and not taken");
	made_cycles(&a);
	CHECK(strstr(text_of(&a, &counts),
		     "   Not taken   Cycles    Block      IPC | Source and instructions\n"
		     "          1                      3           0           3                    "
		     "        | +--     100:  je 0x10c\n"
		     "          7          2          30                             0.62           "
		     "        | |+>     104:  mul\n"
		     "          2                     30          27           3     0.62     1.25 "
		     "    1.60 | |+-     108:  jne 0x104\n"),
	      "cycles, of a block where it ends");
	CHECK(strstr(buf_cstr(&out), "# Cycles: of one execution, "), "and what they are");
	CHECK(strstr(text_of(&a, &places), "   \033[31m10.00\033[m"), "large shares are red");
	CHECK(strstr(buf_cstr(&out), "/src/fn.c:3          if (n)"), "-l: the whole path");
	annotation_done(&a);
}

static void unknown(void)
{
	const struct annotate_text_opts opts = {0};
	struct annotation a = {.symbol = "f", .dso = "g", .why = "file not found"};

	vec_push(&a.columns, (struct ann_column){
				     .name = "cycles", .weight = {2, 2}
        });
	vec_push(&a.insns,
		 (struct ann_insn){.address = 0x1234, .line = ANN_NONE, .target = ANN_NONE});
	a.weights = mem_calloc(1, sizeof(*a.weights));
	a.weights[0] = (struct ann_weight){2, 2};
	CHECK_STR(text_of(&a, &opts),
		  "# f in g\n# cycles: 2 samples, 2 in all\n"
		  "# its instructions are unknown: file not found\n"
		  " Percent | Source and instructions\n"
		  "  100.00 |     1234\n",
		  "addresses alone, and why");
	annotation_done(&a);
}

/* More jumps over one place than lanes: some have no line, and nothing else changes. */
static void crowded(void)
{
	struct annotation a = {0};
	struct jump_lanes l;

	for (uint32_t i = 0; i < 20; i++)
		vec_push(&a.insns, (struct ann_insn){.target = i < 10 ? 19 - i : ANN_NONE});
	CHECK(jump_lanes_make(&l, &a), "twenty instructions, ten jumps");
	CHECK_EQ(l.nr, JUMP_LANES, "as many lines as there are lanes");
	buf_clear(&out);
	for (size_t i = 3; i < 6; i++) {
		jump_lanes_put(&l, &out, i, false);
		buf_char(&out, '\n');
	}
	CHECK_STR(buf_cstr(&out), "        \n+------ \n|+----- \n", "the shortest have lines");
	jump_lanes_done(&l);
	annotation_done(&a);
}

int main(void)
{
	plain();
	options();
	unknown();
	crowded();
	buf_done(&out);
	return tap_done();
}
