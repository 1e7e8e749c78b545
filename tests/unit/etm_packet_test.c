/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/etm/etm_packet.h"

#include "make/etm_packet_brief.h"
#include "packet/etm/etm_headers.h"
#include "unit/tap.h"

/* Spec: IHI 0064 "Instruction trace packets", DDI 0487 "ETE packets"; rows are bytes and what they
 * mean, written down by hand. */

/* --- units --- */

enum unit { V40, V42, V46, V46_Q, V46_COMMOPT, V42_M, ETE10, ETE11, ETE13, ETE13_Q, NR_UNITS };
static struct etm_config units[NR_UNITS];

static void make_unit(enum unit u, uint32_t version, uint32_t idr0, uint32_t vmid_code)
{
	struct etm_regs r = {.traceidr = 0x10, .configr = 1, .idr8 = 0x20, .idr0 = idr0};

	r.idr2 = 8 | 4 << 5 | vmid_code << 10;
	r.is_ete = version >= 0x50;
	r.idr1 = 0x41000000 | (version & 0xf0) << 4 | (version & 0xf) << 4;
	r.devarch = 0x47705a13 | (version & 0xf) << 16;
	if (etm_config_init(&units[u], &r, NULL))
		abort();
}

static void make_units(void)
{
	enum { CCI = 1 << 7, COMMOPT = 1 << 29, Q = 3 << 15 };

	make_unit(V40, 0x40, CCI, 1);
	make_unit(V42, 0x42, CCI, 4);
	make_unit(V46, 0x46, CCI, 4);
	make_unit(V46_Q, 0x46, CCI | Q, 2);
	make_unit(V46_COMMOPT, 0x46, CCI | COMMOPT, 0);
	make_unit(V42_M, 0x42, CCI, 4);
	units[V42_M].is_m_profile = true;
	make_unit(ETE10, 0x50, CCI, 4);
	make_unit(ETE11, 0x51, CCI, 4);
	make_unit(ETE13, 0x53, CCI, 4);
	make_unit(ETE13_Q, 0x53, CCI | Q, 4);
}

/* --- bytes in hex --- */

static const char sync[] = "00 00 00 00 00 00 00 00 00 00 00 80 01 00 ";

static size_t bytes_of_hex(uint8_t *ret, size_t size, const char *hex)
{
	size_t nr = 0;
	int used;
	unsigned int v;

	for (; sscanf(hex, " %2x%n", &v, &used) == 1; hex += used) {
		if (nr == size)
			abort();
		ret[nr++] = (uint8_t)v;
	}
	return nr;
}

struct input {
	uint8_t data[600];
	size_t nr;
};

static struct input input_of(const char *before, const char *hex)
{
	struct input ret;

	ret.nr = bytes_of_hex(ret.data, sizeof(ret.data), before);
	ret.nr += bytes_of_hex(ret.data + ret.nr, sizeof(ret.data) - ret.nr, hex);
	return ret;
}

/* --- decoding --- */

static void add_packets(struct etm_packets *p, struct bytes in, struct buf *text)
{
	struct etm_packet k;

	while (etm_packets_next(p, &in, &k) == CLEW_OK) {
		if (text->nr)
			buf_str(text, "; ");
		etm_packet_brief(text, &k);
	}
}

static void add_rest(struct etm_packets *p, struct buf *text)
{
	struct etm_packet k;

	while (etm_packets_finish(p, &k) == CLEW_OK) {
		if (text->nr)
			buf_str(text, "; ");
		etm_packet_brief(text, &k);
	}
}

/** A decoder after a sync. */
static struct etm_packets synced(enum unit u)
{
	struct input in = input_of(sync, "");
	struct etm_packets ret;
	struct buf text = {0};

	etm_packets_init(&ret, &units[u]);
	add_packets(&ret, bytes_of(in.data, in.nr), &text);
	buf_done(&text);
	return ret;
}

static bool decodes(enum unit u, const char *hex, const char *want)
{
	struct input in = input_of("", hex);
	struct etm_packets p = synced(u);
	struct buf text = {0};
	bool ok;

	add_packets(&p, bytes_of(in.data, in.nr), &text);
	add_rest(&p, &text);
	ok = !strcmp(buf_cstr(&text), want);
	CHECK(ok, "v%02x: %.60s: %.90s", units[u].version, hex, want);
	if (!ok)
		printf("# got %s\n", buf_cstr(&text));
	buf_done(&text);
	return ok;
}

/* --- every header --- */

struct header_row {
	uint8_t first, last;
	const char *name; /* NULL: reserved */
	uint8_t bytes;    /* with a payload of zeros */
	uint8_t since, until;
};

/* clang-format off */
static const struct header_row header_rows[] = {
	{0x00, 0x00, NULL,                  1,  0x40, 0xff}, /* zeros: no async */
	{0x01, 0x01, "I_TRACE_INFO",        2,  0x40, 0xff},
	{0x02, 0x02, "I_TIMESTAMP",         2,  0x40, 0xff},
	{0x03, 0x03, "I_TIMESTAMP",         3,  0x40, 0xff},
	{0x04, 0x04, "I_TRACE_ON",          1,  0x40, 0xff},
	{0x05, 0x05, NULL,                  1,  0x40, 0xff}, /* M profile: below */
	{0x06, 0x06, "I_EXCEPT",            2,  0x40, 0x4f},
	{0x06, 0x06, "I_PE_RESET",          3,  0x50, 0xff},
	{0x07, 0x07, "I_EXCEPT_RTN",        1,  0x40, 0x4f},
	{0x07, 0x07, NULL,                  1,  0x50, 0xff},
	{0x08, 0x08, NULL,                  1,  0x40, 0xff},
	{0x09, 0x09, NULL,                  1,  0x40, 0x52},
	{0x09, 0x09, "I_ITE",               10, 0x53, 0xff},
	{0x0a, 0x0a, NULL,                  1,  0x40, 0x4f},
	{0x0a, 0x0a, "I_TRANS_ST",          1,  0x50, 0xff},
	{0x0b, 0x0b, NULL,                  1,  0x40, 0x4f},
	{0x0b, 0x0b, "I_TRANS_COMMIT",      1,  0x50, 0xff},
	{0x0c, 0x0d, "I_CCNT_F2",           2,  0x40, 0xff},
	{0x0e, 0x0e, "I_CCNT_F1",           3,  0x40, 0xff},
	{0x0f, 0x0f, "I_CCNT_F1",           2,  0x40, 0xff},
	{0x10, 0x1f, "I_CCNT_F3",           1,  0x40, 0xff},
	{0x20, 0x27, "I_UNSUPPORTED",       1,  0x40, 0xff}, /* numbered data sync markers */
	{0x28, 0x2c, "I_UNSUPPORTED",       1,  0x40, 0xff}, /* unnumbered ones */
	{0x2d, 0x2d, "I_COMMIT",            2,  0x40, 0xff},
	{0x2e, 0x2e, "I_CANCEL_F1",         2,  0x40, 0xff},
	{0x2f, 0x2f, "I_CANCEL_F1_MISPRED", 2,  0x40, 0xff},
	{0x30, 0x33, "I_MISPREDICT",        1,  0x40, 0xff},
	{0x34, 0x37, "I_CANCEL_F2",         1,  0x40, 0xff},
	{0x38, 0x3f, "I_CANCEL_F3",         1,  0x40, 0xff},
	{0x40, 0x46, "I_UNSUPPORTED",       1,  0x40, 0xff}, /* conditional: F2, flush, result F4 */
	{0x47, 0x47, NULL,                  1,  0x40, 0xff},
	{0x48, 0x4a, "I_UNSUPPORTED",       1,  0x40, 0xff}, /* result F2 */
	{0x4b, 0x4b, NULL,                  1,  0x40, 0xff},
	{0x4c, 0x4e, "I_UNSUPPORTED",       1,  0x40, 0xff},
	{0x4f, 0x4f, NULL,                  1,  0x40, 0xff},
	{0x50, 0x5f, "I_UNSUPPORTED",       1,  0x40, 0xff}, /* result F3 */
	{0x60, 0x67, NULL,                  1,  0x40, 0xff},
	{0x68, 0x6f, "I_UNSUPPORTED",       1,  0x40, 0xff}, /* result F1, conditional F1, F3 */
	{0x70, 0x70, "I_IGNORE",            1,  0x40, 0xff}, /* 4.3; drivers fill gaps with it */
	{0x71, 0x7f, "I_EVENT",             1,  0x40, 0xff},
	{0x80, 0x80, "I_CTXT",              1,  0x40, 0xff},
	{0x81, 0x81, "I_CTXT",              2,  0x40, 0xff},
	{0x82, 0x82, "I_ADDR_CTXT_L_32IS0", 6,  0x40, 0xff},
	{0x83, 0x83, "I_ADDR_CTXT_L_32IS1", 6,  0x40, 0xff},
	{0x84, 0x84, NULL,                  1,  0x40, 0xff},
	{0x85, 0x85, "I_ADDR_CTXT_L_64IS0", 10, 0x40, 0xff},
	{0x86, 0x86, "I_ADDR_CTXT_L_64IS1", 10, 0x40, 0xff},
	{0x87, 0x87, NULL,                  1,  0x40, 0xff},
	{0x88, 0x88, NULL,                  1,  0x40, 0x45},
	{0x88, 0x88, "I_TS_MARKER",         1,  0x46, 0xff},
	{0x89, 0x8f, NULL,                  1,  0x40, 0xff},
	{0x90, 0x92, "I_ADDR_MATCH",        1,  0x40, 0xff},
	{0x93, 0x94, NULL,                  1,  0x40, 0xff},
	{0x95, 0x95, "I_ADDR_S_IS0",        2,  0x40, 0xff},
	{0x96, 0x96, "I_ADDR_S_IS1",        2,  0x40, 0xff},
	{0x97, 0x99, NULL,                  1,  0x40, 0xff},
	{0x9a, 0x9a, "I_ADDR_L_32IS0",      5,  0x40, 0xff},
	{0x9b, 0x9b, "I_ADDR_L_32IS1",      5,  0x40, 0xff},
	{0x9c, 0x9c, NULL,                  1,  0x40, 0xff},
	{0x9d, 0x9d, "I_ADDR_L_64IS0",      9,  0x40, 0xff},
	{0x9e, 0x9e, "I_ADDR_L_64IS1",      9,  0x40, 0xff},
	{0x9f, 0x9f, NULL,                  1,  0x40, 0xff},
	{0xa0, 0xa2, "I_Q",                 2,  0x40, 0xff}, /* A0-AF: reserved where QSUPP is 0 */
	{0xa3, 0xa4, NULL,                  1,  0x40, 0xff},
	{0xa5, 0xa6, "I_Q",                 3,  0x40, 0xff},
	{0xa7, 0xa9, NULL,                  1,  0x40, 0xff},
	{0xaa, 0xab, "I_Q",                 6,  0x40, 0xff},
	{0xac, 0xac, "I_Q",                 2,  0x40, 0xff},
	{0xad, 0xae, NULL,                  1,  0x40, 0xff},
	{0xaf, 0xaf, "I_Q",                 1,  0x40, 0xff},
	{0xb0, 0xbf, NULL,                  1,  0x40, 0x4f},
	{0xb0, 0xb2, "I_SRC_ADDR_MATCH",    1,  0x50, 0xff},
	{0xb3, 0xb3, NULL,                  1,  0x50, 0xff},
	{0xb4, 0xb4, "I_SRC_ADDR_S_IS0",    2,  0x50, 0xff},
	{0xb5, 0xb5, "I_SRC_ADDR_S_IS1",    2,  0x50, 0xff},
	{0xb6, 0xb6, "I_SRC_ADDR_L_32IS0",  5,  0x50, 0xff},
	{0xb7, 0xb7, "I_SRC_ADDR_L_32IS1",  5,  0x50, 0xff},
	{0xb8, 0xb8, "I_SRC_ADDR_L_64IS0",  9,  0x50, 0xff},
	{0xb9, 0xb9, "I_SRC_ADDR_L_64IS1",  9,  0x50, 0xff},
	{0xba, 0xbf, NULL,                  1,  0x50, 0xff},
	{0xc0, 0xd4, "I_ATOM_F6",           1,  0x40, 0xff},
	{0xd5, 0xd7, "I_ATOM_F5",           1,  0x40, 0xff},
	{0xd8, 0xdb, "I_ATOM_F2",           1,  0x40, 0xff},
	{0xdc, 0xdf, "I_ATOM_F4",           1,  0x40, 0xff},
	{0xe0, 0xf4, "I_ATOM_F6",           1,  0x40, 0xff},
	{0xf5, 0xf5, "I_ATOM_F5",           1,  0x40, 0xff},
	{0xf6, 0xf7, "I_ATOM_F1",           1,  0x40, 0xff},
	{0xf8, 0xff, "I_ATOM_F3",           1,  0x40, 0xff},
};
/* clang-format on */

static const struct header_row *row_of(uint8_t header, uint8_t version)
{
	const struct header_row *ret = NULL;

	for (size_t i = 0; i < sizeof(header_rows) / sizeof(*header_rows); i++) {
		const struct header_row *r = &header_rows[i];

		if (header < r->first || header > r->last || version < r->since ||
		    version > r->until)
			continue;
		if (ret)
			return NULL; /* two rows */
		ret = r;
	}
	return ret;
}

static bool header_is_right(enum unit u, uint8_t header)
{
	const struct etm_config *c = &units[u];
	const struct header_row *r = row_of(header, c->version);
	bool is_reserved = !r || !r->name || (!c->has_q && !strcmp(r->name, "I_Q"));
	const char *want = is_reserved ? "I_BAD" : r->name;
	uint8_t data[32] = {header}, bytes = is_reserved ? 1 : r->bytes;
	struct bytes in = bytes_of(data, sizeof(data));
	struct etm_packets p = synced(u);
	struct etm_packet k;

	/* CCNT_F1 and F3 have no commit with COMMOPT. */
	bytes = (uint8_t)(bytes - (c->has_commopt && (header == 0x0e || header == 0x0f)));
	if (!r || etm_packets_next(&p, &in, &k))
		return false;
	if (!strcmp(etm_kind_name((enum etm_kind)k.kind), want) && k.bytes == bytes &&
	    k.header == header && k.offset == 14)
		return true;
	printf("# %02x: %s/%u, not %s/%llu\n", header, want, bytes,
	       etm_kind_name((enum etm_kind)k.kind), (unsigned long long)k.bytes);
	return false;
}

static void test_headers(void)
{
	for (enum unit u = 0; u < NR_UNITS; u++) {
		int nr = 0;

		if (u == V42_M)
			continue;
		for (unsigned int h = 0; h < 256; h++)
			nr += header_is_right(u, (uint8_t)h);
		CHECK_EQ(nr, 256, "v%02x%s: kind and length of every header", units[u].version,
			 units[u].has_q ? " with Q" : "");
	}
	decodes(V42_M, "05", "I_FUNC_RET/1");
	decodes(V42, "05", "I_BAD/1");
	units[V42_M].version = 0x41;
	decodes(V42_M, "05", "I_BAD/1");
	units[V42_M].version = 0x42;
}

/* --- atoms --- */

static void test_atoms(void)
{
	/* From 0xd5: F5, F2, F4; then 0xf5: F5, F1, F3. */
	static const char *const low[] = {"NNNNN", "NENEN", "ENENE", "NN",   "EN",  "NE",
					  "EE",    "NEEE",  "NNNN",  "NENE", "ENEN"};
	static const char *const high[] = {"NEEEE", "N",   "E",   "NNN", "ENN", "NEN",
					   "EEN",   "NNE", "ENE", "NEE", "EEE"};
	char hex[8], want[64], atoms[40];

	for (unsigned int h = 0xc0; h < 0x100; h++) {
		bool is_f6 = h < 0xd5 || (h >= 0xe0 && h < 0xf5);
		size_t nr_e = h < 0xe0 ? h - 0xc0 + 4 : h - 0xe0 + 3;

		memset(atoms, 'E', nr_e % 32);
		strcpy(atoms + nr_e % 32, h < 0xe0 ? "" : "N");
		if (!is_f6)
			strcpy(atoms, h < 0xe0 ? low[h - 0xd5] : high[h - 0xf5]);
		snprintf(hex, sizeof(hex), "%02x", h);
		snprintf(want, sizeof(want), "I_ATOM_F%c/1 %s",
			 is_f6 ? '6' : (char)('0' + strlen(atoms)), atoms);
		decodes(V46, hex, want);
	}
}

/* --- payloads --- */

struct row {
	enum unit unit;
	const char *hex, *want;
};

static const struct row rows[] = {
  /* synchronisation */
	{V46,         "00 00 00 00 00 00 00 00 00 00 00 80",                            "I_ASYNC/12"                                                                },
	{V46,         "00 03",							  "I_DISCARD/2"							       },
	{V46,         "00 05",							  "I_OVERFLOW/2"							      },
	{V46,         "00 04",							  "I_BAD/1; I_NOT_SYNC/1"						     },
	{V46,         "01 00",							  "I_TRACE_INFO/2"							    },
	{V46,         "01 0f 41 05 02 64",					      "I_TRACE_INFO/6 sections=f info=41 key=5 spec=2 cyct=64"                    },
	{V46,         "01 04 81 01",						    "I_TRACE_INFO/4 sections=4 spec=81"                                         },
	{V46,         "01 88 7f 20",						    "I_TRACE_INFO/4 sections=8 cyct=20"                                         },
	{V46,         "01 88 ff 80 7f 20",					      "I_TRACE_INFO/6 sections=8 cyct=20"                                         },
	{ETE13,       "01 19 01 07 ff ff 01",					   "I_TRACE_INFO/7 sections=19 info=1 cyct=7"                                  },
	{V46,         "01 01 ff ff ff ff 0f",					   "I_TRACE_INFO/7 sections=1 info=ffffffff"                                   },
	{V46,         "01 01 ff ff ff ff 7f",					   "I_TRACE_INFO/7 sections=1 info=ffffffff"                                   },
	{V46,         "01 01 ff ff ff ff ff 00",                                        "I_BAD/1; I_NOT_SYNC/7"                                                     },
	{V46,         "01 80 80 80 80 00",					      "I_TRACE_INFO/6"							    },
	{V46,         "01 80 80 80 80 80 00",					   "I_BAD/1; I_NOT_SYNC/6"                                                     },
 /* timestamps */
	{V46,         "02 00",							  "I_TIMESTAMP/2 bits=7"						      },
	{V46,         "02 b4 24",						       "I_TIMESTAMP/3 ts=1234 bits=e"                                              },
	{V46,         "02 90 e4 d0 b2 87 d3 ae ee fe",                                  "I_TIMESTAMP/10 ts=fedcba9876543210 bits=40"                                },
	{V46,         "02 90 e4 d0 b2 87 d3 ae 6e",                                     "I_TIMESTAMP/9 ts=dcba9876543210 bits=38"                                   },
	{V46,         "02 b4 24 02 35",						 "I_TIMESTAMP/3 ts=1234 bits=e; I_TIMESTAMP/2 ts=1235 bits=7"                },
	{V46,         "02 90 e4 d0 b2 87 d3 ae ee fe 02 81 00",
	 "I_TIMESTAMP/10 ts=fedcba9876543210 bits=40; I_TIMESTAMP/3 ts=fedcba9876540001 bits=e"                                                                     },
	{V46,         "02 b4 24 01 00 02 05",
	 "I_TIMESTAMP/3 ts=1234 bits=e; I_TRACE_INFO/2; I_TIMESTAMP/2 ts=5 bits=7"										  },
	{V46,         "03 01 05",						       "I_TIMESTAMP/3 ts=1 bits=7 count=5"                                         },
	{V46,         "03 80 01 80 80 01",					      "I_TIMESTAMP/6 ts=80 bits=e count=0"                                        }, /* 12 bits: CCSIZE 0 */
	{V46,         "03 01 ff 1f",						    "I_TIMESTAMP/4 ts=1 bits=7 count=fff"                                       },
	{V46,         "03 01 ff ff 7f",						 "I_TIMESTAMP/5 ts=1 bits=7 count=fff"                                       },
	{V46,         "03 01 ff ff ff",						 "I_BAD/1; I_NOT_SYNC/4"                                                     },
 /* exceptions */
	{V46,         "06 1d",							  "I_EXCEPT/2 type=e e=1"						     },
	{V46,         "06 44",							  "I_EXCEPT/2 type=2 e=2"						     },
	{V46,         "06 00",							  "I_EXCEPT/2"								},
	{V46,         "06 8b 35",						       "I_EXCEPT/3 type=2a5 e=1 pending"                                           },
	{V46,         "06 9d 00",						       "I_EXCEPT/3 type=e e=1"						     },
	{ETE13,       "06 1d",							  "I_EXCEPT/2 type=e e=1"						     },
	{ETE13,       "06 01 00",						       "I_PE_RESET/3 e=1"							  },
	{ETE13,       "06 81 00",						       "I_PE_RESET/3 e=1"							  },
	{ETE13,       "06 81 01",						       "I_EXCEPT/3 type=20 e=1"						    },
	{ETE13,       "06 31 00",						       "I_TRANS_FAIL/3 type=18 e=1"                                                },
	{V46,         "06 31 95 05",						    "I_EXCEPT/2 type=18 e=1; I_ADDR_S_IS0/2 a=14"                               },
 /* instrumentation, events, transactions, marks */
	{ETE13,       "09 02 88 77 66 55 44 33 22 11",                                  "I_ITE/10 el=2 value=1122334455667788"                                      },
	{V46,         "75",							     "I_EVENT/1 events=5"							},
	{V46,         "7f 70 71",						       "I_EVENT/1 events=f; I_IGNORE/1; I_EVENT/1 events=1"                        },
	{ETE10,       "0a 0b",							  "I_TRANS_ST/1; I_TRANS_COMMIT/1"                                            },
	{V46,         "88 04",							  "I_TS_MARKER/1; I_TRACE_ON/1"                                               },
 /* cycle counts */
	{V46,         "1f",							     "I_CCNT_F3/1 commit=4 count=3"                                              },
	{V46_COMMOPT, "13",							     "I_CCNT_F3/1 count=3"						       },
	{V46,         "0c 53",							  "I_CCNT_F2/2 commit=6 count=3"                                              },
	{V46,         "0d 53",							  "I_CCNT_F2/2 commit=16 count=3"                                             }, /* 5 + 0x20 - 15 */
	{V46_COMMOPT, "0d 53",							  "I_CCNT_F2/2 count=3"						       },
	{V46,         "0f 07",							  "I_CCNT_F1/2 commit=7"						      },
	{V46_COMMOPT, "0f",							     "I_CCNT_F1/1"							       },
	{V46,         "0e 81 01 02",						    "I_CCNT_F1/4 commit=81 count=2"                                             },
	{V46_COMMOPT, "0e 81 01",						       "I_CCNT_F1/3 count=81"                                                      },
	{V46,         "0e ff ff ff ff 0f ff 9f 00",                                     "I_CCNT_F1/9 commit=ffffffff count=fff"                                     },
	{V46,         "0e ff ff ff ff ff 00",					   "I_BAD/1; I_NOT_SYNC/6"                                                     },
	{V46,         "0e 01 80 80 80",						 "I_BAD/1; I_NOT_SYNC/4"                                                     },
	{V46,         "01 08 64 1c 0c 05 0e 01 0a",
	 "I_TRACE_INFO/3 sections=8 cyct=64; I_CCNT_F3/1 commit=4 count=64; "
	 "I_CCNT_F2/2 commit=1 count=69; I_CCNT_F1/3 commit=1 count=6e"											     },
	{V46,         "01 08 64 0f 01 01 00 10",
	 "I_TRACE_INFO/3 sections=8 cyct=64; I_CCNT_F1/2 commit=1; I_TRACE_INFO/2; "
	 "I_CCNT_F3/1 commit=1 count=0"															     },
 /* speculation */
	{V46,         "2d ac 02",						       "I_COMMIT/3 commit=12c"						     },
	{V46,         "2d ff ff ff ff 0f",					      "I_COMMIT/6 commit=ffffffff"                                                },
	{V46,         "2d ff ff ff ff 10",					      "I_COMMIT/6 commit=ffffffff"                                                }, /* more than fits is no less */
	{V46,         "2d ff ff ff ff ff",					      "I_BAD/1; I_NOT_SYNC/5"                                                     },
	{V46,         "2e 03",							  "I_CANCEL_F1/2 commit=3"						    },
	{V46,         "2f 83 00",						       "I_CANCEL_F1_MISPRED/3 commit=3 mispredict"                                 },
	{V46,         "30",							     "I_MISPREDICT/1 mispredict"						 },
	{V46,         "31",							     "I_MISPREDICT/1 E mispredict"                                               },
	{V46,         "32",							     "I_MISPREDICT/1 EE mispredict"                                              },
	{V46,         "33",							     "I_MISPREDICT/1 N mispredict"                                               },
	{V46,         "34",							     "I_CANCEL_F2/1 commit=1 mispredict"                                         },
	{V46,         "35",							     "I_CANCEL_F2/1 E commit=1 mispredict"                                       },
	{V46,         "36",							     "I_CANCEL_F2/1 EE commit=1 mispredict"                                      },
	{V46,         "37",							     "I_CANCEL_F2/1 N commit=1 mispredict"                                       },
	{V46,         "38",							     "I_CANCEL_F3/1 commit=2 mispredict"                                         },
	{V46,         "39",							     "I_CANCEL_F3/1 E commit=2 mispredict"                                       },
	{V46,         "3a",							     "I_CANCEL_F3/1 commit=3 mispredict"                                         },
	{V46,         "3d",							     "I_CANCEL_F3/1 E commit=4 mispredict"                                       },
	{V46,         "3f",							     "I_CANCEL_F3/1 E commit=5 mispredict"                                       },
 /* contexts */
	{V46,         "80",							     "I_CTXT/1"								  },
	{V46,         "81 f2 11 22 33 44 aa bb cc dd",
	 "I_CTXT/10 EL2 SF NS V C vmid=44332211 cid=ddccbbaa"												       },
	{V40,         "81 f2 11 aa bb cc dd",					   "I_CTXT/7 EL2 SF NS V C vmid=11 cid=ddccbbaa"                               },
	{V46_Q,       "81 f2 11 22 aa bb cc dd",                                        "I_CTXT/8 EL2 SF NS V C vmid=2211 cid=ddccbbaa"                             },
	{V46_COMMOPT, "81 f2 aa bb cc dd",					      "I_CTXT/6 EL2 SF NS C cid=ddccbbaa"                                         },
	{V46,         "81 09",							  "I_CTXT/2 EL1 NSE"							  },
	{V46,         "81 2b",							  "I_CTXT/2 EL3 NS NSE"						       },
	{V46,         "81 40 01 00 00 00",					      "I_CTXT/6 EL0 V vmid=1"                                                     },
	{V46,         "81 80 01 00 00 00",					      "I_CTXT/6 EL0 C cid=1"                                                      },
 /* addresses */
	{V46,         "95 05",							  "I_ADDR_S_IS0/2 a=14"						       },
	{V46,         "95 85 01",						       "I_ADDR_S_IS0/3 a=214"						      },
	{V46,         "95 ff ff",						       "I_ADDR_S_IS0/3 a=1fffc"						    },
	{V46,         "96 05",							  "I_ADDR_S_IS1/2 a=a IS1"						    },
	{V46,         "96 85 81",						       "I_ADDR_S_IS1/3 a=810a IS1"                                                 },
	{V46,         "9a 05 04 aa bb",						 "I_ADDR_L_32IS0/5 a=bbaa0814"                                               },
	{V46,         "9a ff ff aa bb",						 "I_ADDR_L_32IS0/5 a=bbaafffc"                                               },
	{V46,         "9b 05 84 aa bb",						 "I_ADDR_L_32IS1/5 a=bbaa840a IS1"                                           },
	{V46,         "9d 05 04 22 33 44 55 66 cc",                                     "I_ADDR_L_64IS0/9 a=cc66554433220814"                                       },
	{V46,         "9e 05 84 22 33 44 55 66 cc",                                     "I_ADDR_L_64IS1/9 a=cc6655443322840a IS1"                                   },
	{V46,         "9d 05 04 22 33 44 55 66 cc 9a 05 04 aa bb",
	 "I_ADDR_L_64IS0/9 a=cc66554433220814; I_ADDR_L_32IS0/5 a=cc665544bbaa0814"                                                                                 },
	{V46,         "81 20 9d 05 04 22 33 44 55 66 cc 9a 05 04 aa bb",                /* AArch32: no upper half */
	 "I_CTXT/2 EL0 NS; I_ADDR_L_64IS0/9 a=cc66554433220814; I_ADDR_L_32IS0/5 a=bbaa0814"},
	{V46,         "9a 05 04 aa bb 95 06",					   "I_ADDR_L_32IS0/5 a=bbaa0814; I_ADDR_S_IS0/2 a=bbaa0818"                    },
	{V46,         "9a 7f 7f ff bb 96 80 00",
	 "I_ADDR_L_32IS0/5 a=bbfffffc; I_ADDR_S_IS1/3 a=bbff0000 IS1"											       },
	{V46,         "9a 7f 7f ff bb 95 80 00",                                        "I_ADDR_L_32IS0/5 a=bbfffffc; I_ADDR_S_IS0/3 a=bbfe0000"                    },
 /* three addresses are kept, and a match is kept again */
	{V46,         "95 01 95 02 96 03 92 92 90 91",
	 "I_ADDR_S_IS0/2 a=4; I_ADDR_S_IS0/2 a=8; I_ADDR_S_IS1/2 a=6 IS1; "
	 "I_ADDR_MATCH/1 a=4 match=2; I_ADDR_MATCH/1 a=8 match=2; I_ADDR_MATCH/1 a=8; "
	 "I_ADDR_MATCH/1 a=8 match=1"															       },
	{V46,         "95 01 96 02 91 91",
	 "I_ADDR_S_IS0/2 a=4; I_ADDR_S_IS1/2 a=4 IS1; "
	 "I_ADDR_MATCH/1 a=4 match=1; I_ADDR_MATCH/1 a=4 IS1 match=1"											       },
	{V46,         "95 01 01 00 90",						 "I_ADDR_S_IS0/2 a=4; I_TRACE_INFO/2; I_ADDR_MATCH/1"                        },
	{V46,         "82 05 04 aa bb 31",					      "I_ADDR_CTXT_L_32IS0/6 a=bbaa0814 EL1 SF NS"                                },
	{V46,         "83 05 84 aa bb 20",					      "I_ADDR_CTXT_L_32IS1/6 a=bbaa840a IS1 EL0 NS"                               },
	{V46,         "85 05 04 22 33 44 55 66 cc f1 11 22 33 44 aa bb cc dd",
	 "I_ADDR_CTXT_L_64IS0/18 a=cc66554433220814 EL1 SF NS V C vmid=44332211 cid=ddccbbaa"                                                                       },
	{V46,         "86 05 84 22 33 44 55 66 cc 00 90",
	 "I_ADDR_CTXT_L_64IS1/10 a=cc6655443322840a IS1 EL0; "
	 "I_ADDR_MATCH/1 a=cc6655443322840a IS1"														    },
 /* the state before the packet decides over the upper half */
	{V46,         "9d 05 04 22 33 44 55 66 cc 82 05 04 aa bb 00 82 05 04 aa bb 10",
	 "I_ADDR_L_64IS0/9 a=cc66554433220814; I_ADDR_CTXT_L_32IS0/6 a=cc665544bbaa0814 EL0; "
	 "I_ADDR_CTXT_L_32IS0/6 a=bbaa0814 EL0 SF"														  },
	{ETE13,       "b4 05 b0 95 06 b2",
	 "I_SRC_ADDR_S_IS0/2 a=14; I_SRC_ADDR_MATCH/1 a=14; "
	 "I_ADDR_S_IS0/2 a=18; I_SRC_ADDR_MATCH/1 a=14 match=2"												     },
	{ETE13,       "b5 85 81",						       "I_SRC_ADDR_S_IS1/3 a=810a IS1"                                             },
	{ETE13,       "b6 05 04 aa bb",						 "I_SRC_ADDR_L_32IS0/5 a=bbaa0814"                                           },
	{ETE13,       "b7 05 84 aa bb",						 "I_SRC_ADDR_L_32IS1/5 a=bbaa840a IS1"                                       },
	{ETE13,       "b8 05 04 22 33 44 55 66 cc",                                     "I_SRC_ADDR_L_64IS0/9 a=cc66554433220814"                                   },
	{ETE13,       "b9 05 84 22 33 44 55 66 cc",                                     "I_SRC_ADDR_L_64IS1/9 a=cc6655443322840a IS1"                               },
 /* a reset is an address of 0, too */
	{ETE13,       "95 01 06 01 00 91",
	 "I_ADDR_S_IS0/2 a=4; I_PE_RESET/3 e=1; I_ADDR_MATCH/1 a=4 match=1"											 },
 /* Q */
	{V46_Q,       "9a 05 04 01 00 a5 85 81 07 a1 05 90",
	 "I_ADDR_L_32IS0/5 a=10814; I_Q/4 a=10214 address q=7; "
	 "I_Q/2 a=10814 match=1 address q=5; I_ADDR_MATCH/1 a=10814"												},
	{V46_Q,       "a6 05 80 01",						    "I_Q/4 a=a IS1 address q=80"                                                },
	{V46_Q,       "aa 05 04 aa bb 81 00",					   "I_Q/7 a=bbaa0814 address q=1"                                              },
	{V46_Q,       "ab 05 84 aa bb ff ff ff ff 0f",                                  "I_Q/10 a=bbaa840a IS1 address q=ffffffff"                                  },
	{V46_Q,       "ac ac 02",						       "I_Q/3 q=12c"							       },
	{V46_Q,       "af 95 01",						       "I_Q/1; I_ADDR_S_IS0/2 a=4"                                                 },
	{V46_Q,       "ac ff ff ff ff ff",					      "I_BAD/1; I_NOT_SYNC/5"                                                     },
};

static void test_rows(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		decodes(rows[i].unit, rows[i].hex, rows[i].want);
}

/* --- cut anywhere --- */

/** Every beginning of a packet is one that is not complete; with the rest it is the packet. */
static bool is_cut_right(enum unit u, const struct input *in)
{
	for (size_t cut = 1; cut < in->nr; cut++) {
		struct etm_packets p = synced(u), over;
		struct bytes first = bytes_of(in->data, cut);
		struct bytes rest = bytes_of(in->data + cut, in->nr - cut);
		struct etm_packet k;

		if (etm_packets_next(&p, &first, &k) != CLEW_END || bytes_left(&first))
			return false;
		over = p;
		if (etm_packets_finish(&over, &k) || k.kind != ETM_INCOMPLETE || k.bytes != cut ||
		    k.offset != 14 || etm_packets_finish(&over, &k) != CLEW_END)
			return false;
		if (etm_packets_next(&p, &rest, &k) || k.bytes != in->nr || k.offset != 14 ||
		    bytes_left(&rest))
			return false;
	}
	return true;
}

static void test_cuts(void)
{
	int nr = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct input in = input_of("", rows[i].hex);

		if (strchr(rows[i].want, ';') || strstr(rows[i].want, "I_BAD"))
			continue;
		nr++;
		CHECK(is_cut_right(rows[i].unit, &in), "cut anywhere: %s", rows[i].hex);
	}
	CHECK(nr > 60, "rows of one packet");
}

/* --- losing and finding --- */

#define ASYNC    "00 00 00 00 00 00 00 00 00 00 00 80 "
#define NO_ASYNC "00 00 00 00 00 00 00 00 00 00 "

static const struct row sync_rows[] = {
	{V46, "f7 00 03 f7 ff " ASYNC "f7",
	 "I_ATOM_F1/1 E; I_DISCARD/2; I_NOT_SYNC/2; I_ASYNC/12; I_ATOM_F1/1 E"                                    },
	{V46, "00 05 " ASYNC "f7",                      "I_OVERFLOW/2; I_ASYNC/12; I_ATOM_F1/1 E"                 },
	{V46, "08 f7 f7 " ASYNC "f7",                   "I_BAD/1; I_NOT_SYNC/2; I_ASYNC/12; I_ATOM_F1/1 E"        },
	{V46, "6c 01 " ASYNC "f7",                      "I_UNSUPPORTED/1; I_NOT_SYNC/1; I_ASYNC/12; I_ATOM_F1/1 E"},
 /* ten zeros are no async, twelve have one in them */
	{V46, NO_ASYNC "80 f7",                         "I_BAD/1; I_NOT_SYNC/11"                                  },
	{V46, "00 " ASYNC "f7",                         "I_BAD/1; I_ASYNC/12; I_ATOM_F1/1 E"                      },
	{V46, "00 00 00 " ASYNC "f7",                   "I_BAD/1; I_NOT_SYNC/2; I_ASYNC/12; I_ATOM_F1/1 E"        },
	{V46, NO_ASYNC "00 81 " ASYNC,                  "I_BAD/1; I_NOT_SYNC/11; I_ASYNC/12"                      },
 /* what a bad packet had after its header is looked at again */
	{V46, "02 ff ff ff ff ff ff ff ff 01 00 00 04",
	 "I_TIMESTAMP/10 ts=1ffffffffffffff bits=40; "
	 "I_BAD/1; I_NOT_SYNC/2"										  },
	{V46, "2d ff ff ff ff ff " ASYNC "f7",          "I_BAD/1; I_NOT_SYNC/5; I_ASYNC/12; I_ATOM_F1/1 E"        },
	{V46, ASYNC ASYNC "01 00",                      "I_ASYNC/12; I_ASYNC/12; I_TRACE_INFO/2"                  },
 /* the end */
	{V46, "f7 9a 05",			       "I_ATOM_F1/1 E; I_INCOMPLETE/2"                           },
	{V46, "00 00 00",			       "I_INCOMPLETE/3"					  },
	{V46, "08 00 00 00",                            "I_BAD/1; I_NOT_SYNC/3"                                   },
};

static bool same_by_one(enum unit u, const struct input *in, const char *want)
{
	struct etm_packets p = synced(u);
	struct buf text = {0};
	bool ok;

	for (size_t i = 0; i < in->nr; i++)
		add_packets(&p, bytes_of(in->data + i, 1), &text);
	add_rest(&p, &text);
	ok = !strcmp(buf_cstr(&text), want);
	if (!ok)
		printf("# got %s\n", buf_cstr(&text));
	buf_done(&text);
	return ok;
}

static void test_sync(void)
{
	struct input in = input_of("f7 f7 02 00 00 ", sync);
	struct etm_packets p;
	struct buf text = {0};

	for (size_t i = 0; i < sizeof(sync_rows) / sizeof(*sync_rows); i++) {
		struct input row = input_of("", sync_rows[i].hex);

		decodes(sync_rows[i].unit, sync_rows[i].hex, sync_rows[i].want);
		CHECK(same_by_one(sync_rows[i].unit, &row, sync_rows[i].want), "byte by byte");
	}
	etm_packets_init(&p, &units[V46]);
	etm_packets_reset(&p, 1000);
	add_packets(&p, bytes_of(in.data, in.nr), &text);
	CHECK_STR(buf_cstr(&text), "I_NOT_SYNC/5; I_ASYNC/12; I_TRACE_INFO/2", "from the start");
	CHECK_EQ(p.offset, 1000 + 19, "offsets continue from where the reset says");
	buf_done(&text);
}

static void test_names(void)
{
	const char *name;
	int nr = 0;

	for (int i = 0; i < NR_ETM_KINDS; i++) {
		name = etm_kind_name((enum etm_kind)i);
		nr += name && !strncmp(name, "I_", 2);
		for (int k = 0; name && k < i; k++)
			nr -= !strcmp(name, etm_kind_name((enum etm_kind)k));
	}
	CHECK_EQ(nr, NR_ETM_KINDS, "each kind has a name of its own");
}

int main(void)
{
	make_units();
	test_headers();
	test_atoms();
	test_rows();
	test_cuts();
	test_sync();
	test_names();
	return tap_done();
}
