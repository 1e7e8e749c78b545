/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_PROP_IPT_JUDGE_H
#define TESTS_PROP_IPT_JUDGE_H

#include "base/bytes.h"
#include "flow/flow.h"
#include "make/ipt_encode.h"

/*
 * Compares what a flow says with the truth: each instruction's address, length, mode, address space
 * and transaction, each event that the truth has, and the time of what is proven.
 */
struct ipt_judge_run {
	size_t piece; /* bytes fed at a time, 0: all */
	unsigned int nr_threads;
	size_t part_bytes;
	bool goes_plain;        /* ipt_flow_opts */
	size_t max_cache_bytes; /* flow_opts */
	size_t cut;             /* the trace ends after so many bytes, 0: it does not */
};

struct ipt_judge {
	/* Set by the caller. */
	const struct ipt_truth *truth;
	const struct ipt_config *config;
	const struct code_source *code;
	const struct buf *trace;
	/** Time is never off by more ticks than that; UINT64_MAX: it is not compared. */
	uint64_t most_off;

	uint64_t at; /* instructions so far */
	size_t mark, next_state, time;
	struct ipt_state_at state; /* of the truth, there */
	struct code_x86_context context;
	bool is_in_transaction;
	uint64_t ticks, nr_times, worst, sum;
	char why[300]; /* "": nothing is wrong */
};

/** How far a decoder may be off (P21): one period of MTC and 16 ticks, or with CYC 16 ticks and
 * what the threshold hides. */
uint64_t ipt_judge_most_off(const struct ipt_encode_opts *o);

/** Decode the trace. @return whether it is the truth, of a trace that is cut the first part of it;
 * else j->why. */
bool ipt_judge_is_right(struct ipt_judge *j, const struct ipt_judge_run *r);

/** The same, but counted: each block and branch has to be there as often as in batches. */
bool ipt_judge_is_counted(struct ipt_judge *j, const struct ipt_judge_run *r);

#endif
