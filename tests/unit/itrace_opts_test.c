/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/events/itrace_opts.h"

#include "tap.h"

static struct itrace_opts parsed(const char *text)
{
	struct itrace_opts o = {0};
	const char *at, *what;

	CHECK_EQ(itrace_opts_parse(&o, text, &at, &what), CLEW_OK, "'%s' is understood", text);
	return o;
}

static void refused(const char *text, const char *want_at)
{
	struct itrace_opts o = {.period = 77};
	const char *at = NULL, *what = NULL;
	enum clew_err err = itrace_opts_parse(&o, text, &at, &what);

	CHECK(err == CLEW_INVALID && what && o.period == 77, "'%s' is refused with a reason", text);
	CHECK_STR(at, want_at, "at the right place");
}

static void periods(void)
{
	static const struct {
		const char *text;
		enum itrace_unit unit;
		uint64_t period;
	} rows[] = {
		{"i",         ITRACE_NS,    100000      },
                {"i1i",       ITRACE_INSNS, 1           },
		{"i1000i",    ITRACE_INSNS, 1000        },
                {"i500t",     ITRACE_TICKS, 500         },
		{"i10us",     ITRACE_NS,    10000       },
                {"i2ms",      ITRACE_NS,    2000000     },
		{"i7ns",      ITRACE_NS,    7           },
                {"i0ns",      ITRACE_INSNS, 1           },
		{"i0i",       ITRACE_INSNS, 1           },
                {"i250",      ITRACE_NS,    250         },
		{"i, 10 ,i",  ITRACE_INSNS, 10          },
                {"i10i,b,e",  ITRACE_INSNS, 10          },
		{"y5usi10i",  ITRACE_INSNS, 10          },
                {"i10iy5us",  ITRACE_INSNS, 10          },
		{"i10iy",     ITRACE_INSNS, 10          },
                {"i100000ms", ITRACE_NS,    100000000000},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct itrace_opts o = parsed(rows[i].text);

		CHECK(o.insns && o.unit == rows[i].unit && o.period == rows[i].period,
		      "'%s': every %llu of unit %d", rows[i].text,
		      (unsigned long long)rows[i].period, rows[i].unit);
	}
}

static void letters(void)
{
	struct itrace_opts o = parsed("bcrel");

	CHECK(o.branches && o.calls && o.returns && o.errors && o.last_branches && !o.insns,
	      "each letter sets its own");
	CHECK(o.max_branches == 64 && o.max_chain == 16, "depths are perf's");
	o = parsed("i1000il8g32s5");
	CHECK(o.last_branches && o.max_branches == 8 && o.chains && o.max_chain == 32 &&
		      o.nr_skipped == 5,
	      "l, g and s take numbers");
	o = parsed("e-o-l+a");
	CHECK(o.errors_minus == (1u << ('o' - 'a') | 1u << ('l' - 'a')) && o.errors_plus == 1,
	      "e takes flags");
	o = parsed("ZT");
	CHECK(o.is_timeless && o.is_kernel_time, "Z and T");
	o = parsed("xwpod-a+ofmMtaAIqqG5L6");
	CHECK_STR(o.ignored, "xwpodfmMtaAIqGL", "letters of other traces are kept to be reported");
	CHECK_EQ(o.detail, 2, "q twice, and no more");
	CHECK(!o.branches && !o.insns && o.max_chain == 16, "and change nothing");
	o = parsed("");
	CHECK(!o.branches && !o.insns && !o.errors, "nothing is nothing");
}

static void defaults(void)
{
	struct itrace_opts o;

	itrace_opts_default(&o, false);
	CHECK(o.branches && o.errors && !o.calls && !o.insns, "script: branches and errors");
	itrace_opts_default(&o, true);
	CHECK(o.branches && o.insns && o.unit == ITRACE_NS && o.period == 100000,
	      "report: instructions each 100 us, too");
}

int main(void)
{
	periods();
	letters();
	defaults();
	refused("k", "k");
	refused("bB", "B");
	refused("i10x", "x");
	refused("i10m", "m");
	refused("i10nm", "nm");
	refused("i99999999999999999999i", "99999999999999999999i");
	refused("i99999999999999ms", "");
	refused("l0", "0");
	refused("g1025", "1025");
	refused("s", "");
	refused("e-", "");
	refused("e+1", "1");
	return tap_done();
}
