/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/user_stacks.h"

static const char *const meanings[NR_STITCH_REASONS] = {
	[STITCH_IDLE] = "the idle task",
	[STITCH_KERNEL_THREAD] = "no user address space",
	[STITCH_EXITING] = "the task had released its address space",
	[STITCH_NOT_ASKED] = "the event records no user stacks",
	[STITCH_NO_RECORD] = "the task continued, and no stack was recorded",
	[STITCH_EXIT] = "the task ended first",
	[STITCH_EXEC] = "another program was started first",
	[STITCH_END] = "the recording ended before the task left the kernel",
	[STITCH_BUFFER] = "records were lost while it waited",
	[STITCH_TIMEOUT] = "the stack came later than this reader waits",
	[STITCH_EMPTY] = "a stack without frames",
	[STITCH_MAP_FULL] = "more tasks at once than the recorder can hold",
	[STITCH_RING_FULL] = "no room in the recorder's buffer",
	[STITCH_REFUSED] = "the kernel rejected the request",
	[STITCH_UNMATCHED] = "the recorder did not find the sample's request",
	[STITCH_LATE] = "the task continued in user mode before the recorder could read the stack",
};

static enum stitch_state state_of(int reason)
{
	if (reason == STITCH_NO_REASON)
		return STITCH_COMPLETE;
	return reason <= STITCH_NOT_ASKED ? STITCH_NONE_EXPECTED : STITCH_LOST;
}

static uint64_t sum_of(const struct ana_outcomes *o, enum stitch_state state)
{
	uint64_t sum = 0;

	for (int i = 0; i < NR_STITCH_REASONS; i++)
		sum += state_of(i) == state ? o->by_reason[i] : 0;
	return sum;
}

/* "LEAD" reason N, reason N "TAIL", of the reasons of a state. */
static void put_reasons(struct buf *out, const struct ana_outcomes *o, enum stitch_state state,
			const char *lead, const char *tail)
{
	const char *mark = lead;

	for (int i = STITCH_NO_REASON + 1; i < NR_STITCH_REASONS; i++) {
		if (state_of(i) != state || !o->by_reason[i])
			continue;
		buf_printf(out, "%s%s %llu", mark, stitch_reason_name((enum stitch_reason)i),
			   (unsigned long long)o->by_reason[i]);
		mark = ", ";
	}
	if (mark != lead)
		buf_str(out, tail);
}

static void put_line(struct buf *out, uint64_t nr, uint64_t total)
{
	buf_dec(out, nr, 12, ' ');
	buf_printf(out, "  %5.1f%%  ", total ? 100.0 * (double)nr / (double)total : 0.0);
}

static uint64_t nr_complete(const struct ana_outcomes *o)
{
	return o->by_reason[STITCH_NO_REASON] - o->nr_partial - o->nr_unproven;
}

static void put_there(struct buf *out, const struct ana_outcomes *o)
{
	const struct {
		uint64_t nr;
		const char *text;
	} lines[] = {
		{nr_complete(o),               "complete: the outermost frame is reached"                      },
		{o->nr_complete_by_convention,
		 "complete, of which with unproven frames: found by frame pointers alone"                      },
		{o->nr_partial,                "partial: the stack ends before that"                           },
		{o->nr_unproven,               "unproven: nothing shows whether the outermost frame is reached"},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		if (!lines[i].nr)
			continue;
		put_line(out, lines[i].nr, o->nr);
		buf_printf(out, "%s\n", lines[i].text);
	}
}

static void put_table(struct buf *out, const struct ana_outcomes *o)
{
	put_there(out, o);
	for (int i = 0; i < NR_STITCH_REASONS; i++) {
		if (!o->by_reason[i] || i == STITCH_NO_REASON)
			continue;
		put_line(out, o->by_reason[i], o->nr);
		buf_printf(out, "%s: %s (%s)\n",
			   state_of(i) == STITCH_LOST ? "lost" : "none expected",
			   stitch_reason_name((enum stitch_reason)i), meanings[i]);
	}
}

static void put_stops(struct buf *out, const struct ana_outcomes *o)
{
	if (!o->nr_stops)
		return;
	buf_printf(out, "  of %llu stacks, why they end:\n", (unsigned long long)o->nr_stops);
	for (int i = 0; i < NR_UNW_STOPS; i++) {
		if (!o->by_stop[i] && i != UNW_STOP_OUTERMOST)
			continue;
		put_line(out, o->by_stop[i], o->nr_stops);
		buf_str(out, i == UNW_STOP_OUTERMOST ? "reached the outermost frame"
						     : unw_stop_name((enum unw_stop)i));
		buf_char(out, '\n');
	}
}

static const char *const hows[NR_UNW_HOWS] = {
	[UNW_HOW_TABLE] = "by unwind tables",
	[UNW_HOW_SIGNAL] = "by the registers that a signal saved",
	[UNW_HOW_FP_PROLOGUE] = "by frame pointers, where instructions that set them up were seen",
	[UNW_HOW_DERIVED] = "by the return address of a call that leads to the function",
	[UNW_HOW_FP_CONVENTION] = "by frame pointers alone: callers may be missing",
};

static void put_hows(struct buf *out, const struct ana_outcomes *o)
{
	uint64_t nr = 0;

	for (int i = 1; i < NR_UNW_HOWS; i++)
		nr += o->by_how[i];
	if (!nr)
		return;
	buf_printf(out, "  of %llu frames, how they were found:\n", (unsigned long long)nr);
	for (int i = 1; i < NR_UNW_HOWS; i++) {
		if (!o->by_how[i])
			continue;
		put_line(out, o->by_how[i], nr);
		buf_printf(out, "%s (%s)\n", unw_how_name((enum unw_how)i), hows[i]);
	}
}

static void put_stitching(struct buf *out, const struct stitch_counts *c)
{
	if (!c->nr_stacks)
		return;
	buf_printf(out,
		   "  deferred stacks %llu: without a sample %llu, twice %llu, twice but unlike "
		   "%llu; samples later than their stack %llu\n",
		   (unsigned long long)c->nr_stacks, (unsigned long long)c->nr_unclaimed,
		   (unsigned long long)c->nr_duplicates, (unsigned long long)c->nr_differing,
		   (unsigned long long)c->nr_late);
}

void user_stacks_text(struct buf *out, const struct ana_summary *s)
{
	const struct ana_outcomes *o = &s->users;
	uint64_t none = sum_of(o, STITCH_NONE_EXPECTED), lost = sum_of(o, STITCH_LOST);

	buf_printf(out,
		   "\nUser stacks:\n  samples %llu: complete %llu, partial %llu, unproven %llu, "
		   "none-expected %llu",
		   (unsigned long long)o->nr, (unsigned long long)nr_complete(o),
		   (unsigned long long)o->nr_partial, (unsigned long long)o->nr_unproven,
		   (unsigned long long)none);
	put_reasons(out, o, STITCH_NONE_EXPECTED, " (", ")");
	buf_printf(out, ", lost %llu", (unsigned long long)lost);
	put_reasons(out, o, STITCH_LOST, " (", ")");
	buf_char(out, '\n');
	put_table(out, o);
	put_stops(out, o);
	put_hows(out, o);
	put_stitching(out, &s->stitch);
}

static void put_lost(struct buf *out, const struct ana_summary *s)
{
	uint64_t lost = sum_of(&s->users, STITCH_LOST);

	if (!lost)
		return;
	buf_printf(out, "%llu of %llu samples lack their user stack", (unsigned long long)lost,
		   (unsigned long long)s->users.nr);
	put_reasons(out, &s->users, STITCH_LOST, ": ", "");
}

/* How many are cut, of the recorder's stacks or of copies unwound here. */
static const uint64_t *early_stops(const struct ana_summary *s, uint64_t *ret_nr, uint64_t *ret_all,
				   uint64_t *ret_by_fp)
{
	bool is_counted = s->users.nr_stops;
	const uint64_t *by_stop = is_counted ? s->users.by_stop : s->nr_unwound;

	*ret_nr = *ret_all = 0;
	*ret_by_fp = is_counted ? s->users.nr_by_convention : s->nr_unwound_by_fp;
	for (int i = UNW_STOP_NONE + 1; i < NR_UNW_STOPS; i++) {
		*ret_all += by_stop[i];
		*ret_nr += unw_stop_is_cut((enum unw_stop)i) ? by_stop[i] : 0;
	}
	return by_stop;
}

static void put_early(struct buf *out, const struct ana_summary *s)
{
	uint64_t nr, all, by_fp;
	const uint64_t *by_stop = early_stops(s, &nr, &all, &by_fp);
	const char *mark = ": ";

	if (nr)
		buf_printf(out, "%llu of %llu user stacks ended early", (unsigned long long)nr,
			   (unsigned long long)all);
	for (int i = UNW_STOP_NONE + 1; i < NR_UNW_STOPS; i++) {
		if (!unw_stop_is_cut((enum unw_stop)i) || !by_stop[i])
			continue;
		buf_printf(out, "%s%s %llu", mark, unw_stop_name((enum unw_stop)i),
			   (unsigned long long)by_stop[i]);
		mark = ", ";
	}
	if (by_stop[UNW_STOP_FP_END]) {
		buf_printf(
			out,
			"%s%llu of %llu user stacks end at a frame pointer of 0 (fp-end): nothing "
			"shows whether they are whole",
			nr ? "; " : "", (unsigned long long)by_stop[UNW_STOP_FP_END],
			(unsigned long long)all);
		nr++;
	}
	if (by_fp)
		buf_printf(out,
			   "%s%llu of %llu user stacks have frames found by frame pointers alone: "
			   "callers may be missing",
			   nr ? "; " : "", (unsigned long long)by_fp, (unsigned long long)all);
}

bool user_stacks_sentence(struct buf *out, const struct ana_summary *s, unsigned int i)
{
	void (*const sentences[])(struct buf *, const struct ana_summary *) = {put_lost, put_early};

	if (i >= sizeof(sentences) / sizeof(sentences[0]))
		return false;
	sentences[i](out, s);
	return true;
}

void user_stacks_unknown_text(struct buf *out, const struct ana_summary *s)
{
	if (s->stacks_note)
		buf_printf(out,
			   "how user stacks end and were found is unknown for %llu samples: the "
			   "header's record of it (feature 240) %s",
			   (unsigned long long)s->nr_stacks_unknown, s->stacks_note);
}

static void put_state(struct json_put *j, const struct ana_outcomes *o, const char *key,
		      enum stitch_state state)
{
	json_key(j, key);
	json_open(j, '{');
	for (int i = STITCH_NO_REASON + 1; i < NR_STITCH_REASONS; i++) {
		if (state_of(i) == state && o->by_reason[i])
			json_put_u64(j, stitch_reason_name((enum stitch_reason)i), o->by_reason[i]);
	}
	json_close(j, '}');
}

void user_stacks_json(struct json_put *j, const struct ana_summary *s)
{
	const struct ana_outcomes *o = &s->users;

	json_key(j, "user_stacks");
	json_open(j, '{');
	json_put_u64(j, "samples", o->nr);
	json_put_u64(j, "complete", nr_complete(o));
	json_put_u64(j, "complete_with_unproven_frames", o->nr_complete_by_convention);
	json_put_u64(j, "partial", o->nr_partial);
	json_put_u64(j, "unproven", o->nr_unproven);
	put_state(j, o, "none_expected", STITCH_NONE_EXPECTED);
	put_state(j, o, "lost", STITCH_LOST);
	json_key(j, "stops");
	json_open(j, '{');
	for (int i = 0; i < NR_UNW_STOPS; i++) {
		if (o->by_stop[i])
			json_put_u64(j, unw_stop_name((enum unw_stop)i), o->by_stop[i]);
	}
	json_close(j, '}');
	json_key(j, "hows");
	json_open(j, '{');
	for (int i = 1; i < NR_UNW_HOWS; i++) {
		if (o->by_how[i])
			json_put_u64(j, unw_how_name((enum unw_how)i), o->by_how[i]);
	}
	json_close(j, '}');
	json_close(j, '}');
}

void user_stack_json(struct json_put *j, const struct ana_event *e)
{
	if (!e->has_user_state || (e->user_reason == STITCH_NOT_ASKED &&
				   !(e->sample->sample_type & PERF_SAMPLE_CALLCHAIN)))
		return;
	json_key(j, "user_stack");
	json_open(j, '{');
	json_key(j, "state");
	json_string(j, stitch_state_name((enum stitch_state)e->user_state));
	if (e->user_reason) {
		json_key(j, "reason");
		json_string(j, stitch_reason_name((enum stitch_reason)e->user_reason));
	}
	if (e->user_stop) {
		json_key(j, "stop");
		json_string(j, unw_stop_name((enum unw_stop)e->user_stop));
	}
	if (e->user_stop == UNW_STOP_UNREPRESENTABLE) {
		json_key(j, "stop_why");
		json_string(j, unw_why_name((enum unw_why)e->user_why));
	}
	json_close(j, '}');
}
