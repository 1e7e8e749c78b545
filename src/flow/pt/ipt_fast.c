/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_path_walk.h"
#include "flow/flow_walk.h"
#include "flow/pt/ipt_paths.h"
#include "packet/pt/ipt_headers.h"

/*
 * Branches and the address after them, taken as a path (flow_paths.h). A short TNT is a letter of
 * its key as it is; a long one is up to eight letters.
 */

enum { LETTER_BRANCHES = IPT_MAX_SHORT_TNT };

void ipt_fast_init(struct ipt_flow *f)
{
	struct flow_rules *r = &f->flow.rules;

	for (unsigned int nr = 1; nr <= LETTER_BRANCHES; nr++) {
		for (unsigned int bits = 0; bits < 1u << nr; bits++) {
			unsigned int header = 1;

			for (unsigned int i = 0; i < nr; i++)
				header = header << 1 | (bits >> i & 1);
			r->letters[header << 1] = (struct flow_letter){bits, (uint8_t)nr};
		}
	}
	r->isas[IPT_IN_64][0] = ISA_X86_64;
	r->isas[IPT_IN_32][0] = ISA_X86_32;
	r->isas[IPT_IN_16][0] = ISA_X86_16;
	ipt_scan_init(f);
}

static bool may_take_path(const struct ipt_flow *f)
{
	const struct flow *flow = &f->flow;

	return !ipt_has_points(f) && !f->opts.flow.has_cycles && f->sync == IPT_RUNNING &&
	       f->power == IPT_ON && !f->has_event && !f->is_abort && !f->nr_notes &&
	       !f->nr_idles && !f->has_cfe && !f->nr_waiting && !f->held.is_set &&
	       !f->next.has_mode && !f->next.has_pip && !f->next.has_vmcs && f->packets.is_synced &&
	       !f->packets.nr_held && !f->packets.item_bytes && !f->packets.nr_psbs &&
	       !f->packets.nr_skipped && !f->packets.is_after_overflow && !flow->needs_context &&
	       (!flow->needs_address || flow_may_pop(flow));
}

/** The bits of a long TNT, six by six, the oldest first. */
static void read_long(const uint8_t *p, struct ipt_piece *ret)
{
	uint64_t v = load_le64(p) >> 16;
	unsigned int left = v ? 63 - (unsigned int)__builtin_clzll(v) : 0;

	ret->is_long = left != 0;
	for (; left; ret->nr_letters++) {
		unsigned int nr = left < LETTER_BRANCHES ? left : LETTER_BRANCHES;
		uint64_t letter = (1u << nr | (v >> (left - nr) & ((1u << nr) - 1))) << 1;

		ret->key |= letter << 8 * ret->nr_letters;
		left -= nr;
	}
}

static const struct flow_path *path_of(struct ipt_flow *f, const struct ipt_piece *s)
{
	struct flow *flow = &f->flow;
	uint64_t start = flow->blocks.all.data[flow->at].start;
	uint32_t from = flow->at << FLOW_FROM_BITS | s->how | ipt_mode_of(f);
	size_t slot = flow_path_slot(&flow->paths, flow->space, start, s->key, s->to);
	const struct flow_path *p = flow_path_find(&flow->paths, slot, from, s->key, s->to);

	return p ? p : flow_path_walk(flow, from, s->key, s->nr_letters, s->to);
}

/** The letters that a cut path left over are taken branch by branch. @return bytes of packets
 * that are done with. */
static unsigned int take_rest(struct ipt_flow *f, const struct ipt_piece *s,
			      const struct flow_path *p)
{
	const struct flow_path_more *more = flow_path_more(&f->flow.paths, p);
	struct flow_letter letter = f->flow.rules.letters[more->rest];
	unsigned int i = more->nr_bytes + (letter.nr ? 1u : 0u), done = i;
	uint64_t bits = letter.bits;
	unsigned int nr = letter.nr;

	for (; s->is_long && i < s->nr_letters; i++) {
		letter = f->flow.rules.letters[s->key >> 8 * i & 0xff];
		bits |= (uint64_t)letter.bits << nr;
		nr += letter.nr;
	}
	f->flow.totals.nr_packets += s->is_long ? 1 : done;
	if (nr)
		ipt_add_bits(f, bits, nr);
	return s->is_long ? IPT_LONG_TNT_BYTES : done;
}

/** With padding between them. */
static uint64_t nr_packets_of(const struct ipt_piece *s, const uint8_t *at)
{
	uint64_t letters = s->is_long ? IPT_LONG_TNT_BYTES - 1 : 0;

	return (uint64_t)(s->address_at - at) - letters + (s->address_bytes != 0);
}

/** @return bytes taken; 0: no path. */
static unsigned int take_path(struct ipt_flow *f, const uint8_t *at)
{
	struct flow *flow = &f->flow;
	struct ipt_piece s = {0};
	const struct flow_path *p;

	if (at[0] == IPT_EXTENDED && at[1] == IPT_TNT_LONG)
		read_long(at, &s);
	ipt_read_piece(f, at, &s);
	if ((!s.nr_letters && !s.address_bytes) || !flow_pop(flow) || !flow_here(flow))
		return 0;
	p = path_of(f, &s);
	if (!p)
		return 0;
	flow->offset = f->packets.offset;
	flow_run_path(flow, p);
	if (p->more & FLOW_PATH_IS_CUT)
		return take_rest(f, &s, p);
	flow->totals.nr_packets += nr_packets_of(&s, at);
	if (s.address_bytes)
		f->packets.last_ip = s.to;
	if (s.how) {
		flow->offset += (uint64_t)(s.address_at - at);
		ipt_end_tracing(f, FLOW_CAUSE_OTHER, s.to);
	}
	return (unsigned int)(s.address_at - at) + s.address_bytes;
}

void ipt_skip_pads(struct ipt_flow *f, struct bytes *in)
{
	const struct ipt_packets *k = &f->packets;
	const uint8_t *at = in->pos;

	if (at == in->end || *at || !k->is_synced || k->nr_held || k->item_bytes || k->nr_psbs ||
	    k->nr_skipped)
		return;
	while (at < in->end && !*at)
		at++;
	f->flow.totals.nr_packets += (uint64_t)(at - in->pos);
	ipt_took(f, in, (size_t)(at - in->pos));
}

/** What a path can change of may_take_path(). */
static bool is_still_fast(const struct ipt_flow *f)
{
	const struct flow *flow = &f->flow;

	return !flow->err && !f->nr_waiting && f->power == IPT_ON &&
	       (!flow->needs_address || flow_may_pop(flow));
}

static void make_room(struct flow *f)
{
	if (f->nr_items + FLOW_ITEMS_OF_PACKET > FLOW_BATCH_ITEMS - FLOW_ITEMS_OF_PATH)
		flow_deliver(f);
	flow_limit_cache(f);
}

/** One path, which may be new. @return false: there is none. */
static bool take_next(struct ipt_flow *f, struct bytes *in)
{
	unsigned int nr;

	ipt_skip_pads(f, in);
	nr = bytes_left(in) < IPT_SCAN_BYTES ? 0 : take_path(f, in->pos);
	if (nr)
		ipt_took(f, in, nr);
	return nr;
}

void ipt_fast_decode(struct ipt_flow *f, struct bytes *in)
{
	struct flow *flow = &f->flow;

	if (!may_take_path(f))
		return;
	while (bytes_left(in) >= IPT_SCAN_BYTES && is_still_fast(f)) {
		const uint8_t *before = in->pos;

		if (!flow->popping && flow->at != FLOW_NO_BLOCK)
			ipt_scan(f, in);
		if (in->pos == before && !take_next(f, in))
			return;
		make_room(flow);
	}
}
