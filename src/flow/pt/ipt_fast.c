/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_path_walk.h"
#include "flow/flow_walk.h"
#include "flow/pt/ipt_flow_impl.h"
#include "packet/pt/ipt_headers.h"

/*
 * Branches and the address after them, taken as a path (flow_paths.h). A short TNT is a letter of
 * its key as it is; a long one is up to eight letters.
 */

enum {
	LETTER_BRANCHES = IPT_MAX_SHORT_TNT,
	LONG_BYTES = 8,
	MOST_BYTES = LONG_BYTES + FLOW_PATH_LETTERS + 9, /* that one look needs */
};

/** What stands at a place of the trace. */
struct piece {
	uint64_t key;
	uint64_t to; /* of a TIP; FLOW_NO_ADDRESS: none */
	uint8_t nr_letters, nr_bytes;
	bool is_long; /* the letters are of one packet */
};

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
}

static uint32_t context_of(const struct ipt_flow *f)
{
	uint8_t bits = f->flow.context.x86.bits;

	return bits == 16 ? IPT_IN_16 : bits == 32 ? IPT_IN_32 : IPT_IN_64;
}

static bool may_take_path(const struct ipt_flow *f)
{
	const struct flow *flow = &f->flow;

	return f->sync == IPT_RUNNING && f->power == IPT_ON && !f->has_event && !f->is_abort &&
	       !f->nr_notes && !f->has_cfe && !f->nr_waiting && !f->held.is_set &&
	       !f->next.has_mode && !f->next.has_pip && !f->next.has_vmcs && f->packets.is_synced &&
	       !f->packets.nr_held && !f->packets.item_bytes && !f->packets.nr_psbs &&
	       !f->packets.nr_skipped && !f->packets.is_after_overflow && !flow->needs_context &&
	       (!flow->needs_address || (flow->is_popping && flow->stack_nr));
}

/** The bits of a long TNT, six by six, the oldest first. */
static void read_long(const uint8_t *p, struct piece *ret)
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
	ret->nr_bytes = ret->is_long ? LONG_BYTES : 0;
}

static void read_piece(const struct ipt_flow *f, const uint8_t *p, struct piece *ret)
{
	const struct flow_rules *r = &f->flow.rules;

	*ret = (struct piece){.to = FLOW_NO_ADDRESS};
	if (p[0] == IPT_EXTENDED && p[1] == IPT_TNT_LONG)
		read_long(p, ret);
	else
		for (; ret->nr_letters < FLOW_PATH_LETTERS && r->letters[*p].nr; p++) {
			ret->key |= (uint64_t)*p << 8 * ret->nr_letters++;
			ret->nr_bytes++;
		}
}

/** The TIP after the letters, if it changes nothing but where execution is. @return its bytes. */
static unsigned int read_tip(const struct ipt_flow *f, const uint8_t *p, uint64_t *ret)
{
	const struct ipt_header *h = &ipt_headers[*p];
	uint64_t payload = 0, ip;

	if (h->kind != IPT_TIP || h->bytes == 1)
		return 0;
	for (unsigned int i = 1; i < h->bytes; i++)
		payload |= (uint64_t)p[i] << 8 * (i - 1);
	ip = ipt_ip_of((enum ipt_ip_form)(*p >> 5), payload, f->packets.last_ip);
	if (ip >> 63 != f->flow.context.x86.is_kernel)
		return 0;
	*ret = ip;
	return h->bytes;
}

static const struct flow_path *path_of(struct ipt_flow *f, const struct piece *s)
{
	struct flow *flow = &f->flow;
	uint64_t start = flow->blocks.all.data[flow->at].start;
	uint32_t from = flow->at << FLOW_CONTEXT_BITS | context_of(f);
	size_t slot = flow_path_slot(&flow->paths, flow->space, start, s->key, s->to);
	const struct flow_path *p = flow_path_find(&flow->paths, slot, from, s->key, s->to);

	return p ? p : flow_path_walk(flow, from, s->key, s->nr_letters, s->to);
}

/** The letters that a cut path left over are taken branch by branch. @return bytes of packets
 * that are done with. */
static unsigned int take_rest(struct ipt_flow *f, const struct piece *s, const struct flow_path *p)
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
	return s->is_long ? LONG_BYTES : done;
}

/** @return bytes taken; 0: no path. */
static unsigned int take_path(struct ipt_flow *f, const uint8_t *at)
{
	struct flow *flow = &f->flow;
	const struct flow_path *p;
	unsigned int tip_bytes;
	struct piece s;

	read_piece(f, at, &s);
	tip_bytes = read_tip(f, at + s.nr_bytes, &s.to);
	if ((!s.nr_letters && !tip_bytes) || !flow_pop(flow) || !flow_here(flow))
		return 0;
	p = path_of(f, &s);
	if (!p)
		return 0;
	flow->offset = f->packets.offset;
	flow_run_path(flow, p);
	if (p->more & FLOW_PATH_IS_CUT)
		return take_rest(f, &s, p);
	flow->totals.nr_packets += (s.is_long ? 1u : s.nr_letters) + (tip_bytes != 0);
	if (tip_bytes)
		f->packets.last_ip = s.to;
	return s.nr_bytes + tip_bytes;
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
	f->packets.offset += (uint64_t)(at - in->pos);
	f->clock.is_after_cyc = f->is_mode_last = false;
	in->pos = at;
}

/** What a path can change of may_take_path(). */
static bool is_still_fast(const struct ipt_flow *f)
{
	const struct flow *flow = &f->flow;

	return !flow->err && !f->nr_waiting &&
	       (!flow->needs_address || (flow->is_popping && flow->stack_nr));
}

void ipt_fast_decode(struct ipt_flow *f, struct bytes *in)
{
	struct flow *flow = &f->flow;

	if (!may_take_path(f))
		return;
	while (bytes_left(in) >= MOST_BYTES && is_still_fast(f)) {
		unsigned int nr = take_path(f, in->pos);

		if (!nr)
			return;
		in->pos += nr;
		f->packets.offset += nr;
		ipt_skip_pads(f, in);
		if (flow->nr_items + FLOW_ITEMS_OF_PACKET > FLOW_BATCH_ITEMS - FLOW_ITEMS_OF_PATH)
			flow_deliver(flow);
		flow_limit_cache(flow);
	}
}
