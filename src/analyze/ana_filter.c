/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_filter.h"

#include <stdlib.h>

#include "base/err.h"

enum { MAX_CPU = 1 << 20 };

static enum clew_err add_comms(struct intern *set, const char *list)
{
	while (*list) {
		size_t len = strcspn(list, ",");

		if (len && intern_add(set, list, len) == INTERN_FAILED)
			return CLEW_NO_MEMORY;
		list += len;
		list += *list == ',';
	}
	return CLEW_OK;
}

/* "1,5-7"; -1 means unknown and is a number of its own here. */
static enum clew_err add_numbers(struct map_u64 *set, const char *list)
{
	while (*list) {
		char *end;
		unsigned long long first = strtoull(list, &end, 10), last = first;

		if (end == list)
			return CLEW_INVALID;
		if (*end == '-') {
			list = end + 1;
			last = strtoull(list, &end, 10);
			if (end == list)
				return CLEW_INVALID;
		}
		if ((*end && *end != ',') || last < first || last - first > MAX_CPU ||
		    last > UINT32_MAX)
			return CLEW_INVALID;
		for (; first <= last; first++) {
			if (!map_u64_put(set, first, 1))
				return CLEW_NO_MEMORY;
		}
		list = *end ? end + 1 : end;
	}
	return CLEW_OK;
}

enum clew_err ana_filter_init(struct ana_filter_set *f, const struct ana_filter *opts,
			      struct clew_diag *diag)
{
	enum clew_err err = CLEW_OK;

	f->has_comms = opts->comms;
	f->has_pids = opts->pids;
	f->has_tids = opts->tids;
	f->has_cpus = opts->cpus;
	f->from = opts->time_from;
	f->to = opts->time_to.ns ? opts->time_to : clew_perf_ns_none();
	if (opts->comms && err == CLEW_OK)
		err = add_comms(&f->comms, opts->comms);
	if (opts->pids && err == CLEW_OK)
		err = add_numbers(&f->pids, opts->pids);
	if (opts->tids && err == CLEW_OK)
		err = add_numbers(&f->tids, opts->tids);
	if (opts->cpus && err == CLEW_OK)
		err = add_numbers(&f->cpus, opts->cpus);
	return err == CLEW_OK ? CLEW_OK
			      : clew_fail(diag, err, 0, "unusable list of pids, tids or CPUs");
}

bool ana_filter_keeps(struct ana_filter_set *f, const struct perf_sample *s,
		      const struct who_thread *t)
{
	struct clew_perf_ns time = {s->time};

	if (clew_perf_ns_is_known(time) && (time.ns < f->from.ns || time.ns > f->to.ns))
		return false;
	if (f->has_cpus && !map_u64_get(&f->cpus, s->cpu))
		return false;
	if (f->has_pids && !map_u64_get(&f->pids, t->is_guest ? s->pid : t->pid))
		return false;
	if (f->has_tids && !map_u64_get(&f->tids, t->is_guest ? s->tid : t->tid))
		return false;
	return !f->has_comms || (t->comm && intern_has(&f->comms, t->comm));
}

void ana_filter_done(struct ana_filter_set *f)
{
	intern_done(&f->comms);
	map_u64_done(&f->pids);
	map_u64_done(&f->tids);
	map_u64_done(&f->cpus);
}
