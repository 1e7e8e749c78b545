/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "golden/etm_words.h"

#include "golden/words.h"
#include "make/etm_encode.h"

/** The first word, if it is of E and N. */
static bool atoms(struct words *w, uint64_t *ret_bits, unsigned int *ret_nr)
{
	const char *s = w->nr ? w->word[0] : "";
	size_t n = strlen(s);

	if (!n || n > 24 || strspn(s, "EN") != n)
		return false;
	*ret_bits = 0;
	*ret_nr = (unsigned int)n;
	for (size_t i = 0; i < n; i++)
		*ret_bits |= (uint64_t)(s[i] == 'E') << i;
	words_use(w, 0);
	return true;
}

static bool has_context(struct words *w, struct enc_context *ret)
{
	uint64_t v;

	*ret = (struct enc_context){0};
	if (!words_value(w, "EL", &v))
		return false;
	ret->el = (uint8_t)v;
	ret->sf = words_have(w, "SF");
	ret->ns = words_have(w, "NS");
	ret->nse = words_have(w, "NSE");
	if (words_value(w, "VMID", &v)) {
		ret->has_vmid = true;
		ret->vmid = (uint32_t)v;
	}
	if (words_value(w, "CID", &v)) {
		ret->has_cid = true;
		ret->cid = (uint32_t)v;
	}
	return true;
}

typedef bool encode(struct buf *b, const struct etm_config *c, struct words *w, unsigned int form);

static bool put_trace_info(struct buf *b, const struct etm_config *c, struct words *w,
			   unsigned int form)
{
	static const char *const keys[] = {"INFO", "KEY", "SPEC", "CYCT"};
	struct enc_trace_info t = {0};
	uint32_t *fields[] = {&t.info, &t.key, &t.spec, &t.cyct};
	uint64_t v;

	(void)c, (void)form;
	for (unsigned int i = 0; i < 4; i++) {
		if (!words_value(w, keys[i], &v))
			continue;
		t.sections |= 1u << i;
		*fields[i] = (uint32_t)v;
	}
	enc_trace_info(b, &t);
	return true;
}

static bool put_timestamp(struct buf *b, const struct etm_config *c, struct words *w,
			  unsigned int form)
{
	uint64_t v, count;

	(void)c, (void)form;
	if (!words_number(w, &v))
		return false;
	if (words_value(w, "COUNT", &count))
		enc_timestamp_count(b, v, enc_timestamp_bytes(0, v), (uint32_t)count, 0);
	else
		enc_timestamp(b, v, enc_timestamp_bytes(0, v));
	return true;
}

static bool put_exception(struct buf *b, const struct etm_config *c, struct words *w,
			  unsigned int form)
{
	uint64_t type, e;

	(void)c, (void)form;
	if (!words_value(w, "TYPE", &type) || !words_value(w, "E", &e))
		return false;
	enc_exception(b, (unsigned int)type, (unsigned int)e, false, 0);
	return true;
}

static bool put_address(struct buf *b, const struct etm_config *c, struct words *w,
			unsigned int form)
{
	bool has_two = words_value_or(w, "BYTES", 1) == 2;
	uint64_t a;

	(void)c;
	if (!words_number(w, &a))
		return false;
	enc_address(b, (enum enc_form)(form + has_two), a);
	return true;
}

static bool put_source(struct buf *b, const struct etm_config *c, struct words *w,
		       unsigned int form)
{
	bool has_two = words_value_or(w, "BYTES", 1) == 2;
	uint64_t a;

	(void)c;
	if (!words_number(w, &a))
		return false;
	enc_source_address(b, (enum enc_form)(form + has_two), a);
	return true;
}

static bool entry_of(struct words *w, enum enc_form *ret)
{
	uint64_t n;

	if (!words_number(w, &n) || n > 2)
		return false;
	*ret = (enum enc_form)(ENC_MATCH_0 + n);
	return true;
}

static bool put_match(struct buf *b, const struct etm_config *c, struct words *w, unsigned int form)
{
	enum enc_form entry;

	(void)c, (void)form;
	if (!entry_of(w, &entry))
		return false;
	enc_address(b, entry, 0);
	return true;
}

static bool put_source_match(struct buf *b, const struct etm_config *c, struct words *w,
			     unsigned int form)
{
	enum enc_form entry;

	(void)c, (void)form;
	if (!entry_of(w, &entry))
		return false;
	enc_source_address(b, entry, 0);
	return true;
}

static bool put_context(struct buf *b, const struct etm_config *c, struct words *w,
			unsigned int form)
{
	struct enc_context x;

	(void)form;
	if (has_context(w, &x))
		enc_context(b, c, &x);
	else
		enc_context_same(b);
	return true;
}

static bool put_address_context(struct buf *b, const struct etm_config *c, struct words *w,
				unsigned int form)
{
	struct enc_context x;
	uint64_t a;

	if (!words_number(w, &a) || !has_context(w, &x))
		return false;
	enc_address_context(b, c, (enum enc_form)form, a, &x);
	return true;
}

static bool put_q(struct buf *b, const struct etm_config *c, struct words *w, unsigned int form)
{
	uint64_t count;

	(void)c, (void)form;
	if (words_value(w, "COUNT", &count))
		enc_q_count(b, (uint32_t)count, 0);
	else
		enc_q(b);
	return true;
}

static bool put_count(struct buf *b, const struct etm_config *c, struct words *w,
		      unsigned int format)
{
	uint32_t commit = words_value_or(w, "COMMIT", 0);
	uint64_t count;
	bool has_count = words_value(w, "COUNT", &count);

	if (!has_count && format != 1)
		return false;
	if (!has_count)
		enc_count_f1_unknown(b, c, commit);
	else if (format == 1)
		enc_count_f1(b, c, commit, (uint32_t)count);
	else if (format == 2)
		enc_count_f2(b, c, false, commit, (uint32_t)count);
	else
		enc_count_f3(b, c, commit, (uint32_t)count);
	return true;
}

static bool put_commit(struct buf *b, const struct etm_config *c, struct words *w,
		       unsigned int form)
{
	uint64_t n;

	(void)c, (void)form;
	if (!words_number(w, &n))
		return false;
	enc_commit(b, (uint32_t)n);
	return true;
}

static bool put_cancel_f1(struct buf *b, const struct etm_config *c, struct words *w,
			  unsigned int is_mispredict)
{
	uint64_t n;

	(void)c;
	if (!words_number(w, &n))
		return false;
	enc_cancel_f1(b, (uint32_t)n, is_mispredict);
	return true;
}

static enum enc_few few_of(struct words *w)
{
	if (words_have(w, "E"))
		return ENC_FEW_E;
	if (words_have(w, "EE"))
		return ENC_FEW_EE;
	return words_have(w, "N") ? ENC_FEW_N : ENC_FEW_NONE;
}

static bool put_mispredict(struct buf *b, const struct etm_config *c, struct words *w,
			   unsigned int form)
{
	(void)c, (void)form;
	enc_mispredict(b, few_of(w));
	return true;
}

static bool put_cancel_f2(struct buf *b, const struct etm_config *c, struct words *w,
			  unsigned int form)
{
	(void)c, (void)form;
	enc_cancel_f2(b, few_of(w));
	return true;
}

static bool put_cancel_f3(struct buf *b, const struct etm_config *c, struct words *w,
			  unsigned int form)
{
	bool has_e = words_have(w, "E");
	uint64_t n;

	(void)c, (void)form;
	if (!words_number(w, &n) || n < 2 || n > 5)
		return false;
	enc_cancel_f3(b, has_e, (uint32_t)n);
	return true;
}

static bool put_atoms(struct buf *b, const struct etm_config *c, struct words *w,
		      unsigned int format)
{
	unsigned int nr;
	uint64_t bits;

	(void)c;
	return atoms(w, &bits, &nr) && enc_atoms_as(b, format, bits, nr) == nr;
}

static bool put_event(struct buf *b, const struct etm_config *c, struct words *w, unsigned int form)
{
	uint64_t n;

	(void)c, (void)form;
	if (!words_number(w, &n) || !n || n > 15)
		return false;
	enc_event(b, (unsigned int)n);
	return true;
}

static bool put_ite(struct buf *b, const struct etm_config *c, struct words *w, unsigned int form)
{
	uint64_t el, v;

	(void)c, (void)form;
	if (!words_value(w, "EL", &el) || !words_value(w, "VALUE", &v))
		return false;
	enc_instrumentation(b, (unsigned int)el, v);
	return true;
}

static bool put_bytes(struct buf *b, const struct etm_config *c, struct words *w, unsigned int form)
{
	uint64_t v;

	(void)c, (void)form;
	while (w->nr) {
		if (!words_is_number(w->word[0], 16, &v) || v > 0xff)
			return false;
		buf_char(b, (char)v);
		words_use(w, 0);
	}
	return true;
}

/* clang-format off */
static const struct {
	const char *name;
	void (*alone)(struct buf *b); /* a packet without fields */
	encode *put;
	unsigned int form;
} packets[] = {
	{"bytes",                 NULL,             put_bytes,           0},
	{"I_ASYNC",               enc_async,        NULL,                0},
	{"I_DISCARD",             enc_discard,      NULL,                0},
	{"I_OVERFLOW",            enc_overflow,     NULL,                0},
	{"I_TRACE_INFO",          NULL,             put_trace_info,      0},
	{"I_TIMESTAMP",           NULL,             put_timestamp,       0},
	{"I_TRACE_ON",            enc_trace_on,     NULL,                0},
	{"I_FUNC_RET",            enc_func_ret,     NULL,                0},
	{"I_EXCEPT",              NULL,             put_exception,       0},
	{"I_EXCEPT_RTN",          enc_except_rtn,   NULL,                0},
	{"I_PE_RESET",            enc_pe_reset,     NULL,                0},
	{"I_TRANS_FAIL",          enc_trans_fail,   NULL,                0},
	{"I_ITE",                 NULL,             put_ite,             0},
	{"I_TRANS_ST",            enc_trans_start,  NULL,                0},
	{"I_TRANS_COMMIT",        enc_trans_commit, NULL,                0},
	{"I_CCNT_F1",             NULL,             put_count,           1},
	{"I_CCNT_F2",             NULL,             put_count,           2},
	{"I_CCNT_F3",             NULL,             put_count,           3},
	{"I_COMMIT",              NULL,             put_commit,          0},
	{"I_CANCEL_F1",           NULL,             put_cancel_f1,       false},
	{"I_CANCEL_F1_MISPRED",   NULL,             put_cancel_f1,       true},
	{"I_MISPREDICT",          NULL,             put_mispredict,      0},
	{"I_CANCEL_F2",           NULL,             put_cancel_f2,       0},
	{"I_CANCEL_F3",           NULL,             put_cancel_f3,       0},
	{"I_IGNORE",              enc_ignore,       NULL,                0},
	{"I_EVENT",               NULL,             put_event,           0},
	{"I_CTXT",                NULL,             put_context,         0},
	{"I_ADDR_CTXT_L_32IS0",   NULL,             put_address_context, ENC_32_IS0},
	{"I_ADDR_CTXT_L_32IS1",   NULL,             put_address_context, ENC_32_IS1},
	{"I_ADDR_CTXT_L_64IS0",   NULL,             put_address_context, ENC_64_IS0},
	{"I_ADDR_CTXT_L_64IS1",   NULL,             put_address_context, ENC_64_IS1},
	{"I_TS_MARKER",           enc_ts_marker,    NULL,                0},
	{"I_ADDR_MATCH",          NULL,             put_match,           0},
	{"I_ADDR_S_IS0",          NULL,             put_address,         ENC_S1_IS0},
	{"I_ADDR_S_IS1",          NULL,             put_address,         ENC_S1_IS1},
	{"I_ADDR_L_32IS0",        NULL,             put_address,         ENC_32_IS0},
	{"I_ADDR_L_32IS1",        NULL,             put_address,         ENC_32_IS1},
	{"I_ADDR_L_64IS0",        NULL,             put_address,         ENC_64_IS0},
	{"I_ADDR_L_64IS1",        NULL,             put_address,         ENC_64_IS1},
	{"I_Q",                   NULL,             put_q,               0},
	{"I_SRC_ADDR_MATCH",      NULL,             put_source_match,    0},
	{"I_SRC_ADDR_S_IS0",      NULL,             put_source,          ENC_S1_IS0},
	{"I_SRC_ADDR_S_IS1",      NULL,             put_source,          ENC_S1_IS1},
	{"I_SRC_ADDR_L_32IS0",    NULL,             put_source,          ENC_32_IS0},
	{"I_SRC_ADDR_L_32IS1",    NULL,             put_source,          ENC_32_IS1},
	{"I_SRC_ADDR_L_64IS0",    NULL,             put_source,          ENC_64_IS0},
	{"I_SRC_ADDR_L_64IS1",    NULL,             put_source,          ENC_64_IS1},
	{"I_ATOM_F1",             NULL,             put_atoms,           1},
	{"I_ATOM_F2",             NULL,             put_atoms,           2},
	{"I_ATOM_F3",             NULL,             put_atoms,           3},
	{"I_ATOM_F4",             NULL,             put_atoms,           4},
	{"I_ATOM_F5",             NULL,             put_atoms,           5},
	{"I_ATOM_F6",             NULL,             put_atoms,           6},
};
/* clang-format on */

bool etm_words_encode(struct buf *out, const struct etm_config *config, char *line)
{
	size_t before = out->nr;
	struct words w;
	char *name;
	bool ok = false;

	if (!words_cut(&w, line, &name))
		return false;
	for (unsigned int i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		if (strcmp(packets[i].name, name) != 0)
			continue;
		ok = packets[i].alone || packets[i].put(out, config, &w, packets[i].form);
		if (packets[i].alone)
			packets[i].alone(out);
	}
	ok = ok && !w.nr;
	if (!ok)
		out->nr = before;
	return ok;
}
