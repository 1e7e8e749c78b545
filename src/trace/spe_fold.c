/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/spe_fold.h"

#include <string.h>

enum { MASK = 4 * SPE_FOLD_RECORDS - 1, EL_SHIFT = 60 };

/* --- stays --- */

/** Levels, security, and what there is of contexts and time. */
static inline uint64_t owner_of(const struct spe_record *r)
{
	const uint32_t has =
		SPE_HAS_PC | SPE_HAS_CONTEXT_EL1 | SPE_HAS_CONTEXT_EL2 | SPE_HAS_TIMESTAMP;

	return r->address[SPE_ADDRESS_PC] >> EL_SHIFT << EL_SHIFT | (r->has & has);
}

static inline uint64_t contexts_of(const struct spe_record *r)
{
	return (uint64_t)r->context[1] << 32 | r->context[0];
}

static inline size_t stay_slot(uint64_t owner, uint64_t contexts)
{
	uint64_t h = (contexts ^ owner) * 0x9e3779b97f4a7c15U;

	return h >> 58 & (SPE_FOLD_STAYS - 1);
}

const struct spe_stay *spe_fold_stay(struct spe_fold *f, const struct spe_record *r,
				     struct spe_stay **ret_new)
{
	uint64_t owner = owner_of(r), contexts = contexts_of(r);
	struct spe_stay *s = &f->stays[stay_slot(owner, contexts)];

	if (s->number && s->owner == owner && s->contexts == contexts &&
	    r->timestamp - s->ticks.from < s->ticks.to - s->ticks.from)
		return s;
	s->owner = owner;
	s->contexts = contexts;
	*ret_new = s;
	return NULL;
}

void spe_fold_begin(struct spe_fold *f, struct spe_stay *s, struct trace_stay ticks)
{
	s->ticks = ticks;
	s->number = ++f->last_stay;
}

/* --- records --- */

static inline uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0xff51afd7ed558ccdU;
	return h ^ h >> 32;
}

static inline uint64_t operation_of(const struct spe_record *r)
{
	return (uint64_t)r->has << 32 | (uint64_t)r->op_class << 24 |
	       (uint64_t)r->op_payload << 16 | (uint64_t)r->events_bytes << 8;
}

static inline uint64_t counters_of(const struct spe_record *r)
{
	return (uint64_t)r->counter[0] << 48 | (uint64_t)r->counter[1] << 32 |
	       (uint64_t)r->counter[2] << 16 | r->saturated;
}

static inline uint64_t hash_of(enum trace_ops_fold by, const struct spe_record *r, uint32_t stay)
{
	uint64_t h = stay * 0x9e3779b97f4a7c15U;

	if (by == TRACE_OPS_BY_OWNER)
		return mix(h, 0);
	h = mix(h, r->address[SPE_ADDRESS_PC] ^ r->address[SPE_ADDRESS_TARGET] << 7);
	h = mix(h, operation_of(r) ^ r->events ^ r->source << 13);
	if (by == TRACE_OPS_BY_ACCESS)
		h = mix(mix(h, r->address[SPE_ADDRESS_VA]), counters_of(r));
	return h;
}

static inline bool is_alike(enum trace_ops_fold by, const struct spe_record *a,
			    const struct spe_record *b)
{
	if (by == TRACE_OPS_BY_OWNER)
		return true;
	if (a->address[SPE_ADDRESS_PC] != b->address[SPE_ADDRESS_PC] ||
	    a->address[SPE_ADDRESS_TARGET] != b->address[SPE_ADDRESS_TARGET] ||
	    operation_of(a) != operation_of(b) || a->events != b->events || a->source != b->source)
		return false;
	return by == TRACE_OPS_BY_CODE ||
	       (a->address[SPE_ADDRESS_VA] == b->address[SPE_ADDRESS_VA] &&
		counters_of(a) == counters_of(b));
}

uint32_t spe_fold_add(struct spe_fold *f, const struct spe_record *r, uint32_t stay,
		      const struct spe_many *many)
{
	size_t at = hash_of(f->by, r, stay) & MASK;

	for (; f->slots[at]; at = (at + 1) & MASK) {
		struct spe_folded *x = &f->all[f->slots[at] - 1];

		if (x->stay == stay && is_alike(f->by, &x->first, r)) {
			spe_many_add(&x->many, many);
			return f->slots[at] - 1u;
		}
	}
	f->all[f->nr].first = *r;
	f->all[f->nr].many = *many;
	f->all[f->nr].stay = stay;
	f->slots[at] = (uint16_t)++f->nr;
	return f->nr - 1;
}

bool spe_fold_pour(struct spe_fold *f, const struct spe_folded *from, size_t nr, size_t *at)
{
	for (; *at < nr; ++*at) {
		const struct spe_folded *x = &from[*at];

		if (spe_fold_is_full(f))
			return false;
		spe_fold_add(f, &x->first, x->stay, &x->many);
	}
	return true;
}

void spe_fold_care(const struct spe_fold *f, uint64_t care[SPE_NR_FIELDS])
{
	memset(care, 0, SPE_NR_FIELDS * sizeof(*care));
	care[SPE_FIELD_ADDRESS + SPE_ADDRESS_PC] = UINT64_MAX << EL_SHIFT;
	care[SPE_FIELD_CONTEXT] = care[SPE_FIELD_CONTEXT + 1] = UINT64_MAX;
	if (f->by == TRACE_OPS_BY_OWNER)
		return;
	care[SPE_FIELD_ADDRESS + SPE_ADDRESS_PC] = UINT64_MAX;
	care[SPE_FIELD_ADDRESS + SPE_ADDRESS_TARGET] = UINT64_MAX;
	care[SPE_FIELD_EVENTS] = care[SPE_FIELD_OPERATION] = care[SPE_FIELD_SOURCE] = UINT64_MAX;
	if (f->by == TRACE_OPS_BY_CODE)
		return;
	care[SPE_FIELD_ADDRESS + SPE_ADDRESS_VA] = UINT64_MAX;
	for (unsigned int i = 0; i < 3; i++)
		care[SPE_FIELD_COUNTER + i] = UINT64_MAX;
}

/* --- those that the reader counts --- */

void spe_fold_remember(const struct spe_fold *f, struct spe_alike *x, const struct spe_stay *s,
		       uint32_t entry)
{
	x->counted.generation = f->alike->generation;
	x->counted.from = s->ticks.from;
	x->counted.ticks = s->ticks.to - s->ticks.from;
	x->counted.entry = entry;
}

uint64_t spe_fold_collect(struct spe_fold *f)
{
	struct spe_alike *x;
	uint64_t nr = 0;

	while (f->alike && (x = spe_alike_collect(f->alike))) {
		nr += x->many.nr;
		spe_many_add(&f->all[x->counted.entry].many, &x->many);
		x->many.nr = 0;
	}
	return nr;
}

void spe_fold_clear(struct spe_fold *f, bool forgets)
{
	memset(f->slots, 0, sizeof(f->slots));
	f->nr = 0;
	if (f->alike)
		f->alike->generation++;
	if (!forgets)
		return;
	memset(f->stays, 0, sizeof(f->stays));
	f->last_stay = f->first_stay;
}
