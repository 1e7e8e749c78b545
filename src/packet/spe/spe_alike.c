/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/spe/spe_alike.h"

#include <endian.h>
#include <string.h>

#include "packet/spe/spe_resync.h"
#include "packet/spe/spe_shape.h"

/* Where most records differ, keeping them costs more than it saves: none are for a while. */
enum { MISSES = 1024, LEAST_MET = MISSES / 4, PAUSE = 15 * MISSES, LONGEST_PAUSE = 63 };

static void learn_masks(struct spe_alike_set *a, const struct spe_shapes *s)
{
	for (; a->nr_shapes < s->nr; a->nr_shapes++) {
		const struct spe_shape *x = &s->shapes[a->nr_shapes];
		uint8_t mask[8 * SPE_SHAPE_WORDS + 8] = {0};

		memcpy(mask, x->mask, sizeof(x->mask));
		for (unsigned int i = 0; i < SPE_NR_FIELDS; i++) {
			const struct spe_field *f = &x->fields[i];
			uint64_t care = load_le64(mask + f->at) | (f->mask & a->care[i]);

			care = htole64(care);
			memcpy(mask + f->at, &care, sizeof(care));
		}
		memcpy(a->shapes[a->nr_shapes].mask, mask, 8 * SPE_ALIKE_WORDS);
		a->shapes[a->nr_shapes].is_long = x->bytes > 8 * SPE_ALIKE_WORDS;
	}
}

/** SPE_ALIKE_WORDS in registers of two words, which every machine has. */
typedef uint64_t pair __attribute__((vector_size(16)));
struct words {
	pair a, b, c, d;
};
_Static_assert(sizeof(struct words) == 8 * SPE_ALIKE_WORDS, "all words");

static inline struct words load_words(const void *from)
{
	struct words w;

	memcpy(&w, from, sizeof(w));
	return w;
}

static inline struct words words_that_matter(const uint64_t *mask, const uint8_t *pos)
{
	struct words w = load_words(pos), m = load_words(mask);

	return (struct words){w.a & m.a, w.b & m.b, w.c & m.c, w.d & m.d};
}

static inline bool is_equal(const uint64_t *value, const struct words *w)
{
	struct words x = load_words(value);
	pair differ = (x.a ^ w->a) | (x.b ^ w->b) | (x.c ^ w->c) | (x.d ^ w->d);

	return !(differ[0] | differ[1]);
}

static inline size_t slot_of(const struct words *w)
{
	pair t = w->a ^ (w->b << 17 | w->b >> 47) ^ (w->c << 31 | w->c >> 33) ^
		 (w->d << 47 | w->d >> 17);

	return (t[0] * 0x9e3779b97f4a7c15U + t[1] * 0xbf58476d1ce4e5b9U) >> 40 & (SPE_NR_ALIKE - 1);
}

static inline uint64_t ticks_of(const struct spe_alike *x, const uint8_t *pos)
{
	return load_le64(pos + x->time_at) & x->time_mask;
}

static inline void set_item(struct spe_alike *x, const uint8_t *pos, struct spe_record *ret)
{
	ret->bytes = x->bytes;
	ret->has = x->first.has;
	ret->outcome = SPE_COMPLETE;
	ret->timestamp = ticks_of(x, pos);
	ret->alike = x;
}

static void remember(const struct spe_alike_set *a, struct spe_alike *x, const struct spe_shape *s,
		     unsigned int shape, const struct words *words, const struct spe_record *rec)
{
	const struct spe_field *time = &s->fields[SPE_FIELD_TIMESTAMP];

	if (x->shape && (x->used_in == a->nr_takes || x->many.nr))
		return;
	memcpy(x->value, words, sizeof(x->value));
	x->shape = (uint8_t)(shape + 1);
	x->bytes = s->bytes;
	x->time_at = time->at;
	x->time_mask = time->mask;
	x->first = *rec;
	spe_mark_saturated(a->counter_max, &x->first);
	x->counted.generation = 0;
}

static bool is_paused(struct spe_alike_set *a)
{
	if (a->nr_paused) {
		a->nr_paused--;
		return true;
	}
	if (++a->nr_missed < MISSES)
		return false;
	a->nr_paused = a->nr_met < LEAST_MET ? PAUSE : 0;
	a->nr_missed = 0;
	a->nr_met = 0;
	return false;
}

/** None alike is known. @p shape: its first possible one. */
static __attribute__((noinline)) bool read_new(struct spe_alike_set *a, const struct spe_shapes *s,
					       const uint8_t *pos, unsigned int shape,
					       struct spe_record *ret)
{
	struct words words;

	if (!spe_shapes_read(s, pos, ret->offset, ret))
		return false;
	if (is_paused(a))
		return true;
	learn_masks(a, s);
	if (a->shapes[shape].is_long || !spe_shapes_is(s, shape, pos))
		return true;
	words = words_that_matter(a->shapes[shape].mask, pos);
	remember(a, &a->all[slot_of(&words)], &s->shapes[shape], shape, &words, ret);
	return true;
}

/** The alike one of @p pos. NULL: none is known; *ret_shape is its first possible shape. */
static inline struct spe_alike *find(struct spe_alike_set *a, const struct spe_shapes *s,
				     const uint8_t *pos, unsigned int *ret_shape)
{
	unsigned int shape = *ret_shape = spe_shapes_first(s, pos);
	struct spe_alike *x;
	struct words words;

	if (shape == SPE_NO_SHAPE)
		return NULL;
	/* Of a shape that is not learned yet, or long, nothing is kept. */
	words = words_that_matter(a->shapes[shape].mask, pos);
	x = &a->all[slot_of(&words)];
	return x->shape == shape + 1 && is_equal(x->value, &words) ? x : NULL;
}

bool spe_alike_read(struct spe_alike_set *a, const struct spe_shapes *s, const uint8_t *pos,
		    uint64_t offset, struct spe_record *ret)
{
	unsigned int shape;
	struct spe_alike *x = find(a, s, pos, &shape);

	a->last = SPE_NR_ALIKE;
	if (shape == SPE_NO_SHAPE)
		return false;
	ret->offset = offset;
	if (!x)
		return read_new(a, s, pos, shape, ret);
	a->last = (uint16_t)(x - a->all);
	a->nr_met++;
	x->used_in = a->nr_takes;
	set_item(x, pos, ret);
	return true;
}

/* --- counted by the reader --- */

/** Is it the one that came next the last time? */
static inline bool is_next(const struct spe_alike_set *a, const struct spe_alike *x,
			   const uint8_t *pos)
{
	struct words words;

	if (x->counted.generation != a->generation)
		return false;
	words = words_that_matter(a->shapes[x->shape - 1].mask, pos);
	return is_equal(x->value, &words);
}

static inline struct spe_alike *find_next(struct spe_alike_set *a, const struct spe_shapes *s,
					  const uint8_t *pos, struct spe_alike *last)
{
	struct spe_alike *x = &a->all[last->next];
	unsigned int shape;

	if (is_next(a, x, pos))
		return x;
	x = find(a, s, pos, &shape);
	if (!x || x->counted.generation != a->generation)
		return NULL;
	last->next = (uint16_t)(x - a->all);
	return x;
}

static inline void count(struct spe_alike_set *a, struct spe_alike *x, uint64_t ticks)
{
	const struct spe_many one = {1, ticks, ticks};

	if (!x->many.nr)
		a->used[a->nr_used++] = (uint16_t)(x - a->all);
	spe_many_add(&x->many, &one);
}

void spe_alike_run(struct spe_alike_set *a, const struct spe_shapes *s, const struct spe_window *w,
		   size_t *at, struct spe_run *run)
{
	struct spe_alike *last = &a->all[a->last];
	uint64_t nr = 0, padding = 0, ticks;
	size_t from = *at, pos = from;

	while (w->nr - pos >= SPE_SHAPE_ROOM) {
		struct spe_alike *x = find_next(a, s, w->bytes + pos, last);
		size_t end;

		if (!x)
			break;
		ticks = ticks_of(x, w->bytes + pos);
		if (ticks - x->counted.from >= x->counted.ticks || spe_times_far(run->last, ticks))
			break;
		count(a, x, ticks);
		end = pos + x->bytes;
		pos = spe_gap_end(w, end, w->nr);
		padding += pos - end;
		run->last = ticks;
		last = x;
		nr++;
	}
	a->last = (uint16_t)(last - a->all);
	a->nr_met += nr;
	a->pause = nr ? 0 : (uint8_t)(2 * a->pause + 1) & LONGEST_PAUSE;
	a->nr_untried = a->pause;
	run->nr = nr;
	run->padding_bytes = padding;
	run->bytes = pos - from - padding;
	*at = pos;
}
