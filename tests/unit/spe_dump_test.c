/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/spe_dump.h"

#include "unit/tap.h"

static struct buf text;

static const char *line(const char *hex)
{
	static const struct spe_packet none;
	struct spe_packet p = none;
	uint8_t bytes[16];
	size_t n = 0;

	for (const char *s = hex; *s; s += s[2] ? 3 : 2)
		bytes[n++] = (uint8_t)strtoul(s, NULL, 16);
	spe_packet_at(bytes, n, 0, &p);
	text.nr = 0;
	spe_packet_text(&text, &p, SPE_CORE_UNKNOWN);
	return buf_cstr(&text);
}

static void check_packets(void)
{
	static const struct {
		const char *hex, *text;
	} rows[] = {
		{"00",			    "PAD"			     },
		{"01",			    "END"			     },
		{"71 6c f8 a5 83 00 0c 00 00",    "TS 13196348225644"               },
		{"71 ff ff ff ff ff ff ff ff",    "TS -1"                           },
		{"b0 5c 8b 8c 86 c2 c0 ff c0",    "PC 0xffc0c2868c8b5c el2 ns=1"    },
		{"b0 00 c4 15 08 00 00 ff ff",    "PC 0xff00000815c400 el3 ns=1"    },
		{"b1 e0 89 8c 86 c2 c0 ff 20",    "TGT 0xffc0c2868c89e0 el1 ns=0"   },
		{"b2 c0 26 c2 07 20 fc ff 5a",    "VA 0x5afffc2007c226c0"           },
		{"b3 e8 09 8a d8 0b 08 00 c7",    "PA 0x80bd88a09e8 ns=1 ch=1 pat=7"},
		{"b4 00 10 20 30 00 00 00 80",    "PBT 0x30201000 el0 ns=1"         },
		{"b5 00 10 20 30 00 00 00 80",    "ADDR 0x8000000030201000 (5)"     },
		{"20 b0 04 00 00 00 00 00 00 00", "PC 0x4 el0 ns=0"                 },
		{"23 b7 04 00 00 00 00 00 00 00", "ADDR 0x4 (31)"                   },
		{"98 0b 00",                      "LAT 11 TOT"                      },
		{"99 07 00",                      "LAT 7 ISSUE"                     },
		{"9a ff ff",                      "LAT 65535 XLAT"                  },
		{"9b 05 00",                      "LAT 5 "                          },
		{"22 9c 05 00",                   "LAT 5 "                          },
		{"64 65 00 00 00",                "CONTEXT 0x65 el1"                },
		{"65 64 00 00 80",                "CONTEXT 0x80000064 el2"          },
		{"67 00 00 00 00",                "CONTEXT 0x0 el4"                 },
		{"42 16",                         "EV RETIRED L1D-ACCESS TLB-ACCESS"},
		{"52 00 f0",                      "EV IMPDEF:12,13,14,15"           },
		{"42 00",                         "EV"			      },
		{"62 00 00 ff 03",
		 "EV TXN SVE-PARTIAL-PRED SVE-EMPTY-PRED L2D-ACCESS L2D-MISS HITM LFB SNOOPED "
		 "STREAMING-SVE SMCU"					       },
		{"72 01 10 00 00 00 00 00 80",    "EV EXCEPTION-GEN IMPDEF:12,63"   },
		{"43 0e",                         "DATA-SOURCE 14"                  },
		{"53 0e 01",                      "DATA-SOURCE 270"                 },
		{"4b 05",                         "OP-TYPE 0x5 (3)"                 },
		{"54",			    "Bad packet!"                     },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		CHECK_STR(line(rows[i].hex), rows[i].text, "%s", rows[i].hex);
	text.nr = 0;
	spe_events_text(&text, 0x3002, SPE_CORE_NEOVERSE_N1);
	CHECK_STR(buf_cstr(&text), "EV RETIRED LATE-PREFETCH IMPDEF:13", "events of a known core");
}

/* Written out from the tables of bits, apart from how the code goes about it. */

static void bits_text(char *ret, size_t size, const char *before, uint8_t p, const char *const *of)
{
	int n = snprintf(ret, size, "%s", before);

	for (unsigned int i = 0; i < 8; i++)
		if (p >> i & 1 && of[i])
			n += snprintf(ret + n, size - (size_t)n, " %s", of[i]);
}

static void want_other(char *ret, size_t size, uint8_t p)
{
	static const char *const sve[8] = {[1] = "FP", [2] = "PRED"}, *const sme[8] = {[1] = "FP"};
	static const char *const last[] = {"INSN-OTHER", "COND-SELECT"};
	static const int ets[] = {128,   256,   512,    1024,   2048,   4096,    8192,    16384,
				  32768, 65536, 131072, 262144, 524288, 1048576, 2097152, 4194304};
	char before[40];

	if (p & 8 && !(p & 1)) {
		if (p & 0x80)
			snprintf(before, sizeof(before), "SME-OTHER ETS %d",
				 ets[(p & 0x70) >> 3 | (p & 4) >> 2]);
		else
			snprintf(before, sizeof(before), "SVE-OTHER EVLEN %d",
				 32 * (1 << (p & 0x70) / 16));
		bits_text(ret, size, before, p, p & 0x80 ? sme : sve);
	} else if (p < 8) {
		snprintf(ret, size, "OTHER%s%s %s", p & 4 ? " ASE" : "", p & 2 ? " FP" : "",
			 last[p & 1]);
	} else {
		snprintf(ret, size, "OTHER reserved 0x%x", p);
	}
}

static void want_memory(char *ret, size_t size, uint8_t p)
{
	static const char *const extended[8] = {[2] = "AT", [3] = "EXCL", [4] = "AR"};
	static const char *const sve[8] = {[2] = "PRED", [7] = "SG"}, *const gcs[8] = {
									      [2] = "COMM"};
	static const char *const whole[] = {[0x00 / 2] = " GP-REG",     [0x04 / 2] = " SIMD-FP",
					    [0x10 / 2] = " UNSPEC-REG", [0x14 / 2] = " MTE-TAG",
					    [0x20 / 2] = " MEMCPY",     [0x30 / 2] = " NV-SYSREG"};
	const char *op = p % 2 ? "ST" : "LD";
	char before[40];

	if (p / 2 < sizeof(whole) / sizeof(*whole) && whole[p / 2]) {
		snprintf(ret, size, "%s%s", op, whole[p / 2]);
	} else if (p & 2 && p < 0x20) {
		bits_text(ret, size, op, p, extended);
	} else if (p == 0x25) {
		snprintf(ret, size, "ST MEMSET");
	} else if (p & 8 && !(p & 2)) {
		snprintf(before, sizeof(before), "%s SVE-SME-REG EVLEN %d", op,
			 32 * (1 << (p & 0x70) / 16));
		bits_text(ret, size, before, p, sve);
	} else if (p >= 0x40 && p <= 0x45 && !(p & 2)) {
		snprintf(before, sizeof(before), "%s GCS", op);
		bits_text(ret, size, before, p, gcs);
	} else {
		snprintf(ret, size, "%s", op);
	}
}

static void want_branch(char *ret, size_t size, uint8_t p)
{
	static const char *const bits[8] = {"COND", "IND", "GCS"};
	static const char *const cr[] = {"", " CR-BL", " CR-RET", " CR-NON-BL-RET"};
	char before[40];

	bits_text(before, sizeof(before), "B", p, bits);
	snprintf(ret, size, "%s%s", before, cr[p / 8 % 4]);
}

static void check_operations(void)
{
	static void (*const want_of[])(char *, size_t, uint8_t) = {want_other, want_memory,
								   want_branch};
	unsigned int nr_wrong[3] = {0};
	char want[100];

	for (unsigned int i = 0; i < 3 * 256; i++) {
		want_of[i / 256](want, sizeof(want), (uint8_t)i);
		text.nr = 0;
		spe_operation_text(&text, i / 256, (uint8_t)i);
		if (!strcmp(buf_cstr(&text), want))
			continue;
		printf("# class %u, 0x%02x: %s, not %s\n", i / 256, i % 256, buf_cstr(&text), want);
		nr_wrong[i / 256]++;
	}
	CHECK_EQ(nr_wrong[0], 0, "all payloads of other operations");
	CHECK_EQ(nr_wrong[1], 0, "all payloads of loads and stores");
	CHECK_EQ(nr_wrong[2], 0, "all payloads of branches");
}

static const char *dump(const uint8_t *data, size_t bytes, uint64_t offset)
{
	text.nr = 0;
	spe_dump(&text, data, bytes, offset, SPE_CORE_UNKNOWN);
	return buf_cstr(&text);
}

static void check_lines(void)
{
	static const uint8_t a[] = {0x20, 0, 0xb0, 0xb0, 0x49, 0, 0x55, 0x01, 0xb0, 1};
	static const uint8_t zeros[20] = {0};
	size_t at = 0;

	CHECK_STR(dump(a, sizeof(a), 0x1002 - 2),
		  ".\n. ... ARM SPE data: size 0xa bytes\n"
		  ".  00000000:  20 00                                           PAD\n"
		  ".  00000002:  b0                                              Bad packet!\n"
		  ".  00000003:  b0                                              Bad packet!\n"
		  ".  00000004:  49 00                                           LD GP-REG\n"
		  ".  00000006:  55                                              Bad packet!\n"
		  ".  00000007:  01                                              END\n"
		  ".  00000008:  b0                                              Bad packet!\n"
		  ".  00000009:  01                                              END\n",
		  "alignment, what is cut, what is no packet");
	CHECK_STR(dump(zeros, sizeof(zeros), 0),
		  ".\n. ... ARM SPE data: size 0x14 bytes\n"
		  ".  00000000:  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 PAD\n"
		  ".  00000010:  00 00 00 00                                     PAD\n",
		  "padding");
	CHECK_STR(dump(a, 0, 0), ".\n. ... ARM SPE data: size 0x0 bytes\n", "nothing");
	CHECK_EQ(spe_dump_lines(&text, a, sizeof(a), 0, SPE_CORE_UNKNOWN, &at, 3), 3, "some lines");
	CHECK_EQ(at, 4, "and where they end");
}

int main(void)
{
	check_packets();
	check_operations();
	check_lines();
	buf_done(&text);
	return tap_done();
}
