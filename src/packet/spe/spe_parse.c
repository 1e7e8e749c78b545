/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/spe/spe_parse.h"

/** Indexes that the record has, for those that may go up to 31. */
struct seen {
	uint32_t addresses, counters;
};

static bool add_once(struct spe_record *r, uint32_t has)
{
	bool is_new = !(r->has & has);

	r->has |= has;
	return is_new;
}

static bool index_once(uint32_t *seen, unsigned int index)
{
	bool is_new = !(*seen >> index & 1);

	*seen |= 1U << index;
	return is_new;
}

static void add_other(struct spe_record *r, uint8_t index, uint64_t value)
{
	if (r->nr_other == SPE_NR_OTHER)
		return;
	r->other_index[r->nr_other] = index;
	r->other[r->nr_other++] = value;
}

static enum spe_damage add_address(struct spe_record *r, struct seen *s, const struct spe_packet *p)
{
	if (!index_once(&s->addresses, p->index))
		return SPE_DUPLICATE;
	if (p->index < NR_SPE_ADDRESSES) {
		r->address[p->index] = p->payload;
		r->has |= (uint32_t)SPE_HAS_PC << p->index;
	} else {
		r->has |= SPE_HAS_OTHER_ADDRESS;
		add_other(r, p->index | SPE_OTHER_IS_ADDRESS, p->payload);
	}
	return SPE_NO_DAMAGE;
}

static enum spe_damage add_counter(struct spe_record *r, struct seen *s, const struct spe_packet *p)
{
	if (!index_once(&s->counters, p->index))
		return SPE_DUPLICATE;
	if (p->index <= SPE_COUNTER_XLAT) {
		r->counter[p->index] = (uint16_t)p->payload;
		r->has |= (uint32_t)SPE_HAS_TOTAL << p->index;
	} else {
		r->has |= SPE_HAS_OTHER_COUNTER;
		add_other(r, p->index, p->payload);
	}
	return SPE_NO_DAMAGE;
}

static enum spe_damage add_context(struct spe_record *r, const struct spe_packet *p)
{
	if (p->index > 1)
		return SPE_BAD_CLASS;
	if (!add_once(r, (uint32_t)SPE_HAS_CONTEXT_EL1 << p->index))
		return SPE_DUPLICATE;
	r->context[p->index] = (uint32_t)p->payload;
	return SPE_NO_DAMAGE;
}

static enum spe_damage add_operation(struct spe_record *r, const struct spe_packet *p)
{
	if (p->index == SPE_CLASS_RESERVED)
		return SPE_BAD_CLASS;
	r->op_class = p->index;
	r->op_payload = (uint8_t)p->payload;
	return add_once(r, SPE_HAS_OPERATION) ? SPE_NO_DAMAGE : SPE_DUPLICATE;
}

static enum spe_damage add_packet(struct spe_record *r, struct seen *s, const struct spe_packet *p)
{
	switch ((enum spe_kind)p->kind) {
	case SPE_RESERVED:
		return SPE_BAD_HEADER;
	case SPE_ALIGNMENT:
		return SPE_BAD_PAD;
	case SPE_EVENTS:
		r->events = p->payload;
		r->events_bytes = p->payload_bytes;
		return add_once(r, SPE_HAS_EVENTS) ? SPE_NO_DAMAGE : SPE_DUPLICATE;
	case SPE_DATA_SOURCE:
		r->source = p->payload;
		return add_once(r, SPE_HAS_SOURCE) ? SPE_NO_DAMAGE : SPE_DUPLICATE;
	case SPE_OPERATION:
		return add_operation(r, p);
	case SPE_CONTEXT:
		return add_context(r, p);
	case SPE_COUNTER:
		return add_counter(r, s, p);
	case SPE_ADDRESS:
		return add_address(r, s, p);
	case SPE_TIMESTAMP:
		r->timestamp = p->payload;
		r->has |= SPE_HAS_TIMESTAMP;
		return SPE_NO_DAMAGE;
	case SPE_PAD: /* cores with records of one size; else the packets before it are no record's
		       */
		return spe_has(r, SPE_HAS_PC) ? SPE_NO_DAMAGE : SPE_BAD_PAD;
	case SPE_END:
	case NR_SPE_KINDS:
		return SPE_NO_DAMAGE;
	}
	return SPE_BAD_HEADER;
}

static enum spe_damage is_incomplete(const struct spe_record *r)
{
	if (!spe_has(r, SPE_HAS_PC))
		return SPE_NO_PC;
	return r->has & (SPE_HAS_OPERATION | SPE_HAS_EVENTS) ? SPE_NO_DAMAGE : SPE_NO_OPERATION;
}

enum spe_parsed spe_record_parse(const uint8_t *pos, size_t left, uint64_t offset,
				 struct spe_record *ret)
{
	struct spe_packet p = {.kind = SPE_PAD};
	struct seen seen = {0};

	*ret = (struct spe_record){.offset = offset};
	while (p.kind != SPE_END && p.kind != SPE_TIMESTAMP) {
		if (ret->bytes > SPE_MAX_RECORD) {
			ret->damage = SPE_BAD_PAD;
			return SPE_NOT_A_RECORD;
		}
		if (ret->bytes == left)
			return SPE_NEEDS_MORE;
		spe_packet_at(pos + ret->bytes, left - ret->bytes, offset + ret->bytes, &p);
		if (p.is_cut)
			return SPE_NEEDS_MORE;
		ret->damage = add_packet(ret, &seen, &p);
		if (ret->damage != SPE_NO_DAMAGE)
			return SPE_NOT_A_RECORD;
		ret->bytes += p.bytes;
	}
	ret->damage = is_incomplete(ret);
	return ret->damage == SPE_NO_DAMAGE ? SPE_PARSED : SPE_NOT_A_RECORD;
}
