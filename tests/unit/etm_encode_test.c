/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/etm_encode.h"

#include "unit/tap.h"

/* The test encoder against bytes written down from the specification: what it says is what the
 * decoder's tests and the truth sets rest on. */

static const struct etm_config ete = {.cid_bytes = 4,
				      .vmid_bytes = 4,
				      .max_spec = 0x20,
				      .has_commopt = false};
static const struct etm_config v40 = {.cid_bytes = 4, .vmid_bytes = 1, .has_commopt = true};

static struct buf out;

static void wrote(const char *want, const char *what)
{
	struct buf hex = {0};

	for (size_t i = 0; i < out.nr; i++)
		buf_printf(&hex, "%s%02x", i ? " " : "", (unsigned int)(uint8_t)out.data[i]);
	CHECK_STR(buf_cstr(&hex), want, "%s", what);
	buf_done(&hex);
	buf_clear(&out);
}

#define WROTE(call, want) ((void)(call), wrote(want, #call))

static void test_simple(void)
{
	struct buf *b = &out;

	WROTE(enc_async(b), "00 00 00 00 00 00 00 00 00 00 00 80");
	WROTE(enc_discard(b), "00 03");
	WROTE(enc_overflow(b), "00 05");
	WROTE(enc_ignore(b), "70");
	WROTE(enc_trace_on(b), "04");
	WROTE(enc_func_ret(b), "05");
	WROTE(enc_except_rtn(b), "07");
	WROTE(enc_trans_start(b), "0a");
	WROTE(enc_trans_commit(b), "0b");
	WROTE(enc_ts_marker(b), "88");
	WROTE(enc_event(b, 5), "75");
	WROTE(enc_instrumentation(b, 2, 0x1122334455667788), "09 02 88 77 66 55 44 33 22 11");
	WROTE(enc_pe_reset(b), "06 01 00");
	WROTE(enc_trans_fail(b), "06 31 00");
	WROTE(enc_exception(b, 14, ENC_E_RETURN, false, 0), "06 1d");
	WROTE(enc_exception(b, 2, ENC_E_TARGET, false, 0), "06 44");
	WROTE(enc_exception(b, 14, ENC_E_RETURN, false, 2), "06 9d 00");
	WROTE(enc_exception(b, 0x2a5, ENC_E_RETURN, true, 0), "06 8b 35");
}

static void test_fields(void)
{
	struct buf *b = &out;
	struct enc_trace_info all = {.sections = 0x1f,
				     .info = 1,
				     .key = 0x81,
				     .spec = 2,
				     .cyct = 0x100,
				     .wndw = 3,
				     .more_plctl = 2};
	struct enc_trace_info wide = {.sections = ENC_SPEC, .spec = 2, .field_bytes = 3};

	WROTE(enc_field(b, 0, 0), "00");
	WROTE(enc_field(b, 0x7f, 0), "7f");
	WROTE(enc_field(b, 0x80, 0), "80 01");
	WROTE(enc_field(b, 5, 3), "85 80 00");
	WROTE(enc_trace_info(b, &(struct enc_trace_info){0}), "01 00");
	WROTE(enc_trace_info(b, &all), "01 9f 80 00 01 81 01 02 80 02 03");
	WROTE(enc_trace_info(b, &wide), "01 04 82 80 00");
	WROTE(enc_timestamp(b, 0x1234, 2), "02 b4 24");
	WROTE(enc_timestamp(b, 0xfedcba9876543210, 9), "02 90 e4 d0 b2 87 d3 ae ee fe");
	WROTE(enc_timestamp_count(b, 1, 1, 0x80, 0), "03 01 80 01");
	CHECK_EQ(enc_timestamp_bytes(0x100, 0x101), 1, "a timestamp sends what changed");
	CHECK_EQ(enc_timestamp_bytes(0, 1ull << 63), 9, "and has at most 9 bytes");
}

static void test_addresses(void)
{
	const struct enc_context all = {.el = 2,
					.sf = true,
					.ns = true,
					.has_vmid = true,
					.has_cid = true,
					.vmid = 0x44332211,
					.cid = 0xddccbbaa};
	const struct enc_context none = {.el = 1, .nse = true};
	struct buf *b = &out;

	WROTE(enc_address(b, ENC_MATCH_2, 0), "92");
	WROTE(enc_address(b, ENC_S1_IS0, 0x14), "95 05");
	WROTE(enc_address(b, ENC_S2_IS0, 0x214), "95 85 01");
	WROTE(enc_address(b, ENC_S1_IS1, 0xa), "96 05");
	WROTE(enc_address(b, ENC_S2_IS1, 0x810a), "96 85 81");
	WROTE(enc_address(b, ENC_32_IS0, 0xbbaa0814), "9a 05 04 aa bb");
	WROTE(enc_address(b, ENC_32_IS1, 0xbbaa840a), "9b 05 84 aa bb");
	WROTE(enc_address(b, ENC_64_IS0, 0xcc66554433220814), "9d 05 04 22 33 44 55 66 cc");
	WROTE(enc_address(b, ENC_64_IS1, 0xcc6655443322840a), "9e 05 84 22 33 44 55 66 cc");
	WROTE(enc_source_address(b, ENC_MATCH_1, 0), "b1");
	WROTE(enc_source_address(b, ENC_S1_IS0, 0x14), "b4 05");
	WROTE(enc_source_address(b, ENC_S1_IS1, 0xa), "b5 05");
	WROTE(enc_source_address(b, ENC_32_IS0, 0xbbaa0814), "b6 05 04 aa bb");
	WROTE(enc_source_address(b, ENC_32_IS1, 0xbbaa840a), "b7 05 84 aa bb");
	WROTE(enc_source_address(b, ENC_64_IS0, 0x14), "b8 05 00 00 00 00 00 00 00");
	WROTE(enc_source_address(b, ENC_64_IS1, 0xa), "b9 05 00 00 00 00 00 00 00");
	WROTE(enc_q_address(b, ENC_MATCH_0, 0, 1, 0), "a0 01");
	WROTE(enc_q_address(b, ENC_S2_IS0, 0x10214, 7, 0), "a5 85 81 07");
	WROTE(enc_q_address(b, ENC_S1_IS1, 0xa, 0x80, 0), "a6 05 80 01");
	WROTE(enc_q_address(b, ENC_32_IS0, 0xbbaa0814, 1, 2), "aa 05 04 aa bb 81 00");
	WROTE(enc_q_address(b, ENC_32_IS1, 0xbbaa840a, 1, 0), "ab 05 84 aa bb 01");
	WROTE(enc_q_count(b, 300, 0), "ac ac 02");
	WROTE(enc_q(b), "af");
	WROTE(enc_context_same(b), "80");
	WROTE(enc_context(b, &ete, &all), "81 f2 11 22 33 44 aa bb cc dd");
	WROTE(enc_context(b, &v40, &all), "81 f2 11 aa bb cc dd");
	WROTE(enc_context(b, &ete, &none), "81 09");
	WROTE(enc_address_context(b, &ete, ENC_32_IS0, 0xbbaa0814, &none), "82 05 04 aa bb 09");
	WROTE(enc_address_context(b, &ete, ENC_32_IS1, 0xbbaa840a, &none), "83 05 84 aa bb 09");
	WROTE(enc_address_context(b, &ete, ENC_64_IS0, 0x14, &none),
	      "85 05 00 00 00 00 00 00 00 09");
	WROTE(enc_address_context(b, &ete, ENC_64_IS1, 0xa, &none),
	      "86 05 00 00 00 00 00 00 00 09");
}

static void test_counts(void)
{
	struct buf *b = &out;

	WROTE(enc_count_f3(b, &ete, 4, 3), "1f");
	WROTE(enc_count_f3(b, &v40, 4, 3), "13");
	WROTE(enc_count_f2(b, &ete, false, 6, 3), "0c 53");
	WROTE(enc_count_f2(b, &ete, true, 22, 3), "0d 53");
	WROTE(enc_count_f2(b, &v40, false, 6, 3), "0c 03");
	WROTE(enc_count_f1(b, &ete, 129, 2), "0e 81 01 02");
	WROTE(enc_count_f1(b, &v40, 129, 0x81), "0e 81 01");
	WROTE(enc_count_f1_unknown(b, &ete, 7), "0f 07");
	WROTE(enc_count_f1_unknown(b, &v40, 7), "0f");
	WROTE(enc_commit(b, 2), "2d 02");
	WROTE(enc_commit(b, 300), "2d ac 02");
	WROTE(enc_cancel_f1(b, 3, false), "2e 03");
	WROTE(enc_cancel_f1(b, 3, true), "2f 03");
	WROTE(enc_mispredict(b, ENC_FEW_N), "33");
	WROTE(enc_cancel_f2(b, ENC_FEW_EE), "36");
	WROTE(enc_cancel_f3(b, false, 2), "38");
	WROTE(enc_cancel_f3(b, true, 5), "3f");
}

static void test_atoms(void)
{
	struct buf *b = &out;

	WROTE(enc_atom_f1(b, 0), "f6");
	WROTE(enc_atom_f1(b, 1), "f7");
	WROTE(enc_atom_f2(b, 1 /* E N */), "d9");
	WROTE(enc_atom_f3(b, 4 /* N N E */), "fc");
	WROTE(enc_atom_f4(b, 0xe), "dc");
	WROTE(enc_atom_f4(b, 0x0), "dd");
	WROTE(enc_atom_f4(b, 0xa), "de");
	WROTE(enc_atom_f4(b, 0x5), "df");
	WROTE(enc_atom_f4(b, 0x7), "");
	WROTE(enc_atom_f5(b, 0x1e), "f5");
	WROTE(enc_atom_f5(b, 0x00), "d5");
	WROTE(enc_atom_f5(b, 0x0a), "d6");
	WROTE(enc_atom_f5(b, 0x15), "d7");
	WROTE(enc_atom_f5(b, 0x11), "");
	WROTE(enc_atom_f6(b, 4, false), "c0");
	WROTE(enc_atom_f6(b, 24, false), "d4");
	WROTE(enc_atom_f6(b, 3, true), "e0");
	WROTE(enc_atom_f6(b, 23, true), "f4");
	WROTE(enc_atom_f6(b, 25, false), "");
	WROTE(enc_atom_f6(b, 2, true), "");
	WROTE(enc_atoms(b, 0x1ffffff, 25), "d4 f7");
	WROTE(enc_atoms(b, 0x7, 4), "e0");
	WROTE(enc_atoms(b, 0x15, 7), "d7 d8");
}

int main(void)
{
	test_simple();
	test_fields();
	test_addresses();
	test_counts();
	test_atoms();
	buf_done(&out);
	return tap_done();
}
