/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/ipt_packet_text.h"
#include "make/ipt_any.h"
#include "make/splitmix.h"
#include "prop/ipt_packets_use.h"
#include "unit/tap.h"

/* Random streams of every packet: read as they were written; pieces of any size, garbage, flipped
 * bits and cuts. */

enum { NR_SEEDS = 24, NR_PACKETS = 400, NR_FLIPS = 40 };
static const size_t pieces[] = {1, 7, 16, 0};
static const struct ipt_config configs[] = {{0}, {UINT16_MAX}};

static const char *use_all(const struct buf *b, size_t size)
{
	const char *why = NULL;
	uint64_t nr;

	for (size_t i = 0; !why && i < 8; i++)
		why = ipt_packets_use(&configs[i & 1], bytes_of(b->data, size), pieces[i / 2], &nr);
	return why;
}

static bool is_same(struct buf text[2], const struct ipt_packet *a, const struct ipt_packet *b)
{
	const struct ipt_packet *k[] = {a, b};

	for (int i = 0; i < 2; i++) {
		buf_clear(&text[i]);
		buf_printf(&text[i], "%s %u %llu ", ipt_kind_name((enum ipt_kind)k[i]->kind),
			   k[i]->ip_form, (unsigned long long)k[i]->bytes);
		ipt_packet_text(&text[i], k[i]);
	}
	return !strcmp(buf_cstr(&text[0]), buf_cstr(&text[1]));
}

/** @return how many packets are not read as they were written. */
static uint64_t count_other(uint64_t seed)
{
	struct ipt_any a = {.random = seed};
	struct buf text[2] = {0};
	struct ipt_packets p;
	struct ipt_packet k, want;
	struct buf b = {0};
	uint64_t ret = 0, nr = 0;
	struct bytes in;

	ipt_packets_init(&p, &configs[0]);
	p.is_synced = true; /* a PSB is found only when the byte after it is there */
	for (; nr < NR_PACKETS; nr++) {
		buf_clear(&b);
		ipt_any_packet(&a, &b, &want);
		in = bytes_of(b.data, b.nr);
		if (ipt_packets_next(&p, &in, &k) != CLEW_OK || !is_same(text, &k, &want)) {
			printf("# %s: %s\n", buf_cstr(&text[1]), buf_cstr(&text[0]));
			ret++;
		}
	}
	buf_done(&b);
	buf_done(&text[0]);
	buf_done(&text[1]);
	return ret;
}

static const char *mutate(struct ipt_any *a, struct buf *b)
{
	const char *why = NULL;
	uint64_t nr, random;

	for (int i = 0; !why && i < NR_FLIPS; i++) {
		random = splitmix64(&a->random);
		b->data[(random >> 3) % b->nr] ^= (char)(1u << (random & 7));
		why = ipt_packets_use(&configs[i & 1], bytes_of(b->data, b->nr), pieces[i % 4],
				      &nr);
	}
	for (size_t cut = 0; !why && cut < 200 && cut < b->nr; cut++)
		why = ipt_packets_use(&configs[cut & 1], bytes_of(b->data, cut), pieces[cut % 4],
				      &nr);
	return why;
}

static void one(uint64_t seed)
{
	struct ipt_any a = {.random = seed};
	struct buf b = {0};
	const char *why;

	CHECK_EQ(count_other(seed), 0, "%llu: packets are read as they were written",
		 (unsigned long long)seed);
	ipt_any_stream(&a, &b, NR_PACKETS, false);
	why = use_all(&b, b.nr);
	CHECK(!why, "in pieces: %s", why ? why : "");
	buf_clear(&b);
	ipt_any_stream(&a, &b, NR_PACKETS, true);
	why = use_all(&b, b.nr);
	CHECK(!why, "with garbage: %s", why ? why : "");
	why = mutate(&a, &b);
	CHECK(!why, "with flipped bits, and cut: %s", why ? why : "");
	buf_done(&b);
}

int main(void)
{
	for (uint64_t seed = 1; seed <= NR_SEEDS; seed++)
		one(seed);
	return tap_done();
}
