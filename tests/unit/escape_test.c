/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/escape.h"

#include "make/splitmix.h"
#include "unit/tap.h"

static const struct row {
	const char *in, *out; /* out NULL: as it is */
	const char *what;
} rows[] = {
	{"plain_name(int, char*)::operator<<",               NULL,                                            "names in ASCII"                    },
	{"back\\slash \"quotes\" ~",                         NULL,					    "all that is printable in ASCII"    },
	{"gr\xc3\xbc\xc3\x9f",			       NULL,					    "two bytes"                         },
	{"\xe2\x82\xac",				     NULL,					    "three bytes"                       },
	{"\xf0\x9f\x98\x80",				 NULL,					    "four bytes"                        },
	{"\xc2\xa0",					 NULL,					    "U+00A0, the first after C1"        },
	{"\033[31mred\n",				    "\\x1b[31mred\\x0a",                             "ESC and newline"                   },
	{"\033]0;title\007",				 "\\x1b]0;title\\x07",                            "a title, and BEL"                  },
	{"a\rb\tc\bd",				       "a\\x0db\\x09c\\x08d",                           "CR, tab, backspace"                },
	{"\x7f",					     "\\x7f",					 "DEL"			       },
	{"\xc2\x9b"
	 "0m",				      "\\xc2\\x9b0m",				  "CSI as one character"              },
	{"\xc2\x80\xc2\x9f",				 "\\xc2\\x80\\xc2\\x9f",                          "both ends of C1"                   },
	{"\x9b"
	 "0m",				      "\\x9b0m",				       "CSI as one byte"                   },
	{"a\xe2\x80\xaetxt.exe",                             "a\\xe2\\x80\\xaetxt.exe",                       "U+202E"                            },
	{"\xe2\x80\xaa\xe2\x81\xa6\xe2\x81\xa9",             "\\xe2\\x80\\xaa\\xe2\\x81\\xa6\\xe2\\x81\\xa9",
	 "U+202A, U+2066, U+2069"														 },
	{"\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c",                 "\\xe2\\x80\\x8e\\xe2\\x80\\x8f\\xd8\\x9c",
	 "U+200E, U+200F, U+061C"														 },
	{"\xe2\x80\xa8\xe2\x80\xa9",                         "\\xe2\\x80\\xa8\\xe2\\x80\\xa9",                "U+2028, U+2029"                    },
	{"\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa", NULL,                                            "their neighbours"                  },
	{"\xff\xc3",					 "\\xff\\xc3",				    "no UTF-8"                          },
	{"\xc3(",					    "\\xc3(",					"a sequence without its second byte"},
	{"\xed\xa0\x80",				     "\\xed\\xa0\\x80",                               "a surrogate"                       },
	{"\xe0\x80\x80",				     "\\xe0\\x80\\x80",                               "too long a form"                   },
	{"\xc0\x8a",					 "\\xc0\\x8a",				    "too long a form of a newline"      },
	{"\xf0\x80\x80\x8a",				 "\\xf0\\x80\\x80\\x8a",                          "and in four bytes"                 },
	{"\xf4\x90\x80\x80",				 "\\xf4\\x90\\x80\\x80",                          "above the last character"          },
	{"",						 NULL,					    "nothing"                           },
};

static void test_rows(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		struct buf out = {0};

		escape_str(&out, r->in);
		CHECK_STR(buf_cstr(&out), r->out ? r->out : r->in, "%s", r->what);
		CHECK_EQ(escape_is_clean(r->in, strlen(r->in)), !r->out, "%s: %s", r->what,
			 r->out ? "seen" : "clean");
		buf_done(&out);
	}
}

/* Any byte at any place of texts of any length: the words of eight miss none. */
static void test_places(void)
{
	size_t nr_wrong = 0;
	char text[73];

	for (size_t size = 1; size <= 72; size++) {
		for (size_t at = 0; at < size; at++) {
			for (unsigned int c = 0; c < 256; c++) {
				memset(text, 'a', size);
				text[at] = (char)c;
				nr_wrong += escape_is_clean(text, size) != (c >= 0x20 && c < 0x7f);
			}
		}
	}
	CHECK_EQ(nr_wrong, 0, "one byte of 256 anywhere in texts up to 72");
}

static void put_character(struct buf *b, uint32_t v)
{
	if (v < 0x80) {
		buf_char(b, (char)v);
		return;
	}
	if (v < 0x800) {
		buf_char(b, (char)(0xc0 | v >> 6));
	} else {
		if (v < 0x10000) {
			buf_char(b, (char)(0xe0 | v >> 12));
		} else {
			buf_char(b, (char)(0xf0 | v >> 18));
			buf_char(b, (char)(0x80 | (v >> 12 & 0x3f)));
		}
		buf_char(b, (char)(0x80 | (v >> 6 & 0x3f)));
	}
	buf_char(b, (char)(0x80 | (v & 0x3f)));
}

/* Every character there is, against the list in words. */
static void test_characters(void)
{
	size_t nr_wrong = 0;

	for (uint32_t v = 0; v <= 0x10ffff; v++) {
		bool is_bad = v < 0x20 || (v >= 0x7f && v <= 0x9f) || v == 0x61c || v == 0x200e ||
			      v == 0x200f || (v >= 0x2028 && v <= 0x202e) ||
			      (v >= 0x2066 && v <= 0x2069) || (v >= 0xd800 && v <= 0xdfff);
		struct buf b = {0};

		put_character(&b, v);
		nr_wrong += (escape_printable((const uint8_t *)b.data, b.nr) == b.nr) == is_bad;
		nr_wrong += escape_printable((const uint8_t *)b.data, b.nr - 1) != 0;
		buf_done(&b);
	}
	CHECK_EQ(nr_wrong, 0, "all characters, whole and cut off");
}

static void test_random(void)
{
	uint64_t r = 1;
	size_t nr_wrong = 0;

	for (int i = 0; i < 20000; i++) {
		struct buf in = {0}, out = {0};
		size_t n = splitmix64(&r) % (40);

		while (in.nr < n)
			put_character(&in, (uint32_t)splitmix64(&r) % (i & 1 ? 0x80 : 0x2100));
		if (n)
			in.data[splitmix64(&r) % (in.nr)] ^= (char)(i % 3);
		escape_add(&out, in.data, in.nr);
		nr_wrong += !escape_is_clean(out.data, out.nr);
		nr_wrong += escape_is_clean(in.data, in.nr) !=
			    (in.nr == out.nr && (!in.nr || !memcmp(in.data, out.data, in.nr)));
		buf_done(&in);
		buf_done(&out);
	}
	CHECK_EQ(nr_wrong, 0, "what was escaped is clean, and what is clean stays");
}

static void test_lines(void)
{
	struct buf b = {0};

	buf_str(&b, "before\n");
	escape_printf(&b, "# host : %s, %d\n", "a\nb\033", 7);
	escape_printf(&b, "%s", "c\n");
	CHECK_STR(buf_cstr(&b), "before\n# host : a\\x0ab\\x1b, 7\nc\\x0a",
		  "a line: only the newline of the format is one");
	buf_clear(&b);
	buf_str(&b, "1\n2\n");
	escape_since(&b, 2);
	CHECK_STR(buf_cstr(&b), "1\n2\\x0a", "from a place on");
	buf_done(&b);
	CHECK_EQ(escape_cut("a\xc3\xbc", 3, 2), 1, "a cut does not split a character");
	CHECK_EQ(escape_cut("a\xc3\xbc", 3, 3), 3, "nothing to cut");
}

static void test_memo(void)
{
	static char clean[] = "clean", dirty[] = "dirty\n", same[] = "dirty\n";
	struct escape_memo m = {0};
	struct buf b = {0};
	const struct escaped *e = escape_memo_get(&m, clean);
	const char *text;

	CHECK(e->text == clean && e->bytes == 5, "a clean name is not copied");
	e = escape_memo_get(&m, dirty);
	text = e->text;
	CHECK(!strcmp(text, "dirty\\x0a") && e->bytes == 9, "another is");
	CHECK(escape_memo_get(&m, dirty) == e, "a text is escaped once");
	CHECK(escape_memo_get(&m, same)->text == text, "also where it lies in two places");
	for (size_t i = 0; i < 3000; i++)
		escape_memo_get(&m, "0123456789" + i % 11);
	escape_memo_add(&m, &b, dirty);
	CHECK_STR(buf_cstr(&b), "dirty\\x0a", "it is found again after others");
	CHECK_EQ(m.copies.strs.nr, 2, "one copy in all, and the table's empty text");
	buf_done(&b);
	escape_memo_done(&m);
}

int main(void)
{
	test_rows();
	test_places();
	test_characters();
	test_random();
	test_lines();
	test_memo();
	return tap_done();
}
