/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/etm/etm_config.h"

#include "unit/tap.h"

/* Spec: IHI 0064, DDI 0487: TRCCONFIGR, TRCTRACEIDR, TRCIDR0, 1, 2, 8, TRCDEVARCH. */

static const struct etm_regs etm = {.traceidr = 0x10, .configr = 1, .idr1 = 0x41000430};
static const struct etm_regs ete = {.traceidr = 0x10,
				    .configr = 1,
				    .devarch = 0x47705a13,
				    .is_ete = true};

static struct etm_config config_of(const struct etm_regs *r)
{
	struct etm_config ret = {0};
	struct clew_diag diag = {0};

	CHECK_EQ(etm_config_init(&ret, r, &diag), CLEW_OK, "a configuration that is decoded");
	return ret;
}

static void refuses(struct etm_regs r, enum clew_err want, const char *word)
{
	struct clew_diag diag = {0};
	struct etm_config ret = {.id = 0x55};
	enum clew_err err = etm_config_init(&ret, &r, &diag);

	CHECK(err == want && diag.code == want && diag.what && strstr(diag.what, word) &&
		      ret.id == 0x55,
	      "refused: %s", word);
	CHECK_EQ(etm_config_init(&ret, &r, NULL), want, "the reason is optional");
}

static void test_refused(void)
{
	struct etm_regs r;

	for (uint32_t v = 1; v < 4; v++) {
		r = etm;
		r.configr |= v << 1;
		refuses(r, CLEW_UNSUPPORTED, "INSTP0");
	}
	for (uint32_t v = 1; v < 8; v++) {
		r = etm;
		r.configr |= v << 8;
		refuses(r, CLEW_UNSUPPORTED, "conditional");
	}
	for (uint32_t v = 1; v < 4; v++) {
		r = etm;
		r.configr |= v << 16;
		refuses(r, CLEW_UNSUPPORTED, "data trace");
	}
	r = etm;
	r.idr1 = 0x41000350;
	refuses(r, CLEW_UNSUPPORTED, "not an ETMv4");
	r = ete;
	r.devarch = 0x47704a13;
	refuses(r, CLEW_UNSUPPORTED, "not an ETE");
	r = etm;
	r.traceidr = 0;
	refuses(r, CLEW_INVALID, "trace ID");
	r.traceidr = 0x70;
	refuses(r, CLEW_INVALID, "trace ID");
}

static void test_version(void)
{
	struct etm_regs r = etm;
	struct etm_config c = config_of(&r);

	CHECK(c.version == 0x43 && !c.is_ete && c.id == 0x10, "TRCIDR1 says ETMv4.3");
	r.idr1 = 0x4100f400;
	CHECK_EQ(config_of(&r).version, 0x40, "ETMv4.0");
	r = ete;
	c = config_of(&r);
	CHECK(c.version == 0x50 && c.is_ete, "TRCDEVARCH says ETE 1.0");
	r.devarch = 0x47735a13;
	CHECK_EQ(config_of(&r).version, 0x53, "and 1.3");
	r.traceidr = 0xffffff80 | 0x6f;
	CHECK_EQ(config_of(&r).id, 0x6f, "an ID has 7 bits");
}

static void test_sizes(void)
{
	static const uint8_t bytes_of_code[] = {0, 1, 2, 4, 4};
	struct etm_regs r = etm;
	struct etm_config c;

	for (uint32_t code = 0; code < 5; code++) {
		r.idr2 = 8 | code << 5 | code << 10 | 9u << 25;
		c = config_of(&r);
		CHECK(c.cid_bytes == bytes_of_code[code] && c.vmid_bytes == bytes_of_code[code],
		      "CIDSIZE and VMIDSIZE %u", code);
		CHECK_EQ(c.cc_bits, 21, "CCSIZE 9");
	}
	r.idr1 = 0x41000400;
	for (uint32_t code = 0; code < 5; code++) {
		r.idr2 = 8 | code << 5 | code << 10;
		c = config_of(&r);
		CHECK(c.cid_bytes == bytes_of_code[code] && c.vmid_bytes == (code > 0),
		      "v4.0 knows a VMID of 8 bits only: VMIDSIZE %u", code);
	}
	r.idr8 = 0x78;
	CHECK_EQ(config_of(&r).max_spec, 0x78, "TRCIDR8");
	r.idr8 = UINT32_MAX;
	CHECK_EQ(config_of(&r).max_spec, ETM_MAX_SPEC, "TRCIDR8 has a limit here");
}

static void test_idr0(void)
{
	struct etm_regs r = ete;
	struct etm_config c = config_of(&r);

	CHECK(!c.has_commopt && c.transactions_are_p0 && !c.has_q && !c.has_ts_marks,
	      "TRCIDR0 of 0");
	r.idr0 = 1u << 29;
	CHECK(!config_of(&r).has_commopt, "COMMOPT means nothing without cycle counting");
	r.idr0 = 1u << 29 | 1 << 7;
	CHECK(config_of(&r).has_commopt, "COMMOPT is read");
	r.idr0 = 1u << 30;
	CHECK(!config_of(&r).transactions_are_p0, "COMMTRANS is read");
	for (uint32_t v = 1; v < 4; v++) {
		r.idr0 = v << 15;
		CHECK(config_of(&r).has_q, "QSUPP %u", v);
	}
	r.idr0 = 1 << 23;
	CHECK(!config_of(&r).has_ts_marks, "ETE 1.0 has no TSMARK");
	r.devarch = 0x47715a13;
	CHECK(config_of(&r).has_ts_marks, "ETE 1.1 has");
	r = etm;
	r.idr0 = 1 << 23;
	CHECK(!config_of(&r).has_ts_marks, "ETMv4 has not");
}

static void test_configr(void)
{
	struct etm_regs r = etm;
	struct etm_config c = config_of(&r);

	CHECK(!c.has_return_stack && !c.has_branch_broadcast, "nothing is on");
	r.configr = 1 | 1 << 3;
	CHECK(config_of(&r).has_branch_broadcast, "BB is read");
	r.configr = 1 | 1 << 12;
	CHECK(config_of(&r).has_return_stack, "RS is read");
	CHECK(!c.has_cycle_counts && !c.has_cid && !c.has_vmid && !c.has_timestamps,
	      "what packets may carry is off");
	r.configr = 1 | 1 << 4;
	CHECK(config_of(&r).has_cycle_counts, "CCI is read");
	r.configr = 1 | 1 << 6;
	CHECK(config_of(&r).has_cid, "CID is read");
	r.configr = 1 | 1 << 7;
	CHECK(config_of(&r).has_vmid, "VMID is read");
	r.configr = 1 | 1 << 11;
	CHECK(config_of(&r).has_timestamps, "TS is read");
	r.idr2 = 1u << 31;
	CHECK(config_of(&r).wfx_are_waypoints, "WFXMODE is read");
	r.idr1 = 0x41000420;
	CHECK(!config_of(&r).wfx_are_waypoints, "which ETMv4.2 has not");
}

/** TRCIDR2.VMIDOPT: 0 a VMID, 1 as TRCCONFIGR says, 2 (from 4.5) CONTEXTIDR_EL2. */
static void test_vmidopt(void)
{
	static const struct {
		uint32_t idr1, idr2, configr;
		bool is_cid2;
	} rows[] = {
		{0x41000430, 0,       0,       false},
                {0x41000430, 0,       1 << 15, false},
		{0x41000430, 1 << 29, 0,       false},
                {0x41000430, 1 << 29, 1 << 15, true },
		{0x41000450, 1 << 30, 0,       true },
                {0x41000450, 1 << 30, 1 << 15, true },
		{0x41000440, 1 << 30, 0,       false},
                {0x41000450, 1 << 29, 0,       false},
		{0x41000450, 0,       1 << 15, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct etm_regs r = etm;

		r.idr1 = rows[i].idr1;
		r.idr2 = rows[i].idr2;
		r.configr |= rows[i].configr;
		CHECK_EQ(config_of(&r).vmid_is_cid2, rows[i].is_cid2, "VMIDOPT row %zu", i);
	}
}

int main(void)
{
	test_refused();
	test_version();
	test_sizes();
	test_idr0();
	test_configr();
	test_vmidopt();
	return tap_done();
}
