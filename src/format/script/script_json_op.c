/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_json_op.h"

#include <stdio.h>

static const char *security_name(uint8_t security)
{
	static const char *const names[] = {[ARM_SECURE] = "secure",
					    [ARM_NONSECURE] = "non-secure",
					    [ARM_ROOT] = "root",
					    [ARM_REALM] = "realm"};

	return names[security & 3];
}

static void put_kind(struct json_put *p, const struct ana_op *op)
{
	static const char *const names[ANA_NR_OPS] = {"other", "load", "store", "branch"};

	if (!(op->has & ANA_OP_HAS_KIND))
		return;
	json_put_string(p, "kind", op->kind < ANA_NR_OPS ? names[op->kind] : "other");
	json_put_u64(p, "class", op->op_class);
	json_put_u64(p, "operation", op->op);
}

static void put_levels(struct json_put *p, const struct ana_op *op)
{
	if (op->has & ANA_OP_HAS_PC) {
		json_put_u64(p, "level", op->level);
		json_put_string(p, "security", security_name(op->security));
	}
	if (op->has & ANA_OP_HAS_TARGET) {
		json_put_hex(p, "target", op->target);
		json_put_u64(p, "target_level", op->target_level);
	}
	if (op->has & ANA_OP_HAS_PREV_TARGET)
		json_put_hex(p, "prev_target", op->prev_target);
}

static void put_memory(struct json_put *p, const struct ana_op *op)
{
	if (op->has & ANA_OP_HAS_VA) {
		json_put_hex(p, "va", op->va);
		json_put_u64(p, "tag", op->tag);
	}
	if (op->has & ANA_OP_HAS_PA) {
		json_put_hex(p, "pa", op->pa);
		json_put_string(p, "pa_security", security_name(op->pa_security));
		json_put_u64(p, "pat", op->pat);
		json_put_bool(p, "tag_checked", op->is_tag_checked);
	}
	if (op->data_src)
		json_put_hex(p, "data_src", op->data_src);
	if (!(op->has & ANA_OP_HAS_SOURCE))
		return;
	json_put_u64(p, "source", op->source);
	if (op->source_name)
		json_put_string(p, "source_name", op->source_name);
}

static void put_latencies(struct json_put *p, const struct ana_op *op)
{
	const struct {
		const char *name, *saturated;
		uint32_t has, is_min;
		uint16_t value;
	} all[] = {
		{"total", "total_is_min", ANA_OP_HAS_TOTAL, ANA_OP_TOTAL_IS_MIN, op->total},
		{"issue", "issue_is_min", ANA_OP_HAS_ISSUE, ANA_OP_ISSUE_IS_MIN, op->issue},
		{"xlat",  "xlat_is_min",  ANA_OP_HAS_XLAT,  ANA_OP_XLAT_IS_MIN,  op->xlat },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (!(op->has & all[i].has))
			continue;
		json_put_u64(p, all[i].name, all[i].value);
		if (!(op->has & all[i].is_min))
			continue;
		json_put_bool(p, all[i].saturated, true);
	}
}

/* By index, as nothing is known of their meaning. */
static void put_others(struct json_put *p, const struct ana_op *op, bool are_addresses)
{
	bool has_any = false;

	for (unsigned int i = 0; i < op->nr_other; i++) {
		uint8_t index = op->other_index[i] & (ANA_OP_OTHER_IS_ADDRESS - 1);
		char name[4];

		if (!!(op->other_index[i] & ANA_OP_OTHER_IS_ADDRESS) != are_addresses)
			continue;
		if (!has_any) {
			json_key(p, are_addresses ? "other_addresses" : "other_counters");
			json_open(p, '{');
		}
		has_any = true;
		snprintf(name, sizeof(name), "%u", index);
		if (are_addresses)
			json_put_hex(p, name, op->other[i]);
		else
			json_put_u64(p, name, op->other[i]);
	}
	if (has_any)
		json_close(p, '}');
}

void script_json_op(struct json_put *p, const struct ana_op *op)
{
	json_put_u64(p, "aux_offset", op->aux_offset);
	if (op->aux_cpu != UINT32_MAX)
		json_put_u64(p, "aux_cpu", op->aux_cpu);
	json_key(p, "op");
	json_open(p, '{');
	put_kind(p, op);
	put_levels(p, op);
	put_memory(p, op);
	put_latencies(p, op);
	put_others(p, op, false);
	put_others(p, op, true);
	if (op->has & ANA_OP_HAS_EVENTS) {
		json_put_hex(p, "events", op->events);
		json_put_u64(p, "events_bits", op->events_bits);
	}
	if (op->has & ANA_OP_HAS_CONTEXT_EL1)
		json_put_u64(p, "context_el1", op->context_el1);
	if (op->has & ANA_OP_HAS_CONTEXT_EL2)
		json_put_u64(p, "context_el2", op->context_el2);
	if (op->has & ANA_OP_HAS_TIME)
		json_put_hex(p, "ticks", op->ticks);
	json_close(p, '}');
}
