/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "os/perf/tracefs.h"
#include "os/ptrace.h"
#include "record/event/event_spell.h"
#include "record/plan/aux_pmu.h"
#include "record/plan/soft_pmu.h"

struct listing {
	enum clew_err (*each)(void *ctx, const char *name, const char *kind, const char *what);
	void *ctx;
};

static enum clew_err list_known(const struct listing *l, const struct event_known *table,
				const char *kind)
{
	enum clew_err err = CLEW_OK;
	char what[80];

	for (; !err && table->name; table++) {
		what[0] = '\0';
		if (table->alias)
			snprintf(what, sizeof(what), "also spelled %s", table->alias);
		err = l->each(l->ctx, table->name, kind, what);
	}
	return err;
}

static enum clew_err list_caches(const struct listing *l)
{
	enum clew_err err = CLEW_OK;
	char name[64];

	for (size_t i = 0; !err && event_cache_name(i, name, sizeof(name)); i++)
		err = l->each(l->ctx, name, "hardware cache event", "");
	return err;
}

static enum clew_err list_pmu(const struct listing *l, const struct os_pmu *pmu)
{
	enum clew_err err = CLEW_OK;
	char name[256];

	for (size_t i = 0; !err && i < pmu->events.nr; i++) {
		snprintf(name, sizeof(name), "%s/%s/", pmu->name, pmu->events.data[i].name);
		err = l->each(l->ctx, name, "PMU event", pmu->events.data[i].terms);
	}
	return err;
}

/* PMUs that sample, with or without events of their own: intel_pt// */
static enum clew_err list_pmus(const struct listing *l, struct os_pmus *pmus)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; !err && i < pmus->pmus.nr; i++) {
		struct os_pmu *pmu = &pmus->pmus.data[i];
		char name[256];

		err = os_pmu_load(pmus, pmu);
		if (!err && aux_pmu_find(pmu->name)) {
			snprintf(name, sizeof(name), "%s//", pmu->name);
			err = l->each(l->ctx, name, "PMU event", "hardware trace");
		}
		if (!err)
			err = list_pmu(l, pmu);
	}
	return err;
}

/* No PMU of the kernel, but spelled as one. */
static enum clew_err list_soft(const struct listing *l)
{
	if (!os_ptrace_is_possible())
		return CLEW_OK;
	return l->each(l->ctx, SOFT_PMU_NAME "//", "PMU event",
		       "trace by stepping, user mode (clew record)");
}

static enum clew_err list_spellings(const struct listing *l, struct os_pmus *pmus)
{
	static const struct {
		const char *pmu, *name, *kind, *what;
	} rows[] = {
		{NULL,     "rNNN",                        "raw event",  "hexadecimal event number of the CPU's manual"},
		{NULL,     "PMU/TERM=VALUE,.../",         "raw event",  "terms as in sysfs's format directory"        },
		{NULL,     "mem:ADDRESS[/LENGTH][:rwx]",  "breakpoint", ""                                            },
		{"uprobe", "uprobe:PATH:SYMBOL[+OFFSET]", "probe",      "entry of a function"                         },
		{"uprobe", "uretprobe:PATH:SYMBOL",       "probe",      "return of a function"                        },
		{"kprobe", "kprobe:SYMBOL[+OFFSET]",      "probe",      "entry of a kernel function"                  },
		{"kprobe", "kretprobe:SYMBOL",            "probe",      "return of a kernel function"                 },
	};
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; !err && i < sizeof(rows) / sizeof(*rows); i++) {
		if (!rows[i].pmu || os_pmus_find(pmus, rows[i].pmu, strlen(rows[i].pmu)))
			err = l->each(l->ctx, rows[i].name, rows[i].kind, rows[i].what);
	}
	return err;
}

static enum clew_err list_system(const struct listing *l, const char *root, const char *system,
				 struct arena *a)
{
	struct os_names names = {0};
	enum clew_err err = os_tracefs_names(root, system, a, &names, NULL);

	if (err != CLEW_NO_MEMORY)
		err = CLEW_OK;
	for (size_t i = 0; !err && i < names.nr; i++) {
		char name[256];

		snprintf(name, sizeof(name), "%s:%s", system, names.data[i]);
		err = l->each(l->ctx, name, "tracepoint", "");
	}
	vec_done(&names);
	return err;
}

static enum clew_err list_tracepoints(const struct listing *l)
{
	struct os_names systems = {0};
	struct arena a = {0};
	const char *root;
	enum clew_err err = CLEW_OK;

	if (os_tracefs_find(&root) == OS_TRACEFS_READABLE)
		err = os_tracefs_names(root, NULL, &a, &systems, NULL);
	for (size_t i = 0; !err && i < systems.nr; i++)
		err = list_system(l, root, systems.data[i], &a);
	vec_done(&systems);
	arena_done(&a);
	return err;
}

enum clew_err rec_events_list(enum clew_err (*each)(void *ctx, const char *name, const char *kind,
						    const char *what),
			      void *ctx)
{
	struct listing l = {each, ctx};
	struct os_pmus pmus = {0};
	bool has_core = false;
	enum clew_err err = CLEW_OK;

	os_pmus_read(NULL, &pmus, NULL);
	vec_for_each (&pmus.pmus, p)
		has_core |= p->is_core;
	if (has_core) {
		err = list_known(&l, event_hardware, "hardware event");
		if (!err)
			err = list_caches(&l);
	}
	if (!err)
		err = list_known(&l, event_software, "software event");
	if (!err)
		err = list_pmus(&l, &pmus);
	if (!err)
		err = list_soft(&l);
	if (!err)
		err = list_spellings(&l, &pmus);
	if (!err)
		err = list_tracepoints(&l);
	os_pmus_done(&pmus);
	return err;
}
