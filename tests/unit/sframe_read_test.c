/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "unit/tap.h"
#include "unwind/sframe.h"

/* Sections written by hand from the specification, and each way in which one can be wrong. */

static void add_loc(struct buf *b, const struct sframe_loc *l)
{
	static const char *const words[] = {
		[SFRAME_UNTRACKED] = "u", [SFRAME_FIXED] = "f", [SFRAME_PADDING] = "U"};

	if (l->where <= SFRAME_PADDING)
		buf_str(b, words[l->where]);
	else if (l->where == SFRAME_AT_CFA)
		buf_printf(b, "c%+d", l->off);
	else
		buf_printf(b, l->where == SFRAME_AT_REG ? "(r%u%+d)" : "r%u%+d", l->reg, l->off);
}

/* "START+SIZE attributes: row; row" for each function; "!what" where it ends in an error. */
static const char *text_of(const uint8_t *bytes, size_t size, uint64_t addr)
{
	const struct unw_section section = {bytes, size, addr};
	static struct buf b;
	struct sframe s;
	struct clew_diag diag = {0};
	enum clew_err err = sframe_open(&s, &section, &diag);

	buf_clear(&b);
	for (uint32_t i = 0; !err && i < s.nr_functions; i++) {
		struct sframe_function f;
		struct sframe_cursor c;
		struct sframe_row r;

		err = sframe_function(&s, i, &f, &diag);
		if (err)
			break;
		buf_printf(&b, "%s%llx+%x%s%s%s%s:", i ? " " : "", (unsigned long long)f.start,
			   f.size, f.is_mask ? " m" : "", f.is_flex ? " F" : "",
			   f.is_signal ? " S" : "", f.is_key_b ? " B" : "");
		c = sframe_first_row(&f);
		while (!(err = sframe_next_row(&s, &f, &c, &r, &diag))) {
			buf_printf(&b, " %x", r.start);
			if (r.is_outermost) {
				buf_str(&b, " end;");
				continue;
			}
			buf_char(&b, ' ');
			add_loc(&b, &r.cfa);
			buf_char(&b, ' ');
			add_loc(&b, &r.fp);
			buf_char(&b, ' ');
			add_loc(&b, &r.ra);
			buf_str(&b, r.is_signed ? "[s];" : ";");
		}
		err = err == CLEW_END ? CLEW_OK : err;
	}
	if (err)
		buf_printf(&b, "!%s", diag.what ? diag.what : "no reason");
	return buf_cstr(&b);
}

/* clang-format off */

/* Two functions; the second is a repeat block. */
static const uint8_t v1[] = {
	0xe2, 0xde, 1, 1, 3, 0, 0xf8, 0, 2, 0, 0, 0, 4, 0, 0, 0, 14, 0, 0, 0, 0, 0, 0, 0, 34, 0, 0, 0,
	0x00, 0xf0, 0xff, 0xff, 0x20, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0x00,
	0x40, 0xf0, 0xff, 0xff, 0x30, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 0x10,
	0, 0x03, 8, 1, 0x05, 16, 0xf0,
	0, 0x03, 8, 11, 0x03, 16, 0,
};

/* Words of 2 and 4 bytes, row starts of 2 and 4, PCREL, an outermost frame. */
static const uint8_t v2[] = {
	0xe2, 0xde, 2, 5, 3, 0, 0xf8, 0, 2, 0, 0, 0, 4, 0, 0, 0, 30, 0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0,
	0xe4, 0xef, 0xff, 0xff, 0x00, 2, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0x01, 0, 0, 0,
	0x00, 0xf2, 0xff, 0xff, 0x00, 0, 1, 0, 25, 0, 0, 0, 1, 0, 0, 0, 0x02, 0, 0, 0,
	0, 0, 0x23, 0, 1, 0x01, 0, 0x44, 0, 0, 1, 0, 0xf0, 0xff, 0xff, 0xff, 0x02, 1, 0x03, 8, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0,
};

/* FLEX with padding, registers, loads; a signal frame. */
static const uint8_t v3[] = {
	0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0, 2, 0, 0, 0, 7, 0, 0, 0, 48, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0,
	0xe4, 0x0f, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0,
	0xe4, 0x0f, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 40, 0, 0, 0,
	6, 0, 0x00, 0x01, 0,
	0, 0x04, 0x39, 8, 1, 0x04, 0x51, 0, 2, 0x0a, 0x51, 0, 0, 0x33, 0xf8, 3, 0x0c, 0x33, 0xf8, 0x02, 0xf0, 0x02, 0xe8,
	4, 0x0c, 0x39, 8, 0x81, 0, 0x19, 0, 5, 0x00,
	0, 0,
	1, 0, 0x80, 0x00, 0, 0, 0x03, 16,
};

static const uint8_t a64_be[] = {
	0xde, 0xe2, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 17,
	0, 0, 0x10, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 3, 0x20,
	0, 0x03, 0, 4, 0x85, 16, 0xf8, 8, 0x07, 32, 0xe8, 0xe0,
};

/* Version 2 of s390x: RA in r16, FP in r17; FP saved with RA padding. */
static const uint8_t s390x[] = {
	0xde, 0xe2, 2, 4, 4, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 18, 0, 0, 0, 0, 0, 0, 0, 20,
	0, 0, 0x10, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0,
	0, 0x03, 0, 2, 0x07, 20, 33, 35, 4, 0x07, 0xff, 0, 0xb8, 6, 0x07, 0, 0xd0, 0xb8,
};
/* clang-format on */

static void test_good(void)
{
	CHECK_STR(text_of(v1, sizeof(v1), 0x2000),
		  "1000+20: 0 r7+8 u f; 1 r7+16 c-16 f; 1040+30 m: 0 r7+8 u f; b r7+16 u f;",
		  "version 1: 17 bytes a function, starts from the section");
	CHECK_STR(text_of(v2, sizeof(v2), 0x2000),
		  "1000+200: 0 r7+256 u f; 1 r6+65536 c-16 f; 102 r7+8 u f; 1230+10000: 0 end;",
		  "version 2: starts from their field, all word sizes");
	CHECK_STR(text_of(v3, sizeof(v3), 0x2000),
		  "3000+10 F: 0 r7+8 u f; 1 r10+0 u f; 2 r10+0 (r6-8) U; 3 (r6-8) c-24 c-16; "
		  "4 r7+8 r3+0 r16+0; 5 end; 3010+20 S: 0 r7+16 u f;",
		  "version 3: attributes, control words");
	CHECK_STR(text_of(a64_be, sizeof(a64_be), 0x2000),
		  "3000+10 B: 0 r31+0 u u; 4 r31+16 u c-8[s]; 8 r31+32 c-32 c-24;",
		  "big-endian aarch64");
	CHECK_STR(text_of(s390x, sizeof(s390x), 0x2000),
		  "301c+10: 0 r15+160 u u; 2 r15+320 r17+0 r16+0; 4 r15+152 c-72 U; "
		  "6 r15+160 c-72 c-48;",
		  "s390x: scaled CFA, registers, padding");
}

struct damage {
	const uint8_t *bytes;
	size_t size, at;
	uint8_t value;
	const char *want; /* the end of the text */
};

#define IN(section) section, sizeof(section)

/* clang-format off */
static const struct damage damages[] = {
	{IN(v1), 0,  0xe3, "!no SFrame magic"},
	{IN(v1), 2,  0,    "!version 0"},
	{IN(v1), 2,  4,    "!a version above 3"},
	{IN(v1), 3,  4,    "!flags that its version does not have"},
	{IN(v2), 3,  8,    "!flags that its version does not have"},
	{IN(v3), 3,  2,    "!flags that its version does not have"},
	{IN(v1), 4,  0,    "!an unknown architecture"},
	{IN(v1), 4,  5,    "!an unknown architecture"},
	{IN(v1), 4,  1,    "!byte order and architecture contradict each other"},
	{IN(a64_be), 4, 4, "!s390x, which version 1 does not have"},
	{IN(v1), 7,  200,  "!the auxiliary header passes the end"},
	{IN(v1), 11, 1,    "!the functions pass the end"},
	{IN(v1), 8,  3,    "!the functions pass the end"},
	{IN(v1), 20, 255,  "!the functions pass the end"},
	{IN(v1), 16, 15,   "!the rows pass the end"},
	{IN(v1), 27, 1,    "!the rows pass the end"},
	{IN(v1), 36, 14,   "!a function's rows lie outside"},
	{IN(v3), 56, 45,   "!a function's attributes lie outside"},
	{IN(v1), 44, 3,    "!an unknown size of row starts"},
	{IN(v3), 63, 2,    "!an unknown type of function"},
	{IN(v2), 44, 0x11, "!a repeat block of 0 bytes"},
	{IN(v1), 72, 16,   "!a row after its function's end"},
	{IN(v1), 32, 1,    "!a row after its function's end"},
	{IN(v3), 73, 0,    "!rows out of order"},
	{IN(v1), 63, 0x63, "!an unknown size of words"},
	{IN(v1), 63, 0x01, "!a row without words, which version 1 does not have"},
	{IN(v1), 63, 0x07, "!more words than a row of its architecture has"},
	{IN(s390x), 49, 0x09, "!more words than a row of its architecture has"},
	{IN(v1), 73, 0x45, "!a row passes the end"},
	{IN(v1), 16, 12,   "!a row passes the end"},
	{IN(v3), 70, 0x02, "!a control word without its offset"},
	{IN(v3), 67, 0x38, "!a CFA that counts from the CFA"},
	{IN(v3), 74, 0x06, "!padding with nothing after it"},
	{IN(v3), 74, 0x0e, "!more words than a row has"},
	{IN(v3), 84, 0x0a, "!a register that its control word does not use"},
	{IN(s390x), 54, 0xff, "!a register number above 255"},
};
/* clang-format on */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

static void test_damage(void)
{
	uint8_t copy[256];

	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		const struct damage *d = &damages[i];
		const char *got;

		memcpy(copy, d->bytes, d->size);
		copy[d->at] = d->value;
		got = text_of(copy, d->size, 0x2000);
		CHECK(ends_with(got, d->want), "byte %zu = %u: %s", d->at, d->value, d->want + 1);
		if (!ends_with(got, d->want))
			printf("# got %s\n", got);
	}
	CHECK_STR(text_of(v1, 27, 0), "!shorter than a header", "27 bytes");
	CHECK_STR(text_of(NULL, 0, 0), "!shorter than a header", "nothing");
}

static void test_harmless(void)
{
	uint8_t copy[sizeof(v1)];

	memcpy(copy, v1, sizeof(v1));
	copy[65] = 0; /* the second row starts where the first does */
	CHECK(ends_with(text_of(copy, sizeof(copy), 0x2000), " b r7+16 u f;"), "equal starts");
	memcpy(copy, v1, sizeof(v1));
	copy[40] = 0; /* no rows */
	CHECK_STR(text_of(copy, sizeof(copy), 0x2000),
		  "1000+20: 1040+30 m: 0 r7+8 u f; b r7+16 u f;", "a function without rows");
	memcpy(copy, v1, sizeof(v1));
	copy[6] = 0;
	CHECK(strstr(text_of(copy, sizeof(copy), 0x2000), "1 r7+16 u c-16;"),
	      "no fixed RA: the second word is RA");
	copy[6] = 0xf8;
	copy[5] = 0xf0;
	CHECK(ends_with(text_of(copy, sizeof(copy), 0x2000),
			"!more words than a row of its architecture has"),
	      "fixed FP: no word for it");
}

static void test_counts(void)
{
	const struct unw_section section = {v1, sizeof(v1), 0x2000};
	struct sframe_counts n;
	struct sframe s;
	uint8_t copy[sizeof(v1)];
	const struct unw_section damaged = {copy, sizeof(copy), 0x2000};

	sframe_open(&s, &section, NULL);
	sframe_count(&s, &n);
	CHECK(n.nr_functions == 2 && n.nr_rows == 4 && !n.nr_bad && !n.nr_equal && !n.nr_overlaps &&
		      !n.nr_out_of_order,
	      "nothing strange");
	memcpy(copy, v1, sizeof(v1));
	copy[45] = 0x10; /* the second function starts inside of the first */
	copy[65] = 0;
	copy[72] = 16;
	sframe_open(&s, &damaged, NULL);
	sframe_count(&s, &n);
	CHECK(n.nr_bad == 1 && n.nr_equal == 1 && n.nr_overlaps == 1,
	      "overlap, equal rows, damage");
	CHECK_STR(n.first_bad.what, "a row after its function's end", "what is bad");
	CHECK_EQ(n.first_bad.offset, 72, "and where");
	copy[46] = 0xe0;
	sframe_count(&s, &n);
	CHECK_EQ(n.nr_out_of_order, 1, "said to be sorted, and is not");
}

int main(void)
{
	test_good();
	test_damage();
	test_harmless();
	test_counts();
	return tap_done();
}
