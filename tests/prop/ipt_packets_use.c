/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prop/ipt_packets_use.h"

#include "format/trace/ipt_packet_text.h"
#include "make/splitmix.h"

enum { MAX_PACKET_BYTES = 16 };

struct seen {
	uint64_t nr, bytes, sum; /* of the packets' texts */
	const char *why;
	struct buf text;
};

static void add_sum(struct seen *s, const struct ipt_packet *p)
{
	buf_clear(&s->text);
	buf_printf(&s->text, "%s %u %llu ", ipt_kind_name((enum ipt_kind)p->kind), p->ip_form,
		   (unsigned long long)p->bytes);
	ipt_packet_text(&s->text, p);
	for (size_t i = 0; i < s->text.nr; i++)
		s->sum = (s->sum ^ (uint8_t)s->text.data[i]) * 0x100000001b3u;
}

static void see(struct seen *s, const struct ipt_packet *p)
{
	if (p->kind >= NR_IPT_KINDS || p->kind == IPT_MODE)
		s->why = "a kind that is none";
	else if (p->offset != s->bytes || !p->bytes)
		s->why = "a gap between packets";
	else if (p->bytes > MAX_PACKET_BYTES && p->kind != IPT_NOT_SYNCED)
		s->why = "a packet that is too long";
	else if (p->kind == IPT_TNT &&
		 (!p->nr_tnt || p->nr_tnt > IPT_MAX_TNT || p->tnt >> p->nr_tnt))
		s->why = "branches that are too many";
	s->nr++;
	s->bytes += p->bytes;
	add_sum(s, p);
}

static void feed(struct ipt_packets *p, struct bytes in, struct seen *s)
{
	struct ipt_packet k;

	while (!s->why && ipt_packets_next(p, &in, &k) == CLEW_OK)
		see(s, &k);
	if (!s->why && bytes_left(&in))
		s->why = "bytes that were not taken";
}

static struct seen decode(const struct ipt_config *c, struct bytes in, size_t piece)
{
	struct seen s = {.sum = 0xcbf29ce484222325u};
	uint64_t total = bytes_left(&in), random = total;
	struct ipt_packets p;
	struct ipt_packet k;
	struct bytes next;
	size_t n;

	ipt_packets_init(&p, c);
	while (!s.why && bytes_left(&in)) {
		n = piece ? piece : 1 + (size_t)splitmix64(&random) % 40;
		n = n < bytes_left(&in) ? n : bytes_left(&in);
		bytes_take(&in, n, &next);
		feed(&p, next, &s);
	}
	while (!s.why && ipt_packets_finish(&p, &k) == CLEW_OK)
		see(&s, &k);
	if (!s.why && s.bytes != total)
		s.why = "bytes that are in no packet";
	buf_done(&s.text);
	return s;
}

const char *ipt_packets_use(const struct ipt_config *c, struct bytes in, size_t piece,
			    uint64_t *ret_nr)
{
	struct seen whole = decode(c, in, SIZE_MAX), pieces = decode(c, in, piece);

	*ret_nr = whole.nr;
	if (whole.why || pieces.why)
		return whole.why ? whole.why : pieces.why;
	return whole.nr == pieces.nr && whole.sum == pieces.sum ? NULL : "other packets in pieces";
}
