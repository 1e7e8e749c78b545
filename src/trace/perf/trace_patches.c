/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/trace_patches.h"

#include "base/buf.h"
#include "base/cleanup.h"

struct times {
	VEC(struct clew_perf_ns);
};

/** When code was replaced, each instant once. */
static bool times_of(const struct code_patches *p, struct times *ret)
{
	for (size_t i = 0; i < p->all.nr; i++) {
		const struct code_patch *a = &p->all.data[i];

		if (!a->replaces || (ret->nr && ret->data[ret->nr - 1].ns == a->time.ns))
			continue;
		if (!vec_push(ret, a->time))
			return false;
	}
	return true;
}

static bool split(struct who_history *h, uint32_t space, const struct code_patches *patches)
{
	struct times times = {0};
	bool ok = times_of(patches, &times) &&
		  who_history_split(h, space, times.data, times.nr, patches);

	vec_done(&times);
	return ok;
}

void trace_patches_done(struct trace_patches *p)
{
	vec_for_each (&p->jits, j) {
		code_patches_free(j->patches);
		os_map_done(&j->map);
	}
	vec_done(&p->jits);
	code_patches_free(p->pokes);
	arena_done(&p->memory);
}

uint64_t trace_patches_bytes(const struct trace_patches *p)
{
	return p->memory.used_bytes +
	       (p->pokes ? p->pokes->all.cap * sizeof(*p->pokes->all.data) * 3 : 0);
}

enum clew_err trace_patches_poke(struct trace_patches *p, struct clew_perf_ns time,
				 const struct perf_text_poke *t)
{
	const struct code_poke poke = {time, t->addr, t->bytes, t->old_len, t->new_len};

	if (!p->pokes && !(p->pokes = code_patches_new()))
		return CLEW_NO_MEMORY;
	return code_patches_poke(p->pokes, &p->memory, &poke);
}

/** What the process's compiler wrote, into all of its files; NULL: nothing. */
static struct trace_jit *jit_of(struct trace_patches *p, uint32_t pid)
{
	vec_for_each (&p->jits, j) {
		if (j->pid == pid)
			return j;
	}
	return NULL;
}

static enum clew_err read_jit(struct trace_patches *p, const struct who_jit *file,
			      const struct trace_patches_opts *opts)
{
	clew_auto(buf_done) struct buf path = {0};
	struct trace_jit *first = jit_of(p, file->pid);
	struct code_patches *patches = first ? first->patches : code_patches_new();

	if (!patches)
		return CLEW_NO_MEMORY;
	if (!vec_push(&p->jits, (struct trace_jit){.pid = file->pid})) {
		if (!first)
			code_patches_free(patches);
		return CLEW_NO_MEMORY;
	}
	if (!first)
		p->jits.data[p->jits.nr - 1].patches = patches;
	buf_printf(&path, "%s%s", opts->symfs ? opts->symfs : "", file->path);
	return code_patches_dump(patches, buf_cstr(&path), opts->is_forced, opts->has_clock,
				 &p->jits.data[p->jits.nr - 1].map);
}

static enum clew_err split_jits(struct trace_patches *p, struct who_history *h)
{
	for (size_t i = 0; i < h->spaces.nr; i++) {
		const struct trace_jit *j = jit_of(p, h->spaces.data[i].pid);

		if (j && j->patches->all.nr && !split(h, (uint32_t)i, j->patches))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

enum clew_err trace_patches_close(struct trace_patches *p, struct who_history *h,
				  const struct trace_patches_opts *opts)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; !err && i < h->jits.nr; i++)
		err = read_jit(p, &h->jits.data[i], opts);
	for (size_t i = 0; !err && i < p->jits.nr; i++)
		err = p->jits.data[i].patches ? code_patches_close(p->jits.data[i].patches)
					      : CLEW_OK;
	if (!err && h->jits.nr)
		err = split_jits(p, h);
	if (!err && p->pokes)
		err = code_patches_close(p->pokes);
	if (!err && p->pokes && !split(h, h->kernel, p->pokes))
		err = CLEW_NO_MEMORY;
	return err;
}
