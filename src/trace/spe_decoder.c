/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/spe_decoder.h"

#include "base/mem.h"
#include "packet/spe/spe_record.h"
#include "trace/spe_fold.h"

/* Records of packet/spe as operations of the pipeline. */

_Static_assert((int)SPE_SECURE == (int)CODE_SECURE && (int)SPE_NON_SECURE == (int)CODE_NONSECURE &&
		       (int)SPE_ROOT == (int)CODE_ROOT && (int)SPE_REALM == (int)CODE_REALM,
	       "security states are numbered alike");

enum { BATCH = 256 };

struct reader {
	const struct spe_config *config;
	uint32_t cpu;
	struct trace_ops_sink sink;
	struct spe_reader records;
	struct trace_ops_counts counts;
	bool has_begun;
	size_t nr;
	struct spe_record items[BATCH];
	struct trace_op ops[BATCH];
	struct spe_fold *fold; /* NULL: none */
};

static void *reader_new(const struct trace_unit *unit, const struct trace_ops_sink *sink)
{
	struct reader *r = mem_zalloc(sizeof(*r));

	if (r && sink->fold != TRACE_OPS_EACH)
		r->fold = mem_zalloc(sizeof(*r->fold));
	if (!r || (sink->fold != TRACE_OPS_EACH && !r->fold)) {
		mem_free(r);
		return NULL;
	}
	if (r->fold)
		r->fold->by = sink->fold;
	r->config = unit->config;
	r->cpu = unit->cpu;
	r->sink = *sink;
	spe_reader_init(&r->records, 0);
	return r;
}

static void reader_free(void *reader)
{
	struct reader *r = reader;

	if (r)
		mem_free(r->fold);
	mem_free(r);
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

static uint32_t has_of(const struct spe_record *x)
{
	uint32_t has = 0;

	for (size_t i = 0; i < sizeof(haves) / sizeof(*haves); i++)
		has |= x->has & haves[i].of_record ? haves[i].of_op : 0;
	has |= x->saturated >> SPE_COUNTER_TOTAL & 1 ? ANA_OP_TOTAL_IS_MIN : 0;
	has |= x->saturated >> SPE_COUNTER_ISSUE & 1 ? ANA_OP_ISSUE_IS_MIN : 0;
	has |= x->saturated >> SPE_COUNTER_XLAT & 1 ? ANA_OP_XLAT_IS_MIN : 0;
	return has;
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

static void set_op(const struct reader *r, struct trace_op *to, const struct spe_record *x)
{
	struct ana_op *op = &to->op;

	*op = (struct ana_op){.has = has_of(x),
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
	spe_set_data_src(r->config, op);
}

static enum clew_err deliver(struct reader *r)
{
	size_t nr = r->nr;

	r->nr = 0;
	return nr ? r->sink.ops(r->sink.ctx, r->ops, nr) : CLEW_OK;
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

/* --- folded --- */

/** Give what was counted. */
static enum clew_err unfold(struct reader *r, bool forgets)
{
	struct spe_fold *f = r->fold;
	enum clew_err err = CLEW_OK;

	for (uint32_t i = 0; !err && i < f->nr; i++) {
		set_op(r, &r->ops[r->nr], &f->all[i].first);
		r->ops[r->nr++].nr = f->all[i].nr;
		if (r->nr == BATCH)
			err = deliver(r);
	}
	spe_fold_clear(f, forgets);
	return err ? err : deliver(r);
}

static const struct spe_stay *new_stay(struct reader *r, const struct spe_record *x,
				       struct spe_stay *s)
{
	struct trace_op op;

	set_op(r, &op, x);
	spe_fold_begin(r->fold, s, r->sink.stay(r->sink.ctx, &op));
	return s;
}

static enum clew_err fold(struct reader *r, const struct spe_record *x)
{
	struct spe_stay *fresh;
	const struct spe_stay *s;

	if (spe_fold_is_full(r->fold)) {
		enum clew_err err = unfold(r, false);

		if (err)
			return err;
	}
	s = spe_fold_stay(r->fold, x, &fresh);
	spe_fold_add(r->fold, x, s ? s : new_stay(r, x, fresh));
	return CLEW_OK;
}

/* --- pieces --- */

static enum clew_err take_item(struct reader *r, const struct spe_record *x)
{
	if (x->outcome != SPE_COMPLETE)
		return warn(r, x);
	r->counts.nr_records++;
	if (r->fold)
		return fold(r, x);
	set_op(r, &r->ops[r->nr++], x);
	return CLEW_OK;
}

static enum clew_err take(struct reader *r)
{
	enum clew_err err = CLEW_OK;
	size_t nr;

	while (!err && (nr = spe_reader_take(&r->records, r->items, BATCH)) != 0) {
		for (size_t i = 0; !err && i < nr; i++)
			err = take_item(r, &r->items[i]);
		if (!err)
			err = deliver(r);
	}
	r->counts.nr_padding_bytes = r->records.counts.padding_bytes;
	return err;
}

static enum clew_err restart(void *reader)
{
	struct reader *r = reader;
	enum clew_err err;

	if (!r->has_begun)
		return CLEW_OK;
	r->has_begun = false;
	spe_reader_end(&r->records);
	err = take(r);
	return err || !r->fold ? err : unfold(r, true);
}

static enum clew_err feed(void *reader, struct bytes in, uint64_t offset)
{
	struct reader *r = reader;

	if (!r->has_begun)
		spe_reader_start(&r->records, offset, SPE_AT_RECORD);
	r->has_begun = true;
	r->counts.nr_bytes += bytes_left(&in);
	spe_reader_feed(&r->records, in.pos, bytes_left(&in));
	return take(r);
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
