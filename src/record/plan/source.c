/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/plan/source.h"

bool rec_sources_add(struct rec_sources *l, struct rec_source s)
{
	if (!s.ops || vec_push(l, s))
		return true;
	s.ops->done(s.ctx);
	return false;
}

bool rec_sources_own_rings(const struct rec_sources *l)
{
	vec_for_each (l, s)
		if (s->owns_rings)
			return true;
	return false;
}

void rec_sources_prepare(const struct rec_sources *l)
{
	vec_for_each (l, s)
		if (s->ops->prepare)
			s->ops->prepare(s->ctx);
}

bool rec_sources_watch(const struct rec_sources *l, struct os_poll *p)
{
	vec_for_each (l, s)
		if (s->ops->watch && !s->ops->watch(s->ctx, p))
			return false;
	return true;
}

void rec_sources_unwatch(const struct rec_sources *l, struct os_poll *p)
{
	vec_for_each (l, s)
		if (s->ops->unwatch)
			s->ops->unwatch(s->ctx, p);
}

int rec_sources_sleep_ms(const struct rec_sources *l)
{
	int least = -1;

	vec_for_each (l, s) {
		int ms = s->ops->sleep_ms ? s->ops->sleep_ms(s->ctx) : -1;

		if (ms >= 0 && (least < 0 || ms < least))
			least = ms;
	}
	return least;
}

enum clew_err rec_sources_add_events(const struct rec_sources *l, struct perf_evlist *evlist)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < l->nr && err == CLEW_OK; i++)
		if (l->data[i].ops->add_events)
			err = l->data[i].ops->add_events(l->data[i].ctx, evlist);
	return err;
}

void rec_sources_begin_file(const struct rec_sources *l, struct buf *records)
{
	vec_for_each (l, s)
		if (s->ops->begin_file)
			s->ops->begin_file(s->ctx, records);
}

enum clew_err rec_sources_start(const struct rec_sources *l, const struct rec_start *s,
				struct rec_error *error)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < l->nr && err == CLEW_OK; i++)
		if (l->data[i].ops->start)
			err = l->data[i].ops->start(l->data[i].ctx, s, error);
	return err;
}

size_t rec_sources_order(const struct rec_sources *l, const struct rec_order *o)
{
	size_t nr = 0;

	vec_for_each (l, s)
		nr += s->ops->order ? s->ops->order(s->ctx, o) : 0;
	return nr;
}

enum clew_err rec_sources_pass(const struct rec_sources *l, struct rec_pass *p)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < l->nr && err == CLEW_OK; i++)
		err = l->data[i].ops->pass(l->data[i].ctx, p);
	return err;
}

bool rec_sources_may_end_round(const struct rec_sources *l)
{
	vec_for_each (l, s)
		if (s->ops->may_end_round && !s->ops->may_end_round(s->ctx))
			return false;
	return true;
}

bool rec_sources_stop(const struct rec_sources *l)
{
	bool any = false;

	vec_for_each (l, s) {
		if (!s->ops->stop)
			continue;
		s->ops->stop(s->ctx);
		any = true;
	}
	return any;
}

enum rec_pending rec_sources_pending(const struct rec_sources *l)
{
	enum rec_pending most = REC_PENDING_NONE;

	vec_for_each (l, s) {
		enum rec_pending p = s->ops->pending ? s->ops->pending(s->ctx) : REC_PENDING_NONE;

		if (p > most)
			most = p;
	}
	return most;
}

void rec_sources_last_call(const struct rec_sources *l)
{
	vec_for_each (l, s)
		if (s->ops->last_call)
			s->ops->last_call(s->ctx);
}

void rec_sources_report(const struct rec_sources *l, bool is_verbose)
{
	vec_for_each (l, s)
		if (s->ops->report)
			s->ops->report(s->ctx, is_verbose);
}

void rec_sources_done(struct rec_sources *l)
{
	vec_for_each (l, s)
		s->ops->done(s->ctx);
	vec_done(l);
	*l = (struct rec_sources){0};
}
