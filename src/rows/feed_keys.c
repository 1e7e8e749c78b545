/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "rows/report_feed_impl.h"
#include "who/who_ran.h"

/* Texts live as long as the pipeline, so each pointer is looked up once. */
static uint32_t text_id(struct report_feed *f, const char *text)
{
	uint64_t *known;
	uint32_t id;

	if (!text)
		return 0;
	known = map_u64_get(&f->text_of, (uintptr_t)text);
	if (known)
		return (uint32_t)*known;
	if (!feed_take_key(f, strlen(text) + 1))
		text = who_not_kept;
	id = intern_str(&f->texts, text);
	if (id == INTERN_FAILED || text == who_not_kept)
		return id;
	if (!map_u64_put(&f->text_of, (uintptr_t)text, id))
		return INTERN_FAILED;
	return id;
}

/* Those without a thread are rows of their own: numbers that no thread has. */
static uint64_t task_id(const struct ana_event *e, uint32_t id)
{
	return feed_is_no_thread(e) ? (uint64_t)UINT32_MAX + e->who->kind : id;
}

static uint64_t value_of(struct report_feed *f, const struct ana_event *e, enum report_key k)
{
	switch (k) {
	case REPORT_COMM:
		return text_id(f, feed_comm(e));
	case REPORT_PID:
		return task_id(e, e->pid);
	case REPORT_TID:
		return task_id(e, e->tid);
	case REPORT_CPU:
		return e->cpu;
	case REPORT_CGROUP:
		return text_id(f, e->cgroup);
	case REPORT_CGROUP_ID:
		return e->sample->cgroup;
	case REPORT_WEIGHT:
		return e->sample->weight;
	case REPORT_NAMESPACE:
	case REPORT_CONTAINER:
	case REPORT_MACHINE:
	case REPORT_VCPU:
	case REPORT_LEVEL:
	case REPORT_EVIDENCE:
		return feed_who_value(f, e, k);
	case REPORT_SYM_FROM:
	case REPORT_SYM_TO:
	case REPORT_DSO_FROM:
	case REPORT_DSO_TO:
	case REPORT_SRCLINE_FROM:
	case REPORT_SRCLINE_TO:
	case REPORT_MISPREDICT:
	case REPORT_CYCLES:
	case REPORT_ABORT:
	case REPORT_IN_TX:
	case REPORT_DSO:
	case REPORT_SYM:
	case REPORT_SRCLINE:
	case REPORT_SRCFILE:
	case REPORT_NR_KEYS:
		break;
	}
	return 0;
}

/* The weight of a branch is its cycles, as in perf. */
static uint64_t branch_weight(const struct feed_branch *b)
{
	uint64_t cycles = perf_branch_cycles(b->flags);

	return cycles ? cycles : 1;
}

/* The values of all keys but those of frames. @return how many; 0 when memory is short. */
static size_t values_of(struct report_feed *f, const struct ana_event *e,
			const struct feed_branch *b, uint64_t *ret)
{
	const struct feed_branch own = feed_event_branch(e);
	size_t nr = 0;

	for (size_t i = 0; i < f->opts.sort.nr; i++) {
		enum report_key k = f->opts.sort.keys[i];

		if (report_key_is_frame(k))
			continue;
		if (b && k == REPORT_WEIGHT)
			ret[nr] = branch_weight(b);
		else if (!report_key_is_branch(k))
			ret[nr] = value_of(f, e, k);
		else if (!feed_branch_value(f, b ? b : &own, k, &ret[nr]))
			return 0;
		nr++;
	}
	/* One value more than there are keys, so that number 0, the empty text, stays unused. */
	return nr + 1;
}

static bool is_last(const struct report_feed *f, const struct ana_event *e)
{
	return f->has_last && f->is_plain_key && f->last_comm == feed_comm(e) &&
	       f->last_pid == e->pid && f->last_tid == e->tid && f->last_cpu == e->cpu;
}

static void remember(struct report_feed *f, const struct ana_event *e, uint32_t key)
{
	f->has_last = true;
	f->last_key = key;
	f->last_comm = feed_comm(e);
	f->last_pid = e->pid;
	f->last_tid = e->tid;
	f->last_cpu = e->cpu;
}

/* One value more than there are keys, so that number 0, the empty text, stays unused. */
uint32_t feed_add_key(struct report_feed *f, const uint64_t *values, size_t nr, const char *comm)
{
	uint32_t key = intern_add(&f->tuples, (const char *)values, nr * sizeof(*values));

	if (key == INTERN_FAILED)
		return REPORT_NONE;
	while (f->comm_of.nr <= key) {
		if (!vec_push(&f->comm_of, ""))
			return REPORT_NONE;
	}
	if (comm)
		f->comm_of.data[key] = comm;
	return key;
}

/* Of nothing known: numbers are all ones. */
static uint32_t other_key(struct report_feed *f)
{
	uint64_t values[REPORT_NR_KEYS + 1] = {0};
	uint32_t text = intern_str(&f->texts, who_not_kept);
	size_t nr = 0;

	if (f->other_key || text == INTERN_FAILED)
		return f->other_key ? f->other_key : REPORT_NONE;
	for (size_t i = 0; i < f->opts.sort.nr; i++) {
		enum report_key k = f->opts.sort.keys[i];

		if (report_key_is_frame(k))
			continue;
		values[nr++] = report_key_is_branch(k) ? 0
			     : report_key_is_text(k)   ? text
						       : UINT32_MAX;
	}
	return f->other_key = feed_add_key(f, values, nr + 1, who_not_kept);
}

/* INTERN_FAILED: not interned yet. */
static uint32_t known_key(struct report_feed *f, const uint64_t *values, size_t nr,
			  const char *comm)
{
	uint32_t key = intern_find(&f->tuples, (const char *)values, nr * sizeof(*values));

	if (key != INTERN_FAILED && comm)
		f->comm_of.data[key] = comm;
	return key;
}

static uint32_t next_key(struct report_feed *f, const struct ana_event *e,
			 const struct feed_branch *b)
{
	uint64_t values[REPORT_NR_KEYS + 1] = {0};
	size_t nr = values_of(f, e, b, values);
	uint32_t key;

	if (!nr)
		return REPORT_NONE;
	key = known_key(f, values, nr, feed_comm(e));
	if (key == INTERN_FAILED)
		key = feed_take_key(f, sizeof(values)) ? feed_add_key(f, values, nr, feed_comm(e))
						       : other_key(f);
	if (key != REPORT_NONE)
		remember(f, e, key);
	return key;
}

uint32_t feed_key(struct report_feed *f, const struct ana_event *e, const struct feed_branch *b)
{
	return is_last(f, e) ? f->last_key : next_key(f, e, b);
}

/* The value of sort key @p k in key number @p key. */
uint64_t feed_key_value(const struct report_feed *f, uint32_t key, enum report_key k)
{
	const char *tuple = intern_get(&f->tuples, key);
	uint64_t v = 0;
	size_t at = 0;

	for (size_t i = 0; i < f->opts.sort.nr && f->opts.sort.keys[i] != k; i++)
		at += !report_key_is_frame(f->opts.sort.keys[i]);
	memcpy(&v, tuple + at * sizeof(v), sizeof(v));
	return v;
}

static void id_text(const struct report_feed *f, uint32_t key, uint64_t id, struct buf *out)
{
	if (id > UINT32_MAX)
		buf_str(out, "      -");
	else if (id == UINT32_MAX)
		buf_str(out, "     -1");
	else
		buf_dec(out, id, 7, ' ');
	buf_char(out, ':');
	buf_str(out, f->comm_of.data[key]);
}

void feed_key_text(const struct report_feed *f, uint32_t key, enum report_key k, struct buf *out)
{
	uint64_t v = feed_key_value(f, key, k);

	switch (k) {
	case REPORT_COMM:
		buf_str(out, intern_get(&f->texts, (uint32_t)v));
		return;
	case REPORT_CGROUP:
		buf_str(out, v ? intern_get(&f->texts, (uint32_t)v) : "N/A");
		return;
	case REPORT_PID:
	case REPORT_TID:
		id_text(f, key, v, out);
		return;
	case REPORT_CPU:
		if (v == UINT32_MAX)
			buf_str(out, " -1");
		else
			buf_dec(out, v, 3, '0');
		return;
	case REPORT_CGROUP_ID:
	case REPORT_WEIGHT:
		buf_dec(out, v, 0, ' ');
		return;
	case REPORT_NAMESPACE:
	case REPORT_CONTAINER:
	case REPORT_MACHINE:
	case REPORT_VCPU:
	case REPORT_LEVEL:
	case REPORT_EVIDENCE:
		buf_str(out, intern_get(&f->texts, (uint32_t)v));
		return;
	case REPORT_SYM_FROM:
	case REPORT_SYM_TO:
	case REPORT_DSO_FROM:
	case REPORT_DSO_TO:
	case REPORT_SRCLINE_FROM:
	case REPORT_SRCLINE_TO:
	case REPORT_MISPREDICT:
	case REPORT_CYCLES:
	case REPORT_ABORT:
	case REPORT_IN_TX:
		feed_branch_text(f, v, k, out);
		return;
	case REPORT_DSO:
	case REPORT_SYM:
	case REPORT_SRCLINE:
	case REPORT_SRCFILE:
	case REPORT_NR_KEYS:
		return;
	}
}

static int compare(const void *x, const void *y, void *arg)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	const struct report_feed *f = arg;

	for (size_t i = 0; i < f->opts.sort.nr; i++) {
		enum report_key k = f->opts.sort.keys[i];
		uint64_t v, w;
		int order = 0;

		if (report_key_is_frame(k))
			continue;
		v = feed_key_value(f, a, k);
		w = feed_key_value(f, b, k);
		if (report_key_is_text(k))
			order = strcmp(intern_get(&f->texts, (uint32_t)v),
				       intern_get(&f->texts, (uint32_t)w));
		else if (report_key_is_end(k))
			order = feed_compare_ends(f, v, w, k);
		else if (v != w)
			order = v < w ? -1 : 1;
		if (order)
			return order;
	}
	return a < b ? -1 : a > b;
}

enum clew_err feed_rank_keys(struct report_feed *f)
{
	size_t nr = f->tuples.strs.nr ? f->tuples.strs.nr : 1;
	uint32_t *order = mem_calloc(nr, sizeof(*order));

	f->key_rank = mem_calloc(nr, sizeof(*f->key_rank));
	if (!order || !f->key_rank) {
		mem_free(order);
		return CLEW_NO_MEMORY;
	}
	for (uint32_t i = 0; i < nr; i++)
		order[i] = i;
	if (nr > 2) /* number 0 is no key */
		qsort_r(order + 1, nr - 1, sizeof(*order), compare, f);
	for (uint32_t i = 0; i < nr; i++)
		f->key_rank[order[i]] = i;
	mem_free(order);
	return CLEW_OK;
}
