/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prop/etm_log.h"

#include "base/hash.h"

bool etm_log_is_equal(const struct etm_log_entry *a, const struct etm_log_entry *b)
{
	return a->kind == b->kind && a->isa == b->isa && a->el == b->el && a->mark == b->mark &&
	       a->number == b->number && a->address == b->address && a->value == b->value;
}

bool etm_log_is_note(const struct etm_log_entry *e)
{
	return e->kind == FLOW_EV_TIMESTAMP || e->kind == FLOW_EV_CYCLES ||
	       e->kind == FLOW_EV_EVENT || e->kind == FLOW_EV_TS_MARKER ||
	       e->kind == FLOW_EV_INSTRUMENTATION;
}

bool etm_log_put(struct etm_log *l, const struct etm_log_entry *e)
{
	uint64_t what = (uint64_t)e->kind | (uint64_t)e->isa << 8 | (uint64_t)e->el << 16 |
			(uint64_t)e->mark << 24 | (uint64_t)e->number << 32;

	l->nr_entries++;
	l->nr_insns += e->kind == ETM_LOG_INSN;
	l->digest = hash_two(l->digest ^ hash_two(what, e->address), e->value);
	return !l->entry || l->entry(l->ctx, e);
}

static bool is_wide(const struct etm_log *l, uint32_t space, uint64_t address)
{
	struct code_region r;

	return l->code->find(l->code->ctx, space, address, &r) && r.end - address >= 2 &&
	       (r.bytes[address - r.start + 1] & 0xf8) >= 0xe8;
}

/** Straight run [from, to), ending in a waypoint with @p mark. */
static bool put_run(struct etm_log *l, const struct etm_log_entry *run, uint64_t to,
		    uint32_t nr_insns)
{
	struct etm_log_entry e = *run;
	uint32_t nr = 0;

	if (l->by_block) {
		e.value = to;
		return etm_log_put(l, &e);
	}
	while (e.address != to && nr <= nr_insns) {
		uint64_t bytes = e.isa != ISA_T32 || is_wide(l, e.number, e.address) ? 4 : 2;

		e.mark = e.address + bytes == to && !l->drops_marks ? run->mark : 0;
		if (!etm_log_put(l, &e))
			return false;
		e.address += bytes;
		nr++;
	}
	l->nr_wrong_counts += nr != nr_insns;
	return true;
}

static bool put_block(struct etm_log *l, const struct flow_block *b, bool is_e)
{
	struct etm_log_entry e = {.kind = ETM_LOG_INSN,
				  .isa = b->isa,
				  .el = l->el,
				  .mark = is_e ? 'E' : 'N',
				  .number = b->space,
				  .address = b->start};

	return put_run(l, &e, b->start + b->bytes, b->nr_insns);
}

static uint64_t context_value(const struct code_arm_context *c)
{
	return (uint64_t)c->cid | (uint64_t)c->vmid << 32;
}

static bool put_event(struct etm_log *l, const struct flow_event *e)
{
	struct etm_log_entry n = {.kind = e->kind, .number = e->number};

	switch ((enum flow_event_kind)e->kind) {
	case FLOW_EV_RANGE:
		n.kind = ETM_LOG_INSN;
		n.isa = e->isa;
		n.el = e->el;
		n.number = e->space;
		n.address = e->address;
		return put_run(l, &n, e->end, e->count);
	case FLOW_EV_CONTEXT:
		if (e->context.arch == CODE_X86) {
			n.el = code_context_el(&e->context);
			n.isa = e->context.x86.bits;
			n.number = e->space;
			n.address = e->context.x86.vmcs;
			n.value = e->context.x86.cr3 | e->context.x86.is_guest;
			break;
		}
		l->el = e->context.arm.el;
		n.el = e->context.arm.el;
		n.isa = (uint8_t)(e->context.arm.security | e->context.arm.is_64 << 2 |
				  e->context.arm.has_cid << 3 | e->context.arm.has_vmid << 4);
		n.number = e->space;
		n.value = context_value(&e->context.arm);
		break;
	case FLOW_EV_NO_SYNC:
		n.number = e->reason;
		break;
	case FLOW_EV_TRACE_ON:
		n.number = e->is_overflow;
		n.address = e->address;
		break;
	case FLOW_EV_NOTE:
		n.number = e->number | e->count << 8;
		n.address = e->has_end ? e->end : 0;
		n.value = e->value;
		break;
	case FLOW_EV_TRACE_OFF:
		n.number = e->cause;
		n.address = e->address;
		n.value = e->end;
		break;
	case FLOW_EV_NO_PATH:
		n.number = e->has_count ? e->count : 0;
		n.address = e->address;
		n.value = e->end;
		break;
	case FLOW_EV_NO_TARGET:
		n.value = e->end;
		break;
	case FLOW_EV_NACC:
	case FLOW_EV_EXCEPTION:
		n.address = e->address;
		break;
	case FLOW_EV_CYCLES:
		n.number = e->has_count ? e->count : UINT32_MAX;
		break;
	case FLOW_EV_INSTRUMENTATION:
		n.el = e->el;
		n.value = e->value;
		break;
	case FLOW_EV_TIMESTAMP:
	case FLOW_EV_BOUND:
	case FLOW_EV_DROPPED:
		n.value = e->value;
		break;
	case FLOW_EV_EVENT:
	case FLOW_EV_SWITCH:
	case FLOW_EV_TS_MARKER:
	case FLOW_EV_EXCEPTION_RET:
	case FLOW_EV_FUNCTION_RET:
	case FLOW_EV_PE_RESET:
	case FLOW_EV_TRANSACTION:
	case FLOW_EV_UNSUPPORTED:
	case FLOW_EV_END:
	case NR_FLOW_EVENTS:
		break;
	}
	return etm_log_put(l, &n);
}

enum clew_err etm_log_batch(void *ctx, const struct flow_batch *b)
{
	struct etm_log *l = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		uint32_t item = b->items[i];
		bool ok = item & FLOW_ITEM_EVENT
				? put_event(l, &b->events[item & ~(uint32_t)FLOW_ITEM_EVENT])
				: put_block(l, &b->blocks[item >> 1], item & 1);

		if (!ok)
			return CLEW_INVALID;
	}
	return CLEW_OK;
}

enum clew_err etm_log_decode(struct flow *f, struct bytes in, size_t piece)
{
	enum clew_err err = CLEW_OK;
	struct bytes next;

	while (bytes_left(&in) && !err) {
		size_t left = bytes_left(&in);

		bytes_take(&in, piece && piece < left ? piece : left, &next);
		err = flow_feed(f, next);
	}
	return err ? err : flow_finish(f);
}
