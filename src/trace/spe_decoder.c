/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/spe_decoder.h"

#include "base/mem.h"
#include "os/thread.h"
#include "packet/spe/spe_record.h"
#include "trace/spe_fold.h"

/* Records of packet/spe as operations of the pipeline. */

_Static_assert((int)SPE_NR_OTHER == (int)ANA_OP_NR_OTHER &&
		       (int)SPE_OTHER_IS_ADDRESS == (int)ANA_OP_OTHER_IS_ADDRESS,
	       "reserved packets are kept alike");

enum { BATCH = 256, HALF_BYTES = 128 << 10, MAX_USELESS = 4 };

/** The second half of a piece, read by a thread of its own. */
struct half {
	struct reader *owner;
	struct spe_reader *records;
	struct spe_fold fold;
	uint64_t nr_records;
	bool is_clean; /* it held only records, all with room */
	unsigned int nr_useless;
	struct spe_record items[BATCH];
};

struct reader {
	const struct spe_config *config;
	uint32_t cpu;
	struct trace_ops_sink sink;
	struct spe_reader *records;
	struct half *half;    /* NULL: one thread reads all */
	struct os_lock *lock; /* of the sink, with half */
	struct trace_ops_counts counts;
	bool has_begun;
	size_t nr;
	struct spe_record items[BATCH];
	struct trace_op ops[BATCH];
	struct spe_fold *fold; /* NULL: none */
	struct has {
		uint32_t of_record, of_op;
		uint8_t saturated;
	} has[16]; /* by hash: records have few shapes */
};

/** Without enough memory, all is read. */
static struct spe_alike_set *new_alike_set(const struct spe_fold *f)
{
	struct spe_alike_set *a = mem_zalloc(sizeof(*a));

	if (a)
		spe_fold_care(f, a->care);
	return a;
}

/** @p f: what counts the records; NULL: none. */
static struct spe_reader *new_records(const struct spe_fold *f)
{
	struct spe_reader *records = mem_zalloc(sizeof(*records));

	if (!records)
		return NULL;
	spe_reader_init(records, 0);
	spe_reader_set_alike(records, f ? new_alike_set(f) : NULL);
	return records;
}

static void free_records(struct spe_reader *records)
{
	if (records)
		mem_free(records->alike_set);
	mem_free(records);
}

static void reader_free(void *reader)
{
	struct reader *r = reader;

	if (!r)
		return;
	if (r->half)
		free_records(r->half->records);
	mem_free(r->half);
	os_lock_free(r->lock);
	mem_free(r->fold);
	free_records(r->records);
	mem_free(r);
}

/** Without enough memory, one thread reads all. */
static void add_half(struct reader *r)
{
	struct half *h = mem_zalloc(sizeof(*h));

	r->half = h;
	r->lock = os_lock_new();
	if (h)
		h->records = new_records(r->fold);
	if (!h || !h->records || !r->lock) {
		free_records(h ? h->records : NULL);
		mem_free(h);
		r->half = NULL;
		return;
	}
	h->owner = r;
	h->fold.by = r->fold->by;
	h->fold.first_stay = h->fold.last_stay = 1u << 31;
}

static void *reader_new(const struct trace_unit *unit, const struct trace_ops_sink *sink)
{
	struct reader *r = mem_zalloc(sizeof(*r));
	bool folds = sink->fold != TRACE_OPS_EACH;

	if (!r)
		return NULL;
	r->config = unit->config;
	r->cpu = unit->cpu;
	r->sink = *sink;
	r->fold = folds ? mem_zalloc(sizeof(*r->fold)) : NULL;
	if (r->fold)
		r->fold->by = sink->fold;
	r->records = new_records(r->fold);
	if (!r->records || (folds && !r->fold)) {
		reader_free(r);
		return NULL;
	}
	if (folds && sink->has_helper)
		add_half(r);
	return r;
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

static const struct {
	uint32_t of_record, of_op;
} haves[] = {
	{SPE_HAS_PC,          ANA_OP_HAS_PC         },
	{SPE_HAS_TARGET,      ANA_OP_HAS_TARGET     },
	{SPE_HAS_VA,          ANA_OP_HAS_VA         },
	{SPE_HAS_PA,          ANA_OP_HAS_PA         },
	{SPE_HAS_PREV_TARGET, ANA_OP_HAS_PREV_TARGET},
	{SPE_HAS_TOTAL,       ANA_OP_HAS_TOTAL      },
	{SPE_HAS_ISSUE,       ANA_OP_HAS_ISSUE      },
	{SPE_HAS_XLAT,        ANA_OP_HAS_XLAT       },
	{SPE_HAS_CONTEXT_EL1, ANA_OP_HAS_CONTEXT_EL1},
	{SPE_HAS_CONTEXT_EL2, ANA_OP_HAS_CONTEXT_EL2},
	{SPE_HAS_EVENTS,      ANA_OP_HAS_EVENTS     },
	{SPE_HAS_OPERATION,   ANA_OP_HAS_KIND       },
	{SPE_HAS_SOURCE,      ANA_OP_HAS_SOURCE     },
	{SPE_HAS_TIMESTAMP,   ANA_OP_HAS_TIME       },
};

static uint32_t find_has(const struct spe_record *x)
{
	uint32_t has = 0;

	for (size_t i = 0; i < sizeof(haves) / sizeof(*haves); i++)
		has |= x->has & haves[i].of_record ? haves[i].of_op : 0;
	has |= x->saturated >> SPE_COUNTER_TOTAL & 1 ? ANA_OP_TOTAL_IS_MIN : 0;
	has |= x->saturated >> SPE_COUNTER_ISSUE & 1 ? ANA_OP_ISSUE_IS_MIN : 0;
	has |= x->saturated >> SPE_COUNTER_XLAT & 1 ? ANA_OP_XLAT_IS_MIN : 0;
	return has;
}

static inline uint32_t has_of(struct reader *r, const struct spe_record *x)
{
	struct has *h = &r->has[x->has * 0x9e3779b1u >> 28];

	if (h->of_record != x->has || h->saturated != x->saturated)
		*h = (struct has){x->has, find_has(x), x->saturated};
	return h->of_op;
}

static uint8_t kind_of(const struct spe_record *x)
{
	if (x->op_class == SPE_CLASS_BRANCH)
		return ANA_OP_BRANCH;
	if (x->op_class == SPE_CLASS_MEMORY)
		return x->op_payload & 1 ? ANA_OP_STORE : ANA_OP_LOAD;
	return ANA_OP_OTHER;
}

static void set_addresses(struct trace_op *to, const struct spe_record *x)
{
	struct ana_op *op = &to->op;

	to->pc = spe_pc(x);
	op->target = spe_target(x);
	op->prev_target = spe_prev_target(x);
	op->va = spe_va(x);
	op->tag = spe_va_tag(x);
	op->pa = spe_pa(x);
	op->pat = spe_pa_pat(x);
	op->pa_security = (uint8_t)spe_pa_security(x);
	op->is_tag_checked = spe_pa_ch(x);
	op->level = spe_el_of(x->address[SPE_ADDRESS_PC]);
	op->security = (uint8_t)spe_security_of(x->address[SPE_ADDRESS_PC]);
	op->target_level = spe_el_of(x->address[SPE_ADDRESS_TARGET]);
}

static void set_others(struct ana_op *op, const struct spe_record *x)
{
	op->nr_other = x->nr_other;
	for (unsigned int i = 0; i < x->nr_other; i++) {
		op->other_index[i] = x->other_index[i];
		op->other[i] = x->other[i];
	}
}

/** @p has: of the operation. */
static void set_op(const struct reader *r, struct trace_op *to, const struct spe_record *x,
		   uint32_t has)
{
	struct ana_op *op = &to->op;

	*op = (struct ana_op){.has = has,
			      .kind = kind_of(x),
			      .op_class = x->op_class,
			      .op = x->op_payload,
			      .events_bits = (uint8_t)(8 * x->events_bytes),
			      .total = x->counter[SPE_COUNTER_TOTAL],
			      .issue = x->counter[SPE_COUNTER_ISSUE],
			      .xlat = x->counter[SPE_COUNTER_XLAT],
			      .events = x->events,
			      .source = x->source,
			      .context_el1 = x->context[0],
			      .context_el2 = x->context[1],
			      .ticks = x->timestamp,
			      .aux_offset = x->offset,
			      .aux_cpu = r->cpu};
	to->nr = 1;
	set_addresses(to, x);
	set_others(op, x);
	spe_set_data_src(r->config, op);
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
		return trace_warn_on(&r->sink.listener, r->cpu, damages[x->damage % NR_SPE_DAMAGES],
				     0, x->offset);
	}
	if (x->outcome == SPE_CUT) {
		r->counts.nr_cut++;
		return trace_warn_on(&r->sink.listener, r->cpu, "an SPE record is cut off", 0,
				     x->offset);
	}
	r->counts.nr_skipped_bytes += x->bytes;
	return trace_warn_on(&r->sink.listener, r->cpu, "bytes that are no SPE record", 0,
			     x->offset);
}

/* --- folded --- */

/** Emit what was counted. */
static enum clew_err unfold(struct reader *r, bool forgets)
{
	struct spe_fold *f = r->fold;
	enum clew_err err = CLEW_OK;

	for (uint32_t i = 0; !err && i < f->nr; i++) {
		set_op(r, &r->ops[r->nr], &f->all[i].first, find_has(&f->all[i].first));
		r->ops[r->nr++].nr = f->all[i].nr;
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

	set_op(r, &op, x, find_has(x));
	enter(r);
	spe_fold_begin(f, s, r->sink.stay(r->sink.ctx, &op));
	leave(r);
	return s;
}

/** @return its index. */
static uint32_t fold_record(struct reader *r, struct spe_fold *f, const struct spe_record *x,
			    const struct spe_stay **ret)
{
	struct spe_stay *fresh;
	const struct spe_stay *s = spe_fold_stay(f, x, &fresh);

	*ret = s ? s : new_stay(r, f, x, fresh);
	return spe_fold_add(f, x, (*ret)->number, 1);
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

static enum clew_err make_room(struct reader *r)
{
	return spe_fold_is_full(r->fold) ? unfold(r, false) : CLEW_OK;
}

static enum clew_err fold(struct reader *r, const struct spe_record *x)
{
	enum clew_err err = make_room(r);

	if (!err)
		fold_in(r, r->fold, x);
	return err;
}

/* --- pieces --- */

static enum clew_err take_item(struct reader *r, const struct spe_record *x)
{
	enum clew_err err;

	if (x->outcome != SPE_COMPLETE) {
		enter(r);
		err = warn(r, x);
		leave(r);
		return err;
	}
	r->counts.nr_records++;
	if (r->fold)
		return fold(r, x);
	set_op(r, &r->ops[r->nr++], x, has_of(r, x));
	return CLEW_OK;
}

static enum clew_err take(struct reader *r)
{
	enum clew_err err = CLEW_OK;
	size_t nr;

	while (!err && (nr = spe_reader_take(r->records, r->items, BATCH)) != 0) {
		for (size_t i = 0; !err && i < nr; i++)
			err = take_item(r, &r->items[i]);
		if (!err)
			err = deliver(r);
	}
	r->counts.nr_padding_bytes = r->records->counts.padding_bytes;
	return err;
}

static enum clew_err restart(void *reader)
{
	struct reader *r = reader;
	enum clew_err err;

	if (!r->has_begun)
		return CLEW_OK;
	r->has_begun = false;
	spe_reader_end(r->records);
	err = take(r);
	if (r->half)
		spe_fold_clear(&r->half->fold, true);
	return err || !r->fold ? err : unfold(r, true);
}

static enum clew_err feed_part(struct reader *r, struct bytes in)
{
	spe_reader_feed(r->records, in.pos, bytes_left(&in));
	return take(r);
}

/* --- two halves --- */

static void read_half(void *ctx)
{
	struct half *h = ctx;
	size_t nr;

	while ((nr = spe_reader_take(h->records, h->items, BATCH)) != 0) {
		for (size_t i = 0; i < nr; i++) {
			if (h->items[i].outcome != SPE_COMPLETE || spe_fold_is_full(&h->fold))
				return;
			fold_in(h->owner, &h->fold, &h->items[i]);
		}
		h->nr_records += nr;
	}
	h->is_clean = true;
}

/** Continue from where the reader of @p h stopped. */
static enum clew_err join(struct reader *r, struct half *h)
{
	struct spe_reader *before = r->records;
	enum clew_err err = CLEW_OK;

	h->records->counts.padding_bytes += before->counts.padding_bytes;
	r->records = h->records;
	h->records = before;
	r->counts.nr_records += h->nr_records;
	r->counts.nr_padding_bytes = r->records->counts.padding_bytes;
	for (uint32_t i = 0; !err && i < h->fold.nr; i++) {
		const struct spe_folded *x = &h->fold.all[i];

		err = make_room(r);
		if (!err)
			spe_fold_add(r->fold, &x->first, x->stay, x->nr);
	}
	return err;
}

static struct os_thread *start_half(struct half *h, struct bytes in, uint64_t offset)
{
	h->is_clean = false;
	h->nr_records = 0;
	h->records->counts.padding_bytes = 0;
	spe_reader_start(h->records, offset, SPE_AT_RECORD);
	spe_reader_feed(h->records, in.pos, bytes_left(&in));
	return os_thread_start(read_half, h);
}

static enum clew_err feed_halves(struct reader *r, struct bytes in, uint64_t offset, size_t cut)
{
	const struct bytes second = bytes_of(in.pos + cut, bytes_left(&in) - cut);
	struct half *h = r->half;
	struct os_thread *thread = start_half(h, second, offset + cut);
	enum clew_err err = feed_part(r, bytes_of(in.pos, cut));

	os_thread_join(thread);
	if (!err && thread && h->is_clean && spe_reader_joins(r->records, h->records)) {
		err = join(r, h);
	} else if (!err) {
		h->nr_useless++;
		err = feed_part(r, second);
	}
	spe_fold_clear(&h->fold, false);
	return err;
}

static bool has_halves(const struct reader *r, const struct bytes *in)
{
	return r->half && r->half->nr_useless < MAX_USELESS && bytes_left(in) >= 2 * HALF_BYTES;
}

static enum clew_err feed(void *reader, struct bytes in, uint64_t offset)
{
	struct reader *r = reader;
	size_t nr = bytes_left(&in), cut = nr;

	if (!r->has_begun)
		spe_reader_start(r->records, offset, SPE_AT_RECORD);
	r->has_begun = true;
	r->counts.nr_bytes += nr;
	if (has_halves(r, &in))
		cut = spe_cut(in.pos, nr, offset, nr / 2);
	return cut < nr ? feed_halves(r, in, offset, cut) : feed_part(r, in);
}

static const struct trace_ops_counts *counts(const void *reader)
{
	return &((const struct reader *)reader)->counts;
}

static const struct trace_ops_reader_type ops = {.reader_new = reader_new,
						 .reader_free = reader_free,
						 .feed = feed,
						 .restart = restart,
						 .counts = counts};

const struct trace_decoder spe_decoder = {.ops = &ops};
