/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/spe/spe_shape.h"

#include <endian.h>
#include <string.h>

enum { KEY_WORDS = 4, MAX_CHAIN = 4 };

void spe_shapes_init(struct spe_shapes *s)
{
	s->nr = 0;
	memset(s->first, SPE_NO_SHAPE, sizeof(s->first));
	memset(s->key_mask, 0xff, sizeof(s->key_mask));
}

/* Loops of a fixed count are written out: at -O2 they stay loops, and this is read for each record.
 */

/** Are the header bytes of 32 from word @p w on other ones? */
static inline uint64_t differ(const struct spe_shape *s, const uint8_t *pos, unsigned int w)
{
	const uint64_t *m = s->mask + w, *v = s->value + w;

	pos += 8 * w;
	return ((load_u64(pos, false) & m[0]) ^ v[0]) | ((load_u64(pos + 8, false) & m[1]) ^ v[1]) |
	       ((load_u64(pos + 16, false) & m[2]) ^ v[2]) |
	       ((load_u64(pos + 24, false) & m[3]) ^ v[3]);
}

static inline bool is_shape(const struct spe_shape *s, const uint8_t *pos)
{
	if (differ(s, pos, 0) | differ(s, pos, 4))
		return false;
	return !s->is_long || !(differ(s, pos, 8) | differ(s, pos, 12));
}

static inline uint64_t field(const struct spe_shape *s, unsigned int i, const uint8_t *pos)
{
	return load_le64(pos + s->fields[i].at) & s->fields[i].mask;
}

static inline void read_fields(const struct spe_shape *s, const uint8_t *pos,
			       struct spe_record *ret)
{
	ret->bytes = s->bytes;
	ret->has = s->has;
	ret->outcome = SPE_COMPLETE;
	ret->damage = SPE_NO_DAMAGE;
	ret->saturated = 0;
	ret->alike = NULL;
	ret->events_bytes = s->events_bytes;
	ret->address[0] = field(s, SPE_FIELD_ADDRESS, pos);
	ret->address[1] = field(s, SPE_FIELD_ADDRESS + 1, pos);
	ret->address[2] = field(s, SPE_FIELD_ADDRESS + 2, pos);
	ret->address[3] = field(s, SPE_FIELD_ADDRESS + 3, pos);
	ret->address[4] = field(s, SPE_FIELD_ADDRESS + 4, pos);
	ret->events = field(s, SPE_FIELD_EVENTS, pos);
	ret->timestamp = field(s, SPE_FIELD_TIMESTAMP, pos);
	ret->source = field(s, SPE_FIELD_SOURCE, pos);
	ret->context[0] = (uint32_t)field(s, SPE_FIELD_CONTEXT, pos);
	ret->context[1] = (uint32_t)field(s, SPE_FIELD_CONTEXT + 1, pos);
	ret->counter[0] = (uint16_t)field(s, SPE_FIELD_COUNTER, pos);
	ret->counter[1] = (uint16_t)field(s, SPE_FIELD_COUNTER + 1, pos);
	ret->counter[2] = (uint16_t)field(s, SPE_FIELD_COUNTER + 2, pos);
	ret->op_class = s->op_class;
	ret->op_payload = (uint8_t)field(s, SPE_FIELD_OPERATION, pos);
}

bool spe_shapes_read(const struct spe_shapes *s, const uint8_t *pos, uint64_t offset,
		     struct spe_record *ret)
{
	unsigned int i = s->first[spe_shapes_key(s, pos)];

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

bool spe_shapes_is(const struct spe_shapes *s, unsigned int shape, const uint8_t *pos)
{
	return is_shape(&s->shapes[shape], pos);
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
		uint8_t *first = &s->first[spe_shapes_key(s, (const uint8_t *)s->shapes[i].value)];

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
