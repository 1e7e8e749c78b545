/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_guest.h"

/*
 * A guest is sampled in two ways: by the host: its record names the host's thread and says that
 * it ran the guest; or by itself, and `perf inject --guest-data` put its records among the host's.
 */

uint32_t ana_machine_of_record(const struct analyze *a, const struct perf_record *r)
{
	const struct who_guests *g = who_guests(a->who);
	struct bytes body = perf_record_body(r);
	const struct perf_evsel *evsel;
	struct perf_sample_id id;

	if (!g->by_event.nr)
		return 0;
	evsel = perf_evlist_of_record(perf_file_evlist(a->file), r->type, body, r->swap);
	if (!evsel || perf_sample_id_parse(body, r->swap, &evsel->attr, &id) != CLEW_OK)
		return 0;
	return who_guests_machine(g, id.id);
}

struct who_thread *ana_guest_thread(struct analyze *a, uint32_t machine, uint32_t pid, uint32_t tid)
{
	if (tid != WHO_NONE) {
		pid = pid == WHO_NONE ? pid : who_guests_number(who_guests(a->who), machine, pid);
		tid = who_guests_number(who_guests(a->who), machine, tid);
	}
	return who_thread_get(a->who, pid, tid);
}

struct who_space *ana_guest_kernel_of(struct analyze *a, const struct who_thread *t)
{
	const struct who_guests *g = who_guests(a->who);
	uint32_t machine = t->is_guest ? who_guests_id(g, t->tid)->machine : t->pid;
	struct who_thread *kernel =
		who_thread_find(a->who, who_guests_find(g, machine, WHO_GUEST_KERNEL_PID));

	return kernel ? kernel->space : NULL;
}
