/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/count/count_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/proc.h"
#include "record/count/count_kind.h"

static int topology(int cpu, const char *name)
{
	char text[32];

	if (cpu < 0 || !os_topology_text(cpu, name, text, sizeof(text)))
		return 0;
	return atoi(text) < 0 ? 0 : atoi(text);
}

static const char *name_of(struct arena *memory, int tid)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	if (!os_read_first_line(path, text, sizeof(text)))
		return "";
	return arena_strndup(memory, text, strlen(text));
}

/* The part that a place belongs to: what does not distinguish parts is -1. */
static struct count_part part_of(enum count_by by, int cpu, int tid)
{
	struct count_part p = {-1, -1, -1, -1, -1, 0, NULL};

	switch (by) {
	case COUNT_BY_CPU:
		p.cpu = cpu;
		break;
	case COUNT_BY_CORE:
		p.core = topology(cpu, "core_id");
		p.die = topology(cpu, "die_id");
		p.socket = topology(cpu, "physical_package_id");
		break;
	case COUNT_BY_SOCKET:
		p.socket = topology(cpu, "physical_package_id");
		break;
	case COUNT_BY_THREAD:
		p.tid = tid;
		break;
	case COUNT_BY_ALL:
		break;
	}
	return p;
}

static int compare(const void *x, const void *y)
{
	const struct count_part *a = x, *b = y;
	const int keys[][2] = {
		{a->socket, b->socket},
                {a->die,    b->die   },
                {a->core,   b->core  },
		{a->cpu,    b->cpu   },
                {a->tid,    b->tid   },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

/* @p all: of each place. @p ret: all parts in order, each once. @return how many. */
static uint32_t sort_parts(const struct count_part *all, size_t nr_places, struct count_part *ret)
{
	uint32_t nr = 0;

	memcpy(ret, all, nr_places * sizeof(*ret));
	qsort(ret, nr_places, sizeof(*ret), compare);
	for (size_t i = 0; i < nr_places; i++)
		if (!nr || compare(&ret[nr - 1], &ret[i]) != 0)
			ret[nr++] = ret[i];
	return nr;
}

/* Events of one world relate to each other: the same modes, and the same kind of cores, which the
 * upper half of a generic event's config names, and the type of a PMU's own. */
static uint64_t world_of(const struct perf_attr *a)
{
	const uint64_t modes = PERF_ATTR_EXCLUDE_USER | PERF_ATTR_EXCLUDE_KERNEL |
			       PERF_ATTR_EXCLUDE_HV | PERF_ATTR_EXCLUDE_HOST |
			       PERF_ATTR_EXCLUDE_GUEST;
	bool is_generic = a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_HW_CACHE;
	bool is_pmu = a->type >= PERF_TYPE_RAW;

	return (a->flags & modes) | (is_generic ? a->config >> 32 << 32 : 0) |
	       (is_pmu ? (uint64_t)a->type << 32 : 0);
}

static void set_events(const struct rec_counters *c, struct counts *ret)
{
	for (uint32_t i = 0; i < ret->nr_events; i++) {
		const struct rec_counter *e = &c->list.data[i];

		ret->events[i] = (struct count_event){
			.name = arena_strndup(&ret->memory, e->name, strlen(e->name)),
			.kind = count_kind_of(&e->attr, e->name),
			.world = world_of(&e->attr),
			.is_supported = !e->refused,
			.scale = e->event ? e->event->scale : 0,
			.unit = e->event && e->event->unit
				      ? arena_strndup(&ret->memory, e->event->unit,
						      strlen(e->event->unit))
				      : NULL,
		};
	}
}

enum clew_err count_parts_make(const struct rec_counters *c, struct counts *ret,
			       uint32_t **ret_part)
{
	const struct rec_target *t = c->target;
	struct count_part *all = arena_alloc(&ret->memory, (c->nr_places + 1) * sizeof(*all));
	struct count_part *sorted = arena_alloc(&ret->memory, (c->nr_places + 1) * sizeof(*sorted));
	uint32_t nr, *part = arena_alloc(&ret->memory, (c->nr_places + 1) * sizeof(*part));

	if (!all || !sorted || !part)
		return CLEW_NO_MEMORY;
	for (size_t i = 0; i < c->nr_places; i++)
		all[i] = part_of(ret->by, t->cpus.data[i / t->tids.nr],
				 t->tids.data[i % t->tids.nr]);
	nr = sort_parts(all, c->nr_places, sorted);
	if (counts_make(ret, (uint32_t)c->list.nr, nr) != CLEW_OK)
		return CLEW_NO_MEMORY;
	memcpy(ret->parts, sorted, nr * sizeof(*sorted));
	for (size_t i = 0; i < c->nr_places; i++) {
		struct count_part *p = bsearch(&all[i], ret->parts, nr, sizeof(*p), compare);

		part[i] = (uint32_t)(p - ret->parts);
		p->nr_cpus += i % t->tids.nr == 0;
		if (ret->by == COUNT_BY_THREAD && !p->comm)
			p->comm = name_of(&ret->memory, p->tid);
	}
	set_events(c, ret);
	*ret_part = part;
	return CLEW_OK;
}
