/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REPORT_CODE_COUNTS_H
#define REPORT_CODE_COUNTS_H

#include "base/vec.h"

/*
 * What ran in one binary, and how often: straight runs of instructions, branches, sampled
 * addresses. Memory grows with the code that ran, not with how often it did. A zeroed struct is
 * empty.
 */

/** Address of a branch's end that is in another binary, or unknown. */
#define CODE_ELSEWHERE UINT64_MAX

enum {
	CODE_INDIRECT = 1 << 0, /* of a branch: its target is not in the instruction */
	CODE_RETURN = 1 << 1,   /* and it is a return */
	CODE_ENTERED = 1 << 2,  /* of a run: it ends at a taken branch, always, and nr_part says how
				   often it was entered from another function */
	CODE_SAMPLED = 1 << 3, /* of a run: its last instruction was sampled, and led to the rest */
};

/**
 * Of a straight run: a, address of its first instruction, b, of its last. Of a branch: a, its
 * address, b, where it went. Of a sample: a, its address.
 */
struct code_count {
	uint64_t a, b;
	uint64_t nr;      /* in all; saturates */
	uint64_t nr_part; /* of these, a run: passed, execution continued after it; a branch:
			     mispredicted, where that is known */
	/* Of a run: of some of its passes it is known how long they took: of nr_timed, which may
	 * be counted from another source than nr; cycles of all these, times CODE_CYCLE. */
	uint64_t nr_timed, cycles;
	uint8_t last_bytes; /* of a run: size of its last instruction */
	uint8_t flags;
};

/** Parts of a cycle, which is shared by the instructions that it passed in. */
enum { CODE_CYCLE = 4096 };

struct code_table {
	VEC(struct code_count); /* in no order before code_counts_sort() */
	uint32_t *slots;        /* hash table of indexes + 1 */
	size_t nr_slots;
};

struct code_counts {
	struct code_table runs, branches, samples;
	uint64_t nr_dropped; /* additions beyond CODE_MAX_COUNTS different ones of a kind */
};

/** Against hostile input, which may pair every address with every other. */
enum { CODE_MAX_COUNTS = 4 << 20 };

void code_counts_done(struct code_counts *c);

/* Each adds e->nr (nr_part, nr_timed, cycles) to the entry of e->a and e->b. @return false: out of
 * memory.
 */
bool code_counts_add_run(struct code_counts *c, const struct code_count *e);
bool code_counts_add_branch(struct code_counts *c, const struct code_count *e);
bool code_counts_add_sample(struct code_counts *c, uint64_t address, uint64_t nr);

/** Put every table in order of a, then b. Nothing is added any more. */
void code_counts_sort(struct code_counts *c);

/** How often any run was gone through. */
uint64_t code_counts_weight(const struct code_counts *c);
/** All samples. */
uint64_t code_counts_samples(const struct code_counts *c);

#endif
