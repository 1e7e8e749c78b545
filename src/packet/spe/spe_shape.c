/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/spe/spe_shape.h"

#include <endian.h>
#include <string.h>

enum { KEY_WORDS = 4, MAX_CHAIN = 4 };

static uint64_t load_le64(const uint8_t *p)
{
	return le64toh(load_u64(p, false));
}

void spe_shapes_init(struct spe_shapes *s)
{
	s->nr = 0;
	memset(s->first, SPE_NO_SHAPE, sizeof(s->first));
	memset(s->key_mask, 0xff, sizeof(s->key_mask));
}

/** From the bytes that are headers in all shapes: what makes shapes differ begins there. */
static inline unsigned int key_of(const struct spe_shapes *s, const uint8_t *pos)
{
	uint64_t h = 0;

	for (unsigned int i = 0; i < KEY_WORDS; i++)
		h = (h ^ (load_u64(pos + 8 * i, false) & s->key_mask[i])) * 0x9e3779b97f4a7c15U;
	return (unsigned int)(h >> 58);
}

static inline bool is_shape(const struct spe_shape *s, const uint8_t *pos)
{
	uint64_t diff = 0;

	for (unsigned int i = 0; i < 8; i++)
		diff |= (load_u64(pos + 8 * i, false) & s->mask[i]) ^ s->value[i];
	if (!s->is_long || diff)
		return !diff;
	for (unsigned int i = 8; i < SPE_SHAPE_WORDS; i++)
		diff |= (load_u64(pos + 8 * i, false) & s->mask[i]) ^ s->value[i];
	return !diff;
}

static inline uint64_t field(const struct spe_field *f, const uint8_t *pos)
{
	return load_le64(pos + f->at) & f->mask;
}

static inline void read_fields(const struct spe_shape *s, const uint8_t *pos,
			       struct spe_record *ret)
{
	const struct spe_field *f = s->fields;

	ret->bytes = s->bytes;
	ret->has = s->has;
	ret->outcome = SPE_COMPLETE;
	ret->damage = SPE_NO_DAMAGE;
	ret->saturated = 0;
	ret->events_bytes = s->events_bytes;
	for (unsigned int i = 0; i < NR_SPE_ADDRESSES; i++)
		ret->address[i] = field(&f[SPE_FIELD_ADDRESS + i], pos);
	ret->events = field(&f[SPE_FIELD_EVENTS], pos);
	ret->timestamp = field(&f[SPE_FIELD_TIMESTAMP], pos);
	ret->source = field(&f[SPE_FIELD_SOURCE], pos);
	ret->context[0] = (uint32_t)field(&f[SPE_FIELD_CONTEXT], pos);
	ret->context[1] = (uint32_t)field(&f[SPE_FIELD_CONTEXT + 1], pos);
	for (unsigned int i = 0; i < 3; i++)
		ret->counter[i] = (uint16_t)field(&f[SPE_FIELD_COUNTER + i], pos);
	ret->op_class = s->op_class;
	ret->op_payload = (uint8_t)field(&f[SPE_FIELD_OPERATION], pos);
}

bool spe_shapes_read(const struct spe_shapes *s, const uint8_t *pos, uint64_t offset,
		     struct spe_record *ret)
{
	unsigned int i = s->first[key_of(s, pos)];

	for (unsigned int n = 0; i != SPE_NO_SHAPE && n < MAX_CHAIN; n++) {
		if (is_shape(&s->shapes[i], pos)) {
			ret->offset = offset;
			read_fields(&s->shapes[i], pos, ret);
			return true;
		}
		i = s->shapes[i].next;
	}
	return false;
}

/** The field of a packet; SPE_NR_FIELDS: its payload is in none. */
static unsigned int field_of(const struct spe_packet *p)
{
	switch (p->kind) {
	case SPE_EVENTS:
		return SPE_FIELD_EVENTS;
	case SPE_DATA_SOURCE:
		return SPE_FIELD_SOURCE;
	case SPE_OPERATION:
		return SPE_FIELD_OPERATION;
	case SPE_CONTEXT:
		return SPE_FIELD_CONTEXT + p->index;
	case SPE_TIMESTAMP:
		return SPE_FIELD_TIMESTAMP;
	case SPE_COUNTER:
		return p->index > SPE_COUNTER_XLAT ? SPE_NR_FIELDS : SPE_FIELD_COUNTER + p->index;
	case SPE_ADDRESS:
		return p->index < NR_SPE_ADDRESSES ? SPE_FIELD_ADDRESS + p->index : SPE_NR_FIELDS;
	default:
		return SPE_NR_FIELDS;
	}
}

static void learn_packet(struct spe_shape *s, uint8_t *mask, size_t at, const struct spe_packet *p)
{
	unsigned int f = field_of(p);

	memset(mask + at, 0xff, p->header_bytes);
	if (f == SPE_NR_FIELDS)
		return;
	s->fields[f].at = (uint8_t)(at + p->header_bytes);
	s->fields[f].mask = UINT64_MAX >> (64 - 8 * p->payload_bytes);
}

static void learn_packets(struct spe_shape *s, const uint8_t *pos, const struct spe_record *rec)
{
	uint8_t mask[8 * SPE_SHAPE_WORDS] = {0};
	struct spe_packet p;

	for (size_t at = 0; at < rec->bytes; at += p.bytes) {
		spe_packet_at(pos + at, rec->bytes - at, 0, &p);
		learn_packet(s, mask, at, &p);
		s->is_long = at + p.header_bytes > 64;
	}
	for (unsigned int i = 0; i < SPE_SHAPE_WORDS; i++) {
		s->mask[i] = load_u64(mask + 8 * i, false);
		s->value[i] = load_u64(pos + 8 * i, false) & s->mask[i];
	}
}

/** The key is of other bytes now: every shape has a new place. */
static void place_all(struct spe_shapes *s)
{
	memset(s->first, SPE_NO_SHAPE, sizeof(s->first));
	for (unsigned int i = 0; i < s->nr; i++) {
		uint8_t *first = &s->first[key_of(s, (const uint8_t *)s->shapes[i].value)];

		s->shapes[i].next = *first;
		*first = (uint8_t)i;
	}
}

void spe_shapes_learn(struct spe_shapes *s, const uint8_t *pos, const struct spe_record *rec)
{
	struct spe_shape *n = &s->shapes[s->nr];

	if (s->nr == SPE_NR_SHAPES || rec->bytes > 8 * SPE_SHAPE_WORDS)
		return;
	*n = (struct spe_shape){.bytes = (uint8_t)rec->bytes,
				.has = rec->has,
				.events_bytes = rec->events_bytes,
				.op_class = rec->op_class};
	learn_packets(n, pos, rec);
	s->nr++;
	for (unsigned int i = 0; i < KEY_WORDS; i++)
		s->key_mask[i] &= n->mask[i];
	place_all(s);
}
