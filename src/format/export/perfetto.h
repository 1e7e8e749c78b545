/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_EXPORT_PERFETTO_H
#define FORMAT_EXPORT_PERFETTO_H

#include "format/export/export_formats.h"
#include "format/export/pb_put.h"
#include "format/export/perfetto_fields.h"

/* What is interned, each with its own numbers. */
enum perfetto_kind {
	KIND_FUNCTION,
	KIND_FRAME,
	KIND_STACK,
	KIND_BUILD_ID,
	KIND_PATH,
	KIND_SOURCE,
	KIND_MAPPING,
	KIND_TASK,
	KIND_EXECUTION,
	KIND_COUNTER,
	NR_KINDS
};

struct perfetto_sequence {
	struct {
		VEC(uint64_t);
	} written[NR_KINDS]; /* bits, by number */
	uint64_t total;      /* of periods */
	bool has_begun;
};

struct perfetto {
	struct buf packet, interned, message, part, word;
	struct {
		VEC(struct perfetto_sequence);
	} sequences;               /* by event */
	struct map_u64 executions; /* cpu << 8 | level -> number */
	uint32_t clock;            /* enum perfetto_clock */
	bool has_lost_track;
	bool is_old; /* for readers before v58 */
};

/** How others name number @p n: 0 would be none. */
static inline uint64_t perfetto_iid(uint32_t n)
{
	return (uint64_t)n + 1;
}

/** An id, unless it is unknown. */
void perfetto_put_id(struct buf *out, uint32_t field, uint32_t id);

/* --- perfetto_intern.c: what is not written yet, into p->interned. Failure is its is_failed. ---
 */

void perfetto_put_stack(struct export *x, struct perfetto_sequence *s, uint32_t node);
void perfetto_put_task(struct export *x, struct perfetto_sequence *s, uint32_t thread);
/** @return its number. */
uint32_t perfetto_put_execution(struct perfetto *p, struct perfetto_sequence *s,
				const struct export_key *k);
void perfetto_put_counter(struct export *x, struct perfetto_sequence *s, uint32_t event);

#endif
