/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "api/frame.h"
#include "api/session_impl.h"

_Static_assert((int)CLEW_USER_STACK_NONE_EXPECTED == (int)STITCH_NONE_EXPECTED &&
		       (int)CLEW_USER_STACK_LOST == (int)STITCH_LOST &&
		       (int)CLEW_USER_STACK_PARTIAL == (int)STITCH_PARTIAL &&
		       (int)CLEW_USER_STACK_UNPROVEN == (int)STITCH_UNPROVEN,
	       "the outcomes are numbered alike");
_Static_assert((int)CLEW_BRANCH_MISPREDICTED == (int)PERF_BRANCH_MISPRED &&
		       (int)CLEW_BRANCH_PREDICTED == (int)PERF_BRANCH_PREDICTED &&
		       (int)CLEW_BRANCH_IN_TRANSACTION == (int)PERF_BRANCH_IN_TX &&
		       (int)CLEW_BRANCH_ABORT == (int)PERF_BRANCH_ABORT,
	       "the flags of branches are numbered alike");

/* --- frames and chains, once an epoch --- */

bool session_samples_begin(struct session_samples *m, uint64_t epoch)
{
	if (epoch == m->epoch)
		return true;
	if (m->waiting.nr) {
		if (!vec_push(&m->retired, m->memory))
			return false;
		m->memory = (struct arena){0};
	}
	arena_done(&m->memory);
	m->frames.nr = m->chains.nr = 0;
	m->epoch = epoch;
	return true;
}

static bool reach_frame(struct session_samples *m, uint32_t id)
{
	while (m->frames.nr <= id) {
		if (!vec_push(&m->frames, NULL))
			return false;
	}
	return true;
}

static bool reach_chain(struct session_samples *m, uint32_t id)
{
	while (m->chains.nr <= id) {
		if (!vec_push(&m->chains, NULL))
			return false;
	}
	return true;
}

/** NULL: out of memory. */
static const struct clew_frame *frame(struct session_samples *m, const struct ana_loc *loc)
{
	struct clew_frame *f;

	if (!reach_frame(m, loc->id))
		return NULL;
	if (m->frames.data[loc->id])
		return m->frames.data[loc->id];
	f = arena_alloc(&m->memory, sizeof(*f));
	if (f)
		*f = api_frame_of(loc);
	return m->frames.data[loc->id] = f;
}

static const struct clew_frame *const *chain(struct session_samples *m, const struct ana_chain *c)
{
	const struct clew_frame **frames;

	if (!reach_chain(m, c->id))
		return NULL;
	if (m->chains.data[c->id])
		return m->chains.data[c->id];
	frames = arena_alloc(&m->memory, (c->nr + 1) * sizeof(*frames));
	for (uint32_t i = 0; frames && i < c->nr; i++) {
		frames[i] = frame(m, c->locs[i]);
		if (!frames[i])
			return NULL;
	}
	return m->chains.data[c->id] = frames;
}

/* --- a sample --- */

static const struct clew_branch *const *branches(struct session_samples *m,
						 const struct ana_event *e)
{
	size_t nr = e->sample->branches.nr;
	const struct clew_branch **ret = arena_alloc(&m->batch, (nr + 1) * sizeof(*ret));
	struct clew_branch *all = arena_alloc(&m->batch, (nr + 1) * sizeof(*all));

	if (!ret || !all)
		return NULL;
	for (size_t i = 0; i < nr; i++) {
		uint64_t flags = perf_branch_get(e->sample, i).flags;

		all[i] = (struct clew_branch){.from = frame(m, e->branches[2 * i]),
					      .to = frame(m, e->branches[2 * i + 1]),
					      .flags = flags & 0xf,
					      .cycles = (uint32_t)perf_branch_cycles(flags)};
		if (!all[i].from || !all[i].to)
			return NULL;
		ret[i] = &all[i];
	}
	return ret;
}

static bool put_raw(struct session_samples *m, struct bytes raw, bool keeps,
		    struct clew_sample *ret)
{
	char *copy;

	if (!raw.pos || !bytes_left(&raw))
		return true;
	ret->raw = raw.pos;
	ret->raw_bytes = bytes_left(&raw);
	if (!keeps)
		return true;
	copy = arena_strndup(&m->batch, (const char *)raw.pos, ret->raw_bytes);
	ret->raw = copy;
	return copy;
}

static bool put_places(struct session_samples *m, const struct ana_event *e,
		       struct clew_sample *ret)
{
	if (e->loc && !(ret->leaf = frame(m, e->loc)))
		return false;
	if (e->addr && !(ret->data = frame(m, e->addr)))
		return false;
	if (e->chain) {
		ret->chain = chain(m, e->chain);
		ret->nr_chain = e->chain->nr;
		if (!ret->chain)
			return false;
	}
	if (e->branches) {
		ret->branches = branches(m, e);
		ret->nr_branches = e->sample->branches.nr;
		if (!ret->branches)
			return false;
	}
	return true;
}

enum clew_err session_sample_of(struct clew_session *s, const struct ana_event *e, bool keeps,
				struct clew_sample *ret)
{
	if (e->evsel->index >= s->events.all.nr && !session_events_update(s))
		return CLEW_NO_MEMORY;
	*ret = (struct clew_sample){
		.time = e->time,
		.period = e->period,
		.pid = e->pid,
		.tid = e->tid,
		.cpu = e->cpu,
		.comm = e->comm,
		.event = s->events.all.data[e->evsel->index],
		.user_stack = (enum clew_user_stack)e->user_state,
		.user_stack_reason = stitch_reason_name((enum stitch_reason)e->user_reason),
		.user_stack_stop = e->user_stop ? unw_stop_name((enum unw_stop)e->user_stop) : NULL,
		.cgroup = e->cgroup,
	};
	return put_places(&s->samples, e, ret) && put_raw(&s->samples, e->sample->raw, keeps, ret)
		     ? CLEW_OK
		     : CLEW_NO_MEMORY;
}

void session_samples_drop(struct session_samples *m)
{
	m->waiting.nr = m->next = 0;
	if (m->batch.chunks)
		arena_done(&m->batch);
	for (size_t i = 0; i < m->retired.nr; i++)
		arena_done(&m->retired.data[i]);
	m->retired.nr = 0;
}

void session_samples_done(struct session_samples *m)
{
	session_samples_drop(m);
	arena_done(&m->memory);
	vec_done(&m->frames);
	vec_done(&m->chains);
	vec_done(&m->waiting);
	vec_done(&m->retired);
	*m = (struct session_samples){0};
}
