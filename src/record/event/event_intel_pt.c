/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "record/event/event_aux.h"

/* Spec: Linux 7.3 tools/perf/arch/x86/util/intel-pt.c. */

enum { PT_PERIOD = 3 /* of MTC and PSB packets: 2^3 units */ };

static uint64_t value_of(const struct rec_event *e, uint64_t mask)
{
	return mask ? (e->attr.config & mask) >> __builtin_ctzll(mask) : 0;
}

/* A set of allowed values, a bit each: @return the highest up to @p most, else the lowest. */
static unsigned int best_allowed(uint64_t allowed, unsigned int most)
{
	uint64_t low = allowed & ((2ull << most) - 1);

	if (low)
		return 63u - (unsigned int)__builtin_clzll(low);
	return allowed ? (unsigned int)__builtin_ctzll(allowed) : 0;
}

static bool has_cap(const struct os_pmu *pmu, const char *file)
{
	uint64_t v;

	return os_pmu_hex(pmu, file, &v) && v;
}

static void set_period(const struct os_pmu *pmu, struct rec_event *e, const char *term,
		       const char *file)
{
	uint64_t allowed = 0, mask = event_aux_mask(pmu, term);

	os_pmu_hex(pmu, file, &allowed);
	if (mask && allowed)
		e->attr.config |= (uint64_t)best_allowed(allowed, PT_PERIOD)
			       << __builtin_ctzll(mask);
}

void event_intel_pt_set(const struct os_pmu *pmu, struct rec_event *e)
{
	uint64_t pt = event_aux_mask(pmu, "pt"), branch = event_aux_mask(pmu, "branch");

	e->attr.sample_period = 1;
	e->attr.config |= event_aux_mask(pmu, "tsc");
	if (pt && branch)
		e->attr.config |= pt | branch;
	if (has_cap(pmu, "caps/mtc")) {
		e->attr.config |= event_aux_mask(pmu, "mtc");
		set_period(pmu, e, "mtc_period", "caps/mtc_periods");
	}
	if (has_cap(pmu, "caps/psb_cyc"))
		set_period(pmu, e, "psb_period", "caps/psb_periods");
}

/* Terms with values of which the CPU has some, and terms that a CPU may not have at all. */
static const struct pt_term {
	const char *name, *allowed, *cap; /* files; allowed NULL: any value */
} pt_terms[] = {
	{"mtc_period", "caps/mtc_periods",      "caps/mtc"              },
	{"psb_period", "caps/psb_periods",      "caps/psb_cyc"          },
	{"cyc_thresh", "caps/cycle_thresholds", "caps/psb_cyc"          },
	{"mtc",        NULL,                    "caps/mtc"              },
	{"cyc",        NULL,                    "caps/psb_cyc"          },
	{"ptw",        NULL,                    "caps/ptwrite"          },
	{"fup_on_ptw", NULL,                    "caps/ptwrite"          },
	{"pwr_evt",    NULL,                    "caps/power_event_trace"},
	{"event",      NULL,                    "caps/event_trace"      },
	{"notnt",      NULL,                    "caps/tnt_disable"      },
};

/* "0, 3, 6" */
static void list_allowed(uint64_t allowed, char *ret, size_t size)
{
	size_t n = 0;

	*ret = '\0';
	for (unsigned int i = 0; i < 64 && n < size; i++)
		if (allowed >> i & 1)
			n += (size_t)snprintf(ret + n, size - n, "%s%u", n ? ", " : "", i);
}

static enum clew_err check_pt_term(struct event_parse *p, const struct os_pmu *pmu,
				   const struct rec_event *e, const struct pt_term *t)
{
	uint64_t v = value_of(e, event_aux_mask(pmu, t->name)), allowed = 0;
	char list[256];

	if (!v)
		return CLEW_OK;
	if (!t->allowed) {
		/* A kernel that does not know the capability has no file of it, and decides. */
		if (has_cap(pmu, t->cap) || !os_pmu_has(pmu, t->cap))
			return CLEW_OK;
		return event_fail(p, p->start, CLEW_UNSUPPORTED,
				  "this CPU's Intel PT has no '%s' (%s/%s is 0)", t->name, pmu->dir,
				  t->cap);
	}
	if (has_cap(pmu, t->cap))
		os_pmu_hex(pmu, t->allowed, &allowed);
	allowed |= 1;
	if (v < 64 && allowed >> v & 1)
		return CLEW_OK;
	list_allowed(allowed, list, sizeof(list));
	return event_fail(p, p->start, CLEW_INVALID,
			  "this CPU's Intel PT has no %s=%llu; values are %s", t->name,
			  (unsigned long long)v, list);
}

enum clew_err event_intel_pt_check(struct event_parse *p, const struct os_pmu *pmu,
				   const struct rec_event *e)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < sizeof(pt_terms) / sizeof(*pt_terms) && err == CLEW_OK; i++)
		err = check_pt_term(p, pmu, e, &pt_terms[i]);
	return err;
}
