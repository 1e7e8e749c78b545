/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/trace_ranges_text.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "format/json_put.h"

/* clang-format off */
static const char *const words[TRACE_RANGES_NR_KINDS] = {
	[CLEW_TRACE_NO_SYNC] = "no_sync",
	[CLEW_TRACE_ON] = "trace_on",
	[CLEW_TRACE_CONTEXT] = "context",
	[CLEW_TRACE_UNKNOWN_PATH] = "i_range_nopath",
	[CLEW_TRACE_NO_CODE] = "addr_nacc",
	[CLEW_TRACE_UNKNOWN_START] = "no_target",
	[CLEW_TRACE_DROPPED] = "atoms_dropped",
	[CLEW_TRACE_EXCEPTION] = "exception",
	[CLEW_TRACE_EXCEPTION_RETURN] = "exception_ret",
	[CLEW_TRACE_FUNCTION_RETURN] = "function_ret",
	[CLEW_TRACE_RESET] = "pe_reset",
	[CLEW_TRACE_TIMESTAMP] = "timestamp",
	[CLEW_TRACE_CYCLES] = "cycle_count",
	[CLEW_TRACE_EVENT] = "event",
	[CLEW_TRACE_TS_MARKER] = "sync_marker",
	[CLEW_TRACE_INSTRUMENTATION] = "instrumentation",
	[CLEW_TRACE_TRANSACTION] = "memtrans",
	[CLEW_TRACE_UNSUPPORTED] = "unsupported",
	[CLEW_TRACE_END] = "eo_trace",
	[CLEW_TRACE_OFF] = "trace_off",
	[CLEW_TRACE_NOTE] = "note",
};

/* OpenCSD's names and numbers of address spaces. */
static const struct { uint8_t number; const char *name; } memory[4][4] = {
	[CLEW_SECURE] = {{0x01, "EL1S"}, {0x01, "EL1S"}, {0x10, "EL2S"}, {0x08, "EL3"}},
	[CLEW_NONSECURE] = {{0x02, "EL1N"}, {0x02, "EL1N"}, {0x04, "EL2N"}, {0x08, "EL3"}},
	[CLEW_ROOT] = {{0x80, "Root"}, {0x80, "Root"}, {0x80, "Root"}, {0x80, "Root"}},
	[CLEW_REALM] = {{0x20, "EL1R"}, {0x20, "EL1R"}, {0x40, "EL2R"}, {0x80, "Root"}},
};
/* clang-format on */

const char *trace_event_word(enum clew_trace_kind kind)
{
	return words[kind];
}

static const char *isa_word(uint8_t isa)
{
	static const char *const names[] = {
		[CLEW_ISA_A64] = "A64",       [CLEW_ISA_A32] = "A32",
		[CLEW_ISA_T32] = "T32",       [CLEW_ISA_X86_64] = "x86-64",
		[CLEW_ISA_X86_32] = "x86-32", [CLEW_ISA_X86_16] = "x86-16",
	};

	return isa < sizeof(names) / sizeof(names[0]) && names[isa] ? names[isa] : "?";
}

/* "R" is for realm. */
static const char *security_word(uint8_t security)
{
	static const char *const names[] = {
		[CLEW_SECURE] = "S",
		[CLEW_NONSECURE] = "N",
		[CLEW_ROOT] = "root",
		[CLEW_REALM] = "R",
	};

	return names[security & 3];
}

/* --- ranges --- */

static void put_id(const struct trace_ranges_text *t, struct buf *out, const char *end)
{
	if (t->is_json)
		buf_str(out, "{\"id\":\"0x");
	buf_hex(out, t->id, 0, '0');
	buf_str(out, t->is_json ? "\"" : end);
}

static void put_range(const struct trace_ranges_text *t, struct buf *out,
		      const struct clew_trace_range *r)
{
	put_id(t, out, " ");
	buf_str(out, t->is_json ? ",\"start\":\"0x" : "");
	buf_hex(out, r->start, 0, '0');
	buf_str(out, t->is_json ? "\",\"end\":\"0x" : " ");
	buf_hex(out, r->end, 0, '0');
	buf_str(out, t->is_json ? "\",\"isa\":\"" : " ");
	buf_str(out, isa_word(r->isa));
}

static void json_arm(const struct trace_ranges_text *t, struct json_put *j)
{
	const struct clew_arm_context *c = &t->arm;

	if (t->has_context) {
		json_put_u64(j, "el", c->el);
		json_put_string(j, "security", security_word(c->security));
	}
	if (c->has_cid)
		json_put_u64(j, "cid", c->cid);
	if (c->has_vmid)
		json_put_u64(j, "vmid", c->vmid);
}

static void json_x86(const struct clew_x86_context *c, struct json_put *j)
{
	if (c->has_cr3)
		json_put_hex(j, "cr3", c->cr3);
	if (c->has_vmcs)
		json_put_hex(j, "vmcs", c->vmcs);
	json_put_u64(j, "guest", !c->is_root);
}

/** After a range: " EL SEC CTXID VMID". */
static void text_arm(const struct trace_ranges_text *t, struct buf *out)
{
	const struct clew_arm_context *c = &t->arm;

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

static void text_x86(const struct clew_x86_context *c, struct buf *out)
{
	if (c->has_cr3)
		buf_printf(out, "cr3=0x%" PRIx64, c->cr3);
	else
		buf_str(out, "cr3=-");
	if (c->has_vmcs)
		buf_printf(out, " vmcs=0x%" PRIx64, c->vmcs);
	buf_str(out, c->is_root ? " root" : " guest");
}

/** What stands after each range. */
static void make_context(struct trace_ranges_text *t)
{
	struct json_put j = {.out = &t->context, .needs_comma = true};
	bool is_arm = t->arch != CLEW_ARCH_X86;

	buf_clear(&t->context);
	buf_char(&t->context, t->is_json ? '"' : ' ');
	if (t->is_json && is_arm)
		json_arm(t, &j);
	else if (t->is_json)
		json_x86(&t->x86, &j);
	else if (is_arm)
		text_arm(t, &t->context);
	else
		text_x86(&t->x86, &t->context);
	if (t->who.nr)
		buf_str(&t->context, t->is_json ? ",\"who\":" : " ");
	buf_add(&t->context, t->who.data, t->who.nr);
	buf_str(&t->context, t->is_json ? "}\n" : "\n");
}

/* Who ran changes between events of contexts, too. */
static void take_who(struct trace_ranges_text *t, const struct clew_trace_context *c)
{
	const char *who = !c ? NULL : t->is_json ? c->who_json : c->who;
	size_t bytes = who ? strlen(who) : 0;

	if (bytes == t->who.nr && (!bytes || !memcmp(t->who.data, who, bytes)))
		return;
	buf_clear(&t->who);
	buf_add(&t->who, who, bytes);
	make_context(t);
}

/** @p nr: its number. */
static void put_whole(struct trace_ranges_text *t, const struct clew_trace_range *r, uint32_t nr)
{
	size_t from = t->out.nr;

	put_range(t, &t->out, r);
	if (!t->out.is_failed)
		block_memo_put(&t->memo, nr, t->out.data + from, t->out.nr - from);
	buf_add(&t->out, t->context.data, t->context.nr);
}

/** The lines of items from @p i on, up to the first without a known text. @return that one. */
static size_t put_known(struct trace_ranges_text *t, const struct clew_trace_batch *b, size_t i)
{
	const char *context = t->context.data, *texts = t->memo.text.data;
	size_t context_bytes = t->context.nr, nr = t->out.nr;

	for (; i < b->nr && !(b->items[i] & CLEW_TRACE_ITEM_EVENT); i++) {
		const struct block_memo_at *at = block_memo_find(&t->memo, b->items[i] >> 1);

		if (!at || !buf_reserve(&t->out, nr - t->out.nr + at->bytes + context_bytes))
			break;
		memcpy(t->out.data + nr, texts + at->pos, at->bytes);
		memcpy(t->out.data + nr + at->bytes, context, context_bytes);
		nr += at->bytes + context_bytes;
	}
	t->out.nr = nr;
	return i;
}

/* --- events --- */

static void put_context(struct buf *out, const struct clew_arm_context *c)
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

/* OpenCSD's words. */
static const char *no_sync_word(const struct trace_ranges_text *t, uint32_t reason)
{
	static const char *const reasons[] = {
		[CLEW_NO_SYNC_START] = "init-decoder",
		[CLEW_NO_SYNC_GAP] = "reset-decoder",
		[CLEW_NO_SYNC_OVERFLOW] = "overflow",
		[CLEW_NO_SYNC_STOPPED] = "discard",
		[CLEW_NO_SYNC_BAD_PACKET] = "bad-packet",
		[CLEW_NO_SYNC_BAD_CODE] = "bad-program-image",
	};

	return reasons[reason == CLEW_NO_SYNC_START && t->is_later ? CLEW_NO_SYNC_GAP : reason];
}

/* What is frequent is put together without printf. */
static void put_cycles(struct buf *out, const struct clew_trace_event *e)
{
	buf_str(out, "[CC=");
	if (e->is_known)
		buf_dec(out, e->value, 0, ' ');
	else
		buf_str(out, "unknown");
	buf_str(out, "];");
}

static void put_no_code(const struct trace_ranges_text *t, struct buf *out,
			const struct clew_trace_event *e)
{
	uint8_t el = t->arm.el & 3, security = t->arm.security & 3;

	buf_str(out, "0x");
	buf_hex(out, e->start, 0, '0');
	if (t->arch == CLEW_ARCH_X86)
		return;
	buf_str(out, "; Memspace [0x");
	buf_hex(out, memory[security][el].number, 0, '0');
	buf_char(out, ':');
	buf_str(out, memory[security][el].name);
	buf_char(out, ']');
}

static void put_timestamp(struct buf *out, const struct clew_trace_event *e)
{
	buf_str(out, "[ TS=0x");
	buf_hex(out, e->value, 12, '0');
	buf_str(out, "];");
}

static void put_exception(const struct trace_ranges_text *t, struct buf *out,
			  const struct clew_trace_event *e)
{
	buf_str(out, "pref ret addr:0x");
	buf_hex(out, e->start, 0, '0');
	buf_str(out, e->is_target ? " [addr also prev br tgt]" : "");
	if (t->arch == CLEW_ARCH_X86)
		return;
	buf_str(out, "; excep num (0x");
	buf_hex(out, e->number, 2, '0');
	buf_char(out, ')');
}

static void put_off(struct buf *out, const struct clew_trace_event *e)
{
	if (e->number)
		buf_printf(out, "[interrupt at 0x%" PRIx64 "]", e->end);
	else if (e->is_target)
		buf_printf(out, "[to 0x%" PRIx64 "]", e->start);
	else
		buf_str(out, "[end or filter]");
}

/** "ptwrite 0x2a at 0x401000": each by its packet's name. */
static void put_note(struct buf *out, const struct clew_trace_event *e)
{
	static const char *const names[] = {
		[CLEW_NOTE_PSB] = "psb",
		[CLEW_NOTE_CBR] = "cbr",
		[CLEW_NOTE_PTWRITE] = "ptwrite",
		[CLEW_NOTE_MWAIT] = "mwait",
		[CLEW_NOTE_PWRE] = "pwre",
		[CLEW_NOTE_EXSTOP] = "exstop",
		[CLEW_NOTE_PWRX] = "pwrx",
		[CLEW_NOTE_EVD] = "evd",
		[CLEW_NOTE_CFE] = "cfe",
		[CLEW_NOTE_IF] = "if",
		[CLEW_NOTE_PEBS_ITEM] = "pebs item",
		[CLEW_NOTE_PEBS] = "pebs",
		[CLEW_NOTE_POINT] = "point",
	};

	if (e->number >= sizeof(names) / sizeof(names[0]))
		return;
	buf_printf(out, "%s 0x%" PRIx64, names[e->number], e->value);
	if (e->is_known)
		buf_printf(out, " at 0x%" PRIx64, e->end);
}

static void put_details(const struct trace_ranges_text *t, struct buf *out,
			const struct clew_trace_event *e)
{
	static const char *const transactions[] = {"Init", "Start", "Commit", "Fail"};

	switch ((enum clew_trace_kind)e->kind) {
	case CLEW_TRACE_NO_SYNC:
		buf_printf(out, "[%s]", no_sync_word(t, e->number));
		break;
	case CLEW_TRACE_ON:
		buf_str(out, e->number ? "[overflow]" : "[begin or filter]");
		break;
	case CLEW_TRACE_CONTEXT:
		if (t->arch == CLEW_ARCH_X86)
			text_x86(&t->x86, out);
		else
			put_context(out, &t->arm);
		break;
	case CLEW_TRACE_UNKNOWN_PATH:
		buf_printf(out, "first 0x%" PRIx64 ":[next 0x%" PRIx64 "] num_i(%u)", e->start,
			   e->end, e->number);
		break;
	case CLEW_TRACE_NO_CODE:
		put_no_code(t, out, e);
		break;
	case CLEW_TRACE_UNKNOWN_START:
		buf_printf(out, "up to 0x%" PRIx64, e->end);
		break;
	case CLEW_TRACE_DROPPED:
		buf_dec(out, e->value, 0, ' ');
		buf_str(out, "; no address");
		break;
	case CLEW_TRACE_EXCEPTION:
		put_exception(t, out, e);
		break;
	case CLEW_TRACE_TIMESTAMP:
		put_timestamp(out, e);
		break;
	case CLEW_TRACE_CYCLES:
		put_cycles(out, e);
		break;
	case CLEW_TRACE_EVENT:
		buf_printf(out, "Numbered:%u;", e->number);
		break;
	case CLEW_TRACE_TS_MARKER:
		buf_str(out, "[Timestamp marker(0x00000000)]");
		break;
	case CLEW_TRACE_INSTRUMENTATION:
		buf_printf(out, "EL%u; 0x%016" PRIx64, e->el, e->value);
		break;
	case CLEW_TRACE_TRANSACTION:
		buf_str(out, transactions[e->number & 3]);
		break;
	case CLEW_TRACE_UNSUPPORTED:
		buf_printf(out, "packet 0x%02x", e->number);
		break;
	case CLEW_TRACE_END:
		buf_str(out, "[end-of-trace]");
		break;
	case CLEW_TRACE_OFF:
		put_off(out, e);
		break;
	case CLEW_TRACE_NOTE:
		put_note(out, e);
		break;
	case CLEW_TRACE_PARTIAL:
	case CLEW_TRACE_EXCEPTION_RETURN:
	case CLEW_TRACE_FUNCTION_RETURN:
	case CLEW_TRACE_RESET:
	case CLEW_TRACE_LATEST:
	case CLEW_TRACE_SWITCH:
		break;
	}
}

static void put_event_json(struct trace_ranges_text *t, const struct clew_trace_event *e)
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

static void put_event(struct trace_ranges_text *t, const struct clew_trace_event *e)
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

/** A packet may report several: a line each. */
static void put_numbered(struct trace_ranges_text *t, const struct clew_trace_event *e)
{
	struct clew_trace_event one = *e;

	for (one.number = 0; one.number < 4; one.number++) {
		if (e->number >> one.number & 1)
			put_event(t, &one);
	}
}

static void take_context(struct trace_ranges_text *t, const struct clew_trace_context *c)
{
	t->arch = c->arch;
	if (c->arm)
		t->arm = *c->arm;
	if (c->x86)
		t->x86 = *c->x86;
	t->has_context = true;
}

static void take_event(struct trace_ranges_text *t, const struct clew_trace_batch *b,
		       const struct clew_trace_event *e)
{
	if (e->range) {
		put_range(t, &t->out, e->range);
		buf_add(&t->out, t->context.data, t->context.nr);
		return;
	}
	if (e->kind == CLEW_TRACE_END || e->kind >= TRACE_RANGES_NR_KINDS)
		return;
	if (e->kind == CLEW_TRACE_CONTEXT) {
		take_context(t, b->context);
		make_context(t);
	}
	if (e->kind == CLEW_TRACE_EVENT)
		put_numbered(t, e);
	else
		put_event(t, e);
}

void trace_ranges_text_init(struct trace_ranges_text *t)
{
	t->arm.security = CLEW_NONSECURE;
	make_context(t);
}

enum clew_err trace_ranges_text_batch(struct trace_ranges_text *t, const struct clew_trace_batch *b)
{
	if (!block_memo_begin(&t->memo, b->epoch))
		return CLEW_NO_MEMORY;
	take_who(t, b->context);
	for (size_t i = put_known(t, b, 0); i < b->nr; i = put_known(t, b, i + 1)) {
		if (b->items[i] & CLEW_TRACE_ITEM_EVENT)
			take_event(t, b, clew_trace_event_at(b, i));
		else
			put_whole(t, clew_trace_range_at(b, i), b->items[i] >> 1);
	}
	return t->out.is_failed || t->context.is_failed || t->who.is_failed ? CLEW_NO_MEMORY
									    : CLEW_OK;
}

void trace_ranges_text_end(struct trace_ranges_text *t)
{
	const struct clew_trace_event e = {.kind = CLEW_TRACE_END};

	put_event(t, &e);
}

void trace_ranges_text_done(struct trace_ranges_text *t)
{
	buf_done(&t->out);
	buf_done(&t->who);
	buf_done(&t->context);
	block_memo_done(&t->memo);
}
