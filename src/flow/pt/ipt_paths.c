/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/pt/ipt_paths.h"

#ifdef __SSE2__
# include <emmintrin.h>
#endif

#include "flow/flow_path_walk.h"
#include "flow/flow_walk.h"
#include "packet/pt/ipt_headers.h"

/* How an address is coded: the older one's bits to keep, those of the packet, and the bits that
 * repeat bit 47. */
struct form {
	uint64_t keep, low, sign, none;
	uint64_t more;  /* bytes, after the header */
	uint32_t bytes; /* of the packet; 0: it is none of these */
	uint32_t how;   /* FLOW_TO_UNTRACED: TIP.PGD */
} __attribute__((aligned(64)));

#define ALL (~0ull)
/* clang-format off */
#define IP_FORMS(first, how)                                      \
	[(first) + 1] = {ALL << 16, ALL >> 48, 0, 0, 2, 3, how},  \
	[(first) + 2] = {ALL << 32, ALL >> 32, 0, 0, 4, 5, how},  \
	[(first) + 3] = {0, ALL >> 16, ALL << 48, 0, 6, 7, how},  \
	[(first) + 4] = {ALL << 48, ALL >> 16, 0, 0, 6, 7, how},  \
	[(first) + 6] = {0, ALL, 0, 0, 8, 9, how}
/* clang-format on */

/* By enum ipt_ip_form. */
enum { NO_FORM = 0, OF_TIP = 0, OF_PGD = 8, OF_PGE = 16, NR_FORMS = 24 };
static const struct form forms[NR_FORMS] = {
	[NO_FORM] = {.none = FLOW_NO_ADDRESS},
	IP_FORMS(OF_TIP, 0),
	IP_FORMS(OF_PGD, FLOW_TO_UNTRACED),
	IP_FORMS(OF_PGE, 0),
};

void ipt_scan_init(struct ipt_flow *f)
{
	for (unsigned int h = 0; h <= 0xff; h++) {
		const struct ipt_header *k = &ipt_headers[h];
		uint8_t form = (uint8_t)(k->bytes > 1 ? h >> 5 : NO_FORM);

		f->tips[h] = k->kind == IPT_TIP ? form : NO_FORM;
		f->ends[h] = k->kind == IPT_TIP_PGD && form ? (uint8_t)(OF_PGD + form) : f->tips[h];
		f->begins[h] = k->kind == IPT_TIP_PGE && form ? (uint8_t)(OF_PGE + form) : NO_FORM;
	}
}

static inline uint64_t address_of(const struct form *form, uint64_t last, uint64_t payload)
{
	uint64_t sign = (uint64_t)((int64_t)(payload << 16) >> 63);

	return (last & form->keep) | (payload & form->low) | (sign & form->sign) | form->none;
}

/** Which of the bytes at @p p, the first one lowest, are padding, and which short TNTs: those that
 * are even, and neither 00 nor 02. */
struct marks {
	uint32_t pads, tnts;
};

enum { MARKED = 16 };

#ifdef __SSE2__
static inline struct marks marks_of(const uint8_t *p)
{
	const __m128i zero = _mm_setzero_si128(), headers = _mm_set1_epi8((char)0xfc);
	__m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i small = _mm_cmpeq_epi8(_mm_and_si128(x, headers), zero);
	__m128i others = _mm_or_si128(small, _mm_slli_epi16(x, 7)); /* bit 7: odd */

	return (struct marks){(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, zero)),
			      (uint32_t)_mm_movemask_epi8(others) ^ 0xffff};
}
#else
/** The highest bit of each byte. */
static inline uint32_t high_bits(uint64_t x)
{
	return (uint32_t)((x >> 7 & 0x0101010101010101u) * 0x0102040810204080u >> 56);
}

/** The highest bit of each byte: is it not 0? */
static inline uint64_t not_zero(uint64_t x)
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7fu;

	return ((x & low) + low) | x;
}

static inline struct marks marks_of(const uint8_t *p)
{
	struct marks ret = {0, 0};

	for (unsigned int i = 0; i < MARKED; i += 8) {
		uint64_t x = load_le64(p + i);

		ret.pads |= high_bits(~not_zero(x)) << i;
		ret.tnts |= high_bits(not_zero(x & 0xfcfcfcfcfcfcfcfcu) & ~(x << 7)) << i;
	}
	return ret;
}
#endif

/** How many of @p bits are set in a row, from the lowest on; at most @p most. */
static inline unsigned int nr_in_row(uint32_t bits, unsigned int most)
{
	return (unsigned int)__builtin_ctz(~bits | 1u << most);
}

/** @p at after up to IPT_SCAN_PADS of padding. */
static inline const uint8_t *skip_pads(const uint8_t *at)
{
	return at + nr_in_row(marks_of(at).pads, IPT_SCAN_PADS);
}

static inline const struct form *read_address(const uint8_t *at, const uint8_t *form_nrs,
					      uint64_t last_ip, struct ipt_piece *ret)
{
	const struct form *form = &forms[form_nrs[*at]];

	ret->address_at = at;
	ret->to = address_of(form, last_ip, load_le64(at + 1));
	ret->address_bytes = (uint8_t)form->bytes;
	ret->how = (uint8_t)form->how;
	return form;
}

/** Letters with padding before and after them: at which byte. */
struct shape {
	unsigned int letters, nr_letters, end;
};

static inline struct shape shape_of(struct marks m)
{
	unsigned int at = nr_in_row(m.pads, IPT_SCAN_PADS);
	unsigned int nr = nr_in_row(m.tnts >> at, FLOW_PATH_LETTERS);

	return (struct shape){at, nr, at + nr + nr_in_row(m.pads >> (at + nr), IPT_SCAN_PADS)};
}

/** Padding, letters, padding, and an address, where they are in this order. */
static __attribute__((always_inline)) inline const struct form *read_piece(const uint8_t *pos,
									   const uint8_t *form_nrs,
									   uint64_t last_ip,
									   struct ipt_piece *ret)
{
	struct marks m = marks_of(pos);
	struct shape s = shape_of(m);

	if (__builtin_expect(s.end >= MARKED, 0)) {
		struct marks next = marks_of(pos + MARKED);

		s = shape_of(
			(struct marks){m.pads | next.pads << MARKED, m.tnts | next.tnts << MARKED});
	}
	ret->key = load_le64(pos + s.letters) & flow_path_first_letters[s.nr_letters];
	ret->nr_letters = (uint8_t)s.nr_letters;
	return read_address(pos + s.end, form_nrs, last_ip, ret);
}

/** Does tracing end, and begin again, without anything else to say? */
static bool is_leaving_plain(const struct ipt_flow *f)
{
	return !f->nr_evds && !f->is_in_transaction && !f->was_in_transaction && !f->has_psb &&
	       !f->was_overflow && f->flow.has_first_to != FLOW_TO_OPEN;
}

static const uint8_t *form_nrs_of(const struct ipt_flow *f)
{
	return is_leaving_plain(f) ? f->ends : f->tips;
}

void ipt_read_piece(const struct ipt_flow *f, const uint8_t *pos, struct ipt_piece *ret)
{
	const uint8_t *form_nrs = form_nrs_of(f);
	uint64_t last_ip = f->packets.last_ip;

	if (ret->is_long)
		read_address(skip_pads(pos + IPT_LONG_TNT_BYTES), form_nrs, last_ip, ret);
	else
		read_piece(pos, form_nrs, last_ip, ret);
	/* In the other half it is in another context. No path leads there. */
	if (!ret->address_bytes || ret->how || ret->to >> 63 == f->flow.context.x86.is_kernel)
		return;
	ret->address_bytes = 0;
	ret->to = FLOW_NO_ADDRESS;
}

/** @return after the item of @p e, of the packet at @p offset. */
static inline uint32_t *put_event(struct ipt_flow *f, uint32_t *items, uint64_t offset,
				  enum flow_event_kind kind, uint64_t address)
{
	struct flow *flow = &f->flow;
	bool is_on = kind == FLOW_EV_TRACE_ON;
	const struct flow_event e = {.kind = (uint8_t)kind,
				     .is_target = true,
				     .isa = (uint8_t)(is_on ? ipt_isa(f) : 0),
				     .space = is_on ? flow->space : 0,
				     .address = address,
				     .offset = offset};

	*items = FLOW_ITEM_EVENT | (uint32_t)flow->events.nr;
	if (vec_push(&flow->events, e))
		return items + 1;
	flow_fail(flow, CLEW_NO_MEMORY);
	return items;
}

/** Where tracing begins again. */
struct begin {
	const uint8_t *at; /* the packet */
	const struct form *form;
	uint64_t ip;
	uint32_t block; /* FLOW_NO_BLOCK: it does not, or more is to be done there */
};

/** At @p pos, after tracing ended with @p p, in which it is kept where it began again. */
static inline struct begin begin_again(const struct ipt_flow *f, const uint8_t *pos,
				       struct flow_path *p)
{
	const struct flow *flow = &f->flow;
	const uint8_t *at = skip_pads(pos);
	const struct form *form = &forms[f->begins[*at]];
	uint64_t ip = address_of(form, p->to, load_le64(at + 1));

	if (!form->bytes || ip >> 63 != flow->context.x86.is_kernel)
		return (struct begin){at, form, ip, FLOW_NO_BLOCK};
	if (p->next == FLOW_NO_BLOCK || flow->blocks.all.data[p->next].start != ip ||
	    flow->blocks.all.data[p->next].space != flow->space)
		p->next = flow_blocks_find(&flow->blocks, flow->space, ipt_isa(f), ip);
	return (struct begin){at, form, ip, p->next};
}

/** Is something left on the return stack after @p p? */
static bool may_return(const struct flow *f, const struct flow_path *p)
{
	return f->stack_nr && (!(p->more & FLOW_PATH_CALLS) ||
			       flow_path_calls(&f->paths, p)->most_pushed < f->rules.stack_depth);
}

/** The return of block @p from is compressed: to the return stack's top. @return FLOW_NO_BLOCK: out
 * of memory. */
static uint32_t take_return(struct flow *f, uint32_t from)
{
	uint32_t ret = flow_return_block(f, &f->stack[f->stack_top]);

	flow_pop_top(f);
	if (ret != FLOW_NO_BLOCK && !f->items)
		flow_count_target(f, from, ret, (int32_t)f->step);
	return ret;
}

/** What the loop changes. */
struct scan {
	const uint8_t *pos, *last;
	uint64_t last_ip;
	uint32_t *items, *last_item;
	uint32_t at;                    /* FLOW_NO_BLOCK: see returning; or tracing is off */
	uint32_t returning;             /* the block of a return, where no packet follows it */
	struct flow_path *with_address; /* the last path, if it ends with an address */
};

/* All it needs is in variables of its own, so that the compiler sees that nothing else changes
 * it. */
static __attribute__((always_inline)) inline void scan(struct ipt_flow *f, struct scan *s,
						       bool is_counting)
{
	struct flow *const flow = &f->flow;
	const struct flow_paths t = flow->paths;
	const struct flow_block *blocks = flow->blocks.all.data;
	const uint8_t *const form_nrs = form_nrs_of(f), *const last = s->last;
	const uint64_t offset = f->packets.offset - (uintptr_t)s->pos;
	const uint32_t mode = ipt_mode_of(f), space = flow->space, step = flow->step;
	uint32_t *items = s->items, *const last_item = s->last_item;
	uint64_t last_ip = s->last_ip, start = blocks[s->at].start;
	uint64_t nr_more_bytes = 0, nr_insns = 0, nr_ranges = 0;
	const uint8_t *pos = s->pos;
	uint32_t at = s->at, returning = FLOW_NO_BLOCK;
	struct flow_path *with_address = NULL;

	while (pos <= last && (is_counting || items <= last_item)) {
		struct ipt_piece k;
		const struct form *form = read_piece(pos, form_nrs, last_ip, &k);
		struct flow_path *path;
		struct begin begin;
		uint32_t from;
		size_t slot;

		if (__builtin_expect(returning != FLOW_NO_BLOCK, 0)) {
			if (!k.nr_letters && !form->bytes)
				break;
			at = take_return(flow, returning);
			returning = FLOW_NO_BLOCK;
			if (at == FLOW_NO_BLOCK)
				break;
			blocks = flow->blocks.all.data;
			start = blocks[at].start;
		}
		from = at << FLOW_FROM_BITS | form->how | mode;
		slot = flow_path_slot(&t, space, start, k.key, k.to);
		path = flow_path_find(&t, slot, from, k.key, k.to);
		if (__builtin_expect(!path, 0))
			break;
		if (path->more & FLOW_PATH_IS_CUT ||
		    (path->more & FLOW_PATH_LEAVES && !may_return(flow, path)))
			break;
		if (path->more & FLOW_PATH_CALLS)
			flow_push_path(flow, path);
		if (is_counting) {
			path->nr_runs += step;
		} else {
			const struct flow_path_more *more = flow_path_more(&t, path);

			items = flow_path_put_items(items, more);
			nr_ranges += more->nr_items;
			nr_insns += more->nr_insns;
		}
		pos = k.address_at + form->bytes;
		nr_more_bytes += form->more;
		if (__builtin_expect(!form->bytes, 0)) {
			at = path->next;
			with_address = NULL;
			if (at == FLOW_NO_BLOCK)
				returning = flow_path_last_block(&t, path);
			else
				start = blocks[at].start;
			continue;
		}
		last_ip = start = k.to;
		with_address = path;
		if (!form->how) {
			at = path->next;
			continue;
		}
		flow->stack_nr = 0;
		with_address = NULL;
		if (!is_counting)
			items = put_event(f, items, offset + (uintptr_t)k.address_at,
					  FLOW_EV_TRACE_OFF, k.to);
		begin = begin_again(f, pos, path);
		at = begin.block;
		if (at == FLOW_NO_BLOCK)
			break;
		if (!is_counting)
			items = put_event(f, items, offset + (uintptr_t)begin.at, FLOW_EV_TRACE_ON,
					  begin.ip);
		pos = begin.at + begin.form->bytes;
		nr_more_bytes += begin.form->more;
		last_ip = start = begin.ip;
	}
	/* Letters and padding are of one byte each. */
	flow->totals.nr_packets += (uint64_t)(pos - s->pos) - nr_more_bytes;
	flow->totals.nr_insns += nr_insns;
	flow->totals.nr_ranges += nr_ranges;
	*s = (struct scan){pos, last, last_ip, items, last_item, at, returning, with_address};
}

static void scan_begin(struct ipt_flow *f, struct scan *s, const struct bytes *in)
{
	*s = (struct scan){.pos = in->pos,
			   .last = in->end - IPT_SCAN_BYTES,
			   .last_ip = f->packets.last_ip,
			   .at = f->flow.at};
	if (!f->flow.items)
		return;
	s->items = f->flow.items + f->flow.nr_items;
	s->last_item =
		f->flow.items + (FLOW_BATCH_ITEMS - FLOW_ITEMS_OF_PATH - FLOW_ITEMS_OF_PACKET);
}

static void scan_end(struct ipt_flow *f, const struct scan *s, struct bytes *in)
{
	struct flow *flow = &f->flow;

	flow->first = FLOW_FIRST_RAN;
	if (flow->items)
		flow->nr_items = (size_t)(s->items - flow->items);
	flow_keep_path_edge(flow, s->with_address);
	ipt_took(f, in, (size_t)(s->pos - in->pos));
	f->packets.last_ip = s->last_ip;
	if (s->returning != FLOW_NO_BLOCK) {
		flow_leave(flow, s->returning);
		return;
	}
	if (s->at == FLOW_NO_BLOCK) {
		f->power = IPT_OFF;
		flow_lose_place(flow);
		return;
	}
	flow->at = s->at;
	flow->pc = flow->blocks.all.data[s->at].start;
	flow->isa = (enum isa)flow->blocks.all.data[s->at].isa;
}

void ipt_scan(struct ipt_flow *f, struct bytes *in)
{
	struct scan s;

	scan_begin(f, &s, in);
	if (f->flow.items)
		scan(f, &s, false);
	else
		scan(f, &s, true);
	if (s.pos != in->pos)
		scan_end(f, &s, in);
}
