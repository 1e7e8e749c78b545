/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/snapshot/cs_snapshot.h"

#include "trace/etm_decoder.h"
#include "trace/snapshot/cs_snapshot_ini.h"
#include "trace/trace_decode.h"
#include "unit/test_dir.h"

/* --- directories made for a check --- */

#define CORE_REGS "[regs]\nPC(size:64)=0x0\nSP(size:64)=0\n"
#define ETM_REGS                                                                            \
 "[regs]\nTRCCONFIGR(0x004)=0x00000001\ntrctraceidr(id:0x10)=\"0x10\"\nTRCIDR0=671092385\n" \
 "TRCIDR2 (0x7A) = 0x488 ; 64-bit addresses\n"

/* A64: add, b .+8, nop, ret */
static const uint8_t code[] = {0x00, 0x04, 0x00, 0x91, 0x02, 0x00, 0x00, 0x14,
			       0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6};

/* Async, trace info, trace on, address with context 0x10000 at EL1, E, E. */
static const uint8_t trace[] = {0, 0, 0, 0,    0,    0,    0,    0,    0,    0,    0,    0x80,
				1, 1, 0, 0x04, 0x82, 0x00, 0x00, 0x01, 0x00, 0x31, 0xf7, 0xf7};

static void put_usual(void)
{
	test_dir_put("snapshot.ini", "[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=cpu.ini\n"
				     "device7=etm.ini\n[trace]\nmetadata=trace.ini\n");
	test_dir_put("cpu.ini", "[device]\nname=cpu_3\nclass=core\ntype=Cortex-A53\n" CORE_REGS
				"[dump1]\nfile=\"code.bin\"\naddress=0x10000\nlength=0x10\n");
	test_dir_put("etm.ini", "[device]\nname=ETM_3\nclass=trace_source\ntype=ETM4\n" ETM_REGS);
	test_dir_put("trace.ini",
		     "[trace_buffers]\nbuffers=buffer0,\n[buffer0]\nname=ETB_0\nfile=trace.bin\n"
		     "format=source_data\n[source_buffers]\nETM_3=ETB_0\n"
		     "[core_trace_sources]\ncpu_3=ETM_3\n");
	test_dir_write("code.bin", code, sizeof(code));
	test_dir_write("trace.bin", trace, sizeof(trace));
}

/* --- what comes of it --- */

struct got {
	uint64_t nr_insns, nr_nacc, nr_units;
	uint64_t nr_warnings;
};

static enum clew_err warning(void *ctx, const char *what, uint64_t number, uint64_t offset)
{
	(void)what, (void)number, (void)offset;
	((struct got *)ctx)->nr_warnings++;
	return CLEW_OK;
}

static enum clew_err unit_end(void *ctx, size_t unit, struct flow *flow)
{
	struct got *got = ctx;

	(void)unit;
	got->nr_units++;
	got->nr_insns += flow_totals(flow)->nr_insns;
	got->nr_nacc += flow_totals(flow)->nr_nacc;
	return CLEW_OK;
}

static struct trace_input *open_it(struct clew_diag *diag)
{
	struct trace_input *t = NULL;

	*diag = (struct clew_diag){0};
	return cs_snapshot_open(&t, test_dir, diag) ? NULL : t;
}

static struct got decode(struct trace_input *t)
{
	struct got got = {0};
	const struct trace_decode_opts opts = {
		.nr_threads = 1, .unit_end = unit_end, .ctx = &got, .listener = {warning, &got}
        };

	if (trace_decode(t, &opts, NULL))
		got.nr_insns = UINT64_MAX;
	return got;
}

static bool has_note(const struct trace_input *t, const char *words)
{
	const char *note;

	for (size_t i = 0; (note = cs_snapshot_note(t, i)); i++) {
		if (strstr(note, words))
			return true;
	}
	return false;
}

/** Instructions of what is in the directory now; all ones: it cannot be opened. */
static uint64_t insns_now(void)
{
	struct clew_diag diag;
	struct trace_input *t = open_it(&diag);
	struct got got = {.nr_insns = UINT64_MAX};

	if (t)
		got = decode(t);
	trace_input_free(t);
	return got.nr_insns;
}

/* --- .ini files --- */

static void test_ini(void)
{
	static const char text[] =
		"\xef\xbb\xbf; first\r\n[ One ] rest\r\n a = b=c ; end\r\n"
		"no equals\n\n[two]\nKey=\"x;#y\"\nkey = 'z' # end\n[One]\nA=last";
	struct arena arena = {0};
	struct cs_ini ini;
	uint64_t v = 0;

	CHECK(cs_ini_parse(&ini, bytes_of(text, sizeof(text) - 1), &arena), "the .ini is parsed");
	CHECK_EQ(ini.nr, 4, "four lines with a key");
	CHECK_EQ(ini.nr_bad, 1, "one that is none");
	CHECK_STR(ini.data[0].section, "One", "a heading's name without its space");
	CHECK_STR(ini.data[0].value, "b=c", "the value begins after the first =");
	CHECK_STR(ini.data[1].value, "x;#y", "quotes keep what begins a comment");
	CHECK_STR(ini.data[2].value, "z", "single quotes go too");
	CHECK_STR(cs_ini_get(&ini, "one", "a"), "last", "the last of two sections' values counts");
	CHECK(ini.data[0].section_nr != ini.data[3].section_nr, "two sections of one name");
	CHECK(!cs_ini_get(&ini, "two", "a"), "no such key");
	CHECK(cs_ini_number("0x10)", &v) && v == 16, "hex, what follows does not matter");
	CHECK(cs_ini_number("010", &v) && v == 8, "a leading 0 is octal");
	CHECK(!cs_ini_number("x", &v) && !cs_ini_number("", &v), "no numbers");
	CHECK(!cs_ini_number("0x1ffffffffffffffff", &v), "too large a number");
	vec_done(&ini);
	arena_done(&arena);
}

static void test_ini_hostile(void)
{
	static const char *const texts[] = {"",       "[",      "]",     "[]",       "=",
					    "[=",     "a=\"",   "\"=\"", "\n\n[a\n", "[a]]=b",
					    "\r\r\r", "a\0b=c", "=;\"#"};
	struct arena arena = {0};
	bool ok = true;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct cs_ini ini;
		size_t n = i == 11 ? 5 : strlen(texts[i]);

		ok &= cs_ini_parse(&ini, bytes_of(texts[i], n), &arena);
		vec_done(&ini);
	}
	CHECK(ok, "malformed lines end nothing");
	arena_done(&arena);
}

/* --- snapshots --- */

static void test_usual(void)
{
	struct clew_diag diag;
	struct trace_input *t;
	struct got got;

	put_usual();
	t = open_it(&diag);
	CHECK(t, "a snapshot is opened");
	if (!t)
		return;
	CHECK_EQ(t->nr_units, 1, "one unit");
	CHECK_EQ(t->units[0].id, 0x10, "register names in any case, with brackets and quotes");
	CHECK_EQ(t->units[0].cpu, 3, "the CPU by its core's name");
	CHECK_STR(t->units[0].name, "ETM_3", "the unit's name");
	CHECK(!cs_snapshot_note(t, 0), "nothing to say");
	got = decode(t);
	CHECK_EQ(got.nr_insns, 3, "add, b, ret ran");
	CHECK_EQ(got.nr_nacc + got.nr_warnings, 0, "all of it is there");
	trace_input_free(t);
}

static void test_ways_to_name_it(void)
{
	struct clew_diag diag = {0};
	struct trace_input *t = NULL;
	char path[256];

	snprintf(path, sizeof(path), "%s/snapshot.ini", test_dir);
	CHECK(!cs_snapshot_open(&t, path, &diag), "by its snapshot.ini");
	trace_input_free(t);
	snprintf(path, sizeof(path), "%s///", test_dir);
	CHECK(!cs_snapshot_open(&t, path, &diag), "with slashes at the end");
	trace_input_free(t);
	CHECK_EQ(cs_snapshot_open(&t, "/nonexistent", &diag), CLEW_OS, "no such directory");
	CHECK_STR(diag.what, "snapshot.ini", "says which file is missing");
}

static void is_about(void *ctx, const char *note)
{
	*(bool *)ctx |= strstr(note, "gone.bin") && strstr(note, "No such file");
}

static void test_why_it_fails(void)
{
	struct clew_diag diag = {0};
	struct trace_input *t = NULL;
	bool is_noted = false;

	test_dir_put("trace.ini",
		     "[trace_buffers]\nbuffers=buffer0\n[buffer0]\nname=ETB_0\nfile=gone.bin\n"
		     "[source_buffers]\nETM_3=ETB_0\n[core_trace_sources]\ncpu_3=ETM_3\n");
	CHECK_EQ(cs_snapshot_open_with_notes(&t, test_dir, NULL, is_about, &is_noted, &diag),
		 CLEW_BAD_FILE, "no trace");
	CHECK(is_noted, "and which file is missing");
	test_dir_put("snapshot.ini", "[trace]\nmetadata=/dev/null\n");
	CHECK_EQ(cs_snapshot_open(&t, test_dir, &diag), CLEW_BAD_FILE, "metadata in a device");
	CHECK(strstr(diag.what, "metadata"), "and that it is the metadata");
	put_usual();
}

static void is_about_buffer(void *ctx, const char *note)
{
	*(bool *)ctx |= strstr(note, "trace buffer buffer0 has no section") != NULL;
}

static void test_crlf_and_comments(void)
{
	struct clew_diag diag = {0};
	struct trace_input *t = NULL;
	bool is_noted = false;

	test_dir_put(
		"trace.ini",
		"; metadata\r\n[trace_buffers]\r\nbuffers= other , buffer0 \r\n\r\n"
		"[BUFFER0]\r\nname = ETB_0 # the first\r\nfile=\"trace.bin\"\r\nFormat=Source_Data\r\n"
		"[source_buffers]\r\nETM_3= ETB_9, ETB_0\r\n[core_trace_sources]\r\ncpu_3=ETM_3\r\n"
		"[timestamp]\r\nfrequency=25000000\r\nodd\r\n");
	CHECK_EQ(insns_now(), UINT64_MAX, "names of buffers are as in the list");
	cs_snapshot_open_with_notes(&t, test_dir, NULL, is_about_buffer, &is_noted, &diag);
	CHECK(is_noted, "and which one has no section");
	test_dir_put(
		"trace.ini",
		"[trace_buffers]\r\nbuffers= other , buffer0 \r\n\r\n"
		"[buffer0]\r\nname = ETB_0 # the first\r\nfile=\"trace.bin\"\r\nFormat=Source_Data\r\n"
		"[source_buffers]\r\nETM_3= ETB_9, ETB_0\r\n[core_trace_sources]\r\ncpu_3=ETM_3\r\n"
		"[timestamp]\r\nfrequency=25000000\r\nodd\r\n");
	CHECK_EQ(insns_now(), 3, "CRLF, comments, lists, sections of others");
	put_usual();
}

static void test_memory(void)
{
	struct clew_diag diag;
	struct trace_input *t;

	test_dir_put("cpu.ini",
		     "[device]\nname=cpu_3\nclass=core\ntype=Cortex-A53\n"
		     "[dumpb]\nfile=padded.bin\noffset=8\naddress=0x10008\n"
		     "[dump.a]\nfile=padded.bin\naddress=0x10000\nlength=8\nspace=EL1N\n");
	test_dir_write("padded.bin", code, sizeof(code));
	CHECK_EQ(insns_now(), 3, "dumps by offset and length, of one space");
	test_dir_put(
		"cpu.ini",
		"[device]\nname=cpu_3\nclass=core\n[dump1]\nfile=code.bin\naddress=0x10000\nspace=EL3\n");
	CHECK_EQ(insns_now(), 0, "EL1 does not see what EL3 does");
	test_dir_put(
		"cpu.ini",
		"[device]\nname=cpu_3\nclass=core\n[dump1]\nfile=code.bin\naddress=0x10000\nspace=moon\n");
	t = open_it(&diag);
	CHECK(t && has_note(t, "moon") && decode(t).nr_insns == 3,
	      "an unknown space is said, and all");
	trace_input_free(t);
	test_dir_put("cpu.ini",
		     "[device]\nname=cpu_3\nclass=core\n[dump1]\nfile=gone.bin\naddress=0x10000\n"
		     "[dump2]\nfile=code.bin\n[dump3]\nfile=code.bin\naddress=here\n"
		     "[dump4]\naddress=4\n[dump5]\nfile=code.bin\naddress=0\noffset=99999\n");
	t = open_it(&diag);
	CHECK(t && has_note(t, "gone.bin") && has_note(t, "dump2") && has_note(t, "dump3") &&
		      has_note(t, "dump4"),
	      "dumps without file, address or number are named");
	CHECK(t && decode(t).nr_nacc == 1, "and their code is missing");
	trace_input_free(t);
	test_dir_put("cpu.ini",
		     "[device]\nname=cpu_3\nclass=core\n[dump1]\nfile=code.bin\n"
		     "address=0xfffffffffffffff8\n[dump2]\nfile=code.bin\naddress=0x10000\n"
		     "length=0xffffffffffffffff\noffset=0x0\n");
	CHECK_EQ(insns_now(), 3, "dumps past the end of file and of memory end there");
	test_dir_put("cpu.ini",
		     "[device]\nname=cpu_3\nclass=core\n[dump1]\nfile=code.bin\naddress=0x10000\n"
		     "length=0\noffset=0\n");
	CHECK_EQ(insns_now(), 3, "a length of 0 is none");
	test_dir_put(
		"cpu.ini",
		"[device]\nname=cpu_3\nclass=core\n[dump1]\nfile=bin\\code.bin\naddress=0x10000\n");
	CHECK_EQ(insns_now(), 0, "no such file");
	test_dir_drop("padded.bin");
	put_usual();
}

/** Two cores with other code at one address: each sees its own. */
static void test_cores_differ(void)
{
	static const uint8_t other[] = {0x1f, 0x20, 0x03, 0xd5, 0x1f, 0x20, 0x03, 0xd5, 0x02, 0x00,
					0x00, 0x14, 0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6};

	test_dir_put("snapshot.ini",
		     "[device_list]\na=cpu.ini\nb=other.ini\nc=etm.ini\nx4=etm2.ini\n[trace]\n"
		     "metadata=trace.ini\n");
	test_dir_put(
		"other.ini",
		"[device]\nname=cpu_9\nclass=core\n[dump1]\nfile=other.bin\naddress=0x10000\n");
	test_dir_put("etm2.ini", "[device]\nname=ETM_9\ntype=ETM4\n" ETM_REGS);
	test_dir_put("trace.ini",
		     "[trace_buffers]\nbuffers=a,b\n[a]\nfile=trace.bin\nformat=source_data\n"
		     "[b]\nfile=trace.bin\nformat=source_data\n[source_buffers]\nETM_3=a\nETM_9=b\n"
		     "[core_trace_sources]\ncpu_3=ETM_3\ncpu_9=ETM_9\n");
	test_dir_write("other.bin", other, sizeof(other));
	CHECK_EQ(insns_now(), 3 + 4,
		 "of two cores each runs its own code, of two sessions both ran");
	test_dir_drop("other.ini");
	test_dir_drop("other.bin");
	test_dir_drop("etm2.ini");
	put_usual();
}

static void is_about_stm(void *ctx, const char *text)
{
	*(bool *)ctx |= !strcmp(text, "STM_1: an STM is not decoded");
}

static void test_sources(void)
{
	struct clew_diag diag;
	struct trace_input *t;
	bool is_noted = false;

	test_dir_put(
		"snapshot.ini",
		"[device_list]\na=cpu.ini\nb=etm.ini\nc=stm.ini\nx4=gone.ini\ne=new.ini\nf=ptm.ini\n"
		"[trace]\nmetadata=trace.ini\n");
	test_dir_put(
		"stm.ini",
		"[device]\nname=STM_1\nclass=trace_source\ntype=STM\n[regs]\nSTMTCSR(0x3A0)=0x00A00005\n");
	test_dir_put("new.ini", "[device]\nname=NEW_1\nclass=trace_source\ntype=XTM9.1\n");
	test_dir_put(
		"ptm.ini",
		"[device]\nname=PTM_1\nclass=trace_source\ntype=PTM1.1\n[regs]\nETMTRACEIDR=0x14\n");
	test_dir_put("trace.ini",
		     "[trace_buffers]\nbuffers=b\n[b]\nname=B\nfile=trace.bin\nformat=source_data\n"
		     "[source_buffers]\nABSENT=B\nSTM_1=B\nNEW_1=B\nPTM_1=B\nETM_3=B\n"
		     "[core_trace_sources]\nabsent=ETM_3\n");
	t = open_it(&diag);
	CHECK(t && t->nr_units == 4, "four units");
	CHECK(t && has_note(t, "gone.ini") && has_note(t, "ABSENT"), "what is missing is named");
	for (size_t i = 0; t && i < t->nr_units; i++) {
		const struct trace_unit *u = &t->units[i];

		CHECK(u->is_decodable == !strcmp(u->name, "ETM_3"), "%s: %s", u->name,
		      u->is_decodable ? "decoded" : u->why.what);
		if (!strcmp(u->name, "STM_1"))
			CHECK_EQ(u->id, 0x20, "an STM's ID");
		if (!strcmp(u->name, "PTM_1"))
			CHECK_EQ(u->id, 0x14, "a PTM's ID");
		if (u->is_decodable)
			CHECK_EQ(u->cpu, 3, "an unknown core is taken for the only one there is");
	}
	CHECK(t && decode(t).nr_insns == 3, "a raw buffer is the unit's that can be decoded");
	trace_input_free(t);
	test_dir_drop("new.ini");
	test_dir_drop("ptm.ini");
	test_dir_put(
		"trace.ini",
		"[trace_buffers]\nbuffers=b\n[b]\nname=B\nfile=trace.bin\n[source_buffers]\nSTM_1=B\n");
	CHECK(!open_it(&diag) && diag.code == CLEW_UNSUPPORTED, "trace of an STM only");
	CHECK(cs_snapshot_open_with_notes(&t, test_dir, NULL, is_about_stm, &is_noted, &diag) &&
		      is_noted,
	      "and which source it is");
	test_dir_drop("stm.ini");
	test_dir_put(
		"trace.ini",
		"[trace_buffers]\nbuffers=b\n[b]\nname=B\nfile=trace.bin\nformat=source_data\n");
	CHECK_EQ(insns_now(), 3, "without a list of sources, any");
	test_dir_put("trace.ini", "[trace_buffers]\nbuffers=b,c\n[b]\nname=B\nfile=trace.bin\n"
				  "format=source_data\n[c]\nname=C\nfile=trace.bin\n"
				  "[source_buffers]\nETM_3=B\n");
	t = open_it(&diag);
	CHECK(t && has_note(t, "buffer C") && decode(t).nr_insns == 3,
	      "a buffer that is no source's is named");
	trace_input_free(t);
	put_usual();
}

static void test_registers(void)
{
	static const char *const missing[] = {"TRCCONFIGR", "TRCTRACEIDR", "TRCIDR0", "TRCIDR2"};
	static const char *const lines[] = {"TRCCONFIGR=1\n", "TRCTRACEIDR=0x10\n",
					    "TRCIDR0=0x28000ea1\n", "TRCIDR2=0x488\n"};
	struct clew_diag diag;

	test_dir_put(
		"trace.ini",
		"[trace_buffers]\nbuffers=b\n[b]\nfile=trace.bin\n[source_buffers]\nETM_3=b\n");
	for (size_t i = 0; i < 4; i++) {
		char text[512] = "[device]\nname=ETM_3\ntype=ETM4.2\n[regs]\n";
		struct trace_input *t;

		for (size_t k = 0; k < 4; k++)
			strcat(text, k == i ? "" : lines[k]);
		test_dir_put("etm.ini", text);
		t = open_it(&diag);
		CHECK(t && !t->units[0].is_decodable && strstr(t->units[0].why.what, missing[i]),
		      "without %s it is not decoded", missing[i]);
		trace_input_free(t);
	}
	put_usual();
	test_dir_put("etm.ini",
		     "[device]\nname=ETM_3\ntype=ETM4\n[regs]\nTRCCONFIGR=1\nTRCTRACEIDR=0\n"
		     "TRCIDR0=0x28000ea1\nTRCIDR2=0x488\n");
	CHECK_EQ(insns_now(), 3, "raw trace needs no ID");
	test_dir_put(
		"etm.ini",
		"[device]\nname=ETM_3\ntype=ETM4\n[regs]\nTRCCONFIGR=0x30001\nTRCTRACEIDR=0x10\n"
		"TRCIDR0=0x28000ea1\nTRCIDR2=0x488\n");
	CHECK_EQ(insns_now(), 0, "data trace is refused, the snapshot is not");
	test_dir_put("etm.ini", "[device]\nname=ETM_3\ntype=ETM4\n" ETM_REGS "TRCIDR1=0\n");
	CHECK_EQ(insns_now(), 3, "a TRCIDR1 of 0 was not read");
	test_dir_put("etm.ini", "[device]\nname=ETM_3\ntype=ETE\n" ETM_REGS "TRCDEVARCH=0\n");
	CHECK_EQ(insns_now(), 3, "nor was such a TRCDEVARCH");
	put_usual();
}

static void test_profile(void)
{
	static const struct {
		const char *type;
		bool is_m;
	} cores[] = {
		{"Cortex-A53",   0},
                {"Cortex-M4",    1},
                {"cortex-m33.1", 1},
                {"ARMv7-M",      1},
		{"ARMv8.1-M",    1},
                {"ARMv8-A",      0},
                {"Cortex-M7",    1},
                {"ARM-AA64-M",   1}
        };

	for (size_t i = 0; i < sizeof(cores) / sizeof(*cores); i++) {
		struct clew_diag diag;
		struct trace_input *t;
		char text[128];

		snprintf(text, sizeof(text), "[device]\nname=cpu_3\nclass=core\ntype=%s\n",
			 cores[i].type);
		test_dir_put("cpu.ini", text);
		t = open_it(&diag);
		CHECK(t && etm_config_of(&t->units[0])->is_m_profile == cores[i].is_m, "%s",
		      cores[i].type);
		trace_input_free(t);
	}
	put_usual();
}

static void test_hostile(void)
{
	static const char *const trace_inis[] = {
		"",
		"[trace_buffers]\n",
		"[trace_buffers]\nbuffers=,,,\n",
		"[trace_buffers]\nbuffers=b\n",
		"[trace_buffers]\nbuffers=b\n[b]\nname=x\n",
		"[trace_buffers]\nbuffers=b\n[b]\nfile=\n",
		"[trace_buffers]\nbuffers=b\n[b]\nfile=.\n",
		"[trace_buffers]\nbuffers=b\n[b]\nfile=/dev/zero\n",
		"[trace_buffers]\nbuffers=b,b,b\n[b]\nfile=fifo\n",
	};
	struct clew_diag diag;
	char path[256];
	bool ok = true;

	snprintf(path, sizeof(path), "%s/fifo", test_dir);
	mkfifo(path, 0600);
	for (size_t i = 0; i < sizeof(trace_inis) / sizeof(*trace_inis); i++) {
		struct trace_input *t;

		test_dir_put("trace.ini", trace_inis[i]);
		t = open_it(&diag);
		ok &= !t && diag.code == CLEW_BAD_FILE && diag.what;
		trace_input_free(t);
	}
	CHECK(ok, "metadata without a readable buffer; devices and pipes are no files");
	test_dir_put("snapshot.ini", "[trace]\nmetadata=../../../../../../nowhere/x\n");
	CHECK(!open_it(&diag) && diag.code == CLEW_OS, "missing metadata");
	test_dir_put("snapshot.ini", "[trace]\nmetadata=fifo\n");
	CHECK(!open_it(&diag) && diag.code == CLEW_BAD_FILE && strstr(diag.what, "metadata"),
	      "metadata that is a pipe");
	test_dir_put("snapshot.ini", "[snapshot]\nversion=1.0\n");
	CHECK(!open_it(&diag) && diag.code == CLEW_BAD_FILE, "no metadata");
	put_usual();
	test_dir_put(
		"snapshot.ini",
		"[device_list]\na=fifo\nb=.\nc=snapshot.ini\nx4=trace.bin\n[trace]\nmetadata=trace.ini\n");
	CHECK(!open_it(&diag) && diag.code == CLEW_BAD_FILE, "devices that are none");
	put_usual();
	test_dir_write("trace.bin", "", 0);
	CHECK_EQ(insns_now(), 0, "no byte of trace");
	test_dir_drop("fifo");
	put_usual();
}

/* --- frames --- */

/** One frame per ID: its data goes byte by byte after the ID byte, with two paddings of ID 0. */
static size_t frame_of(uint8_t *to, uint8_t id, const uint8_t *data, size_t nr)
{
	memset(to, 0, 16);
	to[0] = (uint8_t)(id << 1 | 1);
	for (size_t i = 0; i < 13; i++) {
		size_t slot = i + 1;

		if (i >= nr) { /* the rest belongs to no source */
			if (slot & 1)
				to[slot] = 0;
			continue;
		}
		to[slot] = data[i];
		if (!(slot & 1)) {
			to[slot] = data[i] & 0xfe;
			to[15] = (uint8_t)(to[15] | (data[i] & 1) << slot / 2);
		}
	}
	return 16;
}

/** The usual trace in frames of 13 bytes each; a frame that is not full would add bytes, so that
 * the last is filled with ignore packets. */
static size_t framed(uint8_t *to, uint8_t id)
{
	uint8_t padded[39];
	size_t at = 0;

	memset(padded, 0x70, sizeof(padded));
	memcpy(padded, trace, sizeof(trace));
	for (size_t i = 0; i < sizeof(padded); i += 13)
		at += frame_of(to + at, id, padded + i, 13);
	/* slot 14 of each frame is data too: make it an ID byte, which has none */
	for (size_t i = 0; i < at; i += 16)
		to[i + 14] = (uint8_t)(id << 1 | 1);
	return at;
}

static void test_frames(void)
{
	static const uint8_t barrier[16] = {0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f,
					    0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f};
	static const size_t pieces[] = {1, 7, 16, 4096, 0};
	struct clew_diag diag;
	struct trace_input *t;
	uint8_t bytes[512];
	size_t nr = framed(bytes, 0x10);

	test_dir_put(
		"trace.ini",
		"[trace_buffers]\nbuffers=b\n[b]\nfile=trace.bin\n[source_buffers]\nETM_3=b\n");
	memcpy(bytes + nr, barrier, 16);
	nr += 16;
	nr += framed(bytes + nr, 0x10);
	nr += framed(bytes + nr, 0x33);
	test_dir_write("trace.bin", bytes, nr);
	t = open_it(&diag);
	CHECK(t && decode(t).nr_insns == 6, "trace in frames is decoded");
	trace_input_free(t);
	test_dir_put(
		"trace.ini",
		"[trace_buffers]\nbuffers=b\n[b]\nfile=trace.bin\nformat=ETR\n[source_buffers]\n"
		"ETM_3=b\n");
	t = open_it(&diag);
	CHECK(t && has_note(t, "'ETR'"), "an unknown format is said, and taken for them");
	for (size_t i = 0; t && i < sizeof(pieces) / sizeof(*pieces); i++) {
		struct got got;

		cs_snapshot_set_piece(t, pieces[i]);
		got = decode(t);
		CHECK(got.nr_insns == 6 && got.nr_warnings == 1,
		      "in pieces of %zu: twice the code, and one strange ID", pieces[i]);
	}
	trace_input_free(t);
	put_usual();
}

/* --- many --- */

static void test_many_dumps(void)
{
	struct clew_diag diag;
	struct trace_input *t;
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/cpu.ini", test_dir);
	f = fopen(path, "w");
	if (!f)
		return;
	fprintf(f, "[device]\nname=cpu_3\nclass=core\n");
	for (unsigned int i = 0; i < 10000; i++)
		fprintf(f, "[dump%u]\nfile=code.bin\naddress=0x%x\n", i, 0x10000000 - i * 0x1000);
	fclose(f);
	t = open_it(&diag);
	CHECK(t && has_note(t, "more than 4096 memory dumps"),
	      "ten thousand dumps: a limit that is reported");
	trace_input_free(t);
	put_usual();
}

static void test_out_of_memory(void)
{
	struct clew_diag diag = {0};
	bool ok = true, went_well = false;

	for (uint64_t n = 0; n < 1000 && !went_well && ok; n++) {
		struct trace_input *t = NULL;
		enum clew_err err;

		mem_fail_after(n);
		err = cs_snapshot_open(&t, test_dir, &diag);
		mem_fail_after(UINT64_MAX);
		went_well = !err;
		ok = went_well || err == CLEW_NO_MEMORY;
		trace_input_free(t);
	}
	CHECK(ok && went_well, "each allocation refused in turn");
}

int main(void)
{
	test_dir_make("cs-snapshot-test");
	test_ini();
	test_ini_hostile();
	test_usual();
	test_ways_to_name_it();
	test_why_it_fails();
	test_crlf_and_comments();
	test_memory();
	test_cores_differ();
	test_sources();
	test_registers();
	test_profile();
	test_hostile();
	test_frames();
	test_many_dumps();
	test_out_of_memory();
	test_dir_remove();
	return tap_done();
}
