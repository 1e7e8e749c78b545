/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "golden/pt_words.h"

#include <string.h>

#include "golden/words.h"
#include "packet/pt/ipt_write.h"

typedef bool fields(struct ipt_packet *k, struct pt_words *state, struct words *w);

static bool put_nothing(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)k, (void)state, (void)w;
	return true;
}

/** "TNTTN": the oldest first. */
static bool put_branches(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	const char *s = w->nr ? w->word[0] : "";
	size_t n = strlen(s);

	(void)state;
	if (!n || n > IPT_MAX_TNT || strspn(s, "TN") != n)
		return false;
	k->nr_tnt = (uint8_t)n;
	for (size_t i = 0; i < n; i++)
		k->tnt |= (uint64_t)(s[i] == 'T') << i;
	words_use(w, 0);
	return true;
}

/** "0x1000": in the shortest form; "0x1000 IP=48"; or nothing: no address. */
static bool put_address(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	static const struct {
		const char *name;
		enum ipt_ip_form form;
	} forms[] = {
		{"IP=16",     IPT_IP_16    },
                {"IP=32",     IPT_IP_32    },
                {"IP=SEXT48", IPT_IP_SEXT48},
		{"IP=48",     IPT_IP_48    },
                {"IP=64",     IPT_IP_64    },
	};

	if (!words_number(w, &k->ip))
		return true;
	k->ip_form = (uint8_t)ipt_ip_shortest(k->ip, state->last_ip);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (words_have(w, forms[i].name))
			k->ip_form = (uint8_t)forms[i].form;
	return true;
}

static bool put_tsc(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)state;
	return words_number(w, &k->tsc);
}

static bool put_tma(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)state;
	k->tma.ctc = (uint16_t)words_value_or(w, "CTC", 0);
	k->tma.fast = (uint16_t)words_value_or(w, "FAST", 0);
	return true;
}

static bool put_byte(uint8_t *to, struct words *w)
{
	uint64_t v;

	if (!words_number(w, &v))
		return false;
	*to = (uint8_t)v;
	return true;
}

static bool put_mtc(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)state;
	return put_byte(&k->mtc, w);
}

static bool put_cbr(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)state;
	return put_byte(&k->cbr, w);
}

static bool put_cyc(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)state;
	return words_number(w, &k->cyc);
}

static bool put_exec(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	uint64_t bits;

	(void)state;
	k->exec.is_if = words_have(w, "IF");
	if (!words_number(w, &bits))
		return false;
	k->exec.cs_l = bits == 64;
	k->exec.cs_d = bits == 32;
	return true;
}

static bool put_tsx(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)state;
	k->tsx.is_in = words_have(w, "IN");
	k->tsx.is_abort = words_have(w, "ABORT");
	return true;
}

static bool put_pip(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)state;
	k->pip.is_non_root = words_have(w, "NR");
	return words_number(w, &k->pip.cr3);
}

static bool put_vmcs(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)state;
	return words_number(w, &k->vmcs);
}

static bool put_mnt(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)state;
	return words_number(w, &k->mnt);
}

static bool put_ptw(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)state;
	k->has_fup = words_have(w, "FUP");
	k->bytes = words_have(w, "WIDE") ? 10 : 6;
	return words_number(w, &k->ptw);
}

static bool put_has_fup(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)state;
	k->has_fup = words_have(w, "FUP");
	return true;
}

static bool put_mwait(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)state;
	k->mwait.hints = words_value_or(w, "HINTS", 0);
	k->mwait.extensions = words_value_or(w, "EXT", 0);
	return true;
}

static bool put_pwre(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)state;
	k->pwre.state = (uint8_t)words_value_or(w, "STATE", 0);
	k->pwre.sub_state = (uint8_t)words_value_or(w, "SUB", 0);
	k->pwre.is_hw = words_have(w, "HW");
	return true;
}

static bool put_pwrx(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)state;
	k->pwrx.last = (uint8_t)words_value_or(w, "LAST", 0);
	k->pwrx.deepest = (uint8_t)words_value_or(w, "DEEPEST", 0);
	k->pwrx.reason = (uint8_t)words_value_or(w, "REASON", 0);
	return true;
}

static bool put_cfe(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)state;
	k->has_fup = words_have(w, "FUP");
	k->cfe.type = (uint8_t)words_value_or(w, "TYPE", 0);
	k->cfe.vector = (uint8_t)words_value_or(w, "VECTOR", 0);
	return true;
}

static bool put_evd(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	(void)state;
	k->evd.type = (uint8_t)words_value_or(w, "TYPE", 0);
	return words_number(w, &k->evd.payload);
}

static bool put_bbp(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	k->bbp.type = (uint8_t)words_value_or(w, "TYPE", 0);
	k->bbp.item_bytes = (uint8_t)words_value_or(w, "ITEM", 8);
	state->item_bytes = k->bbp.item_bytes;
	return true;
}

static bool put_bip(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	k->bip.item = (uint8_t)words_value_or(w, "ITEM", 0);
	k->bytes = 1u + state->item_bytes;
	return words_number(w, &k->bip.value);
}

static bool put_trig(struct ipt_packet *k, struct pt_words *state, struct words *w)
{
	uint64_t v;

	(void)state;
	k->has_fup = words_have(w, "FUP");
	k->trig.is_multiple = words_have(w, "MULT");
	k->trig.has_count = words_value(w, "ICNT", &v);
	k->trig.count = k->trig.has_count ? (uint16_t)v : 0;
	k->trig.trbv = (uint8_t)words_value_or(w, "TRBV", 0);
	return true;
}

static fields *const put[NR_IPT_KINDS] = {
	[IPT_PAD] = put_nothing,       [IPT_PSB] = put_nothing, [IPT_PSBEND] = put_nothing,
	[IPT_TNT] = put_branches,      [IPT_TIP] = put_address, [IPT_TIP_PGE] = put_address,
	[IPT_TIP_PGD] = put_address,   [IPT_FUP] = put_address, [IPT_TSC] = put_tsc,
	[IPT_TMA] = put_tma,           [IPT_MTC] = put_mtc,     [IPT_CYC] = put_cyc,
	[IPT_CBR] = put_cbr,           [IPT_PIP] = put_pip,     [IPT_MODE_EXEC] = put_exec,
	[IPT_MODE_TSX] = put_tsx,      [IPT_VMCS] = put_vmcs,   [IPT_OVF] = put_nothing,
	[IPT_TRACESTOP] = put_nothing, [IPT_MNT] = put_mnt,     [IPT_PTW] = put_ptw,
	[IPT_EXSTOP] = put_has_fup,    [IPT_MWAIT] = put_mwait, [IPT_PWRE] = put_pwre,
	[IPT_PWRX] = put_pwrx,         [IPT_CFE] = put_cfe,     [IPT_EVD] = put_evd,
	[IPT_BBP] = put_bbp,           [IPT_BIP] = put_bip,     [IPT_BEP] = put_has_fup,
	[IPT_TRIG] = put_trig,
};

static bool put_bytes(struct buf *out, struct words *w)
{
	uint64_t v;

	while (w->nr) {
		if (!words_is_number(w->word[0], 16, &v) || v > 0xff)
			return false;
		buf_char(out, (char)v);
		words_use(w, 0);
	}
	return true;
}

static bool put_packet(struct buf *out, struct pt_words *state, const char *name, struct words *w)
{
	for (unsigned int i = 0; i < NR_IPT_KINDS; i++) {
		struct ipt_packet k = {.kind = (uint8_t)i};

		if (!put[i] || strcmp(ipt_kind_name((enum ipt_kind)i), name) != 0)
			continue;
		if (!put[i](&k, state, w))
			return false;
		ipt_write(out, &k, &state->last_ip);
		return true;
	}
	return strcmp(name, "bytes") == 0 && put_bytes(out, w);
}

bool pt_words_encode(struct buf *out, struct pt_words *state, char *line)
{
	size_t before = out->nr;
	struct words w;
	char *name;
	bool ok = words_cut(&w, line, &name) && put_packet(out, state, name, &w) && !w.nr;

	if (!ok)
		out->nr = before;
	return ok;
}
