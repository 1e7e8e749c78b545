/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_UNIT_MADE_ANNOTATION_H
#define TESTS_UNIT_MADE_ANNOTATION_H

#include "annotate/annotation.h"
#include "unit/tap.h"

/*
 * A function without a file: a loop with an inlined call, two events, names that want to steer a
 * terminal.
 *
 *	100  je 10c      fn.c:3
 *	104  mul         mix.h:7, inlined at fn.c:4
 *	108  jne 104     fn.c:4
 *	10c  call        no line
 */
enum { MADE_INSNS = 4, MADE_EVENTS = 2 };

static inline void made_insn(struct annotation *a, uint32_t line, uint32_t target, uint8_t kind,
			     const char *text)
{
	struct ann_insn n = {.rel = 0x100 + 4 * a->insns.nr,
			     .address = 0x100 + 4 * a->insns.nr,
			     .text = (uint32_t)a->text.nr,
			     .text_bytes = (uint32_t)strlen(text),
			     .line = line,
			     .target = target,
			     .bytes = 4,
			     .kind = kind};

	buf_str(&a->text, text);
	vec_push(&a->insns, n);
}

static inline void made_annotation(struct annotation *a, bool has_flow)
{
	static const struct ann_weight weights[MADE_INSNS * MADE_EVENTS] = {
		{1, 10},
                {0, 0 },
                {7, 70},
                {2, 2 },
                {2, 20},
                {0, 0 },
                {0, 0 },
                {2, 2 }
        };
	static const char first[] = "\tif (n)\x1b[2J", second[] = "\t\tx\t*= 3;";

	*a = (struct annotation){
		.symbol = "fn\x1b]0;x",
		.dso = "/bin/pr\nog",
		.build_id = {2, {0xab, 0x01}},
		.is_linked = true
        };
	vec_push(&a->columns, (struct ann_column){
				      .name = "cycles", .weight = {10, 100}
        });
	vec_push(&a->columns, (struct ann_column){
				      .name = "faults",
				      .event = 1,
				      .precise = 1,
				      .may_skid = true,
				      .weight = {4, 4}
        });
	vec_push(&a->lines, (struct ann_line){"/src/fn.c", 3, 0, 0, first, sizeof(first) - 1});
	vec_push(&a->lines, (struct ann_line){"/src/mix.h", 7, 0, 1, second, sizeof(second) - 1});
	vec_push(&a->lines, (struct ann_line){"/src/fn.c", 4, 0, 0, NULL, 0});
	vec_push(&a->inlines, (struct ann_inline){"mix", "/src/fn.c", 4});
	made_insn(a, 0, 3, INSN_COND, "je 0x10c");
	made_insn(a, 1, ANN_NONE, INSN_PLAIN, "mul");
	made_insn(a, 2, 1, INSN_COND, "jne 0x104");
	made_insn(a, ANN_NONE, ANN_NONE, INSN_BRANCH, "call 0x200");
	a->insns.data[3].callee = "other";
	a->insns.data[3].callee_offset = 16;
	a->weights = mem_calloc(MADE_INSNS * MADE_EVENTS, sizeof(*a->weights));
	memcpy(a->weights, weights, sizeof(weights));
	if (!has_flow)
		return;
	a->flow = ANN_FLOW_SAMPLED;
	for (size_t i = 0; i < MADE_INSNS; i++)
		a->insns.data[i].executed = i == 1 || i == 2 ? 30 : 3;
	a->insns.data[2].taken = 27;
	a->insns.data[2].mispredicted = 5;
}

/* Of the loop, 20 times round: 25 cycles in all. */
static inline void made_cycles(struct annotation *a)
{
	a->has_cycles = true;
	for (size_t i = 1; i <= 2; i++) {
		a->insns.data[i].nr_timed = 20;
		a->insns.data[i].cycles = 25 * CODE_CYCLE / 2;
	}
	a->insns.data[2].nr_runs_timed = 20;
	a->insns.data[2].run_insns = 40;
	a->insns.data[2].run_cycles = 25 * CODE_CYCLE;
}

static inline enum clew_err made_sink(void *ctx, const void *data, size_t size)
{
	buf_add(ctx, data, size);
	return CLEW_OK;
}

#endif
