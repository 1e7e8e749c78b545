/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/etm/etm_packet.h"

#include "packet/etm/etm_headers.h"

enum {
	NR_ASYNC_ZEROS = 11,
	ASYNC_BYTES = 12,
	ASYNC_END = 0x80,
	MAX_FIELD_BYTES = 5,
	MAX_COUNT_BYTES = 3
};
enum { MAX_PLCTL_BYTES = 5, TYPE_PE_RESET = 0, TYPE_TRANS_FAIL = 0x18 };

enum got {
	GOT_MORE_TO_COME, /* the input ends inside the packet */
	GOT_IT,
	GOT_BAD,
};

/** A c-field: 7 bits a byte, the lowest first, bit 7 = one more. Too much stays too much. */
static enum got field(struct bytes *b, unsigned int max_bytes, uint32_t *ret)
{
	uint64_t v = 0;
	uint8_t byte;

	for (unsigned int i = 0; i < max_bytes; i++) {
		if (!bytes_u8(b, &byte))
			return GOT_MORE_TO_COME;
		v |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (!(byte & 0x80)) {
			*ret = v <= UINT32_MAX ? (uint32_t)v : UINT32_MAX;
			return GOT_IT;
		}
	}
	return GOT_BAD;
}

static enum got skip_field(struct bytes *b)
{
	uint32_t ignored;

	return field(b, MAX_FIELD_BYTES, &ignored);
}

/** 11 zeros and 80, of which the header is the first; or discard, overflow. */
static enum got extension(struct bytes *b, struct etm_packet *ret)
{
	uint8_t byte;

	if (!bytes_u8(b, &byte))
		return GOT_MORE_TO_COME;
	ret->kind = byte == 0x00 ? ETM_ASYNC : byte == 0x03 ? ETM_DISCARD : ETM_OVERFLOW;
	if (byte == 0x03 || byte == 0x05)
		return GOT_IT;
	for (int nr = 2; byte == 0x00; nr++) {
		if (!bytes_u8(b, &byte))
			return GOT_MORE_TO_COME;
		if (nr == NR_ASYNC_ZEROS)
			return byte == ASYNC_END ? GOT_IT : GOT_BAD;
	}
	return GOT_BAD;
}

static enum got trace_info(struct bytes *b, struct etm_packet *ret)
{
	uint32_t *const to[] = {&ret->trace_info.info, &ret->trace_info.key, &ret->trace_info.spec,
				&ret->trace_info.cyct, NULL};
	uint8_t control = 0, byte;
	enum got got;

	for (int i = 0;; i++) {
		if (i == MAX_PLCTL_BYTES)
			return GOT_BAD;
		if (!bytes_u8(b, &byte))
			return GOT_MORE_TO_COME;
		control = i ? control : byte & 0x1f;
		if (!(byte & 0x80))
			break;
	}
	ret->trace_info.sections = control;
	for (int i = 0; i < 5; i++) {
		if (!(control >> i & 1))
			continue;
		got = to[i] ? field(b, MAX_FIELD_BYTES, to[i]) : skip_field(b);
		if (got != GOT_IT)
			return got;
	}
	return GOT_IT;
}

static uint32_t count_mask(const struct etm_packets *p)
{
	return p->config->cc_bits >= 32 ? UINT32_MAX : (1u << p->config->cc_bits) - 1;
}

/** Bytes 1 to 8: 7 bits each; the 9th: 8. What is not sent stays. */
static enum got timestamp(const struct etm_packets *p, struct bytes *b, struct etm_packet *ret)
{
	uint64_t v = 0;
	unsigned int bits = 0;
	enum got got;
	uint8_t byte;

	do {
		if (!bytes_u8(b, &byte))
			return GOT_MORE_TO_COME;
		if (bits == 56) {
			v |= (uint64_t)byte << bits;
			bits = 64;
			break;
		}
		v |= (uint64_t)(byte & 0x7f) << bits;
		bits += 7;
	} while (byte & 0x80);
	ret->timestamp_bits = (uint8_t)bits;
	ret->timestamp = bits == 64 ? v : (p->timestamp >> bits << bits) | v;
	if (!(ret->header & 1))
		return GOT_IT;
	got = field(b, MAX_COUNT_BYTES, &ret->count);
	ret->count &= count_mask(p);
	ret->has_count = got == GOT_IT;
	return got;
}

static enum got exception(const struct etm_packets *p, struct bytes *b, struct etm_packet *ret)
{
	uint8_t one, two = 0;

	if (!bytes_u8(b, &one))
		return GOT_MORE_TO_COME;
	ret->exception = one >> 1 & 0x1f;
	ret->exception_e = (uint8_t)((one >> 5 & 2) | (one & 1));
	if (p->config->is_ete && !(one & 0x80) &&
	    (ret->exception == TYPE_PE_RESET || ret->exception == TYPE_TRANS_FAIL)) {
		/* always 3 bytes */
		if (!bytes_u8(b, &two))
			return GOT_MORE_TO_COME;
	} else if (one & 0x80) {
		if (!bytes_u8(b, &two))
			return GOT_MORE_TO_COME;
		ret->exception |= (uint16_t)((two & 0x1f) << 5);
		ret->is_fault_pending = two & 0x20;
	}
	if (!p->config->is_ete)
		return GOT_IT;
	if (ret->exception == TYPE_PE_RESET)
		ret->kind = ETM_PE_RESET;
	else if (ret->exception == TYPE_TRANS_FAIL)
		ret->kind = ETM_TRANS_FAIL;
	return GOT_IT;
}

static enum got instrumentation(struct bytes *b, struct etm_packet *ret)
{
	if (bytes_left(b) < 9)
		return GOT_MORE_TO_COME;
	ret->ite_el = *b->pos++ & 3;
	for (unsigned int i = 0; i < 8; i++)
		ret->ite_value |= (uint64_t)*b->pos++ << 8 * i;
	return GOT_IT;
}

/** 0000111U [commit] [count] */
static enum got count_1(const struct etm_packets *p, struct bytes *b, struct etm_packet *ret)
{
	enum got got;

	if (!p->config->has_commopt) {
		got = field(b, MAX_FIELD_BYTES, &ret->commit);
		if (got != GOT_IT)
			return got;
	}
	if (ret->header & 1)
		return GOT_IT;
	got = field(b, MAX_COUNT_BYTES, &ret->count);
	ret->count = (ret->count & count_mask(p)) + p->threshold;
	ret->has_count = true;
	return got;
}

/** 0000110F AAAABBBB */
static enum got count_2(const struct etm_packets *p, struct bytes *b, struct etm_packet *ret)
{
	uint8_t byte;

	if (!bytes_u8(b, &byte))
		return GOT_MORE_TO_COME;
	ret->count = p->threshold + (byte & 0xf);
	ret->has_count = true;
	if (p->config->has_commopt)
		return GOT_IT;
	if (!(ret->header & 1))
		ret->commit = (byte >> 4) + 1u;
	else if (p->config->max_spec + (byte >> 4) >= 15)
		ret->commit = p->config->max_spec + (byte >> 4) - 15;
	else
		return GOT_BAD;
	return GOT_IT;
}

/** 0001AABB */
static enum got count_3(const struct etm_packets *p, struct etm_packet *ret)
{
	ret->count = p->threshold + (ret->header & 3);
	ret->has_count = true;
	ret->commit = p->config->has_commopt ? 0 : (ret->header >> 2 & 3) + 1u;
	return GOT_IT;
}

static enum got context(const struct etm_packets *p, struct bytes *b, struct etm_context *ret)
{
	uint8_t info;

	if (!bytes_u8(b, &info))
		return GOT_MORE_TO_COME;
	*ret = (struct etm_context){.has_payload = true,
				    .el = info & 3,
				    .nse = info & 0x08,
				    .sf = info & 0x10,
				    .ns = info & 0x20,
				    .has_vmid = info & 0x40 && p->config->vmid_bytes,
				    .has_cid = info & 0x80 && p->config->cid_bytes};
	if (bytes_left(b) < (size_t)(ret->has_vmid ? p->config->vmid_bytes : 0) +
				    (ret->has_cid ? p->config->cid_bytes : 0))
		return GOT_MORE_TO_COME;
	for (unsigned int i = 0; ret->has_vmid && i < p->config->vmid_bytes; i++)
		ret->vmid |= (uint32_t)*b->pos++ << 8 * i;
	for (unsigned int i = 0; ret->has_cid && i < p->config->cid_bytes; i++)
		ret->cid |= (uint32_t)*b->pos++ << 8 * i;
	return GOT_IT;
}

static enum got short_address(const struct etm_packets *p, struct bytes *b, uint8_t is,
			      struct etm_packet *ret)
{
	unsigned int low = is ? 1 : 2, bits = 7;
	uint64_t v;
	uint8_t byte;

	if (!bytes_u8(b, &byte))
		return GOT_MORE_TO_COME;
	v = byte & 0x7f;
	if (byte & 0x80) {
		if (!bytes_u8(b, &byte))
			return GOT_MORE_TO_COME;
		v |= (uint64_t)byte << 7;
		bits = 15;
	}
	ret->is = is;
	ret->address = p->history[0].address >> (low + bits) << (low + bits) | v << low;
	return GOT_IT;
}

static enum got long_address(const struct etm_packets *p, struct bytes *b, uint8_t is, bool is_64,
			     struct etm_packet *ret)
{
	uint64_t v;
	size_t nr = is_64 ? 8 : 4;

	if (bytes_left(b) < nr)
		return GOT_MORE_TO_COME;
	if (is)
		v = (uint64_t)(b->pos[0] & 0x7f) << 1 | (uint64_t)b->pos[1] << 8;
	else
		v = (uint64_t)(b->pos[0] & 0x7f) << 2 | (uint64_t)(b->pos[1] & 0x7f) << 9;
	for (unsigned int i = 2; i < nr; i++)
		v |= (uint64_t)b->pos[i] << 8 * i;
	b->pos += nr;
	ret->is = is;
	if (!is_64 && p->is_aarch64)
		v |= p->history[0].address & 0xffffffff00000000u;
	ret->address = v;
	return GOT_IT;
}

static enum got match_address(const struct etm_packets *p, struct etm_packet *ret)
{
	ret->match = ret->header & 3;
	ret->address = p->history[ret->match].address;
	ret->is = p->history[ret->match].is;
	return GOT_IT;
}

/** The address that @p form names, without the context after it. */
static enum got address(const struct etm_packets *p, enum etm_form form, struct bytes *b,
			struct etm_packet *ret)
{
	switch (form) {
	case ETM_FORM_S0:
	case ETM_FORM_S1:
		return short_address(p, b, form == ETM_FORM_S1, ret);
	case ETM_FORM_320:
	case ETM_FORM_321:
		return long_address(p, b, form == ETM_FORM_321, false, ret);
	case ETM_FORM_640:
	case ETM_FORM_641:
		return long_address(p, b, form == ETM_FORM_641, true, ret);
	case ETM_FORM_MATCH:
		return match_address(p, ret);
	case ETM_FORM_NONE:
		break;
	}
	return GOT_IT;
}

static enum got q_element(const struct etm_packets *p, struct bytes *b, struct etm_packet *ret)
{
	enum etm_form form = etm_headers[ret->header].form;
	enum got got = address(p, form, b, ret);

	if (got != GOT_IT)
		return got;
	ret->has_address = form != ETM_FORM_NONE;
	ret->has_q_count = ret->header != 0xaf;
	return ret->has_q_count ? field(b, MAX_FIELD_BYTES, &ret->q_count) : GOT_IT;
}

static enum got cancel(struct bytes *b, struct etm_packet *ret)
{
	switch (ret->kind) {
	case ETM_CANCEL_F1:
	case ETM_CANCEL_F1_MISPRED:
		ret->is_mispredict = ret->kind == ETM_CANCEL_F1_MISPRED;
		return field(b, MAX_FIELD_BYTES, &ret->commit);
	case ETM_CANCEL_F3:
		ret->atoms = (struct etm_atoms){ret->header & 1u, ret->header & 1u};
		ret->commit = (ret->header >> 1 & 3) + 2u;
		break;
	default: /* CANCEL_F2, MISPREDICT */
		ret->atoms = etm_few_atoms(ret->header & 3);
		ret->commit = ret->kind == ETM_CANCEL_F2;
		break;
	}
	ret->is_mispredict = true;
	return GOT_IT;
}

static enum got payload(const struct etm_packets *p, const struct etm_header *h, struct bytes *b,
			struct etm_packet *ret)
{
	enum got got;

	switch (h->payload) {
	case ETM_PAYLOAD_NONE:
		ret->events = ret->header & 0xf;
		ret->events = ret->kind == ETM_EVENT ? ret->events : 0;
		return GOT_IT;
	case ETM_PAYLOAD_EXTENSION:
		return extension(b, ret);
	case ETM_PAYLOAD_TRACE_INFO:
		return trace_info(b, ret);
	case ETM_PAYLOAD_TIMESTAMP:
		return timestamp(p, b, ret);
	case ETM_PAYLOAD_EXCEPTION:
		return exception(p, b, ret);
	case ETM_PAYLOAD_ITE:
		return instrumentation(b, ret);
	case ETM_PAYLOAD_COUNT_1:
		return count_1(p, b, ret);
	case ETM_PAYLOAD_COUNT_2:
		return count_2(p, b, ret);
	case ETM_PAYLOAD_COUNT_3:
		return count_3(p, ret);
	case ETM_PAYLOAD_COMMIT:
		return field(b, MAX_FIELD_BYTES, &ret->commit);
	case ETM_PAYLOAD_CANCEL:
		return cancel(b, ret);
	case ETM_PAYLOAD_CONTEXT:
		return context(p, b, &ret->context);
	case ETM_PAYLOAD_ADDRESS:
		return address(p, h->form, b, ret);
	case ETM_PAYLOAD_ADDRESS_CONTEXT:
		got = address(p, h->form, b, ret);
		return got == GOT_IT ? context(p, b, &ret->context) : got;
	case ETM_PAYLOAD_Q:
		return q_element(p, b, ret);
	case ETM_PAYLOAD_ATOMS:
		ret->atoms = etm_atoms_of(ret->header);
		return GOT_IT;
	case ETM_PAYLOAD_RESERVED:
		break;
	}
	return GOT_BAD;
}

/** What a whole packet changes for those after it. */
static void take(struct etm_packets *p, const struct etm_packet *k)
{
	switch (k->kind) {
	case ETM_TRACE_INFO:
		memset(p->history, 0, sizeof(p->history));
		p->timestamp = 0;
		p->threshold = k->trace_info.cyct;
		break;
	case ETM_TIMESTAMP:
		p->timestamp = k->timestamp;
		break;
	case ETM_PE_RESET:
	case ETM_TRANS_FAIL:
		etm_packets_remember(p, 0, 0);
		break;
	case ETM_Q:
		if (k->has_address)
			etm_packets_remember(p, k->address, k->is);
		break;
	case ETM_DISCARD:
	case ETM_OVERFLOW:
	case ETM_BAD:
	case ETM_UNSUPPORTED:
		p->is_synced = false;
		p->nr_zeros = 0;
		break;
	default:
		if (etm_headers[k->header].form != ETM_FORM_NONE)
			etm_packets_remember(p, k->address, k->is);
		break;
	}
	if (k->context.has_payload)
		p->is_aarch64 = k->context.sf;
}

/** Does this unit have the packet? */
static uint8_t kind_here(const struct etm_config *c, uint8_t header)
{
	const struct etm_header *h = &etm_headers[header];

	switch (h->kind) {
	case ETM_FUNC_RET:
		return c->is_m_profile && c->version >= 0x42 && !c->is_ete ? ETM_FUNC_RET : ETM_BAD;
	case ETM_EXCEPT_RTN:
		return c->is_ete ? ETM_BAD : ETM_EXCEPT_RTN;
	case ETM_ITE:
		return c->version >= 0x53 ? ETM_ITE : ETM_BAD;
	case ETM_TS_MARKER:
		return c->version >= 0x46 ? ETM_TS_MARKER : ETM_BAD;
	case ETM_Q:
		return c->has_q ? ETM_Q : ETM_BAD;
	default:
		return h->since > c->version ? ETM_BAD : h->kind;
	}
}

static enum got parse(const struct etm_packets *p, struct bytes *b, struct etm_packet *ret)
{
	*ret = (struct etm_packet){.header = *b->pos++};
	ret->kind = kind_here(p->config, ret->header);
	if (ret->kind == ETM_BAD)
		return GOT_BAD;
	return payload(p, &etm_headers[ret->header], b, ret);
}

static void deliver(struct etm_packets *p, enum got got, uint64_t bytes, struct etm_packet *ret)
{
	if (got == GOT_BAD) {
		*ret = (struct etm_packet){.kind = ETM_BAD, .header = ret->header};
		bytes = 1;
	}
	ret->offset = p->offset;
	ret->bytes = bytes;
	p->offset += bytes;
	take(p, ret);
}

/** @return whether @p in has the end of one; the cursor is then after it. */
static bool find_async(struct etm_packets *p, struct bytes *in)
{
	uint8_t byte;

	while (bytes_u8(in, &byte)) {
		p->nr_skipped++;
		if (byte == ASYNC_END && p->nr_zeros == NR_ASYNC_ZEROS)
			return true;
		p->nr_zeros = byte ? 0 : (uint8_t)(p->nr_zeros + (p->nr_zeros < NR_ASYNC_ZEROS));
	}
	return false;
}

static void drop_held(struct etm_packets *p, size_t n)
{
	p->nr_held = (uint8_t)(p->nr_held - n);
	memmove(p->held, p->held + n, p->nr_held);
}

static enum clew_err report(struct etm_packets *p, enum etm_kind kind, uint64_t bytes,
			    struct etm_packet *ret)
{
	*ret = (struct etm_packet){.kind = (uint8_t)kind};
	deliver(p, GOT_IT, bytes, ret);
	return CLEW_OK;
}

/** Report what was skipped first, then the async. */
static enum clew_err resync(struct etm_packets *p, struct bytes *in, struct etm_packet *ret)
{
	struct bytes held = bytes_of(p->held, p->nr_held);
	uint64_t skipped;

	if (!p->is_synced) {
		p->is_synced = find_async(p, &held);
		drop_held(p, p->nr_held - bytes_left(&held));
		if (!p->is_synced)
			p->is_synced = find_async(p, in);
		if (!p->is_synced)
			return CLEW_END;
	}
	skipped = p->nr_skipped - ASYNC_BYTES;
	p->nr_skipped = skipped ? ASYNC_BYTES : 0;
	return skipped ? report(p, ETM_NOT_SYNCED, skipped, ret)
		       : report(p, ETM_ASYNC, ASYNC_BYTES, ret);
}

/** Complete a packet that the input before cut. */
static enum got parse_held(struct etm_packets *p, struct bytes *in, struct etm_packet *ret,
			   size_t *ret_bytes)
{
	for (;;) {
		struct bytes b = bytes_of(p->held, p->nr_held);
		enum got got = parse(p, &b, ret);

		*ret_bytes = p->nr_held - bytes_left(&b);
		if (got != GOT_MORE_TO_COME || !bytes_u8(in, &p->held[p->nr_held]))
			return got;
		p->nr_held++;
	}
}

enum clew_err etm_packets_next(struct etm_packets *p, struct bytes *in, struct etm_packet *ret)
{
	struct bytes b = *in;
	size_t bytes;
	enum got got;

	if (!p->is_synced || p->nr_skipped)
		return resync(p, in, ret);
	if (p->nr_held) {
		got = parse_held(p, in, ret, &bytes);
		if (got == GOT_MORE_TO_COME)
			return CLEW_END;
		deliver(p, got, bytes, ret);
		drop_held(p, ret->bytes);
		return CLEW_OK;
	}
	if (!bytes_left(in))
		return CLEW_END;
	got = parse(p, &b, ret);
	if (got == GOT_MORE_TO_COME) {
		p->nr_held = (uint8_t)bytes_left(in);
		memcpy(p->held, in->pos, p->nr_held);
		in->pos = in->end;
		return CLEW_END;
	}
	deliver(p, got, (uint64_t)(b.pos - in->pos), ret);
	in->pos += ret->bytes;
	return CLEW_OK;
}

enum clew_err etm_packets_finish(struct etm_packets *p, struct etm_packet *ret)
{
	uint64_t held = p->nr_held, skipped = p->nr_skipped;

	p->nr_held = 0;
	p->nr_skipped = 0;
	if (held)
		return report(p, ETM_INCOMPLETE, held, ret);
	return skipped ? report(p, ETM_NOT_SYNCED, skipped, ret) : CLEW_END;
}

void etm_packets_init(struct etm_packets *p, const struct etm_config *config)
{
	*p = (struct etm_packets){.config = config, .is_aarch64 = true};
}

void etm_packets_reset(struct etm_packets *p, uint64_t offset)
{
	const struct etm_config *config = p->config;

	etm_packets_init(p, config);
	p->offset = offset;
}
