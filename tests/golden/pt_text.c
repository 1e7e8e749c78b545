/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "golden/pt_text.h"

#include <inttypes.h>

typedef unsigned long long ull;

static const char *mode_of(uint8_t isa)
{
	return isa == ISA_X86_64 ? "64" : isa == ISA_X86_32 ? "32" : "16";
}

static void put_block(struct buf *to, const struct flow_block *b, bool is_taken)
{
	bool is_branch = b->kind != INSN_SPECIAL && b->kind != INSN_TSTART;

	buf_printf(to, "%llx-%llx %s%s\n", (ull)b->start, (ull)(b->start + b->bytes),
		   mode_of(b->isa),
		   !is_branch ? ""
		   : is_taken ? " T"
			      : " N");
}

static void put_context(struct buf *to, const struct code_x86_context *c)
{
	buf_printf(to, "CONTEXT %u bits%s", c->bits, c->is_kernel ? ", kernel" : "");
	if (c->has_cr3)
		buf_printf(to, ", cr3 %llx%s", (ull)c->cr3, c->is_guest ? " of a guest" : "");
	if (c->has_vmcs)
		buf_printf(to, ", vmcs %llx", (ull)c->vmcs);
	buf_char(to, '\n');
}

/* --- notes --- */

static void put_power(struct buf *to, const struct flow_event *e)
{
	uint64_t v = e->value;

	if (e->number == FLOW_NOTE_MWAIT)
		buf_printf(to, "MWAIT hints %llx extensions %x", (ull)v, e->count);
	else if (e->number == FLOW_NOTE_PWRE)
		buf_printf(to, "PWRE state %llu sub-state %llu%s", (ull)(v >> 4 & 15),
			   (ull)(v & 15), v >> 15 ? " hw" : "");
	else if (e->number == FLOW_NOTE_PWRX)
		buf_printf(to, "PWRX deepest %llu last %llu reason %llx", (ull)(v & 15),
			   (ull)(v >> 4 & 15), (ull)(v >> 8));
	else
		buf_printf(to, "EXSTOP");
}

static void put_interrupts(struct buf *to, const struct flow_event *e)
{
	static const char *const how[] = {[FLOW_IF_HERE] = "",
					  [FLOW_IF_BRANCH] = " with the branch that follows",
					  [FLOW_IF_STATUS] = " as it was"};

	buf_printf(to, "IF %llu%s", (ull)e->value, how[e->count]);
}

static void put_pebs_item(struct buf *to, const struct flow_event *e)
{
	buf_printf(to, "PEBS block %u item %u: %llx", e->count >> 8, e->count & 0xff,
		   (ull)e->value);
}

static void put_point(struct buf *to, const struct flow_event *e)
{
	static const char *const how[] = {[FLOW_POINT_HERE] = "",
					  [FLOW_POINT_INTERRUPT] = " interrupted",
					  [FLOW_POINT_ABORT] = " aborted",
					  [FLOW_POINT_END] = " the end"};

	buf_printf(to, "POINT%s", how[e->count]);
}

/** Where the note itself is, or else where execution is known to be. */
static void put_place(struct buf *to, const struct flow_event *e)
{
	if (e->number == FLOW_NOTE_PEBS_ITEM)
		return;
	if (e->has_end)
		buf_printf(to, " at %llx", (ull)e->end);
	else if (e->is_target)
		buf_printf(to, " after %llx", (ull)e->address);
}

static void put_note(struct buf *to, const struct flow_event *e)
{
	switch ((enum flow_note)e->number) {
	case FLOW_NOTE_PSB:
		buf_printf(to, "PSB %llu", (ull)e->value);
		break;
	case FLOW_NOTE_CBR:
		buf_printf(to, "CBR %llu%s", (ull)e->value, e->count ? " of PSB+" : "");
		break;
	case FLOW_NOTE_PTWRITE:
		buf_printf(to, "PTWRITE %llx%s", (ull)e->value, e->has_count ? " by FUP" : "");
		break;
	case FLOW_NOTE_MWAIT:
	case FLOW_NOTE_PWRE:
	case FLOW_NOTE_PWRX:
	case FLOW_NOTE_EXSTOP:
		put_power(to, e);
		break;
	case FLOW_NOTE_EVD:
		buf_printf(to, "EVD type %u: %llx", e->count, (ull)e->value);
		break;
	case FLOW_NOTE_CFE:
		buf_printf(to, "CFE type %u vector %llu", e->count, (ull)e->value);
		break;
	case FLOW_NOTE_IF:
		put_interrupts(to, e);
		break;
	case FLOW_NOTE_PEBS_ITEM:
		put_pebs_item(to, e);
		break;
	case FLOW_NOTE_PEBS:
		buf_printf(to, "PEBS record");
		break;
	case FLOW_NOTE_POINT:
		put_point(to, e);
		break;
	case NR_FLOW_NOTES:
		break;
	}
	put_place(to, e);
	buf_char(to, '\n');
}

/* --- other events --- */

static void put_no_sync(struct buf *to, const struct flow_event *e)
{
	buf_printf(to, "NO_SYNC %s%s%s", flow_no_sync_text((enum flow_no_sync)e->reason),
		   e->what ? ": " : "", e->what ? e->what : "");
	if (e->is_target)
		buf_printf(to, ", at %llx", (ull)e->address);
	buf_char(to, '\n');
}

static void put_off(struct buf *to, const struct flow_event *e)
{
	buf_printf(to, "TRACE_OFF");
	if (e->cause == FLOW_CAUSE_ASYNC)
		buf_printf(to, " at %llx%s", (ull)e->end, e->has_end ? "" : ", unreached");
	if (e->is_target)
		buf_printf(to, " to %llx", (ull)e->address);
	buf_char(to, '\n');
}

static void put_exception(struct buf *to, const struct flow_event *e)
{
	buf_printf(to, "EXCEPTION at %llx%s\n", (ull)e->address, e->has_end ? "" : ", unreached");
}

static void put_event(struct buf *to, const struct flow_event *e)
{
	static const char *const transactions[] = {"open", "start", "commit", "abort"};

	switch ((unsigned int)e->kind) {
	case FLOW_EV_NO_SYNC:
		put_no_sync(to, e);
		break;
	case FLOW_EV_TRACE_ON:
		buf_printf(to, "TRACE_ON %llx%s\n", (ull)e->address,
			   e->is_overflow ? " after overflow" : "");
		break;
	case FLOW_EV_TRACE_OFF:
		put_off(to, e);
		break;
	case FLOW_EV_CONTEXT:
		put_context(to, &e->context.x86);
		break;
	case FLOW_EV_RANGE:
		buf_printf(to, "%llx-%llx %s\n", (ull)e->address, (ull)e->end, mode_of(e->isa));
		break;
	case FLOW_EV_NACC:
		buf_printf(to, "NACC %llx\n", (ull)e->address);
		break;
	case FLOW_EV_EXCEPTION:
		put_exception(to, e);
		break;
	case FLOW_EV_TIMESTAMP:
		buf_printf(to, "TIMESTAMP %llu\n", (ull)e->ticks.ticks);
		break;
	case FLOW_EV_TRANSACTION:
		buf_printf(to, "TRANSACTION %s\n", transactions[e->number & 3]);
		break;
	case FLOW_EV_DROPPED:
		buf_printf(to, "DROPPED %llu\n", (ull)e->value);
		break;
	case FLOW_EV_END:
		buf_printf(to, "END\n");
		break;
	case FLOW_EV_NOTE:
		put_note(to, e);
		break;
	default:
		buf_printf(to, "event %u\n", e->kind);
		break;
	}
}

enum clew_err pt_text_batch(void *ctx, const struct flow_batch *b)
{
	for (size_t i = 0; i < b->nr; i++) {
		uint32_t item = b->items[i];

		if (item & FLOW_ITEM_EVENT)
			put_event(ctx, &b->events[item & ~(uint32_t)FLOW_ITEM_EVENT]);
		else
			put_block(ctx, &b->blocks[item >> 1], item & 1);
	}
	return CLEW_OK;
}
