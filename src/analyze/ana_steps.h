/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_STEPS_H
#define ANALYZE_ANA_STEPS_H

#include "analyze/analyze.h"
#include "perfdata/perf_sample.h"

/*
 * A traced program runs few places, each of them often. What events of one place have in common is
 * a step, with a number; and one ana_event stands for steps that one thread made in a row, with
 * the same time.
 */

/** A branch from its instruction to another place, or an instruction. */
struct ana_step {
	uint64_t ip, addr;
	const struct ana_loc *loc, *to; /* ana_event.loc, ana_event.addr */
	uint32_t flow;                  /* ANA_FLOW_ */
	uint16_t misc;
	uint8_t isa;
	uint8_t insn_bytes, insn[15]; /* as ana_synth */
};

struct ana_steps {
	const uint32_t *ids;    /* in ana_batch.steps; in order */
	const uint32_t *depths; /* ana_synth.depth of each */
	size_t nr;
};

/** An event with all that it points at. */
struct ana_step_event {
	struct ana_event event;
	struct perf_sample sample;
	struct ana_synth synth;
};

/** The event that is the @p i-th of @p ev's steps. */
void ana_step_event(const struct ana_batch *b, const struct ana_event *ev, size_t i,
		    struct ana_step_event *ret);

#endif
