/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_STACK_H
#define ANALYZE_ANA_STACK_H

#include "analyze/analyze.h"
#include "unwind/unw_walk.h"
#include "who/who.h"

/* Copied user stacks to call chains. */

static inline bool ana_has_stack(const struct perf_sample *s)
{
	return s->regs_user.abi && s->stack_user.dyn_size && bytes_left(&s->stack_user.data);
}
/** The sample's chain with its user part unwound from the copied stack, in *ret, which lives until
 * the next call; e->unwind_... are set. *ret_methods: how its frames were found, NULL: none was. */
enum clew_err ana_unwind(struct analyze *a, struct who_thread *t, struct ana_event *e,
			 struct perf_words *ret, const uint8_t **ret_methods, uint32_t *ret_nr);
/** Made at the first call; NULL: no memory. */
struct ana_stacks *ana_stacks_get(struct analyze *a);
/** Unwind one copied stack, after ana_stacks_get(). f->pc and f->exact live until the next call;
 * f->nr 0: the registers are missing. */
enum unw_stop ana_walk(struct analyze *a, struct who_thread *t, const struct perf_sample *s,
		       struct unw_frames *f);
void ana_stacks_free(struct ana_stacks *s);

#endif
