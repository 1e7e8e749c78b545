/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_tracing_check.h"

#include "unit/tap.h"

#define HEAD "name: sched_switch\nID: 316\nformat:\n"
#define COMMON                                                          \
 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define FIELDS                                                   \
 "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n" \
 "\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n\n"
#define PRINT "print fmt: \"comm=%s \\\"%d\\\"\", REC->prev_comm, (int)__get_str(name)\n"

int main(void)
{
	/* clang-format off */
	static const struct {
		const char *what, *text;
		bool want;
	} rows[] = {
		{"as the kernel writes it", HEAD COMMON FIELDS PRINT, true},
		{"without fields of its own", HEAD COMMON "\n" "print fmt: \"a\"\n", true},
		{"without signed", HEAD "\tfield:int a;\toffset:0;\tsize:4;\n\n\n" "print fmt: \"%d\", (unsigned int) REC->a\n", true},
		{"line ends in the text", HEAD COMMON FIELDS "print fmt: \"a\n\t%s\", REC->name\n", true},
		{"a line end outside", HEAD COMMON FIELDS "print fmt: \"a\",\n REC->name\n", false},
		{"a field that is not declared", HEAD COMMON FIELDS "print fmt: \"%s\", REC->nam\n", false},
		{"a missing operator", HEAD COMMON FIELDS "print fmt: \"%s\", x REC->name\n", false},
		{"a division by an unknown value", HEAD COMMON FIELDS "print fmt: \"%d\", 1 % REC->name\n", false},
		{"a dot", HEAD COMMON FIELDS "print fmt: \"%s\", \"R\". REC->name\n", false},
		{"empty", "", false},
		{"cut in the head", "name: sched_sw", false},
		{"cut in a field", HEAD "\tfield:int a;\toff", false},
		{"cut before the print format", HEAD COMMON FIELDS, false},
		{"cut in the print format", HEAD COMMON FIELDS "print fmt: \"comm", false},
		{"an open quote", HEAD COMMON FIELDS "print fmt: \"comm=%s, REC->name\n", false},
		{"an open bracket", HEAD COMMON FIELDS "print fmt: \"%s\", (REC->name\n", false},
		{"crossed brackets", HEAD COMMON FIELDS "print fmt: \"%s\", ([REC)]\n", false},
		{"a field without a name", HEAD "\tfield:int;\toffset:0;\tsize:4;\n\n\n" PRINT, false},
		{"a field without a type", HEAD "\tfield:;\toffset:0;\tsize:4;\n\n\n" PRINT, false},
		{"a negative offset", HEAD "\tfield:int a;\toffset:-1;\tsize:4;\n\n\n" PRINT, false},
		{"an offset of 10 digits", HEAD "\tfield:int a;\toffset:1234567890;\tsize:4;\n\n\n" PRINT,
		 false},
		{"a control character", HEAD COMMON FIELDS "print fmt: \"\x01\"\n", false},
		{"two formats in one", HEAD COMMON FIELDS PRINT HEAD COMMON FIELDS PRINT, false},
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		CHECK_EQ(perf_tracing_format_is_sane(bytes_of(rows[i].text, strlen(rows[i].text))),
			 rows[i].want, "%s", rows[i].what);
	return tap_done();
}
