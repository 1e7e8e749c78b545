/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/etm_encode.h"

static void put(struct buf *b, uint64_t v)
{
	buf_char(b, (char)(v & 0xff));
}

static void put_le(struct buf *b, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		put(b, v >> 8 * i);
}

unsigned int enc_field_bytes(uint64_t v)
{
	unsigned int n = 1;

	while (n < 10 && v >> 7 * n)
		n++;
	return n;
}

void enc_field(struct buf *b, uint64_t v, unsigned int nr_bytes)
{
	unsigned int n = nr_bytes ? nr_bytes : enc_field_bytes(v);

	for (unsigned int i = 0; i < n; i++)
		put(b, (i < 10 ? v >> 7 * i & 0x7f : 0) | (i + 1 < n ? 0x80 : 0));
}

void enc_async(struct buf *b)
{
	buf_fill(b, 0, 11);
	put(b, 0x80);
}

void enc_discard(struct buf *b)
{
	put(b, 0x00);
	put(b, 0x03);
}

void enc_overflow(struct buf *b)
{
	put(b, 0x00);
	put(b, 0x05);
}

void enc_ignore(struct buf *b)
{
	put(b, 0x70);
}

void enc_trace_on(struct buf *b)
{
	put(b, 0x04);
}

void enc_func_ret(struct buf *b)
{
	put(b, 0x05);
}

void enc_except_rtn(struct buf *b)
{
	put(b, 0x07);
}

void enc_trans_start(struct buf *b)
{
	put(b, 0x0a);
}

void enc_trans_commit(struct buf *b)
{
	put(b, 0x0b);
}

void enc_ts_marker(struct buf *b)
{
	put(b, 0x88);
}

void enc_event(struct buf *b, unsigned int events)
{
	put(b, 0x70 | (events & 0xf));
}

void enc_instrumentation(struct buf *b, unsigned int el, uint64_t value)
{
	put(b, 0x09);
	put(b, el & 3);
	put_le(b, value, 8);
}

void enc_trace_info(struct buf *b, const struct enc_trace_info *t)
{
	const uint32_t values[] = {t->info, t->key, t->spec, t->cyct, t->wndw};

	put(b, 0x01);
	put(b, (t->sections & 0x1f) | (t->more_plctl ? 0x80 : 0));
	for (unsigned int i = 0; i < t->more_plctl; i++)
		put(b, i + 1 < t->more_plctl ? 0x80 : 0);
	for (unsigned int i = 0; i < 5; i++)
		if (t->sections >> i & 1)
			enc_field(b, values[i], t->field_bytes);
}

unsigned int enc_timestamp_bytes(uint64_t last, uint64_t v)
{
	unsigned int n = enc_field_bytes(last ^ v);

	return n < 9 ? n : 9;
}

static void timestamp_value(struct buf *b, uint64_t v, unsigned int nr_bytes)
{
	for (unsigned int i = 0; i < nr_bytes && i < 8; i++)
		put(b, (v >> 7 * i & 0x7f) | (i + 1 < nr_bytes ? 0x80 : 0));
	if (nr_bytes > 8)
		put(b, v >> 56);
}

void enc_timestamp(struct buf *b, uint64_t v, unsigned int nr_bytes)
{
	put(b, 0x02);
	timestamp_value(b, v, nr_bytes);
}

void enc_timestamp_count(struct buf *b, uint64_t v, unsigned int nr_bytes, uint32_t count,
			 unsigned int count_bytes)
{
	put(b, 0x03);
	timestamp_value(b, v, nr_bytes);
	enc_field(b, count, count_bytes);
}

void enc_exception(struct buf *b, unsigned int type, unsigned int e, bool is_fault_pending,
		   unsigned int nr_bytes)
{
	bool has_two = nr_bytes == 2 || (!nr_bytes && (type > 0x1f || is_fault_pending));

	put(b, 0x06);
	put(b, (has_two ? 0x80 : 0) | (e & 2) << 5 | (type & 0x1f) << 1 | (e & 1));
	if (has_two)
		put(b, (type >> 5 & 0x1f) | (is_fault_pending ? 0x20 : 0));
}

void enc_pe_reset(struct buf *b)
{
	put(b, 0x06);
	put(b, 0x01);
	put(b, 0x00);
}

void enc_trans_fail(struct buf *b)
{
	put(b, 0x06);
	put(b, 0x18 << 1 | 1);
	put(b, 0x00);
}

/* Rows of headers: match (the first of three), short IS0, IS1, 32 bits IS0, IS1, 64 bits IS0, IS1.
 */
enum { MATCH, S_IS0, S_IS1, L32_IS0, L32_IS1, L64_IS0, L64_IS1 };
static const uint8_t address_headers[] = {0x90, 0x95, 0x96, 0x9a, 0x9b, 0x9d, 0x9e};
static const uint8_t source_headers[] = {0xb0, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9};
static const uint8_t q_headers[] = {0xa0, 0xa5, 0xa6, 0xaa, 0xab, 0, 0};
static const uint8_t context_headers[] = {0, 0, 0, 0x82, 0x83, 0x85, 0x86};

static void short_bytes(struct buf *b, uint64_t v, bool has_two)
{
	put(b, (v & 0x7f) | (has_two ? 0x80 : 0));
	if (has_two)
		put(b, v >> 7);
}

static void long_bytes(struct buf *b, uint64_t a, bool is1, unsigned int nr)
{
	put(b, (is1 ? a >> 1 : a >> 2) & 0x7f);
	put(b, is1 ? a >> 8 : a >> 9 & 0x7f);
	put_le(b, a >> 16, nr - 2);
}

static void address_with(struct buf *b, const uint8_t *headers, enum enc_form form, uint64_t a)
{
	switch (form) {
	case ENC_MATCH_0:
	case ENC_MATCH_1:
	case ENC_MATCH_2:
		put(b, headers[MATCH] + (unsigned int)(form - ENC_MATCH_0));
		break;
	case ENC_S1_IS0:
	case ENC_S2_IS0:
		put(b, headers[S_IS0]);
		short_bytes(b, a >> 2, form == ENC_S2_IS0);
		break;
	case ENC_S1_IS1:
	case ENC_S2_IS1:
		put(b, headers[S_IS1]);
		short_bytes(b, a >> 1, form == ENC_S2_IS1);
		break;
	case ENC_32_IS0:
	case ENC_32_IS1:
		put(b, headers[form == ENC_32_IS1 ? L32_IS1 : L32_IS0]);
		long_bytes(b, a, form == ENC_32_IS1, 4);
		break;
	case ENC_64_IS0:
	case ENC_64_IS1:
		put(b, headers[form == ENC_64_IS1 ? L64_IS1 : L64_IS0]);
		long_bytes(b, a, form == ENC_64_IS1, 8);
		break;
	case NR_ENC_FORMS:
		break;
	}
}

void enc_address(struct buf *b, enum enc_form form, uint64_t a)
{
	address_with(b, address_headers, form, a);
}

void enc_source_address(struct buf *b, enum enc_form form, uint64_t a)
{
	address_with(b, source_headers, form, a);
}

void enc_q_address(struct buf *b, enum enc_form form, uint64_t a, uint32_t count,
		   unsigned int count_bytes)
{
	address_with(b, q_headers, form, a);
	enc_field(b, count, count_bytes);
}

void enc_q_count(struct buf *b, uint32_t count, unsigned int count_bytes)
{
	put(b, 0xac);
	enc_field(b, count, count_bytes);
}

void enc_q(struct buf *b)
{
	put(b, 0xaf);
}

static void context_bytes(struct buf *b, const struct etm_config *c, const struct enc_context *x)
{
	put(b, (x->el & 3u) | (x->nse ? 0x08u : 0) | (x->sf ? 0x10u : 0) | (x->ns ? 0x20u : 0) |
		       (x->has_vmid ? 0x40u : 0) | (x->has_cid ? 0x80u : 0));
	if (x->has_vmid)
		put_le(b, x->vmid, c->vmid_bytes);
	if (x->has_cid)
		put_le(b, x->cid, c->cid_bytes);
}

void enc_context_same(struct buf *b)
{
	put(b, 0x80);
}

void enc_context(struct buf *b, const struct etm_config *c, const struct enc_context *x)
{
	put(b, 0x81);
	context_bytes(b, c, x);
}

void enc_address_context(struct buf *b, const struct etm_config *c, enum enc_form form, uint64_t a,
			 const struct enc_context *x)
{
	address_with(b, context_headers, form, a);
	context_bytes(b, c, x);
}

void enc_count_f1(struct buf *b, const struct etm_config *c, uint32_t commit, uint32_t count)
{
	put(b, 0x0e);
	if (!c->has_commopt)
		enc_field(b, commit, 0);
	enc_field(b, count, 0);
}

void enc_count_f1_unknown(struct buf *b, const struct etm_config *c, uint32_t commit)
{
	put(b, 0x0f);
	if (!c->has_commopt)
		enc_field(b, commit, 0);
}

void enc_count_f2(struct buf *b, const struct etm_config *c, bool f, uint32_t commit,
		  uint32_t count)
{
	uint32_t a = c->has_commopt ? 0 : f ? commit + 15 - c->max_spec : commit - 1;

	put(b, f ? 0x0d : 0x0c);
	put(b, (a & 0xf) << 4 | (count & 0xf));
}

void enc_count_f3(struct buf *b, const struct etm_config *c, uint32_t commit, uint32_t count)
{
	uint32_t a = c->has_commopt ? 0 : commit - 1;

	put(b, 0x10 | (a & 3) << 2 | (count & 3));
}

void enc_commit(struct buf *b, uint32_t nr)
{
	put(b, 0x2d);
	enc_field(b, nr, 0);
}

void enc_cancel_f1(struct buf *b, uint32_t nr, bool is_mispredict)
{
	put(b, is_mispredict ? 0x2f : 0x2e);
	enc_field(b, nr, 0);
}

void enc_mispredict(struct buf *b, enum enc_few atoms)
{
	put(b, 0x30u | (unsigned int)atoms);
}

void enc_cancel_f2(struct buf *b, enum enc_few atoms)
{
	put(b, 0x34u | (unsigned int)atoms);
}

void enc_cancel_f3(struct buf *b, bool has_e, uint32_t nr)
{
	put(b, 0x38u | ((nr - 2) & 3) << 1 | has_e);
}

void enc_atom_f1(struct buf *b, unsigned int bits)
{
	put(b, 0xf6 | (bits & 1));
}

void enc_atom_f2(struct buf *b, unsigned int bits)
{
	put(b, 0xd8 | (bits & 3));
}

void enc_atom_f3(struct buf *b, unsigned int bits)
{
	put(b, 0xf8 | (bits & 7));
}

bool enc_atom_f4(struct buf *b, unsigned int bits)
{
	static const uint8_t forms[] = {0xe, 0x0, 0xa, 0x5};

	for (unsigned int i = 0; i < 4; i++)
		if (forms[i] == (bits & 0xf)) {
			put(b, 0xdc + i);
			return true;
		}
	return false;
}

bool enc_atom_f5(struct buf *b, unsigned int bits)
{
	static const uint8_t forms[][2] = {
		{0x1e, 0xf5},
                {0x00, 0xd5},
                {0x0a, 0xd6},
                {0x15, 0xd7}
        };

	for (unsigned int i = 0; i < 4; i++)
		if (forms[i][0] == (bits & 0x1f)) {
			put(b, forms[i][1]);
			return true;
		}
	return false;
}

bool enc_atom_f6(struct buf *b, unsigned int nr_e, bool has_n)
{
	unsigned int least = has_n ? 3 : 4;

	if (nr_e < least || nr_e > least + 20)
		return false;
	put(b, (has_n ? 0xe0 : 0xc0) + nr_e - least);
	return true;
}

static unsigned int leading_e(uint64_t bits, unsigned int nr)
{
	unsigned int n = 0;

	while (n < nr && bits >> n & 1)
		n++;
	return n;
}

unsigned int enc_atoms_as(struct buf *b, unsigned int f, uint64_t bits, unsigned int nr)
{
	unsigned int nr_e = leading_e(bits, nr), low = (unsigned int)(bits & 0x1f);

	if (f < 6 && nr < f)
		return 0;
	switch (f) {
	case 1:
		enc_atom_f1(b, low);
		return 1;
	case 2:
		enc_atom_f2(b, low);
		return 2;
	case 3:
		enc_atom_f3(b, low);
		return 3;
	case 4:
		return enc_atom_f4(b, low) ? 4 : 0;
	case 5:
		return enc_atom_f5(b, low) ? 5 : 0;
	default:
		if (nr_e < nr && enc_atom_f6(b, nr_e, true))
			return nr_e + 1;
		nr_e = nr_e > 24 ? 24 : nr_e;
		return enc_atom_f6(b, nr_e, false) ? nr_e : 0;
	}
}

void enc_atoms(struct buf *b, uint64_t bits, unsigned int nr)
{
	static const uint8_t order[] = {6, 5, 4, 3, 2, 1};
	unsigned int used;

	while (nr) {
		used = 0;
		for (unsigned int i = 0; i < sizeof(order) && !used; i++)
			used = enc_atoms_as(b, order[i], bits, nr);
		bits = used < 64 ? bits >> used : 0;
		nr -= used;
	}
}
