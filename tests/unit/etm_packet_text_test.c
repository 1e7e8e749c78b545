/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/etm_packet_text.h"

#include "format/trace/etm_dump.h"
#include "format/trace/spe_units_dump.h"
#include "format/trace/units_dump.h"
#include "packet/spe/spe_packet.h"
#include "unit/tap.h"

/* docs/spec/dump-json.md */

static const struct {
	const char *hex, *text, *json;
	bool is_etm4;
} rows[] = {
	{"04",			    "",							   "{}",							 false},
	{"01 00",			 "",							   "{}",							 false},
	{"01 0d 41 02 64",                "INFO=0x41 SPEC=0x2 CYCT=0x64 cycle counts in a transaction",
	 "{\"info\":65,\"spec\":2,\"cyct\":100}",														     false},
	{"02 b4 24",		      "0x1234",						     "{\"timestamp\":\"0x1234\"}",                                 false},
	{"03 00 05",		      "0x0 no time source cycles=5",                                "{\"timestamp\":\"0x0\",\"cycles\":5}",                       false},
	{"06 1d",			 "TYPE=0xe IRQ E=1",					   "{\"type\":14,\"exception\":\"IRQ\",\"e\":1}",                false},
	{"06 4b",			 "TYPE=0x5 E=3",					       "{\"type\":5,\"exception\":null,\"e\":3}",                    false},
	{"06 44",			 "TYPE=0x2 call E=2 at the branch target",
	 "{\"type\":2,\"exception\":\"call\",\"e\":2}",													       false},
	{"06 8b 35",		      "TYPE=0x2a5 E=1 fault pending",
	 "{\"type\":677,\"exception\":null,\"e\":1,\"fault_pending\":true}",											  true },
	{"06 01 00",		      "",							   "{}",							 false},
	{"09 02 88 77 66 55 44 33 22 11", "EL2 0x1122334455667788",
	 "{\"el\":2,\"value\":\"0x1122334455667788\"}",													       false},
	{"75",			    "EVENT=0x5",						  "{\"events\":5}",                                             false},
	{"1f",			    "cycles=3 commit=4",					  "{\"cycles\":3,\"commit\":4}",                                false},
	{"0f 07",			 "cycles=unknown commit=7",                                    "{\"cycles\":null,\"commit\":7}",                             false},
	{"2d 02",			 "commit=2",						   "{\"commit\":2}",                                             false},
	{"2e 03",			 "cancel=3",						   "{\"cancel\":3}",                                             false},
	{"2f 03",			 "cancel=3 mispredict",                                        "{\"cancel\":3,\"mispredict\":true}",                         false},
	{"33",			    "N",							  "{\"atoms\":\"N\",\"cancel\":0,\"mispredict\":true}",         false},
	{"3f",			    "E cancel=5 mispredict",                                      "{\"atoms\":\"E\",\"cancel\":5,\"mispredict\":true}",
	 false																			     },
	{"80",			    "",							   "{}",							 false},
	{"81 f2 11 22 33 44 aa bb cc dd", "EL2 NS AArch64 VMID=0x44332211 CONTEXTIDR=0xddccbbaa",
	 "{\"context\":{\"el\":2,\"security\":\"NS\",\"bits\":64,\"vmid\":1144201745,"
	 "\"contextidr\":3721182122}}",															       false},
	{"81 09",			 "EL1 Root AArch32",					   "{\"context\":{\"el\":1,\"security\":\"Root\",\"bits\":32}}",
	 false																			     },
	{"95 05",			 "0x14",						       "{\"address\":\"0x14\",\"is\":0}",                            false},
	{"9b 05 84 aa bb",                "0xbbaa840a",						 "{\"address\":\"0xbbaa840a\",\"is\":1}",                      false},
	{"92",			    "0x0 [2]",						    "{\"address\":\"0x0\",\"is\":0,\"match\":2}",                 false},
	{"b1",			    "0x0 [1]",						    "{\"address\":\"0x0\",\"is\":0,\"match\":1}",                 false},
	{"82 05 04 aa bb 31",             "0xbbaa0814 EL1 NS AArch64",
	 "{\"address\":\"0xbbaa0814\",\"is\":0,\"context\":{\"el\":1,\"security\":\"NS\",\"bits\":64}}",
	 false																			     },
	{"a1 05",			 "0x0 [1] instructions=5",
	 "{\"address\":\"0x0\",\"is\":0,\"match\":1,\"instructions\":5}",											     false},
	{"a6 05 07",		      "0xa IS1 instructions=7",                                     "{\"address\":\"0xa\",\"is\":1,\"instructions\":7}",
	 false																			     },
	{"ac 02",			 "instructions=2",					     "{\"instructions\":2}",                                       false},
	{"af",			    "instructions=unknown",				       "{}",							 false},
	{"d7",			    "ENENE",						      "{\"atoms\":\"ENENE\"}",                                      false},
	{"08",			    "reserved, or a field that does not end",                     "{}",                                                         false},
	{"6c",			    "conditional instruction, format 1: not decoded",
	 "{\"what\":\"conditional instruction, format 1\"}",													  false},
};

static struct etm_packet packet_of(const char *hex, const struct etm_config *c)
{
	uint8_t data[64] = {[11] = 0x80, [12] = 0x01, [13] = 0x00};
	struct etm_packets p;
	struct etm_packet ret;
	struct bytes in;
	size_t nr = 14;
	int used;

	for (unsigned int v; sscanf(hex, " %2x%n", &v, &used) == 1; hex += used)
		data[nr++] = (uint8_t)v;
	in = bytes_of(data, nr);
	etm_packets_init(&p, c);
	for (int i = 0; i < 3; i++)
		etm_packets_next(&p, &in, &ret);
	return ret;
}

static void test_packets(const struct etm_config *ete, const struct etm_config *etm4)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct etm_config *c = rows[i].is_etm4 ? etm4 : ete;
		struct etm_packet p = packet_of(rows[i].hex, c);
		struct buf out = {0};
		struct json_put j = {.out = &out};

		etm_packet_text(&out, c, &p);
		CHECK_STR(buf_cstr(&out), rows[i].text, "text of %s", rows[i].hex);
		buf_clear(&out);
		json_open(&j, '{');
		etm_packet_json(&j, c, &p);
		json_close(&j, '}');
		CHECK_STR(buf_cstr(&out), rows[i].json, "JSON of %s", rows[i].hex);
		buf_done(&out);
	}
}

static void test_exceptions(const struct etm_config *c)
{
	struct etm_config m = *c;

	m.is_m_profile = true;
	CHECK_STR(etm_exception_name(c, 0xf), "FIQ", "A profile");
	CHECK_STR(etm_exception_name(c, 9), NULL, "a reserved type");
	CHECK_STR(etm_exception_name(c, 0x3ff), NULL, "a great type");
	CHECK_STR(etm_exception_name(&m, 0xf), "SysTick", "M profile");
	CHECK_STR(etm_exception_name(&m, 0x1a), "lockup", "the last of it");
	CHECK_STR(etm_exception_name(&m, 0x1b), NULL, "none after it");
}

static bool kinds[NR_ETM_KINDS], spe_kinds[NR_SPE_KINDS];

static const char *find(const char *names)
{
	const struct dump_kinds sets[] = {
		{etm_dump_kind, NR_ETM_KINDS, kinds    },
		{spe_dump_kind, NR_SPE_KINDS, spe_kinds},
	};

	memset(kinds, 0, sizeof(kinds));
	memset(spe_kinds, 0, sizeof(spe_kinds));
	return units_dump_kinds(names, sets, 2);
}

/** What --kind=NAMES marks, as names in a row. */
static void marks(const char *names, const char *want)
{
	struct buf out = {0};

	CHECK(!find(names), "%s are names", names);
	for (unsigned int k = 0; k < NR_ETM_KINDS; k++)
		if (kinds[k])
			buf_printf(&out, "%s%s", out.nr ? " " : "", etm_dump_kind(k));
	for (unsigned int k = 0; k < NR_SPE_KINDS; k++)
		if (spe_kinds[k])
			buf_printf(&out, "%sSPE:%s", out.nr ? " " : "", spe_dump_kind(k));
	CHECK_STR(buf_cstr(&out), want, "and mean these");
	buf_done(&out);
}

static void test_kinds(void)
{
	marks("I_ASYNC", "ASYNC");
	marks("except", "EXCEPT");
	marks("CANCEL", "CANCEL_F1 CANCEL_F1_MISPRED CANCEL_F2 CANCEL_F3");
	marks("cancel_f1,i_addr_s", "CANCEL_F1 ADDR_S_IS0 ADDR_S_IS1");
	marks("ATOM_F6,Q", "Q ATOM_F6");
	marks("ev,data,TS", "TS_MARKER SPE:EV SPE:DATA-SOURCE SPE:TS");
	marks("bad", "BAD SPE:bad");
	CHECK_STR(find("ASYNC,ATO,Q"), "ATO,Q", "half a word is no name");
	CHECK_STR(find("NOT"), NULL, "NOT is the first word of NOT_SYNC");
	CHECK_STR(find("ASYNC,,Q"), ",Q", "nothing is no name");
	CHECK_STR(find("I_"), "I_", "nor is the prefix");
}

int main(void)
{
	struct etm_regs r = {.traceidr = 1,
			     .configr = 1,
			     .idr0 = 1 << 15,
			     .idr2 = 8 | 4 << 5 | 4 << 10,
			     .devarch = 0x47735a13,
			     .is_ete = true};
	struct etm_config ete, etm4;

	if (etm_config_init(&ete, &r, NULL))
		return 1;
	r.is_ete = false;
	r.idr1 = 0x41000460;
	if (etm_config_init(&etm4, &r, NULL))
		return 1;
	test_packets(&ete, &etm4);
	test_exceptions(&ete);
	test_kinds();
	return tap_done();
}
