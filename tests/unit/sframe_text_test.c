/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/sframe_text.h"

#include "format/sframe_json.h"
#include "unit/tap.h"
#include "unwind/sframe_write.h"

/* The text of objdump, and that of single rules. */

enum { CODE = 0x401000 };

static const char *print(const struct sframe_write_opts *opts, const struct unw_rule *rules,
			 size_t nr, uint8_t rep_size, bool is_json)
{
	struct sframe_writer *w = sframe_writer_new(opts);
	struct sframe_written n;
	struct buf section = {0};
	static struct buf text;
	struct sframe s;
	uint64_t left = 100;

	sframe_writer_begin(w, CODE, 64, rep_size);
	for (uint32_t i = 0; i < nr; i++)
		sframe_writer_row(w, i * 4, &rules[i]);
	sframe_writer_finish(w, &section, &n);
	sframe_writer_free(w);
	buf_clear(&text);
	if (!sframe_open(&s, &(struct unw_section){(uint8_t *)section.data, section.nr, 0}, NULL)) {
		(is_json ? sframe_json_head : sframe_text_head)(&text, "f", &s);
		(is_json ? sframe_json_function : sframe_text_function)(&text, &s, 0, &left, NULL);
	}
	buf_done(&section);
	return buf_cstr(&text);
}

static const char *text_of(const struct sframe_write_opts *opts, const struct unw_rule *rules,
			   size_t nr, uint8_t rep_size)
{
	return print(opts, rules, nr, rep_size, false);
}

static void test_versions(void)
{
	struct unw_rule r = {.cfa = UNW_CFA_REG,
			     .cfa_reg = 7,
			     .cfa_off = 8,
			     .ra = UNW_AT_CFA,
			     .ra_off = -8,
			     .fp = UNW_AT_CFA,
			     .fp_off = -101016};
	struct sframe_write_opts opts = {.version = 1, .abi = SFRAME_ABI_AMD64_ENDIAN_LITTLE};

	CHECK_STR(text_of(&opts, &r, 1, 0),
		  "\nf:     file format elf64-x86-64\n\n"
		  "Contents of the SFrame section .sframe:\n  Header :\n\n"
		  "    Version: SFRAME_VERSION_1\n    Flags: SFRAME_F_FDE_SORTED\n"
		  "    Num FDEs: 1\n    Num FREs: 1\n\n  Function Index :\n\n"
		  "    func idx [0]: pc = 0x401000, size = 64 bytes\n"
		  "    STARTPC         CFA       FP        RA           \n"
		  "    0000000000401000  sp+8      c-101016  u            \n",
		  "version 1: a fixed RA is u");
	opts.version = 2;
	CHECK(strstr(text_of(&opts, &r, 1, 16),
		     "    Flags: SFRAME_F_FDE_SORTED,\n           SFRAME_F_FDE_FUNC_START_PCREL\n"
		     "    CFA fixed RA offset: -8\n"),
	      "version 2: two flags, fixed offsets");
	CHECK(strstr(text_of(&opts, &r, 1, 16),
		     "    STARTPC[m]      CFA       FP        RA           \n"
		     "    0000000000000000  sp+8      c-101016  f            \n"),
	      "a repeat block counts from 0; a fixed RA is f");
	r.cfa_off = -8;
	CHECK(strstr(text_of(&opts, &r, 1, 0), "  sp+-8     "),
	      "a negative CFA, as objdump has it");
	opts.no_pcrel = opts.no_sort = true;
	CHECK(strstr(text_of(&opts, &r, 1, 0), "    Flags: NONE\n"), "no flags");
}

static void test_rows(void)
{
	const struct unw_rule r[] = {
		{.cfa = UNW_CFA_DEREF, .cfa_reg = 29,             .cfa_off = -8, .flags = UNW_SIGNAL},
		{ .cfa = UNW_CFA_REG,
		 .cfa_reg = 3,
		 .fp = UNW_IN_REG,
		 .fp_reg = 4,
		 .flags = UNW_SIGNAL},
		{								 .cfa = UNW_CFA_REG, .ra = UNW_UNDEFINED,       .flags = UNW_SIGNAL             },
		{									 .cfa = UNW_CFA_REG,
		 .cfa_reg = 31,
		 .ra = UNW_AT_CFA,
		 .ra_off = 8,
		 .flags = UNW_SIGNAL | UNW_RA_SIGNED | UNW_KEY_B},
	};
	const struct sframe_write_opts opts = {.version = 3, .abi = SFRAME_ABI_AARCH64_ENDIAN_BIG};
	const char *text = text_of(&opts, r, 4, 0);

	CHECK(strstr(text, "elf64-bigaarch64"), "byte order");
	CHECK(strstr(text, ", size = 64 bytes, attr = \"SF\", pauth = B key\n"),
	      "attributes of a function are printed");
	CHECK(strstr(text, "401000  (fp-8)    u         u            \n"), "a loaded CFA");
	CHECK(strstr(text, "401004  r3+0      r4+0      U            \n"),
	      "rows are padded to columns");
	CHECK(strstr(text, "401008  RA undefined\n"), "an outermost frame has no return address");
	CHECK(strstr(text, "40100c  sp+0      u         c+8[s]       \n"),
	      "a signed return address is marked");
}

static void test_json(void)
{
	const struct unw_rule r[] = {
		{.cfa = UNW_CFA_REG, .cfa_reg = 7, .cfa_off = 8, .ra = UNW_AT_CFA, .ra_off = -8},
		{.cfa = UNW_CFA_REG,  .ra = UNW_UNDEFINED },
	};
	const struct sframe_write_opts opts = {.version = 3, .abi = SFRAME_ABI_AMD64_ENDIAN_LITTLE};

	CHECK_STR(print(&opts, r, 2, 0, true),
		  "{\"file\":\"f\",\"abi\":\"elf64-x86-64\",\"version\":3,\"flags\":5,"
		  "\"fixed_fp\":0,\"fixed_ra\":-8,\"functions\":1,\"rows\":2}\n"
		  "{\"index\":0,\"start\":\"0x401000\",\"size\":64,\"is_signal_frame\":false,"
		  "\"rows\":[{\"start\":\"0x401000\",\"cfa\":\"sp+8\",\"fp\":\"u\","
		  "\"ra\":\"f\",\"is_outermost\":false},"
		  "{\"start\":\"0x401004\",\"is_outermost\":true}]}\n",
		  "as JSON, an object per line");
	CHECK(strstr(print(&opts, r, 1, 16, true), "\"block_bytes\":16,\"rows\":"),
	      "a repeat block");
}

static void test_s390x(void)
{
	const struct unw_rule r = {.cfa = UNW_CFA_REG,
				   .cfa_reg = 15,
				   .cfa_off = 160,
				   .ra = UNW_IN_REG,
				   .ra_reg = 15,
				   .fp = UNW_IN_REG,
				   .fp_reg = 17};
	struct sframe_write_opts opts = {.version = 2, .abi = SFRAME_ABI_S390X_ENDIAN_BIG};

	CHECK(strstr(text_of(&opts, &r, 1, 0), "  sp+160    r17       r15          \n"),
	      "version 2: registers by number");
	opts.version = 3;
	CHECK(strstr(text_of(&opts, &r, 1, 0), "  sp+160    r17+0     sp+0         \n"),
	      "version 3: with an offset");
}

static void check_rule(const struct unw_rule *r, const char *want)
{
	struct buf b = {0};

	sframe_text_rule(&b, UNW_X86_64, r);
	CHECK_STR(buf_cstr(&b), want, "%s", want);
	buf_done(&b);
}

static void test_rules(void)
{
	check_rule(NULL, "nothing");
	check_rule(&(struct unw_rule){.why = UNW_WHY_BAD}, "nothing (damaged)");
	check_rule(&(struct unw_rule){.cfa = UNW_CFA_PLT, .cfa_off = 11}, "plt(11) fp=u ra=u");
	check_rule(&(struct unw_rule){.cfa = UNW_CFA_DEREF,
				      .cfa_reg = 7,
				      .cfa_off2 = 8,
				      .ra = UNW_AT_REG,
				      .ra_reg = 7,
				      .ra_off = 168,
				      .fp = UNW_UNDEFINED,
				      .flags = UNW_SIGNAL},
		   "(sp+0)+8 fp=undefined ra=(sp+168) signal");
	check_rule(&(struct unw_rule){.cfa = UNW_CFA_REG,
				      .cfa_reg = 6,
				      .cfa_off = 16,
				      .ra = UNW_IN_REG,
				      .ra_reg = 3,
				      .flags = UNW_RA_SIGNED | UNW_KEY_B},
		   "fp+16 fp=u ra=r3+0[s, key B]");
	check_rule(&(struct unw_rule){.cfa = UNW_CFA_REG, .ra = UNW_UNDEFINED}, "RA undefined");
}

int main(void)
{
	test_versions();
	test_rows();
	test_json();
	test_s390x();
	test_rules();
	return tap_done();
}
