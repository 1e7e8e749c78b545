/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_source.h"

#include "os/perf/perf_event.h"
#include "record/aux/aux_drain.h"
#include "record/aux/aux_info.h"
#include "record/aux/aux_map.h"

static enum clew_err drain_one(const struct rec_counters *c, size_t i, struct rec_pass *p)
{
	struct rec_ring *r = &c->rings.data[i];
	const struct rec_aux_place place = {(uint32_t)i, (uint32_t)r->tid, (uint32_t)r->cpu};
	uint64_t bytes = 0;
	enum clew_err err;

	if (!r->ring.aux || r->ring.is_aux_overwrite)
		return CLEW_OK;
	err = rec_aux_drain(&r->ring, &place, p->file->writer, &bytes);
	if (!bytes)
		return err;
	p->has_any = true;
	/* The kernel switches an event off when its area is full; there is room again. */
	if (c->is_on)
		os_perf_enable(r->fd);
	return err;
}

static enum clew_err pass(void *ctx, struct rec_pass *p)
{
	const struct rec_counters *c = ctx;
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < c->rings.nr && err == CLEW_OK; i++)
		err = drain_one(c, i, p);
	return err;
}

/* Of the first trace: one kind of PMU in a recording. */
static enum clew_err put_info(const struct rec_counters *c, struct buf *records,
			      struct rec_error *error)
{
	vec_for_each (&c->list, e)
		if (e->aux && e->aux->is_described)
			return rec_aux_info(c, e, records, error);
	return CLEW_OK;
}

static void begin_file(void *ctx, struct buf *records)
{
	const struct rec_counters *c = ctx;

	put_info(c, records, NULL);
}

static void done(void *ctx)
{
	(void)ctx; /* the counters are borrowed */
}

struct rec_source aux_source_of(struct rec_counters *c)
{
	static const struct rec_source_ops ops = {
		.begin_file = begin_file, .pass = pass, .done = done};

	vec_for_each (&c->rings, r)
		if (r->ring.aux)
			return (struct rec_source){.ops = &ops, .ctx = c};
	return (struct rec_source){0};
}

enum clew_err aux_source_open(struct rec_source *ret, struct rec_counters *c,
			      const struct rec_options *o, struct rec_error *error)
{
	enum clew_err err = rec_aux_map(c, o, error);
	struct buf info = {0};

	if (err == CLEW_OK) /* what cannot be described is not recorded */
		err = put_info(c, &info, error);
	buf_done(&info);
	*ret = aux_source_of(c);
	return err;
}
