/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/spe_encode.h"

#include "make/splitmix.h"

/* Payloads of packets with reserved indexes. */
static const uint16_t of_counter = 0x1234;
static const uint64_t of_address = 0x1122334455667788;

static void put_le(struct buf *out, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		buf_char(out, (char)(v >> 8 * i));
}

void spe_put(struct buf *out, uint8_t header, uint64_t value, unsigned int bytes)
{
	buf_char(out, (char)header);
	put_le(out, value, bytes);
}

static void put_indexed(struct buf *out, uint8_t base, unsigned int index, bool is_extended)
{
	if (index > 7 || is_extended)
		buf_char(out, (char)(0x20 | index >> 3));
	buf_char(out, (char)(base | (index & 7)));
}

void spe_put_address(struct buf *out, unsigned int index, uint64_t value, bool is_extended)
{
	put_indexed(out, 0xb0, index, is_extended);
	put_le(out, value, 8);
}

void spe_put_counter(struct buf *out, unsigned int index, uint16_t value, bool is_extended)
{
	put_indexed(out, 0x98, index, is_extended);
	put_le(out, value, 2);
}

/** 00 SZ 0010 and 00 SZ 0011: 42 or 43 with the size in bits 5:4. */
static void put_sized(struct buf *out, uint8_t base, uint64_t value, unsigned int bytes)
{
	unsigned int sz = bytes == 8 ? 3 : bytes == 4 ? 2 : bytes == 2 ? 1 : 0;

	spe_put(out, (uint8_t)(base | sz << 4), value, bytes);
}

static void put_addresses(struct buf *out, const struct spe_record *r, const struct spe_style *s,
			  unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i <= to; i++)
		if (r->has & 1U << i)
			spe_put_address(out, i, r->address[i], s->is_extended && i);
}

static void put_counters(struct buf *out, const struct spe_record *r, const struct spe_style *s)
{
	if (r->has & SPE_HAS_ISSUE)
		spe_put_counter(out, 1, r->counter[1], s->is_extended);
	if (r->has & SPE_HAS_TOTAL)
		spe_put_counter(out, 0, r->counter[0], s->is_extended);
	if (r->has & SPE_HAS_OTHER_COUNTER)
		spe_put_counter(out, s->other_counter, of_counter, s->is_extended);
}

static void put_context(struct buf *out, const struct spe_record *r)
{
	if (r->has & SPE_HAS_CONTEXT_EL1)
		spe_put(out, 0x64, r->context[0], 4);
	if (r->has & SPE_HAS_CONTEXT_EL2)
		spe_put(out, 0x65, r->context[1], 4);
}

void spe_put_record(struct buf *out, const struct spe_record *r, const struct spe_style *s)
{
	put_addresses(out, r, s, 0, 0);
	put_counters(out, r, s);
	if (r->has & SPE_HAS_EVENTS)
		put_sized(out, 0x42, r->events, r->events_bytes);
	if (r->has & SPE_HAS_OPERATION)
		spe_put(out, 0x48 | r->op_class, r->op_payload, 1);
	put_addresses(out, r, s, 1, 2);
	if (r->has & SPE_HAS_XLAT)
		spe_put_counter(out, 2, r->counter[2], s->is_extended);
	put_addresses(out, r, s, 3, 4);
	if (r->has & SPE_HAS_OTHER_ADDRESS)
		spe_put_address(out, s->other_address, of_address, s->is_extended);
	put_context(out, r);
	buf_fill(out, 0, s->padding);
	if (r->has & SPE_HAS_SOURCE)
		put_sized(out, 0x43, r->source, s->source_bytes);
	if (r->has & SPE_HAS_TIMESTAMP)
		spe_put(out, 0x71, r->timestamp, 8);
	else
		spe_put(out, 0x01, 0, 0);
}

static unsigned int one_of(uint64_t *random, unsigned int n)
{
	return (unsigned int)(splitmix64(random) % n);
}

static uint64_t low_bytes(uint64_t v, unsigned int bytes)
{
	return bytes == 8 ? v : v & ((1ULL << 8 * bytes) - 1);
}

static uint32_t random_has(uint64_t *random)
{
	static const uint32_t of_class[] = {0, SPE_HAS_VA | SPE_HAS_XLAT | SPE_HAS_SOURCE,
					    SPE_HAS_TARGET};
	uint32_t has = SPE_HAS_PC | SPE_HAS_OPERATION | SPE_HAS_EVENTS | SPE_HAS_TOTAL |
		       SPE_HAS_ISSUE | SPE_HAS_CONTEXT_EL2 | of_class[one_of(random, 3)];

	if (!one_of(random, 8))
		has = ((uint32_t)splitmix64(random) & (SPE_HAS_TIMESTAMP - 1U)) |
		      (splitmix64(random) & 1 ? SPE_HAS_OTHER_ADDRESS | SPE_HAS_OTHER_COUNTER : 0);
	has |= SPE_HAS_PC;
	return has & (SPE_HAS_OPERATION | SPE_HAS_EVENTS) ? has : has | SPE_HAS_EVENTS;
}

static void set_other(struct spe_record *r, unsigned int index, uint64_t value)
{
	r->other_index[r->nr_other] = (uint8_t)index;
	r->other[r->nr_other++] = value;
}

void spe_random_record(uint64_t *random, uint64_t ts, struct spe_record *ret,
		       struct spe_style *ret_style)
{
	uint32_t has = random_has(random) | (ts ? SPE_HAS_TIMESTAMP : 0);
	struct spe_style s = {.is_extended = !one_of(random, 16),
			      .source_bytes = (uint8_t)(1 << one_of(random, 4)),
			      .other_address = (uint8_t)(5 + one_of(random, 27)),
			      .other_counter = (uint8_t)(3 + one_of(random, 29)),
			      .padding = (uint8_t)(one_of(random, 4) ? 0 : one_of(random, 17))};

	*ret = (struct spe_record){.has = has, .timestamp = ts};
	for (unsigned int i = 0; i < NR_SPE_ADDRESSES; i++)
		if (has & 1U << i)
			ret->address[i] = splitmix64(random) >> (one_of(random, 3) * 8);
	for (unsigned int i = 0; i < 3; i++)
		if (has & SPE_HAS_TOTAL << i)
			ret->counter[i] =
				one_of(random, 8) ? (uint16_t)one_of(random, 1000) : 0xffff;
	for (unsigned int i = 0; i < 2; i++)
		if (has & SPE_HAS_CONTEXT_EL1 << i)
			ret->context[i] = (uint32_t)splitmix64(random);
	if (has & SPE_HAS_EVENTS) {
		ret->events_bytes = (uint8_t)(1 << one_of(random, 4));
		ret->events = low_bytes(splitmix64(random), ret->events_bytes);
	}
	if (has & SPE_HAS_OPERATION) {
		ret->op_class = (uint8_t)one_of(random, 3);
		ret->op_payload = (uint8_t)splitmix64(random);
	}
	if (has & SPE_HAS_SOURCE)
		ret->source = low_bytes(splitmix64(random), s.source_bytes);
	if (has & SPE_HAS_OTHER_COUNTER)
		set_other(ret, s.other_counter, of_counter);
	if (has & SPE_HAS_OTHER_ADDRESS)
		set_other(ret, s.other_address | SPE_OTHER_IS_ADDRESS, of_address);
	*ret_style = s;
}

static bool same_others(const struct spe_record *a, const struct spe_record *b)
{
	if (a->nr_other != b->nr_other)
		return false;
	for (unsigned int i = 0; i < a->nr_other; i++)
		if (a->other_index[i] != b->other_index[i] || a->other[i] != b->other[i])
			return false;
	return true;
}

bool spe_records_equal(const struct spe_record *a, const struct spe_record *b)
{
	return a->has == b->has && a->outcome == b->outcome && a->damage == b->damage &&
	       a->events_bytes == b->events_bytes && a->op_class == b->op_class &&
	       a->op_payload == b->op_payload && a->events == b->events && a->source == b->source &&
	       a->timestamp == b->timestamp &&
	       !memcmp(a->address, b->address, sizeof(a->address)) &&
	       !memcmp(a->context, b->context, sizeof(a->context)) &&
	       !memcmp(a->counter, b->counter, sizeof(a->counter)) && same_others(a, b);
}
