/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/spe_encode.h"
#include "unit/tap.h"

enum { MAX_ITEMS = 16 };

static struct spe_reader reader;
static struct spe_record items[MAX_ITEMS];
static struct buf bytes;

/** Bytes of "b0 1122*3 .." : hex, spaces do nothing. */
static void put_hex(const char *hex)
{
	for (const char *s = hex; *s; s += 2) {
		char two[3] = {s[0], s[1], 0};

		buf_char(&bytes, (char)strtoul(two, NULL, 16));
		while (s[2] == ' ')
			s++;
	}
}

static size_t read_bytes(enum spe_start start)
{
	size_t n = 0, got;

	spe_reader_start(&reader, 0x1000, start);
	spe_reader_feed(&reader, bytes.data, bytes.nr);
	while ((got = spe_reader_take(&reader, items + n, MAX_ITEMS - n)))
		n += got;
	spe_reader_end(&reader);
	while ((got = spe_reader_take(&reader, items + n, MAX_ITEMS - n)))
		n += got;
	return n;
}

static size_t read_hex(const char *hex)
{
	bytes.nr = 0;
	put_hex(hex);
	return read_bytes(SPE_AT_RECORD);
}

#define PC        "b0 1122334455667780 "
#define EVENTS    "42 02 "
#define GOOD      PC EVENTS "01 "
#define TIMED(ts) PC EVENTS "71 " ts " "

static bool is_item(size_t i, enum spe_outcome outcome, enum spe_damage damage, uint64_t from,
		    uint64_t size)
{
	return items[i].outcome == outcome && items[i].damage == damage &&
	       items[i].offset == 0x1000 + from && items[i].bytes == size;
}

static void check_fields(void)
{
	const struct spe_record *r = items;

	CHECK_EQ(
		read_hex(
			"b0 5c8b8c86c2c0ffc0 99 0700 98 ff0f 52 1600 49 00 b2 c026c20720fcff5a 9a 0100 "
			"b3 e8098ad80b0800c7 65 64000000 43 0e 71 6cf8a583000c0000"),
		1, "a load of real hardware");
	CHECK_EQ(spe_pc(r), 0xffffc0c2868c8b5c, "PC, sign-extended");
	CHECK_EQ(spe_el_of(r->address[0]), 2, "its level");
	CHECK_EQ(spe_security_of(r->address[0]), ARM_NONSECURE, "its security");
	CHECK_EQ(spe_va(r), 0xfffffc2007c226c0, "VA");
	CHECK_EQ(spe_va_tag(r), 0x5a, "tag");
	CHECK_EQ(spe_pa(r), 0x80bd88a09e8, "PA");
	CHECK(spe_pa_pat(r) == 7 && spe_pa_ch(r) && spe_pa_security(r) == ARM_NONSECURE,
	      "PAT, CH, NS");
	CHECK_EQ(r->has,
		 SPE_HAS_PC | SPE_HAS_VA | SPE_HAS_PA | SPE_HAS_TOTAL | SPE_HAS_ISSUE |
			 SPE_HAS_XLAT | SPE_HAS_CONTEXT_EL2 | SPE_HAS_EVENTS | SPE_HAS_OPERATION |
			 SPE_HAS_SOURCE | SPE_HAS_TIMESTAMP,
		 "what it reports");
	CHECK_EQ(r->saturated, 1 << SPE_COUNTER_TOTAL, "a counter at its maximum");
	CHECK(r->events == 0x16 && r->events_bytes == 2, "events, and how many are reported");
	CHECK(r->op_class == SPE_CLASS_MEMORY && !r->op_payload, "operation");
	CHECK(r->source == 14 && r->context[1] == 100 && r->timestamp == 13196348225644,
	      "source, context, time");
}

/** Published records of a core that pads all to 64 bytes: padding is where other operations have
 * other packets. */
/* Each exception level and security state, at the bits of 2.2: EL 62:61, NS 63, NSE 60 of code, 61
 * of physical addresses. */
static void check_levels(void)
{
	static const enum arm_security states[2][2] = {
		{ARM_SECURE, ARM_NONSECURE},
                {ARM_ROOT,   ARM_REALM    }
        };
	unsigned int nr_wrong = 0;

	for (unsigned int i = 0; i < 16; i++) {
		unsigned int el = i & 3, ns = i >> 2 & 1, nse = i >> 3;
		char hex[96];

		snprintf(hex, sizeof(hex),
			 "b0 11223344556677%02x 42 02 49 00 b3 11223344556600%02x 01 ",
			 ns << 7 | el << 5 | nse << 4, ns << 7 | nse << 5);
		if (read_hex(hex) != 1 || items[0].outcome != SPE_COMPLETE ||
		    spe_el_of(items[0].address[0]) != el ||
		    spe_security_of(items[0].address[0]) != states[nse][ns] ||
		    spe_pa_security(&items[0]) != states[nse][ns] ||
		    spe_pa(&items[0]) != 0x665544332211)
			nr_wrong++;
	}
	CHECK_EQ(nr_wrong, 0, "each level and security state, of code and physical address");
}

static void check_padded(void)
{
	CHECK_EQ(
		read_hex(
			"b0 d0c2a1ed66baffc0 00000000 00 65 805f0000 49 00 52 1600 99 0400 98 0c00 "
			"b2 286b0903370eff00 9a 0100 000000000000000000 43 00 0000 71 6cf8a58300000000 "
			"b0 e0b0efed66baffc0 00000000 00 65 0e000000 4a 01 52 4200 99 1000 98 1100 "
			"b1 e4b0efed66baffc0 00000000000000000000000000000000 71 6df8a58300000000"),
		2, "padding inside records");
	CHECK(items[0].bytes == 64 && items[1].bytes == 64, "of one size");
	CHECK_EQ(spe_target(&items[1]), 0xffffba66edefb0e4, "with their packets");
	bytes.nr = 0;
	put_hex(PC);
	buf_fill(&bytes, 0, 3000);
	put_hex(EVENTS "01" GOOD GOOD GOOD);
	CHECK(read_bytes(SPE_AT_RECORD) == 5 && items[0].damage == SPE_BAD_PAD,
	      "more padding than the largest record");
}

static void check_saturated(void)
{
	static const struct {
		unsigned int bits;
		const char *counter;
		bool is_saturated;
	} rows[] = {
		{12, "ff0f", true },
                {12, "fe0f", false},
                {16, "ff0f", false},
		{16, "ffff", true },
                {0,  "ff0f", true },
                {0,  "ffff", true }
        };
	char hex[100];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		spe_reader_init(&reader, rows[i].bits);
		snprintf(hex, sizeof(hex), "%s98 %s 01", PC EVENTS, rows[i].counter);
		read_hex(hex);
		CHECK_EQ(items[0].saturated, rows[i].is_saturated, "%u bits: %s", rows[i].bits,
			 rows[i].counter);
	}
	spe_reader_init(&reader, 0);
}

static void check_absent(void)
{
	CHECK_EQ(read_hex(GOOD), 1, "a small record");
	CHECK(is_item(0, SPE_COMPLETE, SPE_NO_DAMAGE, 0, 12), "its place");
	CHECK_EQ(items[0].has, SPE_HAS_PC | SPE_HAS_EVENTS, "nothing else is reported");
	CHECK_EQ(items[0].events_bytes, 1, "nor events beyond 7");
	read_hex(PC EVENTS "20b5 0000000000000000 209f 0000 01");
	CHECK_EQ(items[0].has,
		 SPE_HAS_PC | SPE_HAS_EVENTS | SPE_HAS_OTHER_ADDRESS | SPE_HAS_OTHER_COUNTER,
		 "reserved indexes are no neighbour's");
	CHECK_EQ(read_hex(PC EVENTS "20b5 8877665544332211 209f 3412 9b 7856 01"), 1,
		 "three of them");
	CHECK(items[0].nr_other == 2 && items[0].other_index[0] == (5 | SPE_OTHER_IS_ADDRESS) &&
		      items[0].other[0] == 0x1122334455667788 && items[0].other_index[1] == 7 &&
		      items[0].other[1] == 0x1234,
	      "the first two are kept");
	read_hex(PC EVENTS "23b3 0000000000000001 01");
	CHECK(!spe_has(items, SPE_HAS_PA), "address 27 is not 3");
}

static void check_empty(void)
{
	CHECK_EQ(read_hex(""), 0, "nothing");
	CHECK_EQ(read_hex("00"), 0, "one byte of padding");
	CHECK_EQ(read_hex("01"), 1, "an END alone");
	CHECK(is_item(0, SPE_DAMAGED, SPE_NO_PC, 0, 1), "is no record");
	CHECK_EQ(read_hex("b0"), 1, "one byte of a record");
	CHECK(is_item(0, SPE_CUT, SPE_NO_DAMAGE, 0, 1), "is cut");
	CHECK_EQ(read_hex("21"), 1, "one byte of an extended header");
	CHECK_EQ(read_hex("55"), 1, "one byte that is none");
	CHECK(is_item(0, SPE_SKIPPED, SPE_BAD_HEADER, 0, 1), "is skipped");
	bytes.nr = 0;
	buf_fill(&bytes, 0, 1 << 20);
	CHECK_EQ(read_bytes(SPE_AT_RECORD), 0, "a MiB of padding");
}

static void check_damage(void)
{
	static const struct {
		const char *hex;
		enum spe_damage damage;
		unsigned int at;
		const char *what;
	} rows[] = {
		{PC "55" EVENTS "01",                  SPE_BAD_HEADER,   9,  "a byte that is no header"    },
		{PC "4b 00" EVENTS "01",               SPE_BAD_CLASS,    9,  "a reserved class"            },
		{PC "66 00000000" EVENTS "01",         SPE_BAD_CLASS,    9,  "a reserved context"          },
		{PC PC EVENTS "01",                    SPE_DUPLICATE,    9,  "two PCs"                     },
		{PC EVENTS "20b0 1122334455667780 01", SPE_DUPLICATE,    11, "two PCs, one extended"       },
		{PC EVENTS EVENTS "01",                SPE_DUPLICATE,    11, "two events"                  },
		{EVENTS "00" PC "01",                  SPE_BAD_PAD,      2,  "padding before the PC"       },
		{PC "2000" EVENTS "01",                SPE_BAD_PAD,      9,  "alignment inside"            },
		{EVENTS "01",                          SPE_NO_PC,        3,  "no PC"                       },
		{PC "01",			      SPE_NO_OPERATION, 10, "neither operation nor events"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t n;

		bytes.nr = 0;
		put_hex(rows[i].hex);
		put_hex("00");
		put_hex(GOOD GOOD);
		n = read_bytes(SPE_AT_RECORD);
		CHECK(n >= 3 && is_item(0, SPE_DAMAGED, rows[i].damage, 0, rows[i].at), "%s",
		      rows[i].what);
		CHECK(!items[n - 1].outcome && !items[n - 2].outcome,
		      "and the two after it are read");
	}
}

static void check_cut(void)
{
	bytes.nr = 0;
	put_hex(GOOD TIMED("0100000000000000"));
	for (size_t cut = 12; cut < 12 + 20; cut++) {
		bytes.nr = cut;
		if (read_bytes(SPE_AT_RECORD) != 1U + (cut > 12) || items[0].outcome ||
		    (cut > 12 && !is_item(1, SPE_CUT, SPE_NO_DAMAGE, 12, cut - 12)))
			break;
		if (cut == 12 + 19)
			CHECK(true, "each cut of the last record");
	}
}

static void check_times(void)
{
	size_t n = read_hex(TIMED("0100000000000000") TIMED("0000000000000080")
				    TIMED("0200000000000000"));

	CHECK(n == 3 && is_item(1, SPE_DAMAGED, SPE_FAR_TIME, 20, 20),
	      "a time far from both others");
	n = read_hex(TIMED("0100000000000000") TIMED("0000000000000080") TIMED("0100000000000080"));
	CHECK(n == 3 && !items[1].outcome && !items[2].outcome,
	      "the first time was the damaged one");
	n = read_hex(TIMED("0100000000000000") TIMED("feffffffffffff00") TIMED("0200000000000000"));
	CHECK(n == 3 && !items[1].outcome && !items[2].outcome, "a counter that begins again");
	n = read_hex(TIMED("feffffffffffff00") TIMED("0100000000000000"));
	CHECK(n == 2 && !items[1].outcome, "before the last record of the range");
	n = read_hex(TIMED("feffffffffffffff") TIMED("0100000000000000"));
	CHECK(n == 2 && !items[1].outcome, "one of 64 bits");
	n = read_hex(TIMED("0100000000000001") TIMED("0200000000000000"));
	CHECK(n == 2 && items[1].damage == SPE_FAR_TIME, "one bit more is no wrap");
	n = read_hex(TIMED("0900000000000000") TIMED("0100000000000000"));
	CHECK(n == 2 && !items[1].outcome, "a little earlier is no damage");
}

static void check_anywhere(void)
{
	size_t n;

	bytes.nr = 0;
	put_hex("66778899 01" GOOD "0000" GOOD GOOD);
	n = read_bytes(SPE_ANYWHERE);
	CHECK(n == 4 && is_item(0, SPE_SKIPPED, SPE_NO_DAMAGE, 0, 5), "a start inside a record");
	CHECK(n == 4 && is_item(1, SPE_COMPLETE, SPE_NO_DAMAGE, 5, 12), "and the first after it");
	bytes.nr = 0;
	put_hex(GOOD GOOD);
	CHECK_EQ(read_bytes(SPE_ANYWHERE), 2, "a start that is a record's");
}

static void check_counts(void)
{
	struct spe_counts sum = {0};

	spe_reader_init(&reader, 0);
	read_hex(GOOD "0000" PC "55" EVENTS "01" GOOD PC);
	spe_counts_add(&sum, &reader.counts);
	spe_counts_add(&sum, &reader.counts);
	CHECK(sum.nr[SPE_COMPLETE] == 4 && sum.nr[SPE_DAMAGED] == 2 && sum.nr[SPE_CUT] == 2 &&
		      sum.nr[SPE_SKIPPED] == 2,
	      "outcomes are counted");
	CHECK_EQ(sum.bytes[SPE_COMPLETE] + sum.bytes[SPE_DAMAGED] + sum.bytes[SPE_CUT] +
			 sum.bytes[SPE_SKIPPED] + sum.padding_bytes,
		 2 * bytes.nr, "each byte once");
	CHECK_EQ(sum.nr_damaged[SPE_BAD_HEADER], 2, "and reasons");
}

int main(void)
{
	spe_reader_init(&reader, 0);
	check_fields();
	check_levels();
	check_padded();
	check_saturated();
	check_absent();
	check_empty();
	check_damage();
	check_cut();
	check_times();
	check_anywhere();
	check_counts();
	buf_done(&bytes);
	return tap_done();
}
