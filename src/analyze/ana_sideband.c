/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_sideband.h"

#include "analyze/ana_guest.h"
#include "analyze/analyze_impl.h"
#include "base/u64.h"
#include "who/who_play.h"

bool ana_charge(struct analyze *a, uint64_t bytes, const char *what)
{
	return budget_account_take(&a->account, bytes + BUDGET_TABLE_BYTES, what);
}

/* Other code is at the same addresses of the process from now on, or will be. */
static void forget_code(struct analyze *a, uint32_t pid)
{
	struct who_thread *t = who_thread_find(a->who, pid);

	if (t)
		t->space->code_from = t->space->code_to = (struct clew_perf_ns){0};
}

static enum clew_err play(struct analyze *a, const struct perf_record *r, struct clew_perf_ns time)
{
	const struct who_stamp stamp = {.machine = ana_machine_of_record(a, r)};
	uint32_t pid = 0;

	if (!stamp.machine && ana_places_take_program(&a->places, r, time, &pid) != CLEW_OK)
		return CLEW_NO_MEMORY;
	if (pid) {
		ana_places_set_clock(&a->places, perf_file_evlist(a->file));
		forget_code(a, pid);
	}
	return who_play(&who_player_of_now, a->who, who_guests(a->who), r, &stamp);
}

static enum clew_err take_lost(struct analyze *a, const struct perf_record *r,
			       struct clew_perf_ns time)
{
	struct bytes body = perf_record_body(r);
	const struct perf_evsel *evsel =
		perf_evlist_of_record(perf_file_evlist(a->file), r->type, body, r->swap);
	struct perf_sample_id id = {.cpu = UINT32_MAX, .tid = UINT32_MAX};
	enum clew_err err;

	if (evsel)
		perf_sample_id_parse(body, r->swap, &evsel->attr, &id); /* else they are unknown */
	err = ana_losses_take(&a->losses, r, &id, time);
	a->summary.nr_lost = ana_losses_nr(&a->losses);
	a->summary.nr_bpf_filtered = a->losses.bpf_filtered;
	return err;
}

static enum clew_err take_aux(struct analyze *a, const struct perf_record *r)
{
	struct bytes body = perf_record_body(r);
	const struct perf_evsel *evsel =
		perf_evlist_of_record(perf_file_evlist(a->file), r->type, body, r->swap);
	struct perf_sample_id id = {.time = UINT64_MAX, .cpu = UINT32_MAX};
	struct perf_aux aux;

	if (perf_aux_parse(r, &aux) != CLEW_OK)
		return CLEW_BAD_FILE;
	a->summary.nr_aux_missing = u64_sum(a->summary.nr_aux_missing, aux.size);
	if (evsel && perf_sample_id_parse(body, r->swap, &evsel->attr, &id) != CLEW_OK)
		return CLEW_BAD_FILE;
	return ana_windows_take_aux(&a->windows, r, &id) ? ana_aux_take(&a->aux, r, &id)
							 : CLEW_NO_MEMORY;
}

static enum clew_err take_cgroup(struct analyze *a, const struct perf_record *r)
{
	struct perf_cgroup c;
	const char *path;

	if (perf_cgroup_parse(r, &c) != CLEW_OK)
		return CLEW_BAD_FILE;
	if (!ana_charge(a, strlen(c.path) + 1, "names of cgroups of")) {
		map_u64_remove(&a->cgroups, c.id); /* it may have had another name */
		return CLEW_OK;
	}
	path = arena_strndup(&a->memory, c.path, strlen(c.path));
	return path && map_u64_put(&a->cgroups, c.id, (uintptr_t)path) ? CLEW_OK : CLEW_NO_MEMORY;
}

static enum clew_err take_build_id(struct analyze *a, const struct perf_record *r)
{
	struct perf_build_id_record b;

	return perf_build_id_parse(r, &b) == CLEW_OK ? ana_places_take_build_id(&a->places, &b)
						     : CLEW_BAD_FILE;
}

enum clew_err ana_take_record(struct analyze *a, const struct perf_record *r,
			      struct clew_perf_ns time)
{
	switch (r->type) {
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return take_lost(a, r, time);
	case PERF_RECORD_NAMESPACES:
		return ana_machine_of_record(a, r) ? CLEW_OK
						   : ana_places_take_namespaces(&a->places, r);
	case PERF_RECORD_CGROUP:
		return take_cgroup(a, r);
	case PERF_RECORD_HEADER_BUILD_ID:
		return take_build_id(a, r);
	case PERF_RECORD_TIME_CONV:
		ana_places_take_time_conv(&a->places, r);
		ana_places_set_clock(&a->places, perf_file_evlist(a->file));
		return CLEW_OK;
	case PERF_RECORD_AUX:
		return take_aux(a, r);
	case PERF_RECORD_AUXTRACE:
		a->summary.nr_aux_bytes += bytes_left(&r->payload);
		return ana_windows_take_buffer(&a->windows, r) ? CLEW_OK : CLEW_NO_MEMORY;
	case PERF_RECORD_ID_INDEX:
		if (!ana_windows_take_ids(&a->windows, r))
			return CLEW_NO_MEMORY;
		return who_guests_take_ids(who_guests(a->who), r);
	default:
		return who_plays(&who_player_of_now, r->type) ? play(a, r, time) : CLEW_OK;
	}
}
