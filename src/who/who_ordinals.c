/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "who/vcpu_name.h"
#include "who/who_ran_impl.h"

/* Virtual CPUs that no thread's name numbers: by the order of thread ids in their process. Spec:
 * attribution.md, section 10.4. */

struct runner {
	uint32_t pid, tid;
};

static int by_ids(const void *a, const void *b)
{
	const struct runner *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

/** @return false: its name numbers it, or nothing is known of it. */
static bool find_runner(struct who_ran *w, struct who_local_id local, struct runner *ret)
{
	struct who_object o;
	uint32_t vcpu;

	if (!who_local_is_thread(local) ||
	    !who_history_object(w->history, (uint32_t)local.n, clew_perf_ns_none(),
				w->ignores_found, &o) ||
	    !who_local_is_thread(who_local_id_of(o.pid)) ||
	    (o.comm && who_vcpu_of_name(o.comm, &vcpu)))
		return false;
	*ret = (struct runner){o.pid, (uint32_t)local.n};
	return true;
}

static bool find_of_root(struct who_ran *w, uint32_t root, struct runner *ret)
{
	struct who_local_id local;

	return who_local_of_root(w, (struct who_root_id){root}, clew_perf_ns_none(), &local) &&
	       find_runner(w, local, ret);
}

static bool number(struct who_ran *w, struct runner *all, size_t nr)
{
	uint64_t ordinal = 0;

	qsort(all, nr, sizeof(*all), by_ids);
	for (size_t i = 0; i < nr; i++) {
		if (i && !by_ids(&all[i], &all[i - 1]))
			continue;
		ordinal = i && all[i].pid == all[i - 1].pid ? ordinal + 1 : 0;
		if (!map_u64_put(&w->ordinals, all[i].tid, ordinal))
			return false;
	}
	return true;
}

bool who_settle_ordinals(struct who_ran *w)
{
	const struct map_u64 *m = &w->notes->runners, *k = &w->runners;
	size_t nr_of_notes = w->facts.kernel_level == WHO_EL2 ? m->cap : 0, nr = 0;
	struct runner *all;
	bool ok;

	if (!m->nr && !k->nr)
		return true;
	all = mem_calloc(m->nr + k->nr, sizeof(*all));
	if (!all)
		return false;
	for (size_t i = 0; i < nr_of_notes; i++)
		nr += m->used[i] && find_of_root(w, (uint32_t)m->slots[i].key, &all[nr]);
	for (size_t i = 0; i < k->cap; i++)
		nr += k->used[i] && !k->slots[i].value &&
		      find_runner(w, who_local_id_of((uint32_t)k->slots[i].key), &all[nr]);
	ok = !nr || number(w, all, nr);
	mem_free(all);
	return ok;
}
