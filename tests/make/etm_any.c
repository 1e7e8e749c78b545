/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/etm_any.h"

#include <stdlib.h>

#include "make/splitmix.h"

static uint64_t any(struct etm_any *a)
{
	return splitmix64(&a->random);
}

static uint32_t below(struct etm_any *a, uint32_t n)
{
	return (uint32_t)(any(a) >> 32) % n;
}

/** A number of any length. */
static uint64_t number(struct etm_any *a, unsigned int bits)
{
	return any(a) >> (63 - below(a, bits));
}

static struct enc_context context(struct etm_any *a)
{
	uint64_t x = any(a);

	return (struct enc_context){.el = x & 3,
				    .sf = x & 4,
				    .ns = x & 8,
				    .nse = x & 16,
				    .has_vmid = x & 32 && a->config->vmid_bytes,
				    .has_cid = x & 64 && a->config->cid_bytes,
				    .vmid = (uint32_t)(x >> 8),
				    .cid = (uint32_t)(x >> 32)};
}

static void simple(struct etm_any *a, struct buf *b)
{
	bool is_ete = a->config->is_ete;

	switch (below(a, 10)) {
	case 0:
		enc_trace_on(b);
		break;
	case 1:
		if (a->config->version >= 0x43)
			enc_ignore(b);
		break;
	case 2:
		enc_event(b, 1 + below(a, 15));
		break;
	case 3:
		if (a->config->version >= 0x46)
			enc_ts_marker(b);
		break;
	case 4:
		if (is_ete)
			enc_trans_start(b);
		else
			enc_except_rtn(b);
		break;
	case 5:
		if (is_ete)
			enc_trans_commit(b);
		break;
	case 6:
		if (is_ete)
			enc_trans_fail(b);
		break;
	case 7:
		if (is_ete)
			enc_pe_reset(b);
		break;
	case 8:
		if (a->config->version >= 0x53 && a->config->cid_bytes)
			enc_instrumentation(b, below(a, 4), any(a));
		break;
	default: /* types 0 and 0x18 are packets of their own in ETE */
		enc_exception(b, 1 + below(a, 16), 1 + below(a, 2), false, below(a, 3));
		break;
	}
}

static void trace_info(struct etm_any *a, struct buf *b)
{
	struct enc_trace_info t = {.sections = below(a, 32),
				   .info = (uint32_t)number(a, 32),
				   .key = (uint32_t)number(a, 32),
				   .spec = (uint32_t)number(a, 32),
				   .cyct = (uint32_t)number(a, 12),
				   .wndw = (uint32_t)number(a, 32),
				   .more_plctl = below(a, 3)};

	enc_trace_info(b, &t);
}

static void counts(struct etm_any *a, struct buf *b)
{
	const struct etm_config *c = a->config;

	switch (below(a, 6)) {
	case 0:
		enc_timestamp(b, number(a, 64), 1 + below(a, 9));
		break;
	case 1:
		enc_timestamp_count(b, number(a, 64), 1 + below(a, 9), (uint32_t)number(a, 21), 0);
		break;
	case 2:
		enc_count_f1(b, c, (uint32_t)number(a, 32), (uint32_t)number(a, 21));
		break;
	case 3:
		enc_count_f1_unknown(b, c, (uint32_t)number(a, 32));
		break;
	case 4:
		enc_count_f2(b, c, false, 1 + below(a, 16), below(a, 16));
		break;
	default:
		enc_count_f3(b, c, 1 + below(a, 4), below(a, 4));
		break;
	}
}

static void speculation(struct etm_any *a, struct buf *b)
{
	switch (below(a, 6)) {
	case 0:
		enc_commit(b, (uint32_t)number(a, 32));
		break;
	case 1:
		enc_cancel_f1(b, (uint32_t)number(a, 32), below(a, 2));
		break;
	case 2:
		enc_mispredict(b, (enum enc_few)below(a, 4));
		break;
	case 3:
		enc_cancel_f2(b, (enum enc_few)below(a, 4));
		break;
	default:
		enc_cancel_f3(b, below(a, 2), 2 + below(a, 4));
		break;
	}
}

static void address(struct etm_any *a, struct buf *b)
{
	enum enc_form form = (enum enc_form)below(a, NR_ENC_FORMS);
	struct enc_context x = context(a);

	switch (below(a, 5)) {
	case 0:
		if (a->config->is_ete)
			enc_source_address(b, form, any(a));
		break;
	case 1:
		if (a->config->has_q && form < ENC_64_IS0)
			enc_q_address(b, form, any(a), (uint32_t)number(a, 32), 0);
		else if (a->config->has_q && below(a, 2))
			enc_q_count(b, (uint32_t)number(a, 32), 0);
		else if (a->config->has_q)
			enc_q(b);
		break;
	case 2:
		if (form >= ENC_32_IS0)
			enc_address_context(b, a->config, form, any(a), &x);
		else if (below(a, 4))
			enc_context(b, a->config, &x);
		else
			enc_context_same(b);
		break;
	default:
		enc_address(b, form, any(a));
		break;
	}
}

void etm_any_packet(struct etm_any *a, struct buf *b)
{
	switch (below(a, 8)) {
	case 0:
		simple(a, b);
		break;
	case 1:
		counts(a, b);
		break;
	case 2:
		speculation(a, b);
		break;
	case 3:
		trace_info(a, b);
		break;
	case 4:
	case 5:
		address(a, b);
		break;
	default:
		enc_atoms(b, any(a), 1 + below(a, 40));
		break;
	}
}

static void sync(struct etm_any *a, struct buf *b)
{
	if (!below(a, 3))
		(below(a, 2) ? enc_overflow : enc_discard)(b);
	enc_async(b);
	trace_info(a, b);
}

void etm_any_stream(struct etm_any *a, struct buf *out, size_t nr, bool has_garbage)
{
	enc_async(out);
	trace_info(a, out);
	for (size_t i = 0; i < nr; i++) {
		etm_any_packet(a, out);
		if (!below(a, 30))
			sync(a, out);
		for (uint32_t k = has_garbage && !below(a, 40) ? below(a, 8) : 0; k; k--)
			buf_char(out, (char)(below(a, 2) ? below(a, 256) : 0));
	}
}

struct etm_config etm_any_config(unsigned int i)
{
	static const uint8_t versions[] = {0x40, 0x42, 0x44, 0x46, 0x50, 0x51, 0x53, 0x53};
	uint8_t v = versions[i % 8];
	struct etm_regs r = {.traceidr = 0x10,
			     .configr = 1,
			     .idr8 = 0x20,
			     .is_ete = v >= 0x50,
			     .idr1 = 0x41000400 | (v & 0xfu) << 4,
			     .devarch = 0x47705a13 | (v & 0xfu) << 16};
	struct etm_config ret;

	r.idr0 = 1u << 7 | (i & 8 ? 1u << 29 : 0) | (i & 16 ? 3u << 15 : 0);
	r.idr2 = 8 | (i & 1 ? 4u << 5 : 0) | (v == 0x40 ? 1u : i & 2 ? 4u : 2u) << 10 | 9u << 25;
	if (etm_config_init(&ret, &r, NULL))
		abort();
	return ret;
}
