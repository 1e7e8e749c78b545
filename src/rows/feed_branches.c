/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows/report_feed_impl.h"

static bool has_stack(const struct ana_event *e)
{
	return e->sample->sample_type & PERF_SAMPLE_BRANCH_STACK;
}

static bool has_branches(const struct ana_event *e, uint64_t *ret_nr)
{
	if (has_stack(e)) {
		*ret_nr = e->branches ? e->sample->branches.nr : 0;
		return true;
	}
	*ret_nr = 1;
	return e->synth && e->evsel->attr.sample_type & PERF_SAMPLE_ADDR;
}

static struct feed_branch branch_at(const struct ana_event *e, uint64_t i)
{
	if (!has_stack(e))
		return feed_event_branch(e);
	return (struct feed_branch){.from = e->branches[2 * i],
				    .to = e->branches[2 * i + 1],
				    .flags = perf_branch_get(e->sample, i).flags,
				    .has_flags = true};
}

static bool is_resolved(const struct ana_loc *loc)
{
	return loc && loc->sym;
}

/* Does a part of a name select the branch? */
static bool is_wanted(struct report_feed *f, const struct feed_branch *b)
{
	const struct ana_loc *both[] = {b->from, b->to};

	for (size_t i = 0; i < 2 && f->opts.symbol_part; i++) {
		struct feed_frame frame;

		if (!both[i])
			continue;
		frame = feed_frame_at(f, both[i]);
		if (feed_has_part(&frame, &f->opts))
			return true;
	}
	return !f->opts.symbol_part;
}

/* The target's row. Without a key of frames one row for all is enough. */
static enum clew_err target_node(struct report_feed *f, struct report_event *ev,
				 const struct ana_loc *to, uint32_t *ret)
{
	static const struct feed_frame nowhere = {.rel = UINT64_MAX, .level = ANA_UNKNOWN};
	enum clew_err err;
	uint32_t frame;

	*ret = REPORT_ROOT;
	if (to && f->has_frame_key) {
		err = feed_descend(f, to, ret);
	} else {
		frame = feed_frame_add(&f->frames, &nowhere);
		if (frame == REPORT_NONE)
			return CLEW_NO_MEMORY;
		err = report_tree_child(&f->tree, REPORT_ROOT, frame, ret);
	}
	if (err != CLEW_LIMIT)
		return err;
	ev->nr_no_room++;
	return CLEW_OK;
}

static enum clew_err take_branch(struct report_feed *f, struct report_event *ev,
				 const struct ana_event *e, const struct feed_branch *b)
{
	uint32_t node, key;
	enum clew_err err;

	if (!is_wanted(f, b))
		return CLEW_OK;
	err = target_node(f, ev, b->to, &node);
	key = err == CLEW_OK ? feed_key(f, e, b) : REPORT_NONE;
	if (err != CLEW_OK || key == REPORT_NONE)
		return CLEW_NO_MEMORY;
	return feed_weigh(f, ev, key, node, 1, 1);
}

/* Was the sample taken at a selected place? perf selects branches by that. */
static bool is_taken_there(const struct report_feed *f, const struct ana_event *e)
{
	struct feed_frame frame = {.level = ANA_UNKNOWN};

	if (!f->opts.dsos && !f->opts.symbols)
		return true;
	if (e->loc)
		frame = feed_frame_at(f, e->loc);
	return feed_is_listed(&frame, &f->opts);
}

/* perf has rows of them, so they are here, and are counted. */
static bool is_no_branch(const struct report_feed *f, const struct ana_event *e, uint64_t i,
			 const struct feed_branch *b)
{
	return b->from && b->from->source == ANA_SOURCE_OTHER && f->opts.is_no_branch &&
	       f->opts.is_no_branch(e, i);
}

enum clew_err feed_take_branches(struct report_feed *f, struct report_event *ev,
				 const struct ana_event *e, bool keeps)
{
	bool is_there = is_taken_there(f, e);
	enum clew_err err = CLEW_OK;
	uint64_t nr;

	if (!has_branches(e, &nr)) {
		ev->nr_stackless += 1 + e->nr_more;
		return CLEW_OK;
	}
	ev->nr_stacks++;
	for (uint64_t i = 0; i < nr && err == CLEW_OK; i++) {
		const struct feed_branch b = branch_at(e, i);

		if (f->opts.hide_unresolved && !(is_resolved(b.from) && is_resolved(b.to)))
			continue;
		ev->nr++;
		ev->period++;
		ev->nr_kept += keeps;
		ev->period_kept += keeps;
		ev->nr_not_branches += keeps && is_no_branch(f, e, i, &b);
		if (keeps && is_there)
			err = take_branch(f, ev, e, &b);
	}
	return err;
}
