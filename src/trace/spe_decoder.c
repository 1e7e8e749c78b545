/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/spe_decoder.h"

#include <limits.h>

#include "base/mem.h"
#include "os/helper.h"
#include "os/thread.h"
#include "packet/spe/spe_record.h"
#include "trace/spe_ops.h"
#include "trace/spe_worker.h"

/* The bytes of one unit, read as records, which are emitted as operations or counted together. */

enum { HALF_BYTES = 128 << 10, MAX_USELESS = 4, LONGEST_PAUSE = 1023 };

/** Reads the second half of a piece. */
struct half {
	struct spe_worker worker;
	const struct reader *owner;
	struct bytes in;
	bool is_clean; /* it held only records, all with room */
	unsigned int nr_useless;
};

struct reader {
	struct spe_of_unit unit;
	struct trace_ops_sink sink;
	struct spe_worker first;
	struct half *half;    /* NULL: one thread reads all */
	struct os_lock *lock; /* of the sink, with half */
	struct trace_ops_counts counts;
	struct spe_kept *keeps; /* where counts are kept; NULL: nowhere */
	/* Pieces of which nothing is kept: now, and after the last piece of which nothing was. */
	unsigned int nr_paused, pause;
	struct spe_counted counted;
	bool has_begun;
	size_t nr;
	struct trace_op ops[SPE_BATCH];
	struct has {
		uint32_t of_record, of_op;
		uint8_t saturated;
	} has[16]; /* by hash: records have few shapes */
};

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

static struct trace_stay ask(void *ctx, const struct spe_record *x)
{
	struct reader *r = ctx;
	struct trace_stay stay;
	struct trace_op op;

	spe_set_op(&r->unit, x, spe_op_has(x), &op);
	enter(r);
	stay = r->sink.stay(r->sink.ctx, &op);
	leave(r);
	return stay;
}

static bool init_worker(struct reader *r, struct spe_worker *w)
{
	const struct spe_asker asker = {ask, r};

	return spe_worker_init(w, r->sink.fold, r->keeps, &asker);
}

static void half_free(struct half *h)
{
	if (h)
		spe_worker_done(&h->worker);
	mem_free(h);
}

static void reader_free(void *reader)
{
	struct reader *r = reader;

	if (!r)
		return;
	half_free(r->half);
	os_lock_free(r->lock);
	spe_worker_done(&r->first);
	mem_free(r);
}

/** Without enough memory, one thread reads all. */
static void add_half(struct reader *r)
{
	struct half *h = mem_zalloc(sizeof(*h));

	r->lock = os_lock_new();
	if (!h || !r->lock || !init_worker(r, &h->worker)) {
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
	if (init_worker(r, &r->first))
		return r;
	reader_free(r);
	return NULL;
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
	const char *what = "bytes that are no SPE record";

	if (x->outcome == SPE_DAMAGED) {
		r->counts.nr_damaged++;
		what = damages[x->damage % NR_SPE_DAMAGES];
	} else if (x->outcome == SPE_CUT) {
		r->counts.nr_cut++;
		what = "an SPE record is cut off";
	} else {
		r->counts.nr_skipped_bytes += x->bytes;
	}
	return trace_warn_on(&r->sink.listener, r->unit.cpu, what, 0, x->offset);
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
		if (r->nr == SPE_BATCH)
			err = deliver(r);
	}
	spe_fold_clear(f, forgets);
	return err ? err : deliver(r);
}

static enum clew_err make_room(struct reader *r, struct spe_fold *f)
{
	return spe_fold_is_full(f) ? unfold(r, f, false) : CLEW_OK;
}

static enum clew_err pour_all(struct reader *r, struct spe_fold *to, const struct spe_folded *from,
			      size_t nr)
{
	enum clew_err err = CLEW_OK;
	size_t at = 0;

	while (!err && !spe_fold_pour(to, from, nr, &at))
		err = unfold(r, to, false);
	return err;
}

/* --- what is kept for a later pass --- */

static enum clew_err cut_part(struct reader *r)
{
	struct spe_worker *w = &r->first;
	enum clew_err err;

	spe_worker_keep_part(w);
	err = pour_all(r, &w->keeper->owners, w->fold->all, w->fold->nr);
	spe_worker_end_part(w);
	return err;
}

/** For the piece that comes. */
static void choose_fold(struct reader *r, struct spe_worker *w)
{
	enum trace_ops_fold by = r->nr_paused ? TRACE_OPS_BY_OWNER : r->sink.kept->fold;

	w->keeper->is_useless = false;
	if (w->fold->by != by)
		spe_worker_count_by(w, by);
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

static void take_kept(struct reader *r, struct spe_worker *w)
{
	if (w->keeper->kept.parts.nr)
		r->pause = 0;
	if (w->keeper->is_useless)
		r->nr_paused = r->pause =
			r->pause < LONGEST_PAUSE ? 2 * r->pause + 15 : LONGEST_PAUSE;
	w->keeper->is_useless = false; /* a joined piece takes the first worker's twice */
	if (!spe_kept_take(r->keeps, &w->keeper->kept, r->sink.kept->budget))
		r->nr_paused = UINT_MAX;
}

/* --- pieces --- */

static void note_counts(struct reader *r)
{
	r->counts.nr_records = r->first.nr_records;
	r->counts.nr_padding_bytes = r->first.records->counts.padding_bytes;
}

static enum clew_err take_item(struct reader *r, struct spe_worker *w, const struct spe_record *x)
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
		spe_worker_fold(w, x);
	return err;
}

static enum clew_err take(struct reader *r)
{
	struct spe_worker *w = &r->first;
	enum clew_err err = CLEW_OK;
	size_t nr = 1;

	while (!err && nr) {
		if (spe_worker_must_end_part(w))
			err = cut_part(r);
		nr = err ? 0 : spe_worker_take(w);
		for (size_t i = 0; !err && i < nr; i++)
			err = take_item(r, w, &w->items[i]);
		if (!err)
			err = deliver(r);
	}
	note_counts(r);
	return err;
}

static enum clew_err emit_range(struct reader *r)
{
	struct spe_worker *w = &r->first;
	enum clew_err err;

	if (!w->keeper)
		return unfold(r, w->fold, true);
	err = pour_all(r, &w->keeper->owners, w->fold->all, w->fold->nr);
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
	struct spe_worker *w = &r->first;
	enum clew_err err;

	spe_reader_feed(w->records, in.pos, bytes_left(&in));
	spe_worker_begin_part(w);
	err = take(r);
	return err || !w->keeper ? err : cut_part(r);
}

/* --- two halves --- */

/** Each thread does this for what it read: it takes a sixth of the time. */
static void release(const struct reader *r, struct bytes in)
{
	if (r->sink.release)
		r->sink.release(r->sink.ctx, in);
}

static void read_half(void *ctx)
{
	struct half *h = ctx;

	h->is_clean = spe_worker_read(&h->worker);
	release(h->owner, h->in);
}

/** Continue from where the reader of @p h stopped. */
static enum clew_err join(struct reader *r, struct spe_worker *h)
{
	struct spe_worker *w = &r->first;

	h->records->counts.padding_bytes += w->records->counts.padding_bytes;
	spe_worker_swap_readers(w, h);
	w->nr_records += h->nr_records;
	note_counts(r);
	if (!w->keeper)
		return pour_all(r, w->fold, h->fold->all, h->fold->nr);
	take_kept(r, w);
	take_kept(r, h);
	return pour_all(r, &w->keeper->owners, h->keeper->owners.all, h->keeper->owners.nr);
}

static bool start_half(struct reader *r, struct bytes in, uint64_t offset)
{
	struct half *h = r->half;
	struct spe_worker *w = &h->worker;

	h->is_clean = false;
	h->owner = r;
	h->in = in;
	w->range = r->first.range;
	w->nr_records = 0;
	w->records->counts.padding_bytes = 0;
	spe_reader_start(w->records, offset, SPE_AT_RECORD);
	spe_reader_feed(w->records, in.pos, bytes_left(&in));
	return os_helper_run(r->sink.helper, read_half, h);
}

static void clear_half(struct spe_worker *w)
{
	spe_fold_clear(w->fold, false);
	if (!w->keeper)
		return;
	spe_fold_clear(&w->keeper->owners, false);
	spe_kept_clear(&w->keeper->kept);
}

static enum clew_err feed_halves(struct reader *r, struct bytes in, uint64_t offset, size_t cut)
{
	const struct bytes second = bytes_of(in.pos + cut, bytes_left(&in) - cut);
	struct half *h = r->half;
	bool is_started = start_half(r, second, offset + cut);
	enum clew_err err = feed_part(r, bytes_of(in.pos, cut));

	release(r, bytes_of(in.pos, cut));
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

/** Is all that was counted together in one stay? Note which. */
static bool find_stays(struct reader *r, const struct spe_part *p)
{
	struct spe_folded *all = r->counted.kept->entries.data + p->first;

	for (size_t i = 0; i < p->nr_entries; i++) {
		const struct spe_stay *s = spe_worker_stay(&r->first, &all[i].first);
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
	struct spe_worker *w = &r->first;
	enum clew_err err = pour_all(r, w->fold, all, p->nr_entries);

	w->nr_records += p->nr_records;
	w->records->counts.padding_bytes += p->padding_bytes;
	note_counts(r);
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
	struct spe_counted *c = &r->counted;
	uint64_t left = p->end.offset - offset;

	c->is_in_part = left > bytes_left(&in);
	if (c->is_in_part)
		return bytes_left(&in);
	c->next++;
	spe_reader_resume(r->first.records, &p->end);
	return (size_t)left;
}

/** Where a part begins and can be taken as it was counted, do so. */
static enum clew_err begin_counted(struct reader *r, const struct spe_part *p)
{
	if (!find_stays(r, p)) {
		r->counted.next++;
		return CLEW_OK;
	}
	r->counted.is_in_part = true;
	return count_part(r, p);
}

/** A step in @p in. *ret: its bytes. */
static enum clew_err feed_step(struct reader *r, struct bytes in, uint64_t offset, size_t *ret)
{
	struct spe_counted *c = &r->counted;
	const struct spe_part *p = spe_counted_next(c, r->first.range, offset);
	enum clew_err err = CLEW_OK;

	if (p && !c->is_in_part && stands_at(r, p, in, offset)) {
		err = begin_counted(r, p);
		p = spe_counted_next(c, r->first.range, offset);
	}
	if (c->is_in_part) {
		*ret = pass_part(r, p, in, offset);
		return err;
	}
	*ret = bytes_left(&in);
	if (p && p->begin.offset > offset && p->begin.offset - offset < *ret)
		*ret = (size_t)(p->begin.offset - offset);
	return err ? err : read_bytes(r, bytes_of(in.pos, *ret), offset);
}

static enum clew_err feed(void *reader, struct bytes in, uint64_t offset)
{
	struct reader *r = reader;
	enum clew_err err = CLEW_OK;

	if (!r->has_begun) {
		spe_reader_start(r->first.records, offset, SPE_AT_RECORD);
		r->first.range++;
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
