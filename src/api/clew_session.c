/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <clew/session.h>

#include "api/frame.h"
#include "base/budget.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "os/file.h"
#include "os/memory.h"

struct clew_session {
	struct os_map map;
	struct budget budget;
	struct analyze *analysis;
	enum clew_err (*take)(void *ctx, const struct clew_sample *sample);
	void *ctx;
	struct {
		VEC(struct clew_frame);
	} frames;
};

_Static_assert((int)CLEW_USER_STACK_NONE_EXPECTED == (int)STITCH_NONE_EXPECTED &&
		       (int)CLEW_USER_STACK_LOST == (int)STITCH_LOST &&
		       (int)CLEW_USER_STACK_PARTIAL == (int)STITCH_PARTIAL &&
		       (int)CLEW_USER_STACK_UNPROVEN == (int)STITCH_UNPROVEN,
	       "the outcomes are numbered alike");
static enum clew_err take_event(struct clew_session *s, const struct ana_event *e)
{
	struct clew_sample sample = {
		.time = {e->time},
		.period = e->period,
		.pid = e->pid,
		.tid = e->tid,
		.cpu = e->cpu,
		.comm = e->comm,
		.event = e->evsel->name,
		.has_leaf = e->loc,
		.user_stack = (enum clew_user_stack)e->user_state,
		.user_stack_reason = stitch_reason_name((enum stitch_reason)e->user_reason),
		.user_stack_stop = e->user_stop ? unw_stop_name((enum unw_stop)e->user_stop) : NULL,
	};

	if (e->loc)
		sample.leaf = ana_frame_of(e->loc);
	s->frames.nr = 0;
	for (uint32_t i = 0; e->chain && i < e->chain->nr; i++) {
		if (!vec_push(&s->frames, ana_frame_of(e->chain->locs[i])))
			return CLEW_NO_MEMORY;
	}
	sample.chain = e->chain ? s->frames.data : NULL;
	sample.nr_chain = s->frames.nr;
	return s->take(s->ctx, &sample);
}

static enum clew_err take_batch(void *ctx, const struct ana_batch *b)
{
	for (size_t i = 0; i < b->nr; i++) {
		enum clew_err err = take_event(ctx, &b->events[i]);

		if (err != CLEW_OK)
			return err;
	}
	return CLEW_OK;
}

static struct ana_opts options_of(const struct clew_session_opts *given)
{
	struct clew_session_opts o = {0};

	if (given)
		memcpy(&o, given, given->size < sizeof(o) ? given->size : sizeof(o));
	return (struct ana_opts){
		.symbols = {.symfs = o.symfs,
			    .vmlinux = o.vmlinux,
			    .kallsyms = o.kallsyms,
			    .buildid_dir = o.build_ids,
			    .no_demangle = o.no_demangle},
		.is_mapped = true,
		.wants_outcomes = true,
	};
}

enum clew_err clew_session_open(struct clew_session **ret, const char *path,
				const struct clew_session_opts *opts, struct clew_diag *diag)
{
	struct clew_session *s = mem_zalloc(sizeof(*s));
	struct ana_opts ana_opts = options_of(opts);
	enum clew_err err;

	if (!s)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	s->budget.limit = os_memory_share();
	ana_opts.symbols.budget = &s->budget;
	err = os_map_file(path, &s->map, diag);
	if (err == CLEW_OK && !s->map.data)
		err = clew_fail(diag, CLEW_BAD_FILE, 0, "the file is empty");
	if (err == CLEW_OK)
		err = analyze_open(&s->analysis,
				   &(struct perf_input){.data = s->map.data,
							.size = s->map.size,
							.budget = &s->budget},
				   &ana_opts, diag);
	if (err == CLEW_OK)
		*ret = s;
	else
		clew_session_free(s);
	return err;
}

enum clew_err clew_session_each(struct clew_session *s,
				enum clew_err (*take)(void *ctx, const struct clew_sample *sample),
				void *ctx, struct clew_diag *diag)
{
	struct clew_diag own;
	enum clew_err err;

	s->take = take;
	s->ctx = ctx;
	err = analyze_run(s->analysis, &(struct ana_consumer){take_batch, s}, diag ? diag : &own);
	if (err == CLEW_OK && analyze_summary(s->analysis)->end.code != CLEW_OK) {
		if (diag)
			*diag = analyze_summary(s->analysis)->end;
		return analyze_summary(s->analysis)->end.code;
	}
	return err;
}

void clew_session_free(struct clew_session *s)
{
	if (!s)
		return;
	analyze_free(s->analysis);
	vec_done(&s->frames);
	os_map_done(&s->map);
	mem_free(s);
}
