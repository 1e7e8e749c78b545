/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prop/etm_packets_use.h"

#include "make/etm_packet_brief.h"
#include "make/splitmix.h"

enum { MAX_PACKET_BYTES = 32 };

struct seen {
	uint64_t nr, bytes, sum; /* of the packets' texts */
	const char *why;
	struct buf text;
};

static void add_sum(struct seen *s, const struct etm_packet *p)
{
	buf_clear(&s->text);
	etm_packet_brief(&s->text, p);
	for (size_t i = 0; i < s->text.nr; i++)
		s->sum = (s->sum ^ (uint8_t)s->text.data[i]) * 0x100000001b3u;
}

static void see(struct seen *s, const struct etm_packet *p)
{
	if (p->kind >= NR_ETM_KINDS)
		s->why = "a kind that is none";
	else if (p->offset != s->bytes || !p->bytes)
		s->why = "a gap between packets";
	else if (p->bytes > MAX_PACKET_BYTES && p->kind != ETM_NOT_SYNCED)
		s->why = "a packet that is too long";
	else if (p->atoms.nr > 24 || p->atoms.bits >> p->atoms.nr || p->match > 2)
		s->why = "a field that is too great";
	s->nr++;
	s->bytes += p->bytes;
	add_sum(s, p);
}

static void feed(struct etm_packets *p, struct bytes in, struct seen *s)
{
	struct etm_packet k;

	while (!s->why && etm_packets_next(p, &in, &k) == CLEW_OK)
		see(s, &k);
	if (!s->why && bytes_left(&in))
		s->why = "bytes that were not taken";
}

static struct seen decode(const struct etm_config *c, struct bytes in, size_t piece)
{
	struct seen s = {.sum = 0xcbf29ce484222325u};
	uint64_t total = bytes_left(&in), random = total;
	struct etm_packets p;
	struct etm_packet k;
	struct bytes next;
	size_t n;

	etm_packets_init(&p, c);
	while (!s.why && bytes_left(&in)) {
		n = piece ? piece : 1 + (size_t)splitmix64(&random) % 40;
		n = n < bytes_left(&in) ? n : bytes_left(&in);
		bytes_take(&in, n, &next);
		feed(&p, next, &s);
	}
	while (!s.why && etm_packets_finish(&p, &k) == CLEW_OK)
		see(&s, &k);
	if (!s.why && s.bytes != total)
		s.why = "bytes that are in no packet";
	buf_done(&s.text);
	return s;
}

const char *etm_packets_use(const struct etm_config *c, struct bytes in, size_t piece,
			    uint64_t *ret_nr)
{
	struct seen whole = decode(c, in, SIZE_MAX), pieces = decode(c, in, piece);

	*ret_nr = whole.nr;
	if (whole.why || pieces.why)
		return whole.why ? whole.why : pieces.why;
	return whole.nr == pieces.nr && whole.sum == pieces.sum ? NULL : "other packets in pieces";
}
