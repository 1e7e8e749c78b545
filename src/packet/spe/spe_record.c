/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/spe/spe_record.h"

#include <assert.h>
#include <string.h>

#include "base/attributes.h"
#include "packet/spe/spe_alike.h"
#include "packet/spe/spe_parse.h"
#include "packet/spe/spe_resync.h"
#include "packet/spe/spe_shape.h"

/** More than this of a piece is not copied at once, to continue bytes that were held. */
enum { HELD_STEP = 2048 };

void spe_counts_add(struct spe_counts *sum, const struct spe_counts *c)
{
	for (unsigned int i = 0; i < NR_SPE_OUTCOMES; i++) {
		sum->nr[i] += c->nr[i];
		sum->bytes[i] += c->bytes[i];
	}
	for (unsigned int i = 0; i < NR_SPE_DAMAGES; i++)
		sum->nr_damaged[i] += c->nr_damaged[i];
	sum->padding_bytes += c->padding_bytes;
}

void spe_reader_init(struct spe_reader *r, unsigned int counter_bits)
{
	memset(&r->counts, 0, sizeof(r->counts));
	spe_shapes_init(&r->shapes);
	r->alike_set = NULL;
	r->counter_max[0] = counter_bits == 16 ? 0xffff : 0xfff;
	r->counter_max[1] = counter_bits == 12 ? 0xfff : 0xffff;
	spe_reader_start(r, 0, SPE_AT_RECORD);
}

void spe_reader_set_alike(struct spe_reader *r, struct spe_alike_set *a)
{
	r->alike_set = a;
	if (!a)
		return;
	memcpy(a->counter_max, r->counter_max, sizeof(a->counter_max));
	a->generation = 1;
	a->last = SPE_NR_ALIKE;
}

void spe_reader_start(struct spe_reader *r, uint64_t offset, enum spe_start start)
{
	r->step = start == SPE_AT_RECORD ? SPE_IN_STEP : SPE_SEARCHING;
	r->damage = SPE_NO_DAMAGE;
	r->is_over = r->has_first = r->has_last = false;
	r->range_from = r->lost_from = r->damaged_to = r->search = r->offset = offset;
	r->pos = r->end = r->held;
	r->nr_held = 0;
}

void spe_reader_feed(struct spe_reader *r, const void *data, size_t bytes)
{
	assert(r->pos == r->end);
	r->pos = bytes ? data : r->held;
	r->end = r->pos + bytes;
}

void spe_reader_end(struct spe_reader *r)
{
	r->is_over = true;
}

/* --- items --- */

static CLEW_COLD void emit_other(struct spe_reader *r, enum spe_outcome outcome,
				 enum spe_damage damage, uint64_t offset, uint64_t bytes,
				 struct spe_record *ret)
{
	*ret = (struct spe_record){.offset = offset,
				   .bytes = bytes,
				   .outcome = (uint8_t)outcome,
				   .damage = (uint8_t)damage};
	r->counts.nr[outcome]++;
	r->counts.bytes[outcome] += bytes;
	if (damage != SPE_NO_DAMAGE)
		r->counts.nr_damaged[damage]++;
}

static inline void emit_record(struct spe_reader *r, struct spe_record *ret)
{
	if (!ret->alike)
		spe_mark_saturated(r->counter_max, ret);
	if (ret->has & SPE_HAS_TIMESTAMP) {
		if (!r->has_first)
			r->first = ret->timestamp;
		r->has_first = r->has_last = true;
		r->last = ret->timestamp;
	}
	r->counts.nr[SPE_COMPLETE]++;
	r->counts.bytes[SPE_COMPLETE] += ret->bytes;
}

/* --- in step --- */

/** Far from the last record's time: one of the two has a damaged time. */
static inline bool is_far(const struct spe_reader *r, const struct spe_record *rec)
{
	return r->has_last && spe_has(rec, SPE_HAS_TIMESTAMP) &&
	       spe_times_far(r->last, rec->timestamp);
}

enum step_result { TOOK, STEPPED, NEED_MORE };

/** The record after decides which of two times is wrong. */
static CLEW_COLD enum step_result judge_far(struct spe_reader *r, const struct spe_window *w,
					    size_t *at, struct spe_record *rec)
{
	struct spe_record next;
	size_t next_at = *at + rec->bytes;
	enum spe_look look = spe_look(w, &next_at, &next);

	if (look == SPE_LOOK_MORE)
		return NEED_MORE;
	*at += rec->bytes;
	if (look == SPE_LOOK_RECORD &&
	    !(spe_has(&next, SPE_HAS_TIMESTAMP) && spe_times_far(rec->timestamp, next.timestamp)))
		emit_record(r, rec);
	else
		emit_other(r, SPE_DAMAGED, SPE_FAR_TIME, rec->offset, rec->bytes, rec);
	return TOOK;
}

static CLEW_COLD void lose_step(struct spe_reader *r, const struct spe_record *rec)
{
	r->step = SPE_SEARCHING;
	r->damage = rec->damage;
	r->lost_from = rec->offset;
	r->damaged_to = rec->offset + rec->bytes;
	r->search = rec->offset + 1;
}

/** What is at @p at, which is no padding, without a shape. */
static enum step_result read_slowly(struct spe_reader *r, const struct spe_window *w, size_t *at,
				    struct spe_record *ret)
{
	size_t left = w->nr - *at;
	uint64_t offset = w->offset + *at;

	switch (spe_record_parse(w->bytes + *at, left, offset, ret)) {
	case SPE_PARSED:
		if (is_far(r, ret))
			return judge_far(r, w, at, ret);
		if (left >= SPE_SHAPE_ROOM)
			spe_shapes_learn(&r->shapes, w->bytes + *at, ret);
		*at += ret->bytes;
		emit_record(r, ret);
		return TOOK;
	case SPE_NEEDS_MORE:
		if (!w->is_last)
			return NEED_MORE;
		emit_other(r, SPE_CUT, SPE_NO_DAMAGE, offset, left, ret);
		*at = w->nr;
		return TOOK;
	case SPE_NOT_A_RECORD:
		break;
	}
	lose_step(r, ret);
	return STEPPED;
}

static inline bool read_fast(struct spe_reader *r, const struct spe_window *w, size_t *at,
			     struct spe_record *ret)
{
	const uint8_t *pos = w->bytes + *at;
	uint64_t offset = w->offset + *at;

	if (w->nr - *at < SPE_SHAPE_ROOM ||
	    !(r->alike_set ? spe_alike_read(r->alike_set, &r->shapes, pos, offset, ret)
			   : spe_shapes_read(&r->shapes, pos, offset, ret)) ||
	    is_far(r, ret))
		return false;
	*at += ret->bytes;
	emit_record(r, ret);
	return true;
}

/** Records that the consumer counts together; those without a time are items. */
static __attribute__((noinline)) void count_alike(struct spe_reader *r, const struct spe_window *w,
						  size_t *at)
{
	struct spe_run run = {.last = r->last};

	spe_alike_run(r->alike_set, &r->shapes, w, at, &run);
	r->last = run.last;
	r->counts.padding_bytes += run.padding_bytes;
	r->counts.nr[SPE_COMPLETE] += run.nr;
	r->counts.bytes[SPE_COMPLETE] += run.bytes;
}

/** Fill @p ret from *at on. *ret_more: more bytes are needed. @return how many items. */
static size_t read_in_step(struct spe_reader *r, const struct spe_window *w, size_t *at,
			   struct spe_record *ret, size_t max, bool *ret_more)
{
	enum step_result res = TOOK;
	size_t n = 0;

	while (n < max && res == TOOK) {
		size_t from = *at;

		*at = spe_gap_end(w, from, w->nr);
		r->counts.padding_bytes += *at - from;
		if (r->has_last && r->alike_set && spe_alike_may_run(r->alike_set))
			count_alike(r, w, at);
		if (*at == w->nr)
			res = NEED_MORE;
		else if (!read_fast(r, w, at, &ret[n]))
			res = read_slowly(r, w, at, &ret[n]);
		n += res == TOOK;
	}
	*ret_more = res == NEED_MORE;
	return n;
}

/* --- lost --- */

static bool search(struct spe_reader *r, const struct spe_window *w)
{
	size_t at = r->search - w->offset;
	bool is_found = spe_find_record(w, r->lost_from, &at);

	r->search = w->offset + at;
	if (is_found)
		r->step = SPE_FOUND;
	return is_found;
}

/** One of the items for what was lost. @return 0: none is left; in step again. */
static size_t report_lost(struct spe_reader *r, struct spe_record *ret)
{
	uint64_t from = r->lost_from;
	uint64_t to = r->damaged_to < r->search ? r->damaged_to : r->search;

	if (from == r->search) {
		r->step = SPE_IN_STEP;
		return 0;
	}
	if (to == from)
		to = r->search;
	r->lost_from = to;
	emit_other(r, from < r->damaged_to ? SPE_DAMAGED : SPE_SKIPPED, r->damage, from, to - from,
		   ret);
	r->damage = SPE_NO_DAMAGE;
	return 1;
}

/* --- windows: the input itself, or what is held with some of the input after it --- */

/** How much of @p w is not needed any more. */
static size_t used_of(const struct spe_reader *r, const struct spe_window *w, size_t at)
{
	if (r->step == SPE_IN_STEP)
		return at;
	at = r->search - w->offset;
	if (r->step == SPE_FOUND)
		return at;
	return at < SPE_BEFORE_RECORD ? 0 : at - SPE_BEFORE_RECORD;
}

static size_t scan(struct spe_reader *r, const struct spe_window *w, struct spe_record *ret,
		   size_t max, size_t *ret_used)
{
	bool is_more = false;
	size_t at = 0, n = 0;

	while (n < max && !is_more) {
		switch (r->step) {
		case SPE_IN_STEP:
			n += read_in_step(r, w, &at, ret + n, max - n, &is_more);
			break;
		case SPE_SEARCHING:
			is_more = !search(r, w);
			break;
		case SPE_FOUND:
			n += report_lost(r, ret + n);
			at = r->search - w->offset;
			break;
		}
	}
	*ret_used = used_of(r, w, at);
	return n;
}

static size_t scan_input(struct spe_reader *r, struct spe_record *ret, size_t max)
{
	struct spe_window w = {r->pos, (size_t)(r->end - r->pos), r->offset, r->is_over};
	size_t used, n = scan(r, &w, ret, max, &used);

	r->pos += used;
	r->offset += used;
	w.nr -= used;
	if (n == max || r->is_over || !w.nr)
		return n;
	assert(w.nr <= SPE_LOOKAHEAD);
	memcpy(r->held, r->pos, w.nr);
	r->nr_held = (uint32_t)w.nr;
	r->pos = r->end;
	return n;
}

static size_t scan_held(struct spe_reader *r, struct spe_record *ret, size_t max)
{
	size_t old = r->nr_held, left = (size_t)(r->end - r->pos);
	size_t added = left < HELD_STEP ? left : HELD_STEP;
	struct spe_window w = {r->held, old + added, r->offset, r->is_over && added == left};
	size_t used, n;

	assert(w.nr <= sizeof(r->held));
	if (added)
		memcpy(r->held + old, r->pos, added);
	n = scan(r, &w, ret, max, &used);
	r->offset += used;
	if (used >= old) {
		r->nr_held = 0;
		r->pos += used - old;
		return n;
	}
	memmove(r->held, r->held + used, w.nr - used);
	r->nr_held = (uint32_t)(w.nr - used);
	r->pos += added;
	return n;
}

size_t spe_reader_take(struct spe_reader *r, struct spe_record *ret, size_t max)
{
	size_t n = 0;
	bool is_input_left = true;

	if (r->alike_set)
		r->alike_set->nr_takes++;
	while (n < max && is_input_left) {
		is_input_left = r->pos != r->end;
		n += r->nr_held ? scan_held(r, ret + n, max - n) : scan_input(r, ret + n, max - n);
	}
	return n;
}

/* --- parts --- */

bool spe_reader_place(const struct spe_reader *r, struct spe_place *ret)
{
	*ret = (struct spe_place){r->offset, (uintptr_t)r->pos - r->nr_held, r->last, r->has_last};
	return r->step == SPE_IN_STEP;
}

void spe_reader_resume(struct spe_reader *r, const struct spe_place *at)
{
	spe_reader_start(r, at->offset, SPE_AT_RECORD);
	r->last = at->last;
	r->has_last = at->has_last;
}

size_t spe_cut(const uint8_t *data, size_t bytes, uint64_t offset, size_t at)
{
	struct spe_window w = {data, bytes, offset, true};

	if (at >= bytes)
		return bytes;
	spe_find_record(&w, offset, &at);
	return at;
}

bool spe_reader_joins(const struct spe_reader *first, const struct spe_reader *second)
{
	return first->step == SPE_IN_STEP && !first->nr_held && first->pos == first->end &&
	       first->offset == second->range_from &&
	       !(first->has_last && second->has_first && spe_times_far(first->last, second->first));
}
