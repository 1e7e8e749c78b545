/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows/report_feed_impl.h"

/* The frame key with the same meaning for a row of that end alone. */
static const struct {
	enum feed_end kind;
	enum report_key frame_key;
	bool is_from;
} ends[] = {
	[REPORT_SYM_FROM] = {FEED_END_SYM,     REPORT_SYM,     true },
	[REPORT_SYM_TO] = {FEED_END_SYM,     REPORT_SYM,     false},
	[REPORT_DSO_FROM] = {FEED_END_DSO,     REPORT_DSO,     true },
	[REPORT_DSO_TO] = {FEED_END_DSO,     REPORT_DSO,     false},
	[REPORT_SRCLINE_FROM] = {FEED_END_SRCLINE, REPORT_SRCLINE, true },
	[REPORT_SRCLINE_TO] = {FEED_END_SRCLINE, REPORT_SRCLINE, false},
};

struct feed_branch feed_event_branch(const struct ana_event *e)
{
	if (!e->synth || !(e->evsel->attr.sample_type & PERF_SAMPLE_ADDR))
		return (struct feed_branch){0};
	return (struct feed_branch){.from = e->loc, .to = e->addr};
}

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

/* Two ends differ if the rows of their frames differ. */
static uint32_t new_end(struct report_feed *f, uint32_t frame, enum feed_end kind,
			enum report_key key)
{
	const struct report_sort sort = {{key}, 1};
	struct {
		uint64_t kind;
		struct feed_identity id;
	} end = {.kind = kind};
	uint32_t value, *stands;

	if (!feed_identify(&f->ends.names, &sort, &f->frames.all.data[frame], &end.id))
		return REPORT_NONE;
	value = intern_add(&f->ends.ids, (const char *)&end, sizeof(end));
	stands = value == INTERN_FAILED ? NULL : feed_memo_at(&f->ends.frame_of, value);
	if (!stands)
		return REPORT_NONE;
	if (*stands == REPORT_NONE)
		*stands = frame;
	return value;
}

static bool end_value(struct report_feed *f, const struct ana_loc *loc, enum report_key k,
		      uint64_t *ret)
{
	uint32_t frame, *known;

	*ret = 0;
	if (!loc)
		return true;
	frame = feed_frame_of(f, loc);
	if (frame == REPORT_NONE)
		return false;
	known = feed_memo_at(&f->ends.of_frame[ends[k].kind], frame);
	if (!known)
		return false;
	if (*known == REPORT_NONE && !feed_take_key(f, sizeof(struct feed_identity)))
		return true;
	if (*known == REPORT_NONE)
		*known = new_end(f, frame, ends[k].kind, ends[k].frame_key);
	*ret = *known;
	return *known != REPORT_NONE;
}

static uint64_t yes_no(const struct feed_branch *b, bool is_yes)
{
	if (!b->has_flags)
		return REPORT_NOT_KNOWN;
	return is_yes ? REPORT_YES : REPORT_NO;
}

static uint64_t mispredict(const struct feed_branch *b)
{
	if (!(b->flags & (PERF_BRANCH_PREDICTED | PERF_BRANCH_MISPRED)))
		return REPORT_NOT_KNOWN;
	return yes_no(b, !(b->flags & PERF_BRANCH_PREDICTED));
}

bool feed_branch_value(struct report_feed *f, const struct feed_branch *b, enum report_key k,
		       uint64_t *ret)
{
	if (report_key_is_end(k))
		return end_value(f, ends[k].is_from ? b->from : b->to, k, ret);
	*ret = k == REPORT_MISPREDICT ? mispredict(b)
	     : k == REPORT_ABORT      ? yes_no(b, b->flags & PERF_BRANCH_ABORT)
	     : k == REPORT_IN_TX      ? yes_no(b, b->flags & PERF_BRANCH_IN_TX)
				      : perf_branch_cycles(b->flags);
	return true;
}

void feed_branch_text(const struct report_feed *f, uint64_t value, enum report_key k,
		      struct buf *out)
{
	/* perf's letters: unknown, no, yes. */
	static const char *const words[][3] = {
		[REPORT_MISPREDICT] = {"N/A", "N", "Y"},
		[REPORT_ABORT] = {"N/A", ".", "A"},
		[REPORT_IN_TX] = {"N/A", ".", "T"},
	};

	if (report_key_is_yes_no(k))
		buf_str(out, words[k][value]);
	else if (!value)
		buf_str(out, k == REPORT_CYCLES ? "-" : "N/A");
	else if (k == REPORT_CYCLES)
		buf_dec(out, value, 0, ' ');
	else
		feed_frame_text(f, f->ends.frame_of.data[value], ends[k].frame_key, out);
}

int feed_compare_ends(const struct report_feed *f, uint64_t a, uint64_t b, enum report_key k)
{
	const uint32_t *frame_of = f->ends.frame_of.data;
	uint32_t x, y;

	if (!a || !b || a == b)
		return (a > b) - (a < b);
	if (ends[k].kind == FEED_END_DSO)
		return strcmp(feed_dso_name(f->frames.all.data[frame_of[a]].dso),
			      feed_dso_name(f->frames.all.data[frame_of[b]].dso));
	x = f->groups.frame_rank[frame_of[a]];
	y = f->groups.frame_rank[frame_of[b]];
	return (x > y) - (x < y);
}

void feed_ends_done(struct feed_ends *e)
{
	feed_names_done(&e->names);
	intern_done(&e->ids);
	vec_done(&e->frame_of);
	for (size_t i = 0; i < FEED_NR_ENDS; i++)
		vec_done(&e->of_frame[i]);
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
	return feed_weigh(f, ev, key, node, 1);
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

enum clew_err feed_take_branches(struct report_feed *f, struct report_event *ev,
				 const struct ana_event *e, bool keeps)
{
	bool is_there = is_taken_there(f, e);
	enum clew_err err = CLEW_OK;
	uint64_t nr;

	if (!has_branches(e, &nr)) {
		ev->nr_stackless++;
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
		if (keeps && is_there)
			err = take_branch(f, ev, e, &b);
	}
	return err;
}
