/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/etm_ranges_text.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "format/json_put.h"

/* clang-format off */
static const char *const words[NR_FLOW_EVENTS] = {
	[FLOW_EV_NO_SYNC] = "no_sync",
	[FLOW_EV_TRACE_ON] = "trace_on",
	[FLOW_EV_CONTEXT] = "context",
	[FLOW_EV_NO_PATH] = "i_range_nopath",
	[FLOW_EV_NACC] = "addr_nacc",
	[FLOW_EV_NO_TARGET] = "no_target",
	[FLOW_EV_DROPPED] = "atoms_dropped",
	[FLOW_EV_EXCEPTION] = "exception",
	[FLOW_EV_EXCEPTION_RET] = "exception_ret",
	[FLOW_EV_FUNCTION_RET] = "function_ret",
	[FLOW_EV_PE_RESET] = "pe_reset",
	[FLOW_EV_TIMESTAMP] = "timestamp",
	[FLOW_EV_CYCLES] = "cycle_count",
	[FLOW_EV_EVENT] = "event",
	[FLOW_EV_TS_MARKER] = "sync_marker",
	[FLOW_EV_INSTRUMENTATION] = "instrumentation",
	[FLOW_EV_TRANSACTION] = "memtrans",
	[FLOW_EV_UNSUPPORTED] = "unsupported",
	[FLOW_EV_END] = "eo_trace",
};

/* OpenCSD's names and numbers of address spaces. */
static const struct { uint8_t number; const char *name; } memory[4][4] = {
	[CODE_SECURE] = {{0x01, "EL1S"}, {0x01, "EL1S"}, {0x10, "EL2S"}, {0x08, "EL3"}},
	[CODE_NONSECURE] = {{0x02, "EL1N"}, {0x02, "EL1N"}, {0x04, "EL2N"}, {0x08, "EL3"}},
	[CODE_ROOT] = {{0x80, "Root"}, {0x80, "Root"}, {0x80, "Root"}, {0x80, "Root"}},
	[CODE_REALM] = {{0x20, "EL1R"}, {0x20, "EL1R"}, {0x40, "EL2R"}, {0x80, "Root"}},
};
/* clang-format on */

const char *etm_event_word(enum flow_event_kind kind)
{
	return words[kind];
}

static const char *isa_word(uint8_t isa)
{
	return isa == ISA_A64 ? "A64" : isa == ISA_A32 ? "A32" : "T32";
}

/* "R" is for realm. */
static const char *security_word(uint8_t security)
{
	static const char *const names[] = {
		[CODE_SECURE] = "S",
		[CODE_NONSECURE] = "N",
		[CODE_ROOT] = "root",
		[CODE_REALM] = "R",
	};

	return names[security & 3];
}

/* --- ranges --- */

static void put_id(const struct etm_ranges_text *t, struct buf *out, const char *end)
{
	if (t->is_json)
		buf_str(out, "{\"id\":\"0x");
	buf_hex(out, t->unit->id, 0, '0');
	buf_str(out, t->is_json ? "\"" : end);
}

static void put_range(const struct etm_ranges_text *t, struct buf *out, uint64_t start,
		      uint64_t end, uint8_t isa)
{
	put_id(t, out, " ");
	buf_str(out, t->is_json ? ",\"start\":\"0x" : "");
	buf_hex(out, start, 0, '0');
	buf_str(out, t->is_json ? "\",\"end\":\"0x" : " ");
	buf_hex(out, end, 0, '0');
	buf_str(out, t->is_json ? "\",\"isa\":\"" : " ");
	buf_str(out, isa_word(isa));
}

static void json_arm(const struct etm_ranges_text *t, struct json_put *j)
{
	const struct code_arm_context *c = &t->pe.arm;

	if (t->has_context) {
		json_put_u64(j, "el", c->el);
		json_put_string(j, "security", security_word(c->security));
	}
	if (c->has_cid)
		json_put_u64(j, "cid", c->cid);
	if (c->has_vmid)
		json_put_u64(j, "vmid", c->vmid);
}

static void json_x86(const struct code_x86_context *c, struct json_put *j)
{
	if (c->has_cr3)
		json_put_hex(j, "cr3", c->cr3);
	if (c->has_vmcs)
		json_put_hex(j, "vmcs", c->vmcs);
	json_put_u64(j, "guest", c->is_guest);
}

/** After a range: " EL SEC CTXID VMID". */
static void text_arm(const struct etm_ranges_text *t, struct buf *out)
{
	const struct code_arm_context *c = &t->pe.arm;

	if (t->has_context)
		buf_printf(out, "%u %s", c->el, security_word(c->security));
	else
		buf_str(out, "- -");
	if (c->has_cid)
		buf_printf(out, " 0x%x", c->cid);
	else
		buf_str(out, " -");
	if (c->has_vmid)
		buf_printf(out, " 0x%x", c->vmid);
	else
		buf_str(out, " -");
}

static void text_x86(const struct code_x86_context *c, struct buf *out)
{
	if (c->has_cr3)
		buf_printf(out, "cr3=0x%" PRIx64, c->cr3);
	else
		buf_str(out, "cr3=-");
	if (c->has_vmcs)
		buf_printf(out, " vmcs=0x%" PRIx64, c->vmcs);
	buf_str(out, c->is_guest ? " guest" : " root");
}

/** What stands after each range. */
static void make_context(struct etm_ranges_text *t)
{
	struct json_put j = {.out = &t->context, .needs_comma = true};
	bool is_arm = t->pe.arch == CODE_ARM;

	buf_clear(&t->context);
	buf_char(&t->context, t->is_json ? '"' : ' ');
	if (t->is_json && is_arm)
		json_arm(t, &j);
	else if (t->is_json)
		json_x86(&t->pe.x86, &j);
	else if (is_arm)
		text_arm(t, &t->context);
	else
		text_x86(&t->pe.x86, &t->context);
	buf_str(&t->context, t->is_json ? "}\n" : "\n");
}

static void put_block(struct etm_ranges_text *t, const struct flow_batch *b, uint32_t nr)
{
	const struct flow_block *block = &b->blocks[nr];
	size_t from = t->out.nr;

	if (!etm_memo_copy(&t->memo, nr, &t->out)) {
		put_range(t, &t->out, block->start, block->start + block->bytes, block->isa);
		if (!t->out.is_failed)
			etm_memo_put(&t->memo, nr, t->out.data + from, t->out.nr - from);
	}
	buf_add(&t->out, t->context.data, t->context.nr);
}

/* --- events --- */

static void put_arm(struct buf *out, const struct code_arm_context *c)
{
	buf_printf(out, "el=%u sec=%s ctxid=", c->el, security_word(c->security));
	if (c->has_cid)
		buf_printf(out, "0x%x", c->cid);
	else
		buf_char(out, '-');
	buf_str(out, " vmid=");
	if (c->has_vmid)
		buf_printf(out, "0x%x", c->vmid);
	else
		buf_char(out, '-');
	buf_str(out, c->is_64 ? " 64" : " 32");
}

static void put_context(struct buf *out, const struct code_context *c)
{
	if (c->arch == CODE_ARM)
		put_arm(out, &c->arm);
	else
		text_x86(&c->x86, out);
}

static void put_memory(struct buf *out, const struct code_context *c)
{
	uint8_t el = c->arm.el & 3, security = c->arm.security & 3;

	if (c->arch == CODE_ARM)
		buf_printf(out, "Memspace [0x%x:%s]", memory[security][el].number,
			   memory[security][el].name);
	else
		text_x86(&c->x86, out);
}

static void put_cycles(struct buf *out, const struct flow_event *e)
{
	if (e->has_count)
		buf_printf(out, "[CC=%u];", e->count);
	else
		buf_str(out, "[CC=unknown];");
}

static void put_details(const struct etm_ranges_text *t, struct buf *out,
			const struct flow_event *e)
{
	static const char *const transactions[] = {"Init", "Start", "Commit", "Fail"};

	switch ((enum flow_event_kind)e->kind) {
	case FLOW_EV_NO_SYNC:
		buf_printf(out, "[%s]",
			   flow_no_sync_word(e->reason == FLOW_NO_SYNC_INIT && t->is_later
						     ? FLOW_NO_SYNC_RESET
						     : (enum flow_no_sync)e->reason));
		break;
	case FLOW_EV_TRACE_ON:
		buf_str(out, e->is_overflow ? "[overflow]" : "[begin or filter]");
		break;
	case FLOW_EV_CONTEXT:
		put_context(out, &e->context);
		break;
	case FLOW_EV_NO_PATH:
		buf_printf(out, "first 0x%" PRIx64 ":[next 0x%" PRIx64 "] num_i(%u)", e->address,
			   e->end, e->count);
		break;
	case FLOW_EV_NACC:
		buf_printf(out, "0x%" PRIx64 "; ", e->address);
		put_memory(out, &t->pe);
		break;
	case FLOW_EV_NO_TARGET:
		buf_printf(out, "up to 0x%" PRIx64, e->end);
		break;
	case FLOW_EV_DROPPED:
		buf_printf(out, "%" PRIu64 "; no address", e->value);
		break;
	case FLOW_EV_EXCEPTION:
		buf_printf(out, "pref ret addr:0x%" PRIx64 "%s; excep num (0x%02x)", e->address,
			   e->is_target ? " [addr also prev br tgt]" : "", e->number);
		break;
	case FLOW_EV_TIMESTAMP:
		buf_printf(out, "[ TS=0x%012" PRIx64 "];", e->ticks.ticks);
		break;
	case FLOW_EV_CYCLES:
		put_cycles(out, e);
		break;
	case FLOW_EV_EVENT:
		buf_printf(out, "Numbered:%u;", e->number);
		break;
	case FLOW_EV_TS_MARKER:
		buf_str(out, "[Timestamp marker(0x00000000)]");
		break;
	case FLOW_EV_INSTRUMENTATION:
		buf_printf(out, "EL%u; 0x%016" PRIx64, e->el, e->value);
		break;
	case FLOW_EV_TRANSACTION:
		buf_str(out, transactions[e->number & 3]);
		break;
	case FLOW_EV_UNSUPPORTED:
		buf_printf(out, "packet 0x%02x", e->number);
		break;
	case FLOW_EV_END:
		buf_str(out, "[end-of-trace]");
		break;
	case FLOW_EV_RANGE:
	case FLOW_EV_EXCEPTION_RET:
	case FLOW_EV_FUNCTION_RET:
	case FLOW_EV_PE_RESET:
	case FLOW_EV_BOUND:
	case NR_FLOW_EVENTS:
		break;
	}
}

static void put_event_json(struct etm_ranges_text *t, const struct flow_event *e)
{
	clew_auto(buf_done) struct buf details = {0};
	struct json_put j = {.out = &t->out, .needs_comma = true};

	put_details(t, &details, e);
	put_id(t, &t->out, NULL);
	json_put_string(&j, "event", words[e->kind]);
	if (details.nr) {
		json_put_string(&j, "details", buf_cstr(&details));
	}
	buf_str(&t->out, "}\n");
}

static void put_event(struct etm_ranges_text *t, const struct flow_event *e)
{
	size_t at;

	if (!words[e->kind] || !(t->wants >> e->kind & 1))
		return;
	if (t->is_json) {
		put_event_json(t, e);
		return;
	}
	put_id(t, &t->out, " EVENT ");
	buf_str(&t->out, words[e->kind]);
	buf_char(&t->out, ' ');
	at = t->out.nr;
	put_details(t, &t->out, e);
	t->out.nr -= at == t->out.nr && at;
	buf_char(&t->out, '\n');
}

/** A packet may tell of several: a line each. */
static void put_numbered(struct etm_ranges_text *t, const struct flow_event *e)
{
	struct flow_event one = *e;

	for (one.number = 0; one.number < 4; one.number++) {
		if (e->number >> one.number & 1)
			put_event(t, &one);
	}
}

static void take_event(struct etm_ranges_text *t, const struct flow_event *e)
{
	if (e->kind == FLOW_EV_RANGE) {
		put_range(t, &t->out, e->address, e->end, e->isa);
		buf_add(&t->out, t->context.data, t->context.nr);
		return;
	}
	if (e->kind == FLOW_EV_END)
		return;
	if (e->kind == FLOW_EV_CONTEXT) {
		t->pe = e->context;
		t->has_context = true;
		make_context(t);
	}
	if (e->kind == FLOW_EV_EVENT)
		put_numbered(t, e);
	else
		put_event(t, e);
}

void etm_ranges_text_init(struct etm_ranges_text *t)
{
	t->pe.arm.security = CODE_NONSECURE;
	make_context(t);
}

enum clew_err etm_ranges_text_batch(struct etm_ranges_text *t, const struct flow_batch *b)
{
	if (!etm_memo_begin(&t->memo, b))
		return CLEW_NO_MEMORY;
	for (size_t i = 0; i < b->nr; i++) {
		uint32_t item = b->items[i];

		if (item & FLOW_ITEM_EVENT)
			take_event(t, &b->events[item & ~(uint32_t)FLOW_ITEM_EVENT]);
		else
			put_block(t, b, item >> 1);
	}
	return t->out.is_failed || t->context.is_failed ? CLEW_NO_MEMORY : CLEW_OK;
}

void etm_ranges_text_end(struct etm_ranges_text *t)
{
	const struct flow_event e = {.kind = FLOW_EV_END};

	put_event(t, &e);
}

void etm_ranges_text_done(struct etm_ranges_text *t)
{
	buf_done(&t->out);
	buf_done(&t->context);
	etm_memo_done(&t->memo);
}
