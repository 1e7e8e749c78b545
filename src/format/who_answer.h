/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_WHO_ANSWER_H
#define FORMAT_WHO_ANSWER_H

#include "format/json_put.h"
#include "who/who_ran.h"

/**
 * Append one answer, without spaces around it:
 *
 *	task/context R:840 L:2 EL0
 *	task/context R:0 guest:4711 vcpu:1 G:17 EL1
 *	outside/switch R:?
 *	unknown/switching 17>18
 *
 * R: root id, L: local id, G: the guest's own. @p a: NULL is "-".
 */
void who_answer_text(struct buf *out, const struct who_answer *a);

/** Append the same as members of an open object, as "who". */
void who_answer_json(struct json_put *j, const struct who_answer *a);

/** Append answers of @p a and @p b by kind, evidence and reason: the kinds add up to all records.
 * @p b: NULL is none. */
void who_counts_text(struct buf *out, const struct who_counts *a, const struct who_counts *b);

/** Append what is known of the whole recording, with the proofs. */
void who_facts_text(struct buf *out, const struct who_facts *f);
/** Of a recording without trace. */
void who_record_facts_text(struct buf *out, const struct perf_who_facts *recorded);

#endif
