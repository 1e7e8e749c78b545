/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/spe_decoder.h"

#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "os/helper.h"
#include "os/thread.h"
#include "packet/spe/spe_record.h"
#include "trace/spe_kept.h"
#include "trace/spe_ops.h"

/* The bytes of one unit, read as records, which are emitted as operations or counted together. */

enum { BATCH = 256, HALF_BYTES = 128 << 10, MAX_USELESS = 4, PAUSE = 15 };

/** One thread's. */
struct worker {
	struct reader *owner;
	struct spe_reader *records;
	struct spe_fold *fold;     /* NULL: each record counts alone */
	struct spe_keeper *keeper; /* NULL: nothing is kept */
	uint64_t nr_records;
	struct spe_record items[BATCH];
};

/** A worker that reads the second half of a piece. */
struct half {
	struct worker worker;
	bool is_clean; /* it held only records, all with room */
	unsigned int nr_useless;
};

/** What an earlier pass has counted. */
struct counted {
	struct spe_kept *kept; /* NULL: nothing */
	size_t next;           /* part */
	bool is_in_part;       /* that one; it is counted already */
};

struct reader {
	struct spe_of_unit unit;
	struct trace_ops_sink sink;
	struct worker first;
	struct half *half;    /* NULL: one thread reads all */
	struct os_lock *lock; /* of the sink, with half */
	struct trace_ops_counts counts;
	struct spe_kept *keeps; /* where counts are kept; NULL: nowhere */
	unsigned int nr_paused; /* pieces of which nothing is kept */
	struct counted counted;
	bool has_begun;
	uint64_t range; /* number of the AUX range */
	size_t nr;
	struct trace_op ops[BATCH];
	struct has {
		uint32_t of_record, of_op;
		uint8_t saturated;
	} has[16]; /* by hash: records have few shapes */
};

/* --- workers --- */

static void worker_done(struct worker *w)
{
	mem_free(w->records);
	if (w->fold)
		mem_free(w->fold->alike);
	mem_free(w->fold);
	if (w->keeper)
		spe_kept_done(&w->keeper->kept);
	mem_free(w->keeper);
}

/** Empty. Count by what from here on? */
static void count_by(struct worker *w, enum trace_ops_fold by)
{
	struct spe_alike_set *a = w->fold->alike;

	w->fold->by = by;
	if (!a)
		return;
	memset(a, 0, sizeof(*a));
	spe_fold_care(w->fold, a->care);
	spe_reader_set_alike(w->records, a);
}

static bool make_fold(struct worker *w, enum trace_ops_fold by, bool keeps)
{
	w->fold = mem_zalloc(sizeof(*w->fold));
	w->keeper = keeps ? mem_zalloc(sizeof(*w->keeper)) : NULL;
	if (!w->fold || (keeps && !w->keeper))
		return false;
	/* Without enough memory, all is read. */
	w->fold->alike = mem_zalloc(sizeof(*w->fold->alike));
	count_by(w, by);
	return true;
}

static bool worker_init(struct worker *w, struct reader *r)
{
	const struct trace_ops_sink *sink = &r->sink;

	w->owner = r;
	w->records = mem_zalloc(sizeof(*w->records));
	if (!w->records)
		return false;
	spe_reader_init(w->records, 0);
	return sink->fold == TRACE_OPS_EACH || make_fold(w, sink->fold, r->keeps);
}

static void half_free(struct half *h)
{
	if (h)
		worker_done(&h->worker);
	mem_free(h);
}

static void reader_free(void *reader)
{
	struct reader *r = reader;

	if (!r)
		return;
	half_free(r->half);
	os_lock_free(r->lock);
	worker_done(&r->first);
	mem_free(r);
}

/** Without enough memory, one thread reads all. */
static void add_half(struct reader *r)
{
	struct half *h = mem_zalloc(sizeof(*h));

	r->lock = r->lock ? r->lock : os_lock_new();
	if (!h || !r->lock || !worker_init(&h->worker, r)) {
		half_free(h);
		r->sink.helper = NULL;
		return;
	}
	h->worker.fold->first_stay = h->worker.fold->last_stay = 1u << 31;
	r->half = h;
}

static void kept_free(void *data)
{
	if (data)
		spe_kept_done(data);
	mem_free(data);
}

/** Fill what is kept, or use it. */
static void use_kept(struct reader *r)
{
	struct trace_ops_kept *k = r->sink.kept;

	if (!k)
		return;
	if (r->sink.keeps && !k->data)
		k->data = r->keeps = mem_zalloc(sizeof(*r->keeps));
	else if (!r->sink.keeps && k->fold == r->sink.fold)
		r->counted.kept = k->data;
}

static void *reader_new(const struct trace_unit *unit, const struct trace_ops_sink *sink)
{
	struct reader *r = mem_zalloc(sizeof(*r));

	if (!r)
		return NULL;
	r->unit = (struct spe_of_unit){unit->config, unit->cpu};
	r->sink = *sink;
	use_kept(r);
	if (sink->fold == TRACE_OPS_EACH)
		r->sink.helper = NULL;
	if (worker_init(&r->first, r))
		return r;
	reader_free(r);
	return NULL;
}

/** Before and after the sink is called. */
static void enter(struct reader *r)
{
	if (r->half)
		os_lock(r->lock);
}

static void leave(struct reader *r)
{
	if (r->half)
		os_unlock(r->lock);
}

static inline uint32_t has_of(struct reader *r, const struct spe_record *x)
{
	struct has *h = &r->has[x->has * 0x9e3779b1u >> 28];

	if (h->of_record != x->has || h->saturated != x->saturated)
		*h = (struct has){x->has, spe_op_has(x), x->saturated};
	return h->of_op;
}

static enum clew_err deliver(struct reader *r)
{
	size_t nr = r->nr;
	enum clew_err err;

	r->nr = 0;
	if (!nr)
		return CLEW_OK;
	enter(r);
	err = r->sink.ops(r->sink.ctx, r->ops, nr);
	leave(r);
	return err;
}

static enum clew_err warn(struct reader *r, const struct spe_record *x)
{
	static const char *const damages[NR_SPE_DAMAGES] = {
		[SPE_NO_DAMAGE] = "an SPE record is damaged",
		[SPE_BAD_HEADER] = "an SPE record is damaged: a byte is no packet",
		[SPE_BAD_CLASS] = "an SPE record is damaged: a reserved operation or context",
		[SPE_DUPLICATE] = "an SPE record is damaged: a packet occurs twice",
		[SPE_BAD_PAD] = "an SPE record is damaged: nothing but padding follows",
		[SPE_NO_PC] = "an SPE record is damaged: it has no PC",
		[SPE_NO_OPERATION] = "an SPE record is damaged: neither operation nor events",
		[SPE_FAR_TIME] = "an SPE record is damaged: its time is far from its neighbours'",
	};

	if (x->outcome == SPE_DAMAGED) {
		r->counts.nr_damaged++;
		return trace_warn(&r->sink.listener, damages[x->damage % NR_SPE_DAMAGES], 0,
				  x->offset);
	}
	if (x->outcome == SPE_CUT) {
		r->counts.nr_cut++;
		return trace_warn(&r->sink.listener, "an SPE record is cut off", 0, x->offset);
	}
	r->counts.nr_skipped_bytes += x->bytes;
	return trace_warn(&r->sink.listener, "bytes that are no SPE record", 0, x->offset);
}

/* --- counted together --- */

/** Emit what was counted. */
static enum clew_err unfold(struct reader *r, struct spe_fold *f, bool forgets)
{
	enum clew_err err = CLEW_OK;

	for (uint32_t i = 0; !err && i < f->nr; i++) {
		const struct spe_record *first = &f->all[i].first;

		spe_set_op(&r->unit, first, spe_op_has(first), &r->ops[r->nr]);
		r->ops[r->nr++].nr = f->all[i].many.nr;
		if (r->nr == BATCH)
			err = deliver(r);
	}
	spe_fold_clear(f, forgets);
	return err ? err : deliver(r);
}

static const struct spe_stay *new_stay(struct reader *r, struct spe_fold *f,
				       const struct spe_record *x, struct spe_stay *s)
{
	struct trace_op op;

	spe_set_op(&r->unit, x, spe_op_has(x), &op);
	enter(r);
	spe_fold_begin(f, s, r->sink.stay(r->sink.ctx, &op));
	leave(r);
	return s;
}

static const struct spe_stay *stay_of(struct reader *r, struct spe_fold *f,
				      const struct spe_record *x)
{
	struct spe_stay *fresh;
	const struct spe_stay *s = spe_fold_stay(f, x, &fresh);

	return s ? s : new_stay(r, f, x, fresh);
}

/** @return its index. */
static uint32_t fold_record(struct reader *r, struct spe_fold *f, const struct spe_record *x,
			    const struct spe_stay **ret)
{
	const struct spe_many one = spe_one(x);

	*ret = stay_of(r, f, x);
	return spe_fold_add(f, x, (*ret)->number, &one);
}

static void fold_alike(struct reader *r, struct spe_fold *f, const struct spe_record *x)
{
	const struct spe_record whole = spe_alike_record(x);
	const struct spe_stay *s;
	uint32_t entry = fold_record(r, f, &whole, &s);

	spe_fold_remember(f, x->alike, s, entry);
}

/** There is room. */
static inline void fold_in(struct reader *r, struct spe_fold *f, const struct spe_record *x)
{
	const struct spe_stay *s;

	if (!x->alike)
		fold_record(r, f, x, &s);
	else if (!spe_fold_again(f, x))
		fold_alike(r, f, x);
}

static enum clew_err make_room(struct reader *r, struct spe_fold *f)
{
	return spe_fold_is_full(f) ? unfold(r, f, false) : CLEW_OK;
}

/** Count what @p from has counted, from its *at on. @return false: *at has no room. */
static bool pour(struct spe_fold *to, const struct spe_fold *from, uint32_t *at)
{
	for (; *at < from->nr; ++*at) {
		const struct spe_folded *x = &from->all[*at];

		if (spe_fold_is_full(to))
			return false;
		spe_fold_add(to, &x->first, x->stay, &x->many);
	}
	return true;
}

static enum clew_err pour_all(struct reader *r, struct spe_fold *to, const struct spe_fold *from)
{
	enum clew_err err = CLEW_OK;
	uint32_t at = 0;

	while (!err && !pour(to, from, &at))
		err = unfold(r, to, false);
	return err;
}

static size_t take_items(struct worker *w)
{
	size_t nr = spe_reader_take(w->records, w->items, BATCH);

	/* Before an item is counted for other ticks. */
	if (w->fold)
		w->nr_records += spe_fold_collect(w->fold);
	return nr;
}

/* --- what is kept for a later pass --- */

static void begin_part(struct worker *w)
{
	if (w->keeper)
		spe_keeper_begin(w->keeper, w->records, w->owner->range, w->nr_records);
}

/** All that was counted is of the part. What is counted by owner is not kept. */
static void keep_part(struct worker *w)
{
	if (w->fold->by != TRACE_OPS_BY_OWNER)
		spe_keeper_end(w->keeper, w->records, w->fold, w->nr_records);
}

/** The part was poured. Where records differ, the rest of the piece is counted by owner. */
static void end_part(struct worker *w)
{
	spe_fold_clear(w->fold, false);
	if (w->keeper->is_useless && w->fold->by != TRACE_OPS_BY_OWNER)
		count_by(w, TRACE_OPS_BY_OWNER);
	begin_part(w);
}

/** No room for a batch; or damage, after which another part may begin. */
static bool has_to_cut(const struct worker *w)
{
	return w->keeper && (w->fold->nr + BATCH > SPE_FOLD_RECORDS || !w->keeper->is_known);
}

static enum clew_err cut_part(struct reader *r)
{
	struct worker *w = &r->first;
	enum clew_err err;

	keep_part(w);
	err = pour_all(r, &w->keeper->owners, w->fold);
	end_part(w);
	return err;
}

/** For the piece that comes. */
static void choose_fold(struct reader *r, struct worker *w)
{
	enum trace_ops_fold by = r->nr_paused ? TRACE_OPS_BY_OWNER : r->sink.kept->fold;

	w->keeper->is_useless = false;
	if (w->fold->by != by)
		count_by(w, by);
}

static void choose_folds(struct reader *r)
{
	if (!r->keeps)
		return;
	choose_fold(r, &r->first);
	if (r->half)
		choose_fold(r, &r->half->worker);
	r->nr_paused -= r->nr_paused > 0;
}

static void take_kept(struct reader *r, struct worker *w)
{
	if (w->keeper->is_useless)
		r->nr_paused = PAUSE;
	if (!spe_kept_take(r->keeps, &w->keeper->kept, r->sink.kept->budget))
		r->nr_paused = UINT_MAX;
}

/* --- pieces --- */

static enum clew_err take_item(struct reader *r, struct worker *w, const struct spe_record *x)
{
	enum clew_err err;

	if (x->outcome != SPE_COMPLETE) {
		if (w->keeper)
			w->keeper->is_known = false;
		enter(r);
		err = warn(r, x);
		leave(r);
		return err;
	}
	w->nr_records++;
	if (!w->fold) {
		spe_set_op(&r->unit, x, has_of(r, x), &r->ops[r->nr++]);
		return CLEW_OK;
	}
	err = make_room(r, w->fold);
	if (!err)
		fold_in(r, w->fold, x);
	return err;
}

static enum clew_err take(struct reader *r)
{
	struct worker *w = &r->first;
	enum clew_err err = CLEW_OK;
	size_t nr = 1;

	while (!err && nr) {
		if (has_to_cut(w))
			err = cut_part(r);
		nr = err ? 0 : take_items(w);
		for (size_t i = 0; !err && i < nr; i++)
			err = take_item(r, w, &w->items[i]);
		if (!err)
			err = deliver(r);
	}
	r->counts.nr_records = w->nr_records;
	r->counts.nr_padding_bytes = w->records->counts.padding_bytes;
	return err;
}

static enum clew_err emit_range(struct reader *r)
{
	struct worker *w = &r->first;
	enum clew_err err;

	if (!w->keeper)
		return unfold(r, w->fold, true);
	err = pour_all(r, &w->keeper->owners, w->fold);
	spe_fold_clear(w->fold, true);
	return err ? err : unfold(r, &w->keeper->owners, true);
}

static enum clew_err restart(void *reader)
{
	struct reader *r = reader;
	enum clew_err err;

	if (!r->has_begun)
		return CLEW_OK;
	r->has_begun = false;
	r->counted.is_in_part = false;
	spe_reader_end(r->first.records);
	err = take(r);
	if (r->half)
		spe_fold_clear(r->half->worker.fold, true);
	return err || !r->first.fold ? err : emit_range(r);
}

/** By the first worker alone. */
static enum clew_err feed_part(struct reader *r, struct bytes in)
{
	struct worker *w = &r->first;
	enum clew_err err;

	spe_reader_feed(w->records, in.pos, bytes_left(&in));
	begin_part(w);
	err = take(r);
	return err || !w->keeper ? err : cut_part(r);
}

/* --- two halves --- */

/** @return false: no room. */
static bool cut_half(struct worker *w)
{
	uint32_t at = 0;
	bool has_room;

	keep_part(w);
	has_room = pour(&w->keeper->owners, w->fold, &at);
	end_part(w);
	return has_room;
}

static bool fold_items(struct worker *w, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (w->items[i].outcome != SPE_COMPLETE || spe_fold_is_full(w->fold))
			return false;
		fold_in(w->owner, w->fold, &w->items[i]);
	}
	w->nr_records += nr;
	return true;
}

static void read_half(void *ctx)
{
	struct half *h = ctx;
	struct worker *w = &h->worker;
	bool is_clean = true;
	size_t nr = 1;

	begin_part(w);
	while (is_clean && nr) {
		if (has_to_cut(w))
			is_clean = cut_half(w);
		nr = is_clean ? take_items(w) : 0;
		is_clean = is_clean && fold_items(w, nr);
	}
	h->is_clean = is_clean && (!w->keeper || cut_half(w));
}

/** With what they know of records that are alike, but not where those were counted. */
static void swap_readers(struct worker *a, struct worker *b)
{
	struct spe_reader *records = a->records;
	struct spe_alike_set *alike = a->fold->alike;

	a->records = b->records;
	b->records = records;
	a->fold->alike = b->fold->alike;
	b->fold->alike = alike;
	if (!alike || !a->fold->alike)
		return;
	alike->generation++;
	a->fold->alike->generation++;
}

/** Continue from where the reader of @p h stopped. */
static enum clew_err join(struct reader *r, struct worker *h)
{
	struct worker *w = &r->first;

	h->records->counts.padding_bytes += w->records->counts.padding_bytes;
	swap_readers(w, h);
	w->nr_records += h->nr_records;
	r->counts.nr_records = w->nr_records;
	r->counts.nr_padding_bytes = w->records->counts.padding_bytes;
	if (!w->keeper)
		return pour_all(r, w->fold, h->fold);
	take_kept(r, w);
	take_kept(r, h);
	return pour_all(r, &w->keeper->owners, &h->keeper->owners);
}

static bool start_half(struct reader *r, struct bytes in, uint64_t offset)
{
	struct half *h = r->half;
	struct worker *w = &h->worker;

	h->is_clean = false;
	w->nr_records = 0;
	w->records->counts.padding_bytes = 0;
	spe_reader_start(w->records, offset, SPE_AT_RECORD);
	spe_reader_feed(w->records, in.pos, bytes_left(&in));
	return os_helper_run(r->sink.helper, read_half, h);
}

static void clear_half(struct worker *w)
{
	spe_fold_clear(w->fold, false);
	if (!w->keeper)
		return;
	spe_fold_clear(&w->keeper->owners, false);
	w->keeper->kept.parts.nr = w->keeper->kept.entries.nr = 0;
}

static enum clew_err feed_halves(struct reader *r, struct bytes in, uint64_t offset, size_t cut)
{
	const struct bytes second = bytes_of(in.pos + cut, bytes_left(&in) - cut);
	struct half *h = r->half;
	bool is_started = start_half(r, second, offset + cut);
	enum clew_err err = feed_part(r, bytes_of(in.pos, cut));

	if (is_started)
		os_helper_wait(r->sink.helper);
	if (!err && h->is_clean && spe_reader_joins(r->first.records, h->worker.records)) {
		err = join(r, &h->worker);
	} else if (!err) {
		h->nr_useless++;
		err = feed_part(r, second);
	}
	clear_half(&h->worker);
	return err;
}

/** May the piece be cut in two? */
static bool has_halves(struct reader *r, const struct bytes *in)
{
	if (!r->sink.helper || bytes_left(in) < 2 * HALF_BYTES)
		return false;
	if (!r->half)
		add_half(r);
	return r->half && r->half->nr_useless < MAX_USELESS;
}

static enum clew_err read_bytes(struct reader *r, struct bytes in, uint64_t offset)
{
	size_t nr = bytes_left(&in), cut = nr;
	enum clew_err err;

	if (has_halves(r, &in))
		cut = spe_cut(in.pos, nr, offset, nr / 2);
	choose_folds(r);
	err = cut < nr ? feed_halves(r, in, offset, cut) : feed_part(r, in);
	if (r->keeps)
		take_kept(r, &r->first);
	return err;
}

/* --- what an earlier pass counted --- */

/** The first part that begins at @p offset or later. NULL: none in this range. */
static const struct spe_part *next_part(struct reader *r, uint64_t offset)
{
	struct counted *c = &r->counted;
	const struct spe_part *p;

	for (; c->kept && c->next < c->kept->parts.nr; c->next++) {
		p = &c->kept->parts.data[c->next];
		if (p->range > r->range)
			return NULL;
		if (p->range == r->range && p->begin.offset >= offset)
			return p;
	}
	return NULL;
}

/** Is all that was counted together in one stay? Note which. */
static bool find_stays(struct reader *r, const struct spe_part *p)
{
	struct spe_folded *all = r->counted.kept->entries.data + p->first;

	for (size_t i = 0; i < p->nr_entries; i++) {
		const struct spe_stay *s = stay_of(r, r->first.fold, &all[i].first);
		uint64_t ticks = s->ticks.to - s->ticks.from;

		if (all[i].many.from - s->ticks.from >= ticks ||
		    all[i].many.last - s->ticks.from >= ticks)
			return false;
		all[i].stay = s->number;
	}
	return true;
}

static enum clew_err count_part(struct reader *r, const struct spe_part *p)
{
	const struct spe_folded *all = r->counted.kept->entries.data + p->first;
	struct worker *w = &r->first;
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; !err && i < p->nr_entries; i++) {
		err = make_room(r, w->fold);
		if (!err)
			spe_fold_add(w->fold, &all[i].first, all[i].stay, &all[i].many);
	}
	w->nr_records += p->nr_records;
	w->records->counts.padding_bytes += p->padding_bytes;
	r->counts.nr_records = w->nr_records;
	r->counts.nr_padding_bytes = w->records->counts.padding_bytes;
	return err;
}

static bool stands_at(const struct reader *r, const struct spe_part *p, struct bytes in,
		      uint64_t offset)
{
	struct spe_place at;

	return p->begin.offset == offset && p->begin.pos == (uintptr_t)in.pos &&
	       spe_reader_place(r->first.records, &at) && at.offset == offset;
}

/** @return how many bytes of @p in, at @p offset, are of the part, which is counted. */
static size_t pass_part(struct reader *r, const struct spe_part *p, struct bytes in,
			uint64_t offset)
{
	struct counted *c = &r->counted;
	uint64_t left = p->end.offset - offset;

	c->is_in_part = left > bytes_left(&in);
	if (c->is_in_part)
		return bytes_left(&in);
	c->next++;
	spe_reader_resume(r->first.records, &p->end);
	return (size_t)left;
}

/** A step in @p in. *ret: its bytes. */
static enum clew_err feed_step(struct reader *r, struct bytes in, uint64_t offset, size_t *ret)
{
	struct counted *c = &r->counted;
	const struct spe_part *p =
		c->is_in_part ? &c->kept->parts.data[c->next] : next_part(r, offset);
	enum clew_err err = CLEW_OK;

	*ret = bytes_left(&in);
	if (p && !c->is_in_part && stands_at(r, p, in, offset)) {
		c->is_in_part = find_stays(r, p);
		if (c->is_in_part)
			err = count_part(r, p);
		else
			p = (c->next++, next_part(r, offset));
	}
	if (c->is_in_part) {
		*ret = pass_part(r, p, in, offset);
		return err;
	}
	if (p && p->begin.offset - offset < *ret && p->begin.offset > offset)
		*ret = (size_t)(p->begin.offset - offset);
	return read_bytes(r, bytes_of(in.pos, *ret), offset);
}

static enum clew_err feed(void *reader, struct bytes in, uint64_t offset)
{
	struct reader *r = reader;
	enum clew_err err = CLEW_OK;

	if (!r->has_begun) {
		spe_reader_start(r->first.records, offset, SPE_AT_RECORD);
		r->range++;
	}
	r->has_begun = true;
	r->counts.nr_bytes += bytes_left(&in);
	for (size_t nr; !err && bytes_left(&in); in.pos += nr, offset += nr)
		err = feed_step(r, in, offset, &nr);
	return err;
}

static const struct trace_ops_counts *counts(const void *reader)
{
	return &((const struct reader *)reader)->counts;
}

static const struct trace_ops_reader_type ops = {.reader_new = reader_new,
						 .reader_free = reader_free,
						 .kept_free = kept_free,
						 .feed = feed,
						 .restart = restart,
						 .counts = counts};

const struct trace_decoder spe_decoder = {.ops = &ops};
