/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_SPE_SPE_RECORD_H
#define PACKET_SPE_SPE_RECORD_H

#include "base/bytes.h"
#include "base/security.h"
#include "packet/spe/spe_packet.h"

/*
 * SPE bytes -> records, one per sampled operation. What a record does not report has no bit in
 * `has` and is 0; that 0 means nothing. Damage costs the records it touches and at most one more.
 *
 *	spe_reader_init(&r, counter_bits);
 *	for each AUX range:
 *		spe_reader_start(&r, its offset in the AUX buffer, SPE_AT_RECORD);
 *		for each piece of its bytes, in order:
 *			spe_reader_feed(&r, piece, bytes);
 *			while ((n = spe_reader_take(&r, items, N))) ...
 *		spe_reader_end(&r);
 *		while ((n = spe_reader_take(&r, items, N))) ...
 *
 * Any pieces give the same items. Spec: DDI 0487 "SPE sample record"; docs/decisions/spe.md for
 * what is taken for a record after damage.
 */

/** Bits of spe_record.has. */
enum {
	SPE_HAS_PC = 1 << 0, /* of the addresses: 1 << index */
	SPE_HAS_TARGET = 1 << 1,
	SPE_HAS_VA = 1 << 2,
	SPE_HAS_PA = 1 << 3,
	SPE_HAS_PREV_TARGET = 1 << 4,
	SPE_HAS_TOTAL = 1 << 5, /* of the counters: SPE_HAS_TOTAL << index */
	SPE_HAS_ISSUE = 1 << 6,
	SPE_HAS_XLAT = 1 << 7,
	SPE_HAS_CONTEXT_EL1 = 1 << 8, /* SPE_HAS_CONTEXT_EL1 << index */
	SPE_HAS_CONTEXT_EL2 = 1 << 9,
	SPE_HAS_EVENTS = 1 << 10,
	SPE_HAS_OPERATION = 1 << 11,
	SPE_HAS_SOURCE = 1 << 12,
	SPE_HAS_TIMESTAMP = 1 << 13,     /* else the record ended with END */
	SPE_HAS_OTHER_ADDRESS = 1 << 14, /* of a reserved index: see spe_record.other */
	SPE_HAS_OTHER_COUNTER = 1 << 15,
};

enum {
	SPE_NR_OTHER = 2,              /* of a record's reserved addresses and counters: kept */
	SPE_OTHER_IS_ADDRESS = 1 << 7, /* in other_index; else a counter */
};

/** What an item of the reader is. */
enum spe_outcome {
	SPE_COMPLETE, /* a record */
	SPE_DAMAGED,  /* bytes that began as a record, and are none: see reason */
	SPE_CUT,      /* the range ended inside a record */
	SPE_SKIPPED,  /* bytes up to where records are recognised again */
	NR_SPE_OUTCOMES
};

enum spe_damage {
	SPE_NO_DAMAGE,
	SPE_BAD_HEADER, /* a byte that is no header */
	SPE_BAD_CLASS,  /* a reserved class of operation or index of context */
	SPE_DUPLICATE,  /* the same packet twice */
	SPE_BAD_PAD,    /* alignment between packets, or too much padding */
	SPE_NO_PC,
	SPE_NO_OPERATION, /* nor events */
	SPE_FAR_TIME,     /* a timestamp far from those before and after */
	NR_SPE_DAMAGES
};

struct spe_alike;
struct spe_alike_set;

struct spe_record {
	uint64_t offset; /* of its first byte, in the AUX buffer */
	uint64_t bytes;  /* up to the next; of SPE_CUT: what there is of it */
	uint32_t has;
	uint8_t outcome;      /* enum spe_outcome; the fields below are of SPE_COMPLETE only */
	uint8_t damage;       /* enum spe_damage */
	uint8_t saturated;    /* bits of enum spe_counter_index: the value is "at least" */
	uint8_t events_bytes; /* 1, 2, 4 or 8: how many of the events are reported */
	/* Payloads of PC, TARGET, VA, PA, PREV_TARGET as they are: see the functions below. */
	uint64_t address[NR_SPE_ADDRESSES];
	uint64_t events; /* bit set */
	uint64_t timestamp;
	uint64_t source;     /* raw: by core */
	uint32_t context[2]; /* CONTEXTIDR_EL1, _EL2 */
	uint16_t counter[3]; /* by enum spe_counter_index */
	uint8_t op_class, op_payload;
	/* Of reserved indexes: the first ones, in their order; all by spe_packet_at(). */
	uint8_t nr_other, other_index[SPE_NR_OTHER];
	uint64_t other[SPE_NR_OTHER];
	struct spe_alike *alike; /* NULL; with spe_reader.alike_set: spe_alike.h */
};

/** Is all of @p has reported? */
static inline bool spe_has(const struct spe_record *r, uint32_t has)
{
	return (r->has & has) == has;
}

/** Bits 55:0 of a payload, sign-extended: bit 55 selects the upper half of an address space. */
static inline uint64_t spe_va_of(uint64_t payload)
{
	return (uint64_t)((int64_t)(payload << 8) >> 8);
}

static inline uint64_t spe_pc(const struct spe_record *r)
{
	return spe_va_of(r->address[SPE_ADDRESS_PC]);
}

static inline uint64_t spe_target(const struct spe_record *r)
{
	return spe_va_of(r->address[SPE_ADDRESS_TARGET]);
}

static inline uint64_t spe_prev_target(const struct spe_record *r)
{
	return spe_va_of(r->address[SPE_ADDRESS_PREV_TARGET]);
}

/** The data address without the tag. */
static inline uint64_t spe_va(const struct spe_record *r)
{
	return spe_va_of(r->address[SPE_ADDRESS_VA]);
}

/** The top byte of the pointer. */
static inline uint8_t spe_va_tag(const struct spe_record *r)
{
	return (uint8_t)(r->address[SPE_ADDRESS_VA] >> 56);
}

/** Bits 55:0; which of 55:52 are address depends on the core. */
static inline uint64_t spe_pa(const struct spe_record *r)
{
	return r->address[SPE_ADDRESS_PA] & (UINT64_MAX >> 8);
}

static inline uint8_t spe_pa_pat(const struct spe_record *r)
{
	return r->address[SPE_ADDRESS_PA] >> 56 & 0xf;
}

/** Was the tag checked? */
static inline bool spe_pa_ch(const struct spe_record *r)
{
	return r->address[SPE_ADDRESS_PA] >> 62 & 1;
}

static inline enum arm_security spe_pa_security(const struct spe_record *r)
{
	uint64_t v = r->address[SPE_ADDRESS_PA];

	return (enum arm_security)((v >> 61 & 1) << 1 | v >> 63);
}

/** Exception level of the payload of PC, TARGET or PREV_TARGET: 0 to 3. */
static inline uint8_t spe_el_of(uint64_t payload)
{
	return payload >> 61 & 3;
}

static inline enum arm_security spe_security_of(uint64_t payload)
{
	return (enum arm_security)((payload >> 60 & 1) << 1 | payload >> 63);
}

enum spe_start {
	SPE_AT_RECORD, /* an AUX range: begins with a record or padding */
	SPE_ANYWHERE,  /* a snapshot: find the first record as after damage */
};

struct spe_counts {
	uint64_t nr[NR_SPE_OUTCOMES];
	uint64_t bytes[NR_SPE_OUTCOMES];
	uint64_t nr_damaged[NR_SPE_DAMAGES];
	uint64_t padding_bytes; /* between records */
};

void spe_counts_add(struct spe_counts *sum, const struct spe_counts *c);

enum {
	SPE_MAX_RECORD = 2048,   /* PMSIDR_EL1.MaxSize */
	SPE_LONG_PADDING = 4096, /* more than the driver pads: after damage as good as the end */
	/* What may have to be seen before a byte is judged. */
	SPE_LOOKAHEAD = 16 + 3 * (SPE_MAX_RECORD + SPE_LONG_PADDING + 2 * SPE_MAX_ALIGNMENT),
	SPE_SHAPE_WORDS = 16, /* of 8 bytes; longer records have no shape */
	SPE_NR_SHAPES = 64,
	SPE_NO_SHAPE = 0xff,
};

/** Payloads of a shape. */
enum {
	SPE_FIELD_ADDRESS, /* by index */
	SPE_FIELD_COUNTER = SPE_FIELD_ADDRESS + NR_SPE_ADDRESSES,
	SPE_FIELD_CONTEXT = SPE_FIELD_COUNTER + 3,
	SPE_FIELD_EVENTS = SPE_FIELD_CONTEXT + 2,
	SPE_FIELD_OPERATION,
	SPE_FIELD_SOURCE,
	SPE_FIELD_TIMESTAMP,
	SPE_NR_FIELDS
};

/** A sequence of headers that was met: spe_shape.h. */
struct spe_shape {
	uint64_t mask[SPE_SHAPE_WORDS], value[SPE_SHAPE_WORDS]; /* header bytes, at their places */
	struct spe_field {
		uint64_t mask; /* 0: not reported */
		uint8_t at;    /* from the record's begin */
	} fields[SPE_NR_FIELDS], others[SPE_NR_OTHER];
	uint32_t has;
	uint8_t bytes, events_bytes, op_class;
	uint8_t nr_other, other_index[SPE_NR_OTHER];
	bool is_long; /* headers beyond 64 bytes */
	uint8_t next; /* of the same key */
};

struct spe_shapes {
	uint64_t key_mask[4];
	uint8_t first[64]; /* by key; SPE_NO_SHAPE: none */
	uint8_t nr;
	struct spe_shape shapes[SPE_NR_SHAPES];
};

enum spe_step {
	SPE_IN_STEP,
	SPE_SEARCHING, /* from `search` on, for a place to continue at */
	SPE_FOUND,     /* at `search`: what was lost is reported next */
};

/** The caller's; one per stream of ranges. Not to be read from outside. Some 70 KiB. */
struct spe_reader {
	uint16_t counter_max[2]; /* values that mean "at least" */
	enum spe_step step;
	uint8_t damage; /* why it is not in step */
	bool is_over;   /* spe_reader_end() */
	bool has_first, has_last;
	uint64_t first, last; /* timestamps */
	/* Offsets in the buffer: where the range begins; the record that is none, and how far it
	 * looked like one; where to search. */
	uint64_t range_from, lost_from, damaged_to, search;
	const uint8_t *pos, *end; /* input, borrowed */
	uint64_t offset;          /* of held[0]; of pos if none are held */
	uint32_t nr_held;
	struct spe_counts counts;
	struct spe_shapes shapes;
	struct spe_alike_set *alike_set; /* NULL: all is read */
	uint8_t held[2 * SPE_LOOKAHEAD];
};

/** @p counter_bits: 12 or 16 (PMSIDR_EL1.CountSize); 0: unknown. */
void spe_reader_init(struct spe_reader *r, unsigned int counter_bits);

/** After init: do not read in full what is counted (spe_alike.h). @p a is borrowed; NULL: do. */
void spe_reader_set_alike(struct spe_reader *r, struct spe_alike_set *a);

/** A new range begins at @p offset of the AUX buffer. What the last one left is forgotten: end it
 * first. */
void spe_reader_start(struct spe_reader *r, uint64_t offset, enum spe_start start);

/** The range's next bytes, borrowed until spe_reader_take() returns 0. */
void spe_reader_feed(struct spe_reader *r, const void *data, size_t bytes);

/**
 * Up to @p max items, in the order of their offsets.
 * @return how many; 0: all that was fed is used.
 * Cost: some 20 ns per record, linear in the bytes whatever they are. Never fails.
 */
size_t spe_reader_take(struct spe_reader *r, struct spe_record *ret, size_t max);

/** The range is over: what is left is cut. Followed by spe_reader_take(). */
void spe_reader_end(struct spe_reader *r);

/** Where a reader stands between two records, and what it needs to continue there. */
struct spe_place {
	uint64_t offset; /* in the AUX buffer */
	uintptr_t pos;   /* in memory, if all that was fed lies side by side; never read from */
	uint64_t last;   /* timestamp; with has_last */
	bool has_last;
};

/** @return false: it looks for a record after damage. */
bool spe_reader_place(const struct spe_reader *r, struct spe_place *ret);
/** As spe_reader_start(), in the range that @p at is in: bytes before it are not read. */
void spe_reader_resume(struct spe_reader *r, const struct spe_place *at);

/*
 * Parts for threads. A range [0, bytes) may be cut at spe_cut()'s answer: one reader is fed the
 * bytes before and not ended, another starts there. If then spe_reader_joins(), the items of both
 * in order are those of one reader; else the second's are dropped, and the first continues.
 */

/** Where a record begins, at or after @p at; @p bytes: nowhere. O(bytes looked at). */
size_t spe_cut(const uint8_t *data, size_t bytes, uint64_t offset, size_t at);

bool spe_reader_joins(const struct spe_reader *first, const struct spe_reader *second);

#endif
