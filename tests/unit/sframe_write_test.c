/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/sframe_write.h"

#include "base/mem.h"
#include "unit/tap.h"
#include "unwind/sframe_check.h"
#include "unwind/unw_list.h"

/* What the writer writes, byte for byte, and what it leaves out, by reason. */

enum { CODE = 0x1000 };

static struct unw_rule amd64(uint8_t reg, int32_t off)
{
	return (struct unw_rule){
		.cfa = UNW_CFA_REG, .cfa_reg = reg, .cfa_off = off, .ra = UNW_AT_CFA, .ra_off = -8};
}

static void test_bytes(void)
{
	/* clang-format off */
	static const uint8_t want[] = {
		0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0, 1, 0, 0, 0, 4, 0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0,
		0xe4, 0x0f, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0,
		4, 0, 0x80, 1, 0,
		0, 0x04, 0x39, 8,
		1, 0x24, 0x39, 0, 0, 1, /* 256 needs two bytes, so has the control word */
		2, 0x0a, 0x81, 0, 0, 0x02, 0xf0, /* r16: a control word has no sign */
		3, 0x08, 0x53, 0, 0x02, 0,
	};
	/* clang-format on */
	const struct sframe_write_opts opts = {.version = 3, .abi = SFRAME_ABI_AMD64_ENDIAN_LITTLE};
	struct sframe_writer *w = sframe_writer_new(&opts);
	struct unw_rule r[4] = {amd64(7, 8), amd64(7, 256), amd64(16, 0), amd64(10, 0)};
	struct sframe_written n;
	struct buf b = {0};

	r[2].fp = UNW_AT_CFA;
	r[2].fp_off = -16;
	r[3].cfa = UNW_CFA_DEREF;
	r[3].ra_off = 0;
	sframe_writer_begin(w, CODE, 0x20, 0);
	for (uint32_t i = 0; i < 4; i++) {
		r[i].flags = UNW_SIGNAL;
		sframe_writer_row(w, i, &r[i]);
	}
	CHECK_EQ(sframe_writer_finish(w, &b, &n), CLEW_OK, "written");
	CHECK(b.nr == sizeof(want) && !memcmp(b.data, want, b.nr), "version 3, FLEX, signal");
	CHECK(n.nr_functions == 1 && n.nr_rows == 4 && n.code_bytes == 0x20, "counted");
	sframe_writer_free(w);
	buf_done(&b);
}

#define WRITTEN NR_SFRAME_LEFT_OUT

struct form {
	uint8_t version;
	enum sframe_abi abi;
	struct unw_rule rule;
	enum sframe_left_out want;
};

#define A64   SFRAME_ABI_AARCH64_ENDIAN_LITTLE
#define AMD64 SFRAME_ABI_AMD64_ENDIAN_LITTLE
#define S390X SFRAME_ABI_S390X_ENDIAN_BIG

/* clang-format off */
#define CFA(r, o)  .cfa = UNW_CFA_REG, .cfa_reg = (r), .cfa_off = (o)
#define RA8        .ra = UNW_AT_CFA, .ra_off = -8
static const struct form forms[] = {
	{3, AMD64, {.cfa = UNW_CFA_NONE},                                  SFRAME_LEFT_NO_RULE},
	{3, AMD64, {.cfa = UNW_CFA_PLT, .cfa_off = 11, RA8},               SFRAME_LEFT_NO_RULE},
	{3, AMD64, {.cfa = UNW_CFA_DEREF, .cfa_reg = 7, .cfa_off2 = 8, RA8}, SFRAME_LEFT_DEREF_ADD},
	{3, AMD64, {.cfa = UNW_CFA_DEREF, .cfa_reg = 6, RA8},              WRITTEN},
	{2, AMD64, {.cfa = UNW_CFA_DEREF, .cfa_reg = 6, RA8},              SFRAME_LEFT_CFA},
	{2, AMD64, {CFA(10, 0), RA8},                                      SFRAME_LEFT_CFA},
	{3, AMD64, {CFA(10, 0), RA8},                                      WRITTEN},
	{3, AMD64, {CFA(7, 8), .ra = UNW_SAME},                            SFRAME_LEFT_RA},
	{2, AMD64, {CFA(7, 8), .ra = UNW_AT_CFA, .ra_off = -16},           SFRAME_LEFT_RA},
	{3, AMD64, {CFA(7, 8), .ra = UNW_AT_CFA, .ra_off = -16},           WRITTEN},
	{3, AMD64, {CFA(7, 8), RA8, .fp = UNW_UNDEFINED},                  SFRAME_LEFT_FP},
	{2, AMD64, {CFA(7, 8), RA8, .fp = UNW_AT_REG, .fp_reg = 6},        SFRAME_LEFT_FP},
	{2, AMD64, {CFA(7, 8), RA8, .flags = UNW_SIGNAL},                  SFRAME_LEFT_SIGNAL},
	{1, AMD64, {CFA(7, 8), .ra = UNW_UNDEFINED},                       SFRAME_LEFT_OUTERMOST},
	{2, AMD64, {CFA(7, 8), .ra = UNW_UNDEFINED},                       WRITTEN},
	{1, A64,   {CFA(31, 16), .fp = UNW_AT_CFA, .fp_off = -16},         SFRAME_LEFT_RA},
	{3, A64,   {CFA(31, 16), .fp = UNW_AT_CFA, .fp_off = -16},         WRITTEN},
	{2, S390X, {CFA(15, 160)},                                         WRITTEN},
	{3, S390X, {CFA(15, 164)},                                         SFRAME_LEFT_OFFSET},
	{2, S390X, {CFA(15, 160), .ra = UNW_IN_REG, .ra_reg = 16},         WRITTEN},
	{2, S390X, {CFA(15, 160), .ra = UNW_IN_REG, .ra_reg = 16, .ra_off = 8}, SFRAME_LEFT_RA},
	{2, S390X, {CFA(15, 160), .ra = UNW_AT_CFA, .ra_off = -7},         SFRAME_LEFT_RA},
	{2, S390X, {CFA(15, 160), .ra = UNW_AT_CFA, .ra_off = 0},          SFRAME_LEFT_RA},
	{3, S390X, {CFA(15, 160), .ra = UNW_AT_CFA, .ra_off = 0},          WRITTEN},
};
/* clang-format on */

static void test_left_out(void)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		const struct form *f = &forms[i];
		const struct sframe_write_opts opts = {.version = f->version, .abi = f->abi};
		struct sframe_writer *w = sframe_writer_new(&opts);
		struct sframe_written n = {0};
		struct buf b = {0};

		sframe_writer_begin(w, CODE, 16, 0);
		sframe_writer_row(w, 0, &f->rule);
		sframe_writer_finish(w, &b, &n);
		if (f->want == WRITTEN)
			CHECK(n.nr_functions == 1, "form %zu: written", i);
		else
			CHECK(n.nr_left_out[f->want] == 1 && n.left_out_bytes == 16, "form %zu: %s",
			      i, sframe_left_out_text(f->want));
		sframe_writer_free(w);
		buf_done(&b);
	}
}

static void test_functions_left_out(void)
{
	const struct sframe_write_opts opts = {.version = 3, .abi = A64};
	struct unw_rule r = {CFA(31, 16), .flags = UNW_RA_SIGNED};
	struct sframe_writer *w = sframe_writer_new(&opts);
	struct sframe_written n = {0};
	struct buf b = {0};

	sframe_writer_begin(w, CODE, 16, 0);
	sframe_writer_row(w, 0, &r);
	r.flags |= UNW_KEY_B;
	sframe_writer_row(w, 8, &r);
	sframe_writer_begin(w, CODE + 16, 16, 0);
	r.flags = UNW_SIGNAL;
	sframe_writer_row(w, 0, &r);
	r.flags = 0;
	sframe_writer_row(w, 4, &r);
	sframe_writer_begin(w, CODE + 32, 1 << 20, 0);
	for (uint32_t i = 0; i < 65536; i++)
		sframe_writer_row(w, i, &r);
	CHECK_EQ(sframe_writer_finish(w, &b, &n), CLEW_OK,
		 "nothing can be written: an empty table");
	CHECK(n.nr_left_out[SFRAME_LEFT_KEYS] == 1 && n.nr_left_out[SFRAME_LEFT_SIGNAL] == 1 &&
		      n.nr_left_out[SFRAME_LEFT_SIZE] == 1 && b.nr == SFRAME_HEADER_BYTES,
	      "two keys; half a signal frame; too many rows");
	sframe_writer_free(w);
	buf_done(&b);
	CHECK(!sframe_writer_new(&(struct sframe_write_opts){.version = 1, .abi = S390X}) &&
		      !sframe_writer_new(&(struct sframe_write_opts){.version = 4, .abi = A64}) &&
		      !sframe_writer_new(&(struct sframe_write_opts){.version = 3, .abi = 5}),
	      "what there is not");
}

/* --- sframe_make() --- */

static const struct unw_image image = {
	.arch = UNW_X86_64,
	.segments = {{CODE, 0x10000, 0x500}},
	.nr_segments = 1,
};

static void test_make(void)
{
	const struct sframe_write_opts opts = {.version = 3, .abi = AMD64};
	const struct unw_rule plain = amd64(7, 8), none = {.why = UNW_WHY_EXPRESSION};
	struct unw_rule plt = {.cfa = UNW_CFA_PLT, .cfa_off = 11, RA8};
	struct unw_list *list = unw_list_new(), *again = unw_list_new();
	struct sframe_verdicts verdicts;
	struct sframe_written n = {0};
	struct unw_image made = image;
	struct buf b = {0};

	unw_list_begin(list, 0x500, 0x560); /* .plt: the first entry differs */
	unw_list_row(list, 0x500, &plain);
	unw_list_row(list, 0x510, &plt);
	unw_list_begin(list, 0x600, 0x610);
	unw_list_row(list, 0x600, &plain);
	unw_list_row(list, 0x604, &none);
	unw_list_begin(list, 0x700, 0x710);
	unw_list_begin(list, 0x808, 0x820);
	unw_list_row(list, 0x808, &plt); /* not aligned */
	CHECK_EQ(sframe_make(&image, list, &opts, &b, &n), CLEW_OK, "made");
	CHECK(n.nr_functions == 2 && n.nr_rows == 3, "a PLT is a function and a repeat block");
	CHECK_EQ(n.nr_left_out[SFRAME_LEFT_NO_RULE], 3, "no rule, no rows, a crooked PLT");
	made.sframe = (struct unw_section){(uint8_t *)b.data, b.nr, 0};
	made.is_swapped = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	CHECK_EQ(sframe_rows(&made, again, NULL), CLEW_OK, "read again");
	CHECK_EQ(sframe_check(again, list, 3, NULL, NULL, &verdicts), CLEW_OK, "compared");
	CHECK(verdicts.nr_compared == 2 && verdicts.compared_bytes == 0x60 &&
		      !verdicts.nr[SFRAME_DIFFERS] && verdicts.nr[SFRAME_DROPPED] == 2,
	      "the same rules");
	unw_list_free(list);
	unw_list_free(again);
	buf_done(&b);
}

/* Every allocation of making, reading and comparing, refused in turn. */
static bool make_and_compare(void)
{
	const struct sframe_write_opts opts = {.version = 2, .abi = AMD64};
	struct unw_list *list = unw_list_new(), *again = unw_list_new();
	struct sframe_verdicts verdicts;
	struct sframe_written n = {0};
	struct unw_image made = image;
	struct buf b = {0};
	bool ok = list && again;

	for (uint32_t i = 0; ok && i < 40; i++) {
		const struct unw_rule r = amd64(7, (int32_t)i * 8);

		unw_list_begin(list, 0x500 + i * 16, 0x510 + i * 16);
		unw_list_row(list, 0x500 + i * 16, &r);
	}
	ok = ok && !sframe_make(&image, list, &opts, &b, &n);
	made.sframe = (struct unw_section){(uint8_t *)b.data, b.nr, 0};
	made.is_swapped = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	ok = ok && !sframe_rows(&made, again, NULL) &&
	     !sframe_check(again, list, 2, NULL, NULL, &verdicts) && verdicts.nr_compared == 40 &&
	     !verdicts.nr[SFRAME_DIFFERS];
	unw_list_free(list);
	unw_list_free(again);
	buf_done(&b);
	return ok;
}

static void test_memory(void)
{
	uint64_t nr = 0;
	bool ok, is_silent = false;

	do {
		mem_fail_after(nr++);
		ok = make_and_compare();
		is_silent |= ok && mem_has_failed();
		mem_fail_after(UINT64_MAX);
	} while (!ok && nr < 1000);
	CHECK(ok && nr > 10 && !is_silent, "%llu times short of memory, each was reported",
	      (unsigned long long)nr - 1);
}

int main(void)
{
	test_bytes();
	test_left_out();
	test_functions_left_out();
	test_make();
	test_memory();
	return tap_done();
}
