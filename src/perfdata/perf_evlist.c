/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_evlist.h"

enum { ID_BYTES = 8 + 3 * (sizeof(struct map_u64_slot) + 1) }; /* with its part of by_id */

static bool take_ids(struct perf_evlist *l, struct perf_evsel *e, const uint8_t *ids,
		     uint32_t nr_ids, bool swap)
{
	if (!budget_account_take(&l->account, (uint64_t)nr_ids * ID_BYTES, "ids of events of"))
		return true;
	e->ids = arena_alloc(&l->memory, (size_t)nr_ids * 8);
	if (!e->ids)
		return false;
	for (uint32_t i = 0; i < nr_ids; i++) {
		e->ids[i] = load_u64(ids + 8 * (size_t)i, swap);
		if (!map_u64_put(&l->by_id, e->ids[i], e->index))
			return false;
	}
	e->nr_ids = nr_ids;
	return true;
}

static void note_id_pos(struct perf_evlist *l, const struct perf_attr *attr)
{
	struct perf_field_pos pos = perf_id_pos_of(attr);

	if (l->evsels.nr == 1) {
		l->id_pos = pos;
		l->has_common_id_pos = true;
	} else if (pos.sample != l->id_pos.sample || pos.trailer != l->id_pos.trailer) {
		l->has_common_id_pos = false;
	}
}

struct perf_evsel *perf_evlist_add(struct perf_evlist *l, const struct perf_attr *attr,
				   const char *name, const uint8_t *ids, uint32_t nr_ids, bool swap)
{
	struct perf_evsel *e = arena_zalloc(&l->memory, sizeof(*e));
	char own_name[128];

	if (!e || l->evsels.nr >= PERF_EVSELS_MAX)
		return NULL;
	if (!name) {
		perf_attr_name(attr, own_name, sizeof(own_name));
		name = own_name;
	}
	e->index = e->leader = (uint32_t)l->evsels.nr;
	e->attr = *attr;
	e->name = arena_strndup(&l->memory, name, strlen(name));
	if (!e->name || !take_ids(l, e, ids, nr_ids, swap) || !vec_push(&l->evsels, e))
		return NULL;
	note_id_pos(l, attr);
	if (perf_attr_has(attr, PERF_ATTR_MMAP2)) {
		l->nr_mmap2++;
		l->nr_mmap2_build_id += perf_attr_has(attr, PERF_ATTR_BUILD_ID);
	}
	if (attr->flags & (PERF_ATTR_KSYMBOL | PERF_ATTR_BPF_EVENT | PERF_ATTR_TEXT_POKE))
		l->grown_id_words |= (uint8_t)(1u << perf_sample_id_bytes(attr) / 8);
	return e;
}

struct perf_evsel *perf_evlist_by_id(const struct perf_evlist *l, uint64_t id)
{
	uint64_t *index = map_u64_get(&l->by_id, id);

	return index && *index < l->evsels.nr ? l->evsels.data[*index] : NULL;
}

static bool id_of_record(const struct perf_evlist *l, uint32_t type, struct bytes body, bool swap,
			 uint64_t *ret)
{
	size_t nr = bytes_left(&body) / 8;
	int at = type == PERF_RECORD_SAMPLE ? l->id_pos.sample : l->id_pos.trailer;

	if (at < 0)
		return false;
	if (type == PERF_RECORD_SAMPLE) {
		if ((size_t)at >= nr)
			return false;
		*ret = load_u64(body.pos + 8 * at, swap);
		return true;
	}
	if ((size_t)at > nr)
		return false;
	*ret = load_u64(body.end - 8 * at, swap);
	return true;
}

static bool has_id_there(const struct perf_evlist *l, const struct perf_evsel *e, uint32_t type)
{
	struct perf_field_pos pos = perf_id_pos_of(&e->attr);

	return type == PERF_RECORD_SAMPLE ? pos.sample == l->id_pos.sample
					  : pos.trailer == l->id_pos.trailer;
}

struct perf_evsel *perf_evlist_of_record(const struct perf_evlist *l, uint32_t type,
					 struct bytes body, bool swap)
{
	struct perf_evsel *first = l->evsels.nr ? l->evsels.data[0] : NULL, *e;
	uint64_t id;

	if (l->evsels.nr <= 1)
		return first;
	if (type != PERF_RECORD_SAMPLE && !perf_attr_has(&first->attr, PERF_ATTR_SAMPLE_ID_ALL))
		return first;
	if (!id_of_record(l, type, body, swap, &id))
		return type == PERF_RECORD_SAMPLE ? NULL : first;
	if (id == 0) /* made by a tool, not by the kernel */
		return first;
	e = perf_evlist_by_id(l, id);
	/* Found where another event has its id: chance. */
	if (e && !l->has_common_id_pos && !has_id_there(l, e, type))
		return NULL;
	return e || perf_attr_has(&first->attr, PERF_ATTR_SAMPLE_ID_ALL) ? e : first;
}

void perf_evlist_done(struct perf_evlist *l)
{
	arena_done(&l->memory);
	vec_done(&l->evsels);
	map_u64_done(&l->by_id);
	budget_account_done(&l->account);
	*l = (struct perf_evlist){0};
}
