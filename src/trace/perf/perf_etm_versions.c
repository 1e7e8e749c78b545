/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "trace/perf/perf_etm_impl.h"

/* Spaces whose code is also told byte by byte: each patch that takes the place of other code begins
 * a version of its own. */

struct times {
	VEC(uint64_t);
};

/** When code was replaced, each instant once. */
static bool times_of(const struct pe_patches *p, struct times *ret)
{
	for (size_t i = 0; i < p->all.nr; i++) {
		const struct pe_patch *a = &p->all.data[i];

		if (!a->replaces || (ret->nr && ret->data[ret->nr - 1] == a->time))
			continue;
		if (!vec_push(ret, a->time))
			return false;
	}
	return true;
}

static bool add_version(struct pe_history *h, struct pe_line *to, const struct pe_event *from,
			uint64_t time, const struct pe_patches *patches)
{
	struct pe_version v = h->versions.data[from->value];

	v.patches = patches;
	v.time = time;
	return vec_push(&h->versions, v) && pe_line_add(to, time, (uint32_t)h->versions.nr - 1);
}

static bool split_at(struct pe_history *h, struct pe_line *to, const struct pe_line *from,
		     const struct times *times, const struct pe_patches *patches)
{
	size_t t = 0;

	for (size_t i = 0; i < from->nr; i++) {
		const struct pe_event *e = &from->data[i];
		uint64_t end = i + 1 < from->nr ? from->data[i + 1].time : UINT64_MAX;

		while (t < times->nr && times->data[t] <= e->time)
			t++;
		if (!add_version(h, to, e, e->time, patches))
			return false;
		for (; t < times->nr && times->data[t] < end; t++) {
			if (!add_version(h, to, e, times->data[t], patches))
				return false;
		}
	}
	return true;
}

static bool split(struct pe_history *h, uint32_t space, const struct pe_patches *patches)
{
	struct pe_line next = {0};
	struct times times = {0};
	bool ok = times_of(patches, &times) &&
		  split_at(h, &next, &h->spaces.data[space].versions, &times, patches);

	vec_done(&times);
	if (!ok) {
		vec_done(&next);
		return false;
	}
	vec_done(&h->spaces.data[space].versions);
	h->spaces.data[space].versions = next;
	return true;
}

/** The process's patches, of all the files it wrote. */
static struct pe_jit *first_of(struct pe_history *h, uint32_t pid)
{
	vec_for_each (&h->jits, j) {
		if (j->pid == pid)
			return j;
	}
	return NULL;
}

static enum clew_err read_jit(struct pe_history *h, struct pe_jit *j,
			      const struct dso_store_opts *opts, bool has_clock)
{
	clew_auto(buf_done) struct buf path = {0};
	struct pe_jit *first = first_of(h, j->pid);

	if (!first->patches && !(first->patches = pe_patches_new()))
		return CLEW_NO_MEMORY;
	buf_printf(&path, "%s%s", opts->symfs ? opts->symfs : "", j->path);
	return pe_patches_dump(first->patches, buf_cstr(&path), opts->force, has_clock, &j->map);
}

static enum clew_err split_jits(struct pe_history *h)
{
	for (size_t i = 0; i < h->spaces.nr; i++) {
		const struct pe_jit *j = first_of(h, h->spaces.data[i].pid);

		if (j && j->patches && j->patches->all.nr && !split(h, (uint32_t)i, j->patches))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

enum clew_err pe_history_close(struct pe_history *h, const struct dso_store_opts *opts,
			       bool has_clock)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; !err && i < h->jits.nr; i++)
		err = read_jit(h, &h->jits.data[i], opts, has_clock);
	for (size_t i = 0; !err && i < h->jits.nr; i++)
		err = h->jits.data[i].patches ? pe_patches_close(h->jits.data[i].patches) : CLEW_OK;
	if (!err && h->jits.nr)
		err = split_jits(h);
	if (!err && h->pokes)
		err = pe_patches_close(h->pokes);
	if (!err && h->pokes && !split(h, h->kernel, h->pokes))
		err = CLEW_NO_MEMORY;
	return err;
}
