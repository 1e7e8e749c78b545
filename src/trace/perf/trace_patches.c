/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/trace_patches.h"

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

/** @p to: filled but for what @p patches say. */
static bool split(struct who_history *h, struct who_split *to, const struct code_patches *patches)
{
	struct times times = {0};
	bool ok = times_of(patches, &times);

	to->times = times.data;
	/* What is known as of one time does not change. */
	to->nr_times = clew_perf_ns_is_known(to->known_at) ? 0 : times.nr;
	to->patches = patches;
	ok = ok && who_history_split(h, to);
	vec_done(&times);
	return ok;
}

void trace_patches_done(struct trace_patches *p)
{
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

static bool split_by_program(struct who_history *h, uint32_t space, struct ana_programs *programs,
			     uint32_t program)
{
	struct who_split to = {.space = space};
	const struct code_patches *patches = ana_program_patches(programs, program, &to.known_at);

	if (!patches || !patches->all.nr)
		return true;
	to.from = programs->all.data[program].from;
	to.to = programs->all.data[program].to;
	return split(h, &to, patches);
}

/** Each program of a space's process has code of its own. */
static bool split_by_programs(struct who_history *h, struct ana_programs *programs)
{
	for (size_t i = 0; i < h->spaces.nr; i++) {
		uint32_t pid = h->spaces.data[i].pid, program;

		if (i == h->kernel)
			continue;
		for (size_t k = 0; (program = ana_program_of(programs, pid, k)) != ANA_NO_PROGRAM;
		     k++) {
			if (!split_by_program(h, (uint32_t)i, programs, program))
				return false;
		}
	}
	return true;
}

enum clew_err trace_patches_close(struct trace_patches *p, struct who_history *h,
				  struct ana_programs *programs)
{
	struct who_split kernel = {
		.space = h->kernel, .to = clew_perf_ns_none(), .known_at = clew_perf_ns_none()};
	enum clew_err err;

	if (!split_by_programs(h, programs))
		return CLEW_NO_MEMORY;
	if (!p->pokes)
		return CLEW_OK;
	err = code_patches_close(p->pokes);
	return err ? err : split(h, &kernel, p->pokes) ? CLEW_OK : CLEW_NO_MEMORY;
}
