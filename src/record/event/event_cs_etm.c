/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <stdlib.h>

#include "os/dir.h"
#include "record/event/event_aux.h"
#include "record/plan/etm_unit.h"

/* Spec: Linux 7.3 tools/perf/arch/arm/util/cs-etm.c. */

/* A term that a trace unit may not have. */
struct etm_term {
	const char *name, *lack; /* how a register says so */
	const char *file;
	bool (*is_there)(uint64_t id);
};

/* clang-format off */
static const struct etm_term etm_terms[] = {
	{ "contextid1", "TRCIDR2.CIDSIZE is not 4",                    "trcidr/trcidr2", etm_unit_has_contextid1 },
	{ "contextid2", "TRCIDR2.VMIDOPT is 0, or VMIDSIZE is below 4", "trcidr/trcidr2", etm_unit_has_contextid2 },
	{ "timestamp",  "TRCIDR0.TSSIZE is 0",                         "trcidr/trcidr0", etm_unit_has_timestamp },
};
/* clang-format on */

enum { CONTEXTID1, CONTEXTID2, TIMESTAMP, NR_TERMS };

struct survey {
	size_t nr_units;
	int64_t lacks; /* the first CPU with a unit that has not got the term; -1: all have */
};

static void survey_unit(const struct os_pmu *pmu, uint32_t cpu, const struct etm_term *t,
			struct survey *s)
{
	enum etm_unit_kind kind = etm_unit_kind(pmu, cpu);
	uint64_t id;

	if (kind == ETM_UNIT_NONE)
		return;
	s->nr_units++;
	if (kind != ETM_UNIT_ETM3 && etm_unit_hex(pmu, cpu, t->file, &id) && t->is_there(id))
		return;
	if (s->lacks < 0 || cpu < s->lacks)
		s->lacks = cpu;
}

static struct survey survey_units(const struct os_pmu *pmu, const struct etm_term *t)
{
	struct survey s = {.lacks = -1};
	struct os_names names = {0};
	struct arena a = {0};

	os_dir_names(pmu->dir, &a, &names, NULL);
	vec_for_each (&names, name)
		if (!strncmp(*name, "cpu", 3) && isdigit((unsigned char)(*name)[3]))
			survey_unit(pmu, (uint32_t)strtoul(*name + 3, NULL, 10), t, &s);
	vec_done(&names);
	arena_done(&a);
	return s;
}

/* "contextid" is the bit of one of the other two: of EL2 where the kernel runs there. */
static const struct etm_term *term_of_contexts(const struct os_pmu *pmu, uint64_t mask)
{
	bool is_el2 = mask & event_aux_mask(pmu, etm_terms[CONTEXTID2].name);

	return &etm_terms[is_el2 ? CONTEXTID2 : CONTEXTID1];
}

/* Of use where a ring holds what several threads do: with rings of tasks it goes again
 * (record/open/own_ids.h). */
static void set_if_all_can(const struct os_pmu *pmu, struct rec_event *e, uint64_t mask,
			   const struct etm_term *t)
{
	struct survey s = {0};

	if (mask)
		s = survey_units(pmu, t);
	if (!s.nr_units || s.lacks >= 0)
		return;
	e->attr.config |= mask;
	e->per_cpu_config |= mask;
}

void event_cs_etm_set(const struct os_pmu *pmu, struct rec_event *e)
{
	uint64_t contexts = event_aux_mask(pmu, "contextid");

	e->attr.sample_period = 1;
	set_if_all_can(pmu, e, event_aux_mask(pmu, "timestamp"), &etm_terms[TIMESTAMP]);
	set_if_all_can(pmu, e, contexts, term_of_contexts(pmu, contexts));
}

static enum clew_err check_term(struct event_parse *p, const struct os_pmu *pmu,
				const struct etm_term *t)
{
	struct survey s = survey_units(pmu, t);
	uint32_t cpu = (uint32_t)s.lacks;

	if (s.lacks < 0)
		return CLEW_OK;
	if (etm_unit_kind(pmu, cpu) == ETM_UNIT_ETM3)
		return event_fail(p, p->start, CLEW_UNSUPPORTED,
				  "the trace unit of CPU %u is an ETMv3, of which perf's drivers "
				  "know no %s: omit it, or say %s=0",
				  cpu, t->name, t->name);
	return event_fail(p, p->start, CLEW_UNSUPPORTED,
			  "the trace unit of CPU %u has no %s (%s): omit it, or say %s=0", cpu,
			  t->name, t->lack, t->name);
}

enum clew_err event_cs_etm_check(struct event_parse *p, const struct os_pmu *pmu,
				 const struct rec_event *e)
{
	uint64_t contexts = event_aux_mask(pmu, "contextid");
	uint64_t asked = e->attr.config & ~e->per_cpu_config; /* the others were surveyed */
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < NR_TERMS && err == CLEW_OK; i++)
		if (asked & event_aux_mask(pmu, etm_terms[i].name))
			err = check_term(p, pmu, &etm_terms[i]);
	if (err == CLEW_OK && asked & contexts)
		err = check_term(p, pmu, term_of_contexts(pmu, contexts));
	return err;
}
