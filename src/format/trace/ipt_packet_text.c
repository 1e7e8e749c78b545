/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/ipt_packet_text.h"

/* One list of the fields of each kind, for both forms of output. */

enum field_type { FIELD_NONE, FIELD_HEX, FIELD_DEC, FIELD_FLAG, FIELD_WORD };

struct field {
	const char *name; /* the key in JSON; in text "name=" before the value, and of a flag all */
	uint8_t type;     /* enum field_type */
	bool is_bare;     /* the value alone is enough in text */
	uint64_t value;   /* of FLAG: whether it is set; else it is not shown */
	const char *word;
};

enum { MAX_FIELDS = 5 };

static const char *const cfe_names[] = {
	[1] = "INTR",        [2] = "IRET",      [3] = "SMI",     [4] = "RSM",
	[5] = "SIPI",        [6] = "INIT",      [7] = "VMENTRY", [8] = "VMEXIT",
	[9] = "VMEXIT_INTR", [10] = "SHUTDOWN", [12] = "UINTR",  [13] = "UIRET",
};
static const char *const evd_names[] = {"PFA", "VMXQ", "VMXR"};
static const char *const block_names[32] = {
	[1] = "general registers",
	[4] = "basic",
	[5] = "memory",
	[8] = "LBR 0",
	[9] = "LBR 1",
	[10] = "LBR 2",
	[16] = "XMM",
};

#define NAME_OF(table, i) ((i) < sizeof(table) / sizeof(*(table)) ? (table)[i] : NULL)

static struct field hex(const char *name, bool is_bare, uint64_t v)
{
	return (struct field){name, FIELD_HEX, is_bare, v, NULL};
}

static struct field dec(const char *name, bool is_bare, uint64_t v)
{
	return (struct field){name, FIELD_DEC, is_bare, v, NULL};
}

static struct field flag(const char *name, bool v)
{
	return (struct field){name, FIELD_FLAG, true, v, NULL};
}

static struct field word(const char *name, const char *v)
{
	return (struct field){name, v ? FIELD_WORD : FIELD_NONE, true, 0, v};
}

static void add_address(struct field *f, const struct ipt_packet *p)
{
	if (p->ip_form == IPT_IP_NONE)
		return;
	f[0] = hex("address", true, p->ip);
	f[1] = flag("doubtful", p->is_doubtful);
}

static void add_power(struct field *f, const struct ipt_packet *p)
{
	if (p->kind == IPT_MWAIT) {
		f[0] = hex("hints", false, p->mwait.hints);
		f[1] = hex("extensions", false, p->mwait.extensions);
	} else if (p->kind == IPT_PWRE) {
		f[0] = dec("state", false, p->pwre.state);
		f[1] = dec("sub_state", false, p->pwre.sub_state);
		f[2] = flag("hw", p->pwre.is_hw);
	} else if (p->kind == IPT_PWRX) {
		f[0] = dec("deepest", false, p->pwrx.deepest);
		f[1] = dec("last", false, p->pwrx.last);
		f[2] = hex("reason", false, p->pwrx.reason);
	}
}

static void add_event(struct field *f, const struct ipt_packet *p)
{
	if (p->kind == IPT_CFE) {
		f[0] = dec("type", false, p->cfe.type);
		f[1] = word("event", NAME_OF(cfe_names, p->cfe.type));
		f[2] = dec("vector", false, p->cfe.vector);
	} else if (p->kind == IPT_EVD) {
		f[0] = dec("type", false, p->evd.type);
		f[1] = word("event", NAME_OF(evd_names, p->evd.type));
		f[2] = hex("value", true, p->evd.payload);
	} else if (p->kind == IPT_BBP) {
		f[0] = dec("type", false, p->bbp.type);
		f[1] = word("block", block_names[p->bbp.type]);
		f[2] = dec("item_bytes", false, p->bbp.item_bytes);
	} else if (p->kind == IPT_BIP) {
		f[0] = dec("item", false, p->bip.item);
		f[1] = hex("value", true, p->bip.value);
	} else if (p->kind == IPT_TRIG) {
		f[0] = hex("trbv", false, p->trig.trbv);
		f[1] = flag("multiple", p->trig.is_multiple);
		if (p->trig.has_count)
			f[2] = dec("count", false, p->trig.count);
	}
}

static const char *mode_name(const struct ipt_packet *p)
{
	if (p->exec.cs_l)
		return p->exec.cs_d ? NULL : "64-bit";
	return p->exec.cs_d ? "32-bit" : "16-bit";
}

static void add_context(struct field *f, const struct ipt_packet *p)
{
	if (p->kind == IPT_MODE_EXEC) {
		f[0] = word("mode", mode_name(p));
		f[1] = flag("if", p->exec.is_if);
	} else if (p->kind == IPT_MODE_TSX) {
		f[0] = flag("in_tx", p->tsx.is_in);
		f[1] = flag("abort", p->tsx.is_abort);
	} else if (p->kind == IPT_PIP) {
		f[0] = hex("cr3", false, p->pip.cr3);
		f[1] = flag("non_root", p->pip.is_non_root);
	} else {
		f[0] = hex("vmcs", true, p->vmcs);
	}
}

static void add_time(struct field *f, const struct ipt_packet *p)
{
	if (p->kind == IPT_TSC) {
		f[0] = hex("tsc", true, p->tsc);
	} else if (p->kind == IPT_TMA) {
		f[0] = hex("ctc", false, p->tma.ctc);
		f[1] = hex("fast", false, p->tma.fast);
		f[2] = flag("reserved", p->tma.has_reserved);
	} else if (p->kind == IPT_MTC) {
		f[0] = hex("ctc", true, p->mtc);
	} else if (p->kind == IPT_CYC) {
		f[0] = dec("cycles", true, p->cyc);
	} else {
		f[0] = dec("ratio", true, p->cbr);
	}
}

/** @p f: MAX_FIELDS, zeroed. */
static void fields_of(struct field *f, const struct ipt_packet *p)
{
	switch ((enum ipt_kind)p->kind) {
	case IPT_TIP:
	case IPT_TIP_PGE:
	case IPT_TIP_PGD:
	case IPT_FUP:
		add_address(f, p);
		break;
	case IPT_TSC:
	case IPT_TMA:
	case IPT_MTC:
	case IPT_CYC:
	case IPT_CBR:
		add_time(f, p);
		break;
	case IPT_MODE_EXEC:
	case IPT_MODE_TSX:
	case IPT_PIP:
	case IPT_VMCS:
		add_context(f, p);
		break;
	case IPT_MNT:
		f[0] = hex("value", true, p->mnt);
		break;
	case IPT_PTW:
		f[0] = hex("value", true, p->ptw);
		break;
	case IPT_MWAIT:
	case IPT_PWRE:
	case IPT_PWRX:
		add_power(f, p);
		break;
	case IPT_CFE:
	case IPT_EVD:
	case IPT_BBP:
	case IPT_BIP:
	case IPT_TRIG:
		add_event(f, p);
		break;
	case IPT_BAD:
	case IPT_INCOMPLETE:
	case IPT_NOT_SYNCED:
	case IPT_PAD:
	case IPT_PSB:
	case IPT_PSBEND:
	case IPT_TNT:
	case IPT_MODE:
	case IPT_OVF:
	case IPT_TRACESTOP:
	case IPT_EXSTOP:
	case IPT_BEP:
	case NR_IPT_KINDS:
		break;
	}
	f[MAX_FIELDS - 1] = flag("fup", p->has_fup);
}

static bool is_shown(const struct field *f)
{
	return f->type != FIELD_NONE && (f->type != FIELD_FLAG || f->value);
}

static void branches(struct buf *out, const struct ipt_packet *p)
{
	for (unsigned int i = 0; i < p->nr_tnt; i++)
		buf_char(out, p->tnt >> i & 1 ? 'T' : 'N');
}

static void field_text(struct buf *out, size_t start, const struct field *f)
{
	if (out->nr > start)
		buf_char(out, ' ');
	if (!f->is_bare)
		buf_printf(out, "%s=", f->name);
	if (f->type == FIELD_HEX)
		buf_printf(out, "0x%llx", (unsigned long long)f->value);
	else if (f->type == FIELD_DEC)
		buf_dec(out, f->value, 0, ' ');
	else
		buf_str(out, f->type == FIELD_FLAG ? f->name : f->word);
}

void ipt_packet_text(struct buf *out, const struct ipt_packet *p)
{
	struct field fields[MAX_FIELDS] = {0};
	size_t start = out->nr;

	if (p->kind == IPT_BAD)
		buf_str(out, "reserved, or a field that does not end");
	else if (p->kind == IPT_NOT_SYNCED)
		buf_printf(out, "%llu bytes skipped", (unsigned long long)p->bytes);
	else if (p->kind == IPT_INCOMPLETE)
		buf_str(out, "the trace ends inside it");
	if (p->kind == IPT_TNT)
		branches(out, p);
	fields_of(fields, p);
	for (unsigned int i = 0; i < MAX_FIELDS; i++)
		if (is_shown(&fields[i]))
			field_text(out, start, &fields[i]);
}

static void branches_json(struct json_put *j, const struct ipt_packet *p)
{
	char text[IPT_MAX_TNT + 1];
	unsigned int i;

	for (i = 0; i < p->nr_tnt && i < IPT_MAX_TNT; i++)
		text[i] = p->tnt >> i & 1 ? 'T' : 'N';
	text[i] = 0;
	json_put_string(j, "branches", text);
}

static void field_json(struct json_put *j, const struct field *f)
{
	switch ((enum field_type)f->type) {
	case FIELD_HEX:
		json_put_hex(j, f->name, f->value);
		break;
	case FIELD_DEC:
		json_put_u64(j, f->name, f->value);
		break;
	case FIELD_WORD:
		json_put_string(j, f->name, f->word);
		break;
	case FIELD_FLAG:
		json_put_bool(j, f->name, true);
		break;
	case FIELD_NONE:
		break;
	}
}

void ipt_packet_json(struct json_put *j, const struct ipt_packet *p)
{
	struct field fields[MAX_FIELDS] = {0};

	if (p->kind == IPT_TNT)
		branches_json(j, p);
	fields_of(fields, p);
	for (unsigned int i = 0; i < MAX_FIELDS; i++)
		if (is_shown(&fields[i]))
			field_json(j, &fields[i]);
}
