/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which lines of uprobe_events are a clew's: only those may be removed. */
#include "record/open/probe_defs.h"

#include <string.h>

#include "unit/tap.h"

static void test_parse(void)
{
	static const struct {
		const char *line, *name; /* NULL: not ours */
		uint64_t pid, ns;
	} rows[] = {
		{"p:clew_12_4026531836/u0 /tmp/a:0x10",        "clew_12_4026531836/u0", 12, 4026531836},
		{"r32:clew_1_2/u15 /proc/self/fd/5:0x1 arg=x", "clew_1_2/u15",          1,  2         },
		{"p:clew_1_2/u3",                              "clew_1_2/u3",           1,  2         },
		{"p:uprobes/p_a_0x10 /tmp/a:0x10",             NULL,                    0,  0         },
		{"p:clew_1_2/mine /tmp/a:0x10",                NULL,                    0,  0         },
		{"p:clew_1_2/u3x /tmp/a:0x10",                 NULL,                    0,  0         },
		{"p:clew_1/u3 /tmp/a:0x10",                    NULL,                    0,  0         },
		{"p:clew__2/u3 /tmp/a:0x10",                   NULL,                    0,  0         },
		{"p:clew_99999999999999999999_2/u3 /a",        NULL,                    0,  0         },
		{"p:xclew_1_2/u3 /tmp/a:0x10",                 NULL,                    0,  0         },
		{"p",					  NULL,                    0,  0         },
		{"",					   NULL,                    0,  0         },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t pid = 0, ns = 0;
		size_t bytes = 0;
		const char *name = NULL;
		bool ok = rec_probe_def_parse(rows[i].line, strlen(rows[i].line), &name, &bytes,
					      &pid, &ns);

		CHECK(ok == (rows[i].name != NULL) &&
			      (!ok || (bytes == strlen(rows[i].name) &&
				       !memcmp(name, rows[i].name, bytes) && pid == rows[i].pid &&
				       ns == rows[i].ns)),
		      "%s", rows[i].line);
	}
}

int main(void)
{
	test_parse();
	return tap_done();
}
