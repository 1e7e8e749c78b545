/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/etm_any.h"
#include "make/etm_packet_brief.h"
#include "make/splitmix.h"
#include "prop/etm_packets_use.h"
#include "unit/tap.h"

/* Random streams of every packet: pieces of any size, garbage, flipped bits and cuts. */

enum { NR_PACKETS = 400, NR_FLIPS = 40 };
static const size_t pieces[] = {1, 7, 0};

static const char *use_all(const struct etm_config *c, const struct buf *b, size_t size,
			   uint64_t *ret_nr)
{
	const char *why = NULL;

	for (size_t i = 0; !why && i < 3; i++)
		why = etm_packets_use(c, bytes_of(b->data, size), pieces[i], ret_nr);
	return why;
}

/** @return how many packets are none, or not of what was encoded. */
static uint64_t count_bad(const struct etm_config *c, const struct buf *b)
{
	struct bytes in = bytes_of(b->data, b->nr);
	uint64_t ret = 0;
	struct etm_packets p;
	struct etm_packet k;

	etm_packets_init(&p, c);
	while (etm_packets_next(&p, &in, &k) == CLEW_OK)
		ret += k.kind <= ETM_UNSUPPORTED;
	return ret + !etm_packets_finish(&p, &k);
}

static const char *mutate(struct etm_any *a, struct buf *b)
{
	const char *why = NULL;
	uint64_t nr, random;

	for (int i = 0; !why && i < NR_FLIPS; i++) {
		random = splitmix64(&a->random);
		b->data[(random >> 3) % b->nr] ^= (char)(1u << (random & 7));
		why = etm_packets_use(a->config, bytes_of(b->data, b->nr), pieces[i % 3], &nr);
	}
	for (size_t cut = 0; !why && cut < 200 && cut < b->nr; cut++)
		why = etm_packets_use(a->config, bytes_of(b->data, cut), pieces[cut % 3], &nr);
	return why;
}

static void one(unsigned int i)
{
	struct etm_config c = etm_any_config(i);
	struct etm_any a = {.config = &c, .random = i};
	struct buf b = {0};
	const char *why;
	uint64_t nr = 0;

	etm_any_stream(&a, &b, NR_PACKETS, false);
	CHECK_EQ(count_bad(&c, &b), 0, "v%02x %u: what is encoded are packets", c.version, i);
	why = use_all(&c, &b, b.nr, &nr);
	CHECK(!why && nr >= NR_PACKETS / 2, "in pieces: %s", why ? why : "");
	buf_clear(&b);
	etm_any_stream(&a, &b, NR_PACKETS, true);
	why = use_all(&c, &b, b.nr, &nr);
	CHECK(!why, "with garbage: %s", why ? why : "");
	why = mutate(&a, &b);
	CHECK(!why, "with flipped bits, and cut: %s", why ? why : "");
	buf_done(&b);
}

int main(void)
{
	for (unsigned int i = 0; i < NR_ETM_ANY_CONFIGS; i++)
		one(i);
	return tap_done();
}
