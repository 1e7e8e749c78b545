/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/etm_packet_text.h"

static const char *const a_profile[] = {
	[ETM_EXC_RESET] = "PE reset",
	[ETM_EXC_DEBUG_HALT] = "debug halt",
	[ETM_EXC_CALL] = "call",
	[ETM_EXC_TRAP] = "trap",
	[ETM_EXC_SYSTEM_ERROR] = "system error",
	[ETM_EXC_INSN_DEBUG] = "instruction debug",
	[ETM_EXC_DATA_DEBUG] = "data debug",
	[ETM_EXC_ALIGNMENT] = "alignment",
	[ETM_EXC_INSN_FAULT] = "instruction fault",
	[ETM_EXC_DATA_FAULT] = "data fault",
	[ETM_EXC_IRQ] = "IRQ",
	[ETM_EXC_FIQ] = "FIQ",
};

/* Spec: IHI 0064, exception packet, TYPE of the M profile. */

static const char *const m_profile[] = {
	[1] = "PE reset", [2] = "NMI",        [3] = "hard fault",  [4] = "MemManage",
	[5] = "BusFault", [6] = "UsageFault", [11] = "SVC",        [12] = "debug monitor",
	[14] = "PendSV",  [15] = "SysTick",   [16] = "IRQ0",       [17] = "IRQ1",
	[18] = "IRQ2",    [19] = "IRQ3",      [20] = "IRQ4",       [21] = "IRQ5",
	[22] = "IRQ6",    [23] = "IRQ7",      [24] = "debug halt", [25] = "lazy FP push",
	[26] = "lockup",
};

const char *etm_exception_name(const struct etm_config *c, uint32_t type)
{
	if (c->is_m_profile)
		return type < sizeof(m_profile) / sizeof(*m_profile) ? m_profile[type] : NULL;
	return type < sizeof(a_profile) / sizeof(*a_profile) ? a_profile[type] : NULL;
}

/** What a packet of ETM_UNSUPPORTED is. */
static const char *unsupported_name(uint8_t h)
{
	if (h <= 0x27)
		return "numbered data synchronisation marker";
	if (h <= 0x2c)
		return "unnumbered data synchronisation marker";
	if (h <= 0x42)
		return "conditional instruction, format 2";
	if (h == 0x43)
		return "conditional flush";
	if (h <= 0x46)
		return "conditional result, format 4";
	if (h <= 0x4e)
		return "conditional result, format 2";
	if (h <= 0x5f)
		return "conditional result, format 3";
	if (h == 0x6c)
		return "conditional instruction, format 1";
	if (h == 0x6d)
		return "conditional instruction, format 3";
	return "conditional result, format 1";
}

void etm_version_text(struct buf *out, const struct etm_config *c)
{
	buf_printf(out, c->is_ete ? "ETE 1.%u" : "ETMv4.%u", c->version & 0xf);
}

/* What a kind has, for both forms of output. */

static bool is_source(uint8_t kind)
{
	return kind >= ETM_SRC_ADDR_MATCH && kind <= ETM_SRC_ADDR_L_64IS1;
}

static bool is_match(const struct etm_packet *p)
{
	return p->kind == ETM_ADDR_MATCH || p->kind == ETM_SRC_ADDR_MATCH ||
	       (p->kind == ETM_Q && p->has_address && p->header <= 0xa2);
}

static bool has_address(const struct etm_packet *p)
{
	return (p->kind >= ETM_ADDR_CTXT_L_32IS0 && p->kind <= ETM_ADDR_CTXT_L_64IS1) ||
	       (p->kind >= ETM_ADDR_MATCH && p->kind <= ETM_ADDR_L_64IS1) || is_source(p->kind) ||
	       (p->kind == ETM_Q && p->has_address);
}

static bool has_cycles(const struct etm_packet *p)
{
	return (p->kind >= ETM_CCNT_F1 && p->kind <= ETM_CCNT_F3) ||
	       (p->kind == ETM_TIMESTAMP && p->has_count);
}

static const char *commit_word(const struct etm_packet *p)
{
	if (p->kind >= ETM_CANCEL_F1 && p->kind <= ETM_CANCEL_F3)
		return "cancel";
	return p->kind >= ETM_CCNT_F1 && p->kind <= ETM_COMMIT ? "commit" : NULL;
}

static const char *security(const struct etm_context *c)
{
	static const char *const names[] = {"S", "NS", "Root", "Realm"};

	return names[c->nse << 1 | c->ns];
}

static const char *const sections[] = {"INFO", "KEY", "SPEC", "CYCT", "WNDW"};

static uint32_t section_value(const struct etm_packet *p, unsigned int i)
{
	const uint32_t v[] = {p->trace_info.info, p->trace_info.key, p->trace_info.spec,
			      p->trace_info.cyct, 0};

	return v[i];
}

static void atoms_text(struct buf *out, const struct etm_atoms *a)
{
	for (unsigned int i = 0; i < a->nr; i++)
		buf_char(out, a->bits >> i & 1 ? 'E' : 'N');
}

/* --- text --- */

/** Words are apart by one space. */
static void space(struct buf *out, size_t start)
{
	if (out->nr > start)
		buf_char(out, ' ');
}

static void context_text(struct buf *out, const struct etm_context *c)
{
	buf_printf(out, "EL%u %s AArch%s", c->el, security(c), c->sf ? "64" : "32");
	if (c->has_vmid)
		buf_printf(out, " VMID=0x%x", c->vmid);
	if (c->has_cid)
		buf_printf(out, " CONTEXTIDR=0x%x", c->cid);
}

static void info_text(struct buf *out, size_t start, const struct etm_packet *p)
{
	for (unsigned int i = 0; i < 5; i++) {
		if (!(p->trace_info.sections >> i & 1))
			continue;
		space(out, start);
		buf_str(out, sections[i]);
		if (i < 4)
			buf_printf(out, "=0x%x", section_value(p, i));
	}
	if (p->trace_info.info & 0x01)
		buf_str(out, " cycle counts");
	if (p->trace_info.info & 0x40)
		buf_str(out, " in a transaction");
}

static void exception_text(struct buf *out, const struct etm_config *c, const struct etm_packet *p)
{
	const char *name = etm_exception_name(c, p->exception);

	buf_printf(out, "TYPE=0x%x", p->exception);
	if (name)
		buf_printf(out, " %s", name);
	buf_printf(out, " E=%u", p->exception_e);
	if (p->exception_e == 2)
		buf_str(out, " at the branch target");
	if (p->is_fault_pending)
		buf_str(out, " fault pending");
}

static void address_text(struct buf *out, const struct etm_packet *p)
{
	buf_printf(out, "0x%llx", (unsigned long long)p->address);
	if (is_match(p))
		buf_printf(out, " [%u]", p->match);
	if (p->is && (is_match(p) || p->kind == ETM_Q))
		buf_str(out, " IS1");
}

static void timestamp_text(struct buf *out, const struct etm_packet *p)
{
	buf_printf(out, "0x%llx", (unsigned long long)p->timestamp);
	if (!p->timestamp)
		buf_str(out, " no time source");
}

static void rest_text(struct buf *out, size_t start, const struct etm_packet *p)
{
	const char *word = commit_word(p);

	if (has_cycles(p)) {
		space(out, start);
		buf_str(out, "cycles=");
		if (p->has_count)
			buf_dec(out, p->count, 0, ' ');
		else
			buf_str(out, "unknown");
	}
	if (word && (p->commit || p->kind == ETM_COMMIT)) {
		space(out, start);
		buf_printf(out, "%s=%u", word, p->commit);
	}
	if (p->is_mispredict && p->kind != ETM_MISPREDICT) {
		space(out, start);
		buf_str(out, "mispredict");
	}
}

void etm_packet_text(struct buf *out, const struct etm_config *c, const struct etm_packet *p)
{
	size_t start = out->nr;

	if (p->kind == ETM_TRACE_INFO)
		info_text(out, start, p);
	else if (p->kind == ETM_EXCEPT)
		exception_text(out, c, p);
	else if (p->kind == ETM_TIMESTAMP)
		timestamp_text(out, p);
	else if (p->kind == ETM_EVENT)
		buf_printf(out, "EVENT=0x%x", p->events);
	else if (p->kind == ETM_ITE)
		buf_printf(out, "EL%u 0x%llx", p->ite_el, (unsigned long long)p->ite_value);
	else if (p->kind == ETM_UNSUPPORTED)
		buf_printf(out, "%s: not decoded", unsupported_name(p->header));
	else if (p->kind == ETM_BAD)
		buf_str(out, "reserved, or a field that does not end");
	else if (p->kind == ETM_NOT_SYNCED)
		buf_printf(out, "%llu bytes skipped", (unsigned long long)p->bytes);
	else if (p->kind == ETM_INCOMPLETE)
		buf_str(out, "the trace ends inside it");
	if (has_address(p))
		address_text(out, p);
	if (p->context.has_payload) {
		space(out, start);
		context_text(out, &p->context);
	}
	atoms_text(out, &p->atoms);
	rest_text(out, start, p);
	if (p->kind == ETM_Q) {
		space(out, start);
		if (p->has_q_count)
			buf_printf(out, "instructions=%u", p->q_count);
		else
			buf_str(out, "instructions=unknown");
	}
}

/* --- JSON --- */

static void put_true(struct json_put *j, const char *key, bool v)
{
	if (!v)
		return;
	json_put_bool(j, key, true);
}

static void context_json(struct json_put *j, const struct etm_context *c)
{
	json_key(j, "context");
	json_open(j, '{');
	json_put_u64(j, "el", c->el);
	json_put_string(j, "security", security(c));
	json_put_u64(j, "bits", c->sf ? 64 : 32);
	if (c->has_vmid)
		json_put_u64(j, "vmid", c->vmid);
	if (c->has_cid)
		json_put_u64(j, "contextidr", c->cid);
	json_close(j, '}');
}

static void info_json(struct json_put *j, const struct etm_packet *p)
{
	static const char *const keys[] = {"info", "key", "spec", "cyct"};

	for (unsigned int i = 0; i < 4; i++)
		if (p->trace_info.sections >> i & 1)
			json_put_u64(j, keys[i], section_value(p, i));
}

static void exception_json(struct json_put *j, const struct etm_config *c,
			   const struct etm_packet *p)
{
	json_put_u64(j, "type", p->exception);
	json_put_string(j, "exception", etm_exception_name(c, p->exception));
	json_put_u64(j, "e", p->exception_e);
	put_true(j, "fault_pending", p->is_fault_pending);
}

static void atoms_json(struct json_put *j, const struct etm_atoms *a)
{
	char text[sizeof(a->bits) * 8 + 1];
	unsigned int i;

	for (i = 0; i < a->nr && i + 1 < sizeof(text); i++)
		text[i] = a->bits >> i & 1 ? 'E' : 'N';
	text[i] = 0;
	json_put_string(j, "atoms", text);
}

static void counts_json(struct json_put *j, const struct etm_packet *p)
{
	const char *word = commit_word(p);

	if (has_cycles(p)) {
		json_key(j, "cycles");
		if (p->has_count)
			json_u64(j, p->count);
		else
			json_string(j, NULL);
	}
	if (word)
		json_put_u64(j, word, p->commit);
	put_true(j, "mispredict", p->is_mispredict);
	if (p->kind == ETM_Q && p->has_q_count)
		json_put_u64(j, "instructions", p->q_count);
}

void etm_packet_json(struct json_put *j, const struct etm_config *c, const struct etm_packet *p)
{
	if (p->kind == ETM_TRACE_INFO)
		info_json(j, p);
	if (p->kind == ETM_EXCEPT)
		exception_json(j, c, p);
	if (p->kind == ETM_UNSUPPORTED)
		json_put_string(j, "what", unsupported_name(p->header));
	if (p->kind == ETM_TIMESTAMP)
		json_put_hex(j, "timestamp", p->timestamp);
	if (p->kind == ETM_EVENT)
		json_put_u64(j, "events", p->events);
	if (p->kind == ETM_ITE) {
		json_put_u64(j, "el", p->ite_el);
		json_put_hex(j, "value", p->ite_value);
	}
	if (has_address(p)) {
		json_put_hex(j, "address", p->address);
		json_put_u64(j, "is", p->is);
	}
	if (is_match(p))
		json_put_u64(j, "match", p->match);
	if (p->context.has_payload)
		context_json(j, &p->context);
	if (p->atoms.nr)
		atoms_json(j, &p->atoms);
	counts_json(j, p);
}
