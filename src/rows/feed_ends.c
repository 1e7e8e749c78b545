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

/* What a sampled branch reports of itself. */
static uint64_t flags_of(const struct ana_op *op)
{
	uint64_t flags =
		op->events & ANA_OP_MISPREDICTED ? PERF_BRANCH_MISPRED : PERF_BRANCH_PREDICTED;

	return op->events & ANA_OP_TRANSACTION ? flags | (uint64_t)PERF_BRANCH_IN_TX : flags;
}

struct feed_branch feed_event_branch(const struct ana_event *e)
{
	struct feed_branch b = {0};

	if (!e->synth || !(e->evsel->attr.sample_type & PERF_SAMPLE_ADDR))
		return b;
	b.from = e->loc;
	b.to = e->addr;
	b.has_flags = e->op && e->op->kind == ANA_OP_BRANCH && e->op->has & ANA_OP_HAS_EVENTS;
	b.flags = b.has_flags ? flags_of(e->op) : 0;
	return b;
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
