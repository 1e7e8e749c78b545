/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/dir.h"
#include "record/event/event_aux.h"
#include "record/plan/soft_pmu.h"

static uint64_t *config_field(struct perf_attr *attr, unsigned int config)
{
	uint64_t *const fields[] = {&attr->config, &attr->config1, &attr->config2, &attr->config3,
				    &attr->config4};

	return fields[config];
}

/* Spread @value over the bits of @mask, lowest first. @return false: it has more bits. */
static bool deposit(uint64_t *field, uint64_t mask, uint64_t value)
{
	*field &= ~mask;
	for (; mask; mask &= mask - 1, value >>= 1) {
		if (value & 1)
			*field |= mask & -mask;
	}
	return !value;
}

static const struct os_pmu_format *find_format(const struct os_pmu *pmu, struct event_word w)
{
	return os_pmu_format_find(pmu, w.s, w.n);
}

static const struct os_pmu_event *find_event(const struct os_pmu *pmu, struct event_word w)
{
	vec_for_each (&pmu->events, e) {
		if (event_word_is(w, e->name))
			return e;
	}
	return NULL;
}

static enum clew_err set_format(struct event_parse *p, const struct os_pmu_format *f,
				struct event_word name, struct event_word value)
{
	struct rec_event *e = &p->list->events.data[p->first_here];
	int bits = __builtin_popcountll(f->mask);
	uint64_t v = 1;

	if (value.s && !event_word_number(value, &v))
		return event_fail(p, value.s, CLEW_INVALID, "%s= needs a number", f->name);
	if (f->config == 0)
		e->per_cpu_config &= ~f->mask;
	if (deposit(config_field(&e->attr, f->config), f->mask, v))
		return CLEW_OK;
	return event_fail(p, value.s ? value.s : name.s, CLEW_INVALID,
			  "%s= has %d bit%s: at most %llu", f->name, bits, bits == 1 ? "" : "s",
			  (1ull << bits) - 1);
}

/* The terms of a PMU's events/ file: "event=0x3c,umask=0x01,inv". Errors in it are the kernel's, so
 * unknown terms are skipped, as are those that a parameter ("domain=?") leaves open. */
static void apply_event(const struct os_pmu *pmu, const char *terms, struct rec_event *e)
{
	while (*terms) {
		struct event_word name = {terms, strcspn(terms, "=,")}, value = {0};
		const struct os_pmu_format *f = find_format(pmu, name);
		uint64_t v = 1;

		terms += name.n;
		if (*terms == '=') {
			value = (struct event_word){terms + 1, strcspn(terms + 1, ",")};
			terms = value.s + value.n;
		}
		terms += *terms == ',';
		if (value.s && !event_word_number(value, &v))
			continue;
		if (f)
			deposit(config_field(&e->attr, f->config), f->mask, v);
		else if (event_word_is(name, "config"))
			e->attr.config = v;
		else if (event_word_is(name, "config1"))
			e->attr.config1 = v;
		else if (event_word_is(name, "config2"))
			e->attr.config2 = v;
	}
}

/* "NAME.scale" and "NAME.unit", where there are such files. */
static enum clew_err set_unit(struct event_parse *p, const struct os_pmu *pmu, const char *name,
			      struct rec_event *e)
{
	char path[256], text[64], *end;
	double scale;

	if ((size_t)snprintf(path, sizeof(path), "events/%s.scale", name) < sizeof(path) &&
	    os_pmu_text(pmu, path, text, sizeof(text))) {
		scale = strtod(text, &end);
		if (end != text && isfinite(scale) && scale > 0)
			e->scale = scale;
	}
	if ((size_t)snprintf(path, sizeof(path), "events/%s.unit", name) >= sizeof(path) ||
	    !os_pmu_text(pmu, path, text, sizeof(text)))
		return CLEW_OK;
	e->unit = event_copy(p, text, strcspn(text, "\n"));
	return e->unit ? CLEW_OK : event_no_memory(p);
}

static enum clew_err set_named(struct event_parse *p, const struct os_pmu *pmu,
			       const struct os_pmu_event *named, struct rec_event *e)
{
	apply_event(pmu, named->terms, e);
	return set_unit(p, pmu, named->name, e);
}

static size_t nr_core_pmus(struct os_pmus *pmus)
{
	size_t nr = 0;

	vec_for_each (&pmus->pmus, p)
		nr += p->is_core;
	return nr;
}

/* "cpu_core/cycles/": the generic events of one kind of core. The kernel takes the PMU's type in
 * the upper half of config; with one kind of core there is nothing to distinguish. */
static bool set_generic(struct event_parse *p, const struct os_pmu *pmu, struct event_word name)
{
	struct rec_event *e = &p->list->events.data[p->first_here];
	uint32_t type;
	uint64_t config;

	if (!pmu->is_core || !event_known_find(name, &type, &config) || type == PERF_TYPE_SOFTWARE)
		return false;
	e->attr.type = type;
	e->attr.config = config;
	if (nr_core_pmus(event_pmus(p)) > 1)
		e->attr.config |= (uint64_t)pmu->type << 32;
	return true;
}

/* "cs_etm/@tmc_etr0/": the trace goes to that sink. */
static enum clew_err set_sink(struct event_parse *p, const struct os_pmu *pmu,
			      struct event_word name)
{
	struct rec_event *e = &p->list->events.data[p->first_here];
	char file[128];
	uint64_t id;

	snprintf(file, sizeof(file), "sinks/%.*s", (int)name.n - 1, name.s + 1);
	if (memchr(name.s, '.', name.n) || !os_pmu_hex(pmu, file, &id))
		return event_fail(p, name.s, CLEW_NOT_FOUND,
				  "PMU '%s' has no sink '%.*s'; `ls %s/sinks` shows them",
				  pmu->name, (int)name.n - 1, name.s + 1, pmu->dir);
	e->attr.config2 = (e->attr.config2 & ~(uint64_t)UINT32_MAX) | (uint32_t)id;
	return CLEW_OK;
}

static enum clew_err unknown_term(struct event_parse *p, const struct os_pmu *pmu,
				  struct event_word w)
{
	struct event_guess g;
	char text[160], formats[256] = "";
	size_t n = 0;

	event_guess_start(&g, w);
	vec_for_each (&pmu->events, e)
		event_guess_try(&g, e->name);
	vec_for_each (&pmu->formats, f) {
		event_guess_try(&g, f->name);
		if (n + strlen(f->name) + 3 < sizeof(formats))
			n += (size_t)snprintf(formats + n, sizeof(formats) - n, "%s, ", f->name);
	}
	return event_fail(p, w.s, CLEW_NOT_FOUND,
			  "PMU '%s' has no event or term '%.*s'%s Terms are %s%s", pmu->name,
			  (int)w.n, w.s, *event_guess_text(&g, text, sizeof(text)) ? text : ".",
			  formats, event_term_names(true));
}

static enum clew_err apply(struct event_parse *p, const struct os_pmu *pmu, struct event_word name,
			   struct event_word value)
{
	const struct os_pmu_format *f = find_format(pmu, name);
	const struct os_pmu_event *e = value.s ? NULL : find_event(pmu, name);
	enum clew_err err;

	if (f)
		return set_format(p, f, name, value);
	if (e)
		return set_named(p, pmu, e, &p->list->events.data[p->first_here]);
	if (name.n > 1 && *name.s == '@' && !value.s)
		return set_sink(p, pmu, name);
	err = event_apply_term(p, name, value, true);
	if (err != CLEW_NOT_FOUND)
		return err;
	if (!value.s && set_generic(p, pmu, name))
		return CLEW_OK;
	return unknown_term(p, pmu, name);
}

static struct rec_event *add_of_pmu(struct event_parse *p, const struct os_pmu *pmu)
{
	struct rec_event *e = event_add(p, pmu->type, 0);

	if (!e)
		return NULL;
	e->pmu = event_copy(p, pmu->name, strlen(pmu->name));
	if (pmu->cpus)
		e->cpus = event_copy(p, pmu->cpus, strlen(pmu->cpus));
	if (!e->pmu || (pmu->cpus && !e->cpus))
		return NULL;
	e->aux = aux_pmu_find(pmu->name);
	event_aux_set(pmu, e);
	return e;
}

static enum clew_err parse_for_pmu(struct event_parse *p, struct os_pmu *pmu)
{
	if ((!pmu->is_loaded && os_pmu_load(event_pmus(p), pmu)) || !add_of_pmu(p, pmu))
		return event_no_memory(p);
	while (*p->pos != '/') {
		struct event_word name, value;
		enum clew_err err = event_next_term(p, &name, &value);

		if (!err)
			err = apply(p, pmu, name, value);
		if (err)
			return err;
	}
	p->pos++;
	event_learn_aux(p, pmu, &p->list->events.data[p->first_here]);
	return event_aux_check(p, pmu, &p->list->events.data[p->first_here]);
}

static bool is_instance(const char *name, struct event_word w)
{
	const char *rest;

	if (strlen(name) <= w.n || memcmp(name, w.s, w.n))
		return false;
	rest = name + w.n;
	rest += *rest == '_';
	return *rest && !rest[strspn(rest, "0123456789")];
}

/* "uncore_imc" and "imc" name uncore_imc_0, uncore_imc_1, ... too; "uncore_*" all that match. */
static bool pmu_matches(const struct os_pmu *pmu, struct event_word w)
{
	const char *short_name = strncmp(pmu->name, "uncore_", 7) ? pmu->name : pmu->name + 7;
	char pattern[128];

	if (event_word_is(w, pmu->name) || event_word_is(w, short_name) ||
	    is_instance(pmu->name, w) || is_instance(short_name, w))
		return true;
	if (!memchr(w.s, '*', w.n) && !memchr(w.s, '?', w.n))
		return false;
	snprintf(pattern, sizeof(pattern), "%.*s", (int)w.n, w.s);
	return !fnmatch(pattern, pmu->name, 0) || !fnmatch(pattern, short_name, 0);
}

static enum clew_err unknown_pmu(struct event_parse *p, struct event_word w)
{
	struct event_guess g;
	char text[160];

	event_guess_start(&g, w);
	vec_for_each (&event_pmus(p)->pmus, pmu)
		event_guess_try(&g, pmu->name);
	if (event_word_is(w, "cpu") || event_word_is(w, "intel_pt") || event_word_is(w, "cs_etm") ||
	    event_word_is(w, "arm_spe") || event_word_is(w, "arm_spe_0"))
		return event_fail(p, w.s, CLEW_NOT_FOUND,
				  "this machine has no PMU '%.*s' (a virtual machine may hide it; "
				  "see `clew doctor`)",
				  (int)w.n, w.s);
	return event_fail(p, w.s, CLEW_NOT_FOUND,
			  "no PMU '%.*s'%s `ls /sys/bus/event_source/devices` shows all", (int)w.n,
			  w.s, *event_guess_text(&g, text, sizeof(text)) ? text : ";");
}

enum clew_err event_parse_pmu(struct event_parse *p, struct event_word name)
{
	struct os_pmus *pmus = event_pmus(p);
	struct os_pmu *exact = os_pmus_find(pmus, name.s, name.n);
	const char *terms = p->pos;
	size_t first = p->first_here;
	enum clew_err err = CLEW_OK;
	struct os_pmu soft;

	if (event_word_is(name, SOFT_PMU_NAME)) {
		soft = soft_pmu();
		return parse_for_pmu(p, &soft);
	}
	if (exact)
		return parse_for_pmu(p, exact);
	vec_for_each (&pmus->pmus, pmu) {
		if (!pmu_matches(pmu, name))
			continue;
		p->pos = terms;
		p->first_here = p->list->events.nr; /* terms apply to this one's event */
		err = parse_for_pmu(p, pmu);
		if (err)
			break;
	}
	p->first_here = first;
	if (p->list->events.nr == first && !err)
		return unknown_pmu(p, name);
	return err;
}

/* A generic event without a PMU is the first core PMU's: on hybrid CPUs what runs on the other
 * cores would go unseen. A group is of one PMU and stays as it is. */
enum clew_err event_add_generic(struct event_parse *p, struct event_word name, uint32_t type,
				uint64_t config)
{
	struct os_pmus *pmus = event_pmus(p);

	if (p->is_in_group || nr_core_pmus(pmus) < 2)
		return event_add(p, type, config) ? CLEW_OK : event_no_memory(p);
	vec_for_each (&pmus->pmus, pmu) {
		struct rec_event *e = pmu->is_core ? add_of_pmu(p, pmu) : NULL;

		if (pmu->is_core && !e)
			return event_no_memory(p);
		if (!e)
			continue;
		e->attr.type = type;
		e->attr.config = config | (uint64_t)pmu->type << 32;
		e->is_spread = true;
	}
	p->spread = name;
	return CLEW_OK;
}

enum clew_err event_parse_pmu_alias(struct event_parse *p, struct event_word name)
{
	struct os_pmus *pmus = event_pmus(p);
	size_t first = p->list->events.nr;

	vec_for_each (&pmus->pmus, pmu) {
		const struct os_pmu_event *found;
		struct rec_event *e;

		if (os_pmu_load(pmus, pmu))
			return event_no_memory(p);
		found = find_event(pmu, name);
		if (!found)
			continue;
		e = add_of_pmu(p, pmu);
		if (!e)
			return event_no_memory(p);
		if (set_named(p, pmu, found, e) != CLEW_OK)
			return CLEW_NO_MEMORY;
	}
	return p->list->events.nr > first ? CLEW_OK : CLEW_NOT_FOUND;
}
