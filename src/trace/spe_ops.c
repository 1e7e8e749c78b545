/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/spe_ops.h"

#include "packet/spe/spe_record.h"
#include "trace/spe_decoder.h"

_Static_assert((int)SPE_NR_OTHER == (int)ANA_OP_NR_OTHER &&
		       (int)SPE_OTHER_IS_ADDRESS == (int)ANA_OP_OTHER_IS_ADDRESS,
	       "reserved packets are kept alike");

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

uint32_t spe_op_has(const struct spe_record *x)
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

static void set_others(struct ana_op *op, const struct spe_record *x)
{
	op->nr_other = x->nr_other;
	for (unsigned int i = 0; i < x->nr_other; i++) {
		op->other_index[i] = x->other_index[i];
		op->other[i] = x->other[i];
	}
}

void spe_set_op(const struct spe_of_unit *u, const struct spe_record *x, uint32_t has,
		struct trace_op *to)
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
			      .aux_cpu = u->cpu};
	to->nr = 1;
	set_addresses(to, x);
	set_others(op, x);
	spe_set_data_src(u->config, op);
}
