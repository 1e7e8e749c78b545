/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_PT_IPT_PARTS_H
#define FLOW_PT_IPT_PARTS_H

#include "flow/pt/ipt_flow_impl.h"

/*
 * Parts of a trace, decoded ahead. One begins with a PSB+ that says where execution is, or that it
 * is not traced: nothing before it matters but the context, and whether a transaction is open.
 */

/* What flow_front.save keeps. */
/* clang-format off */
#define IPT_STATE_FIELDS(X) \
	X(packets) X(clock) X(has_new_time) X(sync) X(power) X(was_overflow) X(lost_bits) X(is_in_transaction) \
	X(was_in_transaction) X(waiting) X(nr_waiting) X(next) X(held) X(later) X(nr_later) X(has_event) \
	X(is_abort) X(event_ip) X(notes) X(nr_notes) X(idles) X(nr_idles) X(evds) X(nr_evds) X(cfe) X(has_cfe) X(is_mode_last) X(pebs_block) X(has_psb) X(has_cbr) \
	X(psb_offset) X(psb_ip) X(cbr) X(is_if) X(has_if)
/* clang-format on */

struct ipt_state {
#define X(name) __typeof__(((struct ipt_flow *)NULL)->name) name;
	IPT_STATE_FIELDS(X)
#undef X
};

/* As those of flow_front. */
size_t ipt_find_cut(const struct flow *flow, struct bytes in, size_t from, size_t to);
uint64_t ipt_place_of_cut(const struct flow *flow, struct bytes in, size_t *ret_at);
void ipt_begin_part(struct flow *flow, uint64_t offset, uint64_t place);
void ipt_assume(struct code_context *ret, const struct code_context *now, bool needs_context);
bool ipt_is_as_assumed(const struct code_context *assumed, const struct code_context *now,
		       uint64_t place);
size_t ipt_nr_waiting(const struct flow *flow);
void ipt_perform_rest(struct flow *flow);
bool ipt_is_between(const struct flow *flow, uint64_t *ret);
bool ipt_save(void *state, const struct flow *flow);
bool ipt_restore(const void *state, struct flow *flow);
void ipt_state_done(void *state);

#endif
