/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/pt/ipt_packet.h"

#include "packet/pt/ipt_write.h"
#include "unit/tap.h"

static const struct ipt_config no_errata;

/** Packets of @p data, which comes after a PSB if @p has_psb. */
struct read {
	struct ipt_packet k[16];
	unsigned int nr;
	bool is_synced;
};

static struct read read_all(const struct ipt_config *c, bool has_psb, const void *data,
			    size_t bytes)
{
	struct read r = {0};
	struct ipt_packets p;
	struct bytes in = bytes_of(data, bytes);

	ipt_packets_init(&p, c);
	p.is_synced = has_psb;
	while (r.nr < 16 && ipt_packets_next(&p, &in, &r.k[r.nr]) == CLEW_OK)
		r.nr++;
	while (r.nr < 16 && ipt_packets_finish(&p, &r.k[r.nr]) == CLEW_OK)
		r.nr++;
	r.is_synced = p.is_synced;
	return r;
}

#define READ(...) \
 read_all(&no_errata, true, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* --- the tables, written down a second time --- */

static unsigned int want_first(unsigned int h, enum ipt_kind *ret)
{
	static const unsigned int ip_bytes[] = {0, 2, 4, 6, 6, 99, 8, 99};
	unsigned int low = h & 0x1f, ip = ip_bytes[h >> 5];

	*ret = IPT_BAD;
	if (h == 0) {
		*ret = IPT_PAD;
		return 1;
	}
	if (!(h & 1)) {
		*ret = IPT_TNT;
		return 1;
	}
	if ((h & 3) == 3) {
		*ret = IPT_CYC;
		return 1;
	}
	if (h == 0x19 || h == 0x59 || h == 0x99 || h == 0xd9) {
		*ret = h == 0x19 ? IPT_TSC
		     : h == 0x59 ? IPT_MTC
		     : h == 0x99 ? IPT_MODE_EXEC
				 : IPT_TRIG;
		return h == 0x19 ? 8 : h == 0xd9 ? 3 : 2;
	}
	if (ip == 99 || (low != 0x0d && low != 0x11 && low != 0x01 && low != 0x1d))
		return 1;
	*ret = low == 0x0d ? IPT_TIP
	     : low == 0x11 ? IPT_TIP_PGE
	     : low == 0x01 ? IPT_TIP_PGD
			   : IPT_FUP;
	return 1 + ip;
}

static unsigned int want_second(unsigned int h, enum ipt_kind *ret)
{
	static const struct {
		uint8_t second, bytes;
		enum ipt_kind kind;
	} rows[] = {
		{0x03, 4,  IPT_CBR      },
                {0x12, 6,  IPT_PTW      },
                {0x32, 10, IPT_PTW      },
		{0x92, 6,  IPT_PTW      },
                {0xb2, 10, IPT_PTW      },
                {0x13, 4,  IPT_CFE      },
		{0x22, 4,  IPT_PWRE     },
                {0x23, 2,  IPT_PSBEND   },
                {0x33, 2,  IPT_BEP      },
		{0xb3, 2,  IPT_BEP      },
                {0x43, 8,  IPT_PIP      },
                {0x53, 11, IPT_EVD      },
		{0x62, 2,  IPT_EXSTOP   },
                {0xe2, 2,  IPT_EXSTOP   },
                {0x63, 3,  IPT_BBP      },
		{0x73, 7,  IPT_TMA      },
                {0x83, 2,  IPT_TRACESTOP},
                {0xa2, 7,  IPT_PWRX     },
		{0xa3, 8,  IPT_TNT      },
                {0xc2, 10, IPT_MWAIT    },
                {0xc8, 7,  IPT_VMCS     },
		{0xf3, 2,  IPT_OVF      },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (rows[i].second != h)
			continue;
		*ret = rows[i].kind;
		return rows[i].bytes;
	}
	*ret = IPT_BAD;
	return 1;
}

/** Is @p data, with as few bytes as there are, a packet of @p kind and @p bytes? */
static bool is_packet(const uint8_t *data, enum ipt_kind kind, unsigned int bytes)
{
	for (unsigned int nr = 1; nr <= 12; nr++) {
		struct read r = read_all(&no_errata, true, data, nr);

		if (nr < bytes &&
		    (r.nr != 1 || r.k[0].kind != IPT_INCOMPLETE || r.k[0].bytes != nr))
			return false;
		if (nr >= bytes && (!r.nr || r.k[0].kind != kind || r.k[0].bytes != bytes))
			return false;
	}
	return true;
}

static void check_tables(void)
{
	unsigned int nr_first = 0, nr_second = 0, bytes;
	uint8_t data[12] = {0};
	enum ipt_kind kind;

	for (unsigned int h = 0; h < 256; h++) {
		memset(data, 0, sizeof(data));
		data[0] = (uint8_t)h;
		bytes = want_first(h, &kind);
		if ((h & 7) == 7 && (h & 3) == 3) /* a CYC that goes on, with 0 */
			bytes = 2;
		if (h == 2)
			continue;
		nr_first += is_packet(data, kind, bytes);
	}
	CHECK_EQ(nr_first, 255, "the first byte says kind and length");
	for (unsigned int h = 0; h < 256; h++) {
		memset(data, 0, sizeof(data));
		data[0] = 2;
		data[1] = (uint8_t)h;
		data[2] = h == 0xa3 ? 2 : 0;
		bytes = want_second(h, &kind);
		if (h == 0x82 || h == 0xc3) /* below */
			continue;
		nr_second += kind == IPT_BAD ? READ(2, (uint8_t)h).k[0].kind == IPT_BAD
					     : is_packet(data, kind, bytes);
	}
	CHECK_EQ(nr_second, 254, "after 02, the second byte does");
	CHECK(READ(2, 0xc3, 0x88, 1, 2, 3, 4, 5, 6, 7, 8).k[0].mnt == 0x0807060504030201,
	      "MNT has a third byte");
	CHECK(READ(2, 0xc3, 0x89, 1, 2, 3, 4, 5, 6, 7, 8).k[0].kind == IPT_BAD,
	      "and no other than 88");
	CHECK(READ(0xd9, 0x40, 1, 2, 3).k[0].bytes == 5 && READ(0xd9, 0, 1, 2, 3).k[0].bytes == 3,
	      "TRIG has a count or not");
	CHECK(READ(0x99, 0x40).k[0].kind == IPT_BAD && READ(0x99, 0x21).k[0].kind == IPT_MODE_TSX,
	      "MODE has two leaves");
}

/* --- fields --- */

static void check_addresses(void)
{
	struct read r;

	r = READ(0xdd, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* all of it */
		 0x2d, 0x34, 0x12,                                     /* 16 bits */
		 0x4d, 0x78, 0x56, 0x34, 0x12,                         /* 32 */
		 0x8d, 1, 2, 3, 4, 5, 6,                               /* 48 */
		 0x0d,                                                 /* none */
		 0x6d, 0, 0, 0, 0, 0, 0x80,                            /* 48, extended */
		 0x71, 0, 0, 0, 0, 0, 0x7f);
	CHECK_EQ(r.nr, 7, "seven addresses");
	CHECK(r.k[0].ip == 0x1122334455667788, "64 bits");
	CHECK(r.k[1].ip == 0x1122334455661234, "16 bits of it change");
	CHECK(r.k[2].ip == 0x1122334412345678, "32 bits change");
	CHECK(r.k[3].ip == 0x1122060504030201, "48 bits change");
	CHECK(r.k[4].ip == 0x1122060504030201 && r.k[4].ip_form == IPT_IP_NONE,
	      "suppressed: the last one stays");
	CHECK(r.k[5].ip == 0xffff800000000000, "bit 47 is extended");
	CHECK(r.k[6].ip == 0x00007f0000000000, "if it is not set, too");
}

static void check_last_address(void)
{
	static const uint8_t psb[] = {0x6d, 1, 2,    3,    4,    5,    6,    2, 0x82, 2,
				      0x82, 2, 0x82, 2,    0x82, 2,    0x82, 2, 0x82, 2,
				      0x82, 2, 0x82, 0x5d, 0x40, 0x44, 0x40, 0};
	struct read r = read_all(&no_errata, true, psb, sizeof(psb));

	CHECK(r.nr == 3 && r.k[1].kind == IPT_PSB && r.k[2].ip == 0x404440,
	      "the FUP in a PSB+ is compressed against 0");
	r = READ(0x6d, 1, 2, 3, 4, 5, 6, 2, 0xf3, 0x2d, 7, 7, 0x6d, 1, 2, 3, 4, 5, 6, 0x2d, 7, 7);
	CHECK(r.k[2].ip == 0x060504030707 && r.k[2].is_doubtful,
	      "after an overflow the last address stays, but is doubtful");
	CHECK(!r.k[3].is_doubtful && !r.k[4].is_doubtful, "until a whole one comes");
}

static bool has_branches(const struct read *r, const char *want)
{
	const struct ipt_packet *k = &r->k[0];

	if (k->kind != IPT_TNT || k->nr_tnt != strlen(want))
		return false;
	for (unsigned int i = 0; i < k->nr_tnt; i++)
		if ((k->tnt >> i & 1 ? 'T' : 'N') != want[i])
			return false;
	return true;
}

static void check_branches(void)
{
	static const struct {
		uint8_t byte;
		const char *want;
	} rows[] = {
		{0x04, "N"     },
                {0x06, "T"     },
                {0x08, "NN"    },
                {0x0a, "NT"    },
		{0x0c, "TN"    },
                {0xfe, "TTTTTT"},
                {0x80, "NNNNNN"},
	};
	struct read r;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		r = READ(rows[i].byte);
		CHECK(has_branches(&r, rows[i].want), "%02x is %s", rows[i].byte, rows[i].want);
	}
	r = READ(2, 0xa3, 2, 0, 0, 0, 0, 0);
	CHECK(has_branches(&r, "N"), "a long TNT may be short");
	r = READ(2, 0xa3, 1, 0, 0, 0, 0, 0x80);
	CHECK(has_branches(&r, "NNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNT"),
	      "it has up to 47, the oldest highest");
	CHECK(READ(2, 0xa3, 1, 0, 0, 0, 0, 0).k[0].kind == IPT_BAD &&
		      READ(2, 0xa3, 0, 0, 0, 0, 0, 0).k[0].kind == IPT_BAD,
	      "and not none");
}

static void check_times(void)
{
	struct read r = READ(0x1b, 7, 2, 0xff, 0xfe);

	CHECK(r.nr == 3 && r.k[0].cyc == 3 && r.k[1].cyc == 0x20 && r.k[2].cyc == 0xfff,
	      "cycles of one and two bytes");
	r = READ(7, 3, 3, 3, 3, 3, 3, 3, 3, 2);
	CHECK(r.nr == 1 && r.k[0].bytes == 10, "cycles of ten bytes");
	r = READ(7, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2);
	CHECK(r.k[0].kind == IPT_BAD, "and no more");
	r = READ(0x19, 1, 2, 3, 4, 5, 6, 7, 0x59, 9, 2, 3, 0x24, 0);
	CHECK(r.k[0].tsc == 0x07060504030201 && r.k[1].mtc == 9 && r.k[2].cbr == 0x24,
	      "TSC, MTC, CBR");
	r = READ(2, 0x73, 0x34, 0x12, 0, 0xff, 1);
	CHECK(r.k[0].tma.ctc == 0x1234 && r.k[0].tma.fast == 0x1ff && !r.k[0].tma.has_reserved,
	      "TMA");
	r = READ(2, 0x73, 0x34, 0x12, 1, 0xff, 1, 0);
	CHECK(r.nr == 2 && r.k[0].tma.has_reserved, "TMA with reserved bits is one");
}

static void check_context(void)
{
	struct read r = READ(2, 0x43, 3, 0, 0, 0, 0, 0x80, 2, 0xc8, 1, 0, 0, 0, 0x80, 0x99, 1, 0x99,
			     2, 0x99, 0x22);

	CHECK(r.k[0].pip.is_non_root && r.k[0].pip.cr3 == (UINT64_C(0x800000000003) >> 1 << 5),
	      "PIP has bits 51:5 of CR3 and NR");
	CHECK(r.k[1].vmcs == UINT64_C(0x8000000001) << 12, "VMCS has bits 51:12");
	CHECK(r.k[2].exec.cs_l && !r.k[2].exec.cs_d && r.k[3].exec.cs_d && r.k[4].tsx.is_abort,
	      "MODE");
}

static void check_events(void)
{
	struct read r = READ(2, 0x92, 1, 2, 3, 4, 2, 0x32, 1, 2, 3, 4, 5, 6, 7, 8, 2, 0xe2, 2, 0x62,
			     2, 0x22, 0x80, 0x21);

	CHECK(r.k[0].has_fup && r.k[0].ptw == 0x04030201, "PTW with 4 bytes and a FUP");
	CHECK(!r.k[1].has_fup && r.k[1].ptw == 0x0807060504030201, "PTW with 8 bytes");
	CHECK(r.k[2].has_fup && !r.k[3].has_fup, "EXSTOP with and without");
	CHECK(r.k[4].pwre.is_hw && r.k[4].pwre.state == 2 && r.k[4].pwre.sub_state == 1, "PWRE");
	r = READ(2, 0xa2, 0x31, 4, 0, 0, 0, 2, 0xc2, 1, 0, 0, 0, 2, 0, 0, 0, 2, 0x13, 0x81, 0x0e, 2,
		 0x53, 1, 8, 0, 0, 0, 0, 0, 0, 0);
	CHECK(r.k[0].pwrx.deepest == 1 && r.k[0].pwrx.last == 3 && r.k[0].pwrx.reason == 4, "PWRX");
	CHECK(r.k[1].mwait.hints == 1 && r.k[1].mwait.extensions == 2, "MWAIT");
	CHECK(r.k[2].has_fup && r.k[2].cfe.type == 1 && r.k[2].cfe.vector == 14, "CFE");
	CHECK(r.k[3].evd.type == 1 && r.k[3].evd.payload == 8, "EVD");
}

static void check_block(void)
{
	struct read r = READ(2, 0x63, 0x81, 0x0c, 1, 2, 3, 4, 0x19, 0, 0, 0, 0, 0, 0, 0, 0x14, 5, 6,
			     7, 8, 2, 0xb3, 0x0c);

	CHECK(r.nr == 6 && r.k[0].bbp.type == 1 && r.k[0].bbp.item_bytes == 4, "BBP");
	CHECK(r.k[1].kind == IPT_BIP && r.k[1].bip.item == 1 && r.k[1].bip.value == 0x04030201,
	      "BIP");
	CHECK(r.k[2].kind == IPT_TSC && r.k[3].kind == IPT_BIP, "a TSC does not end the block");
	CHECK(r.k[4].has_fup && r.k[5].kind == IPT_TNT, "BEP does");
	r = READ(2, 0x63, 0x01, 0x0a, 0x0c);
	CHECK(r.nr == 3 && r.k[1].kind == IPT_TNT && r.k[2].kind == IPT_TNT, "and a TNT does");
}

/* --- synchronisation --- */

static void put_pairs(struct buf *b, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		buf_add(b, "\x02\x82", 2);
}

static void check_sync(void)
{
	struct buf b = {0};
	struct read r;

	buf_add(&b, "\x05\x02\x82\x02\x02", 5);
	put_pairs(&b, 8);
	buf_add(&b, "\x02\x23\x06", 3);
	r = read_all(&no_errata, false, b.data, b.nr);
	CHECK(r.nr == 4 && r.k[0].kind == IPT_NOT_SYNCED && r.k[0].bytes == 5 &&
		      r.k[1].kind == IPT_PSB && r.k[1].offset == 5 && r.k[2].kind == IPT_PSBEND &&
		      r.k[3].kind == IPT_TNT,
	      "bytes before a PSB are skipped, those after it are not part of it");
	buf_clear(&b);
	put_pairs(&b, 10);
	buf_add(&b, "\x06", 1);
	r = read_all(&no_errata, false, b.data, b.nr);
	CHECK(r.nr == 3 && r.k[0].bytes == 4 && r.k[1].offset == 4 && r.k[2].offset == 20,
	      "of ten pairs the last eight are the PSB");
	buf_clear(&b);
	put_pairs(&b, 16);
	r = read_all(&no_errata, false, b.data, b.nr);
	CHECK(r.nr == 2 && r.k[0].kind == IPT_PSB && r.k[1].kind == IPT_PSB,
	      "16 are two, at the end, too");
	buf_clear(&b);
	buf_add(&b, "\x05", 1);
	put_pairs(&b, 7);
	r = read_all(&no_errata, true, b.data, b.nr);
	CHECK(r.nr == 2 && r.k[0].kind == IPT_BAD && r.k[0].bytes == 1 &&
		      r.k[1].kind == IPT_NOT_SYNCED && r.k[1].bytes == 14,
	      "after a bad packet, seven pairs are none");
	buf_done(&b);
	r = READ(2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x83);
	CHECK(r.k[0].kind == IPT_BAD && !r.is_synced == (r.k[1].kind == IPT_NOT_SYNCED),
	      "a PSB that is not whole is a bad packet");
}

static void check_errata(void)
{
	static const uint8_t cut_cyc[] = {0xdf, 2, 0xf3, 6},
			     tma[] = {2, 0x73, 1, 0, 1, 0, 0, 0xff, 6};
	const struct ipt_config skylake = {ipt_errata_of(6, 0x9e)};
	const struct ipt_config server = {ipt_errata_of(6, 0x55)};
	struct read r = read_all(&skylake, true, cut_cyc, sizeof(cut_cyc));

	CHECK(r.nr == 3 && r.k[0].kind == IPT_PAD && r.k[1].kind == IPT_OVF,
	      "SKD007: an overflow in the middle of a CYC");
	r = read_all(&no_errata, true, cut_cyc, sizeof(cut_cyc));
	CHECK(r.k[0].kind == IPT_CYC && r.k[1].kind == IPT_CYC, "without it they are two CYC");
	r = read_all(&server, true, tma, sizeof(tma));
	CHECK(r.nr == 2 && r.k[0].bytes == 8 && r.k[1].kind == IPT_TNT,
	      "SKZ84: TMA with reserved bits has a byte more");
	CHECK(ipt_errata_of(6, 0x3d) == IPT_BDM64 && !ipt_errata_of(15, 0x9e) &&
		      !ipt_errata_of(6, 0x19e) && ipt_errata_of(6, 0x5c) == (IPT_APL11 | IPT_APL12),
	      "errata are those of a model");
}

static void check_shortest(void)
{
	CHECK(ipt_ip_shortest(0x401000, 0x402000) == IPT_IP_16 &&
		      ipt_ip_shortest(0x401000, 0x502000) == IPT_IP_32 &&
		      ipt_ip_shortest(0x401000, 0x100000401000) == IPT_IP_SEXT48 &&
		      ipt_ip_shortest(UINT64_C(0xffff800000000000), 0) == IPT_IP_SEXT48 &&
		      ipt_ip_shortest(UINT64_C(0x0001800000000000), UINT64_C(0x0001000000000000)) ==
			      IPT_IP_48 &&
		      ipt_ip_shortest(UINT64_C(0x0001800000000000), 0) == IPT_IP_64,
	      "an address is written in the shortest form");
}

int main(void)
{
	check_tables();
	check_addresses();
	check_last_address();
	check_branches();
	check_times();
	check_context();
	check_events();
	check_block();
	check_sync();
	check_errata();
	check_shortest();
	return tap_done();
}
