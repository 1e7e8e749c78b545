/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text_columns.h"

#include <string.h>

#include "unit/tap.h"

/* clang-format off */
static const struct {
	const char *what, *text;
	size_t columns; /* of all of it */
	size_t limit, cut, cut_columns;
} rows[] = {
	{"nothing",                          "",                           0, 4, 0, 0},
	{"ASCII",                            "main",                       4, 3, 3, 3},
	{"no column at all",                 "main",                       4, 0, 0, 0},
	{"a limit beyond it",                "main",                       4, 9, 4, 4},
	{"a letter of two bytes",            "a\xc3\xbc" "b",              3, 2, 3, 2},
	{"East Asian is wide",               "\xe6\x97\xa5\xe6\x9c\xac",   4, 3, 3, 2},
	{"Hangul",                           "\xed\x95\x9c",               2, 1, 0, 0},
	{"full-width Latin",                 "\xef\xbc\xa1",               2, 2, 3, 2},
	{"emoji",                            "\xf0\x9f\x98\x80x",          3, 2, 4, 2},
	{"a mark stays with its letter",     "e\xcc\x81x",                 2, 1, 3, 1},
	{"no space between joined letters",  "a\xe2\x80\x8d" "b",          2, 1, 4, 1},
	{"a mark of cuts",                   "\xe2\x80\xa6",               1, 1, 3, 1},
	{"what is no UTF-8 counts by bytes", "\xff\xfe",                   2, 1, 1, 1},
};
/* clang-format on */

/* clang-format off */
static const struct {
	const char *what, *text;
	size_t columns;
	const char *want;
} folds[] = {
	{"no limit",                      "a b c d e f\n",                      0,  "a b c d e f\n"},
	{"lines that fit",                "a b\n\nc d\n",                       3,  "a b\n\nc d\n"},
	{"at a blank",                    "# one two three\n",                  10, "# one two\n# three\n"},
	{"indented where there is room",  "# one two three four five\n",        21, "# one two three four\n#         five\n"},
	{"no comment, no newline",        "one two three four five six",         20, "one two three four\n          five six"},
	{"a word that is too long",       "# abcdefghij\n",                      8,  "# abcdef\n# ghij\n"},
	{"wide characters", "\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\n", 4, "\xe6\x97\xa5\xe6\x9c\xac\n  \xe6\x97\xa5\n"},
	{"not even one has room", "\xe6\x97\xa5\xe6\x97\xa5\n", 1, "\xe6\x97\xa5\n  \xe6\x97\xa5\n"},
};
/* clang-format on */

static void test_folds(void)
{
	for (size_t i = 0; i < sizeof(folds) / sizeof(folds[0]); i++) {
		struct buf b = {0};

		buf_str(&b, "before it stays\n");
		text_fold(&b, strlen("before it stays\n"), 0);
		buf_str(&b, folds[i].text);
		text_fold(&b, strlen("before it stays\n"), folds[i].columns);
		CHECK_STR(buf_cstr(&b) + strlen("before it stays\n"), folds[i].want, "%s",
			  folds[i].what);
		buf_done(&b);
	}
}

int main(void)
{
	test_folds();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t size = strlen(rows[i].text), columns;

		CHECK_EQ(text_columns(rows[i].text, size), rows[i].columns, "%s: columns",
			 rows[i].what);
		CHECK_EQ(text_cut(rows[i].text, size, rows[i].limit, &columns), rows[i].cut,
			 "%s: cut", rows[i].what);
		CHECK_EQ(columns, rows[i].cut_columns, "%s: columns of the cut", rows[i].what);
	}
	return tap_done();
}
