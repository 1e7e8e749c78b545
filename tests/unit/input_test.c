/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/common/input.h"

#include "unit/tap.h"

enum { FAILS = -1 };

struct row {
	const char *text;
	long long from, to; /* FAILS: refused */
};

/* The recording lasts from 1000 to 2000 ns. */
static const struct row rows[] = {
	{"1,2",		   1000000000,  2000000000 },
	{"1.5,",		  1500000000,  0          },
	{",0.000000001",          0,           1          },
	{"12.123456789,12.2",     12123456789, 12200000000},
	{"0.1234567891,",         FAILS,       0          }, /* finer than a nanosecond */
	{"2,1",		   FAILS,       0          },
	{"1",		     FAILS,       0          },
	{"a,b",		   FAILS,       0          },
	{"-1,2",		  FAILS,       0          },
	{"99999999999999999999,", FAILS,       0          },
	{"18446744074,",          FAILS,       0          }, /* more ns than 64 bits hold */
	{"1,2 3,4",               FAILS,       0          },
	{"10%-20%",               1100,        1199       },
	{"50%-100%",              1500,        2000       },
	{"0%-100%",               1000,        2000       },
	{"10%/1",                 1000,        1099       },
	{"10%/2",                 1100,        1199       },
	{"10%/10",                1900,        2000       },
	{"25%",		   1000,        1249       },
	{"10%/11",                FAILS,       0          },
	{"10%/0",                 FAILS,       0          },
	{"20%-10%",               FAILS,       0          },
	{"101%",		  FAILS,       0          },
	{"10%/1,10%/2",           FAILS,       0          },
	{"%",		     FAILS,       0          },
};

int main(void)
{
	uint64_t from, to;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		const char *why = cli_parse_time(r->text, 1000, 2000, &from, &to);

		if (r->from == FAILS) {
			CHECK(why != NULL, "'%s' is refused", r->text);
			continue;
		}
		CHECK(!why && from == (uint64_t)r->from && to == (uint64_t)r->to, "'%s'", r->text);
		if (!why && (from != (uint64_t)r->from || to != (uint64_t)r->to))
			printf("# got %llu,%llu\n", (unsigned long long)from,
			       (unsigned long long)to);
	}
	CHECK(cli_parse_time("10%/2", UINT64_MAX, UINT64_MAX, &from, &to) != NULL,
	      "percents of an unknown time are refused");
	return tap_done();
}
