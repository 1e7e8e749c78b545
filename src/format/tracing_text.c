/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/tracing_text.h"

enum { BRIEF_STATES = 16, BRIEF_INTERVALS = 5, NR_FACTS = 14 };

/* --- the facts: one table for text and JSON --- */

struct fact {
	const char *key, *words;
	uint64_t value;
	bool is_always; /* in text, also where it is 0 */
	bool is_unknown;
};

static void find_facts(const struct ana_tracing *x, struct fact ret[NR_FACTS])
{
	const struct ana_intervals *all = &x->intervals;
	const struct ana_intervals_totals sum = ana_intervals_totals(all);
	/* clang-format off */
	const struct fact facts[NR_FACTS] = {
		{"triggers", "samples of events that pause or resume", sum.nr_triggers, true},
		{"intervals", "intervals of tracing", sum.nr_intervals, true},
		{"running", "of these still running at the end", sum.nr_running, false},
		{"traced_ns", "ns in all of them", sum.sum_ns, true},
		{"unpaired", "unpaired triggers: tracing was as they would have set it", sum.nr_unpaired, true},
		{"paused_elsewhere", "of these pauses on another CPU than the resume: it has a state of its own", sum.nr_elsewhere, false},
		{"lost_pauses", "lost pauses: trace ran after them", sum.by_outcome[ANA_INTERVAL_RAN_ON], true, !ana_intervals_sees_pauses(all)},
		{"lost_resumes", "lost resumes: no trace after them", sum.by_outcome[ANA_INTERVAL_NO_TRACE], true},
		{"full", "intervals without trace: the buffer was full", sum.by_outcome[ANA_INTERVAL_FULL], false},
		{"throttled", "times that the kernel throttled them: triggers may be missing", x->nr_throttled, true},
		{"lost_records", "LOST records: triggers may be among what they count", all->nr_lost, false},
		{"payload_times", "times of the trace that were looked at", all->nr_payload, false},
		{"outside", "times of the trace outside of every interval", all->nr_outside, false},
		{"omitted", "triggers omitted: without a time, or over a limit", all->nr_omitted, false},
	};
	/* clang-format on */

	for (size_t i = 0; i < NR_FACTS; i++)
		ret[i] = facts[i];
}

static void put_facts(struct buf *out, const struct ana_tracing *x, const char *prefix)
{
	struct fact facts[NR_FACTS];

	find_facts(x, facts);
	for (size_t i = 0; i < NR_FACTS; i++) {
		if (!facts[i].value && !facts[i].is_always)
			continue;
		buf_str(out, prefix);
		if (facts[i].is_unknown) {
			buf_printf(out, "     unknown  %s; no trace with times was decoded\n",
				   facts[i].words);
			continue;
		}
		buf_dec(out, facts[i].value, 12, ' ');
		buf_printf(out, "  %s\n", facts[i].words);
	}
}

/* --- intervals --- */

static void put_owner(struct buf *out, const struct ana_traced *t)
{
	if (t->tid != ANA_TRACED_NONE)
		buf_printf(out, "thread %u", t->tid);
	if (t->tid != ANA_TRACED_NONE && t->cpu != ANA_TRACED_NONE)
		buf_str(out, " on ");
	if (t->cpu != ANA_TRACED_NONE)
		buf_printf(out, "CPU %u", t->cpu);
	if (t->tid == ANA_TRACED_NONE && t->cpu == ANA_TRACED_NONE)
		buf_str(out, "unknown thread");
}

static const char *end_words(const struct ana_interval *i)
{
	static const char *const words[] = {[ANA_INTERVAL_RUNS] = "still running",
					    [ANA_INTERVAL_PAUSED] = "",
					    [ANA_INTERVAL_EXITED] = ", the thread ended"};

	return words[i->end];
}

static void put_outcome(struct buf *out, const struct ana_intervals *x,
			const struct ana_interval *i)
{
	switch (ana_intervals_outcome(x, i)) {
	case ANA_INTERVAL_RAN_ON:
		buf_printf(out, "; trace ran %llu us after the pause",
			   (unsigned long long)(i->after.ns - i->to.ns) / 1000);
		break;
	case ANA_INTERVAL_NO_TRACE:
		buf_str(out, "; no trace after the resume");
		break;
	case ANA_INTERVAL_FULL:
		buf_str(out, "; no trace: the buffer was full");
		break;
	case ANA_INTERVAL_GOOD:
	case NR_ANA_INTERVAL_OUTCOMES:
		break;
	}
}

static void put_interval(struct buf *out, const struct ana_intervals *x,
			 const struct ana_interval *i)
{
	buf_str(out, "    ");
	if (i->from.ns)
		buf_seconds(out, i->from.ns);
	else
		buf_str(out, "the start");
	buf_str(out, " to ");
	if (clew_perf_ns_is_known(i->to))
		buf_seconds(out, i->to.ns);
	if (clew_perf_ns_is_known(i->to) && i->from.ns) {
		buf_str(out, ", ");
		buf_ms(out, i->to.ns > i->from.ns ? i->to.ns - i->from.ns : 0);
	}
	buf_str(out, end_words(i));
	put_outcome(out, x, i);
	buf_char(out, '\n');
}

static void put_state(struct buf *out, const struct ana_intervals *x, const struct ana_traced *t,
		      size_t max, const char *prefix)
{
	buf_printf(out, "%s  ", prefix);
	put_owner(out, t);
	buf_printf(out, ": %llu interval%s, ", (unsigned long long)t->nr, t->nr == 1 ? "" : "s");
	buf_ms(out, t->sum_ns);
	buf_char(out, '\n');
	for (uint64_t i = 0; i < t->nr && i < max; i++) {
		buf_str(out, prefix);
		put_interval(out, x, &x->all.data[t->first + i]);
	}
	if (t->nr > max)
		buf_printf(out, "%s    and %llu more: --stats has all\n", prefix,
			   (unsigned long long)(t->nr - max));
}

void tracing_text(struct buf *out, const struct ana_tracing *x, enum tracing_detail detail,
		  const char *prefix)
{
	const struct ana_intervals *all = &x->intervals;
	bool is_all = detail == TRACING_ALL;
	size_t nr = is_all || all->traced.nr < BRIEF_STATES ? all->traced.nr : BRIEF_STATES;

	buf_printf(out,
		   "%sHardware trace was on, by the samples of events that pause and resume:\n",
		   prefix);
	for (size_t i = 0; i < nr; i++)
		put_state(out, all, &all->traced.data[i], is_all ? SIZE_MAX : BRIEF_INTERVALS,
			  prefix);
	if (nr < all->traced.nr)
		buf_printf(out, "%s  and %zu more: --stats has all\n", prefix, all->traced.nr - nr);
	if (!is_all)
		return;
	put_facts(out, x, prefix);
}

void tracing_sum(struct buf *out, const struct ana_tracing *x)
{
	const struct ana_intervals_totals sum = ana_intervals_totals(&x->intervals);

	buf_printf(out, "hardware trace was on in %llu interval%s, ",
		   (unsigned long long)sum.nr_intervals, sum.nr_intervals == 1 ? "" : "s");
	buf_ms(out, sum.sum_ns);
	buf_str(out, " in all");
	if (sum.nr_running)
		buf_printf(out, "; %llu still running at the end",
			   (unsigned long long)sum.nr_running);
}

/* --- what is lost --- */

static uint64_t nr_with(const struct ana_intervals *x, enum ana_interval_outcome outcome,
			const struct ana_interval **ret_first)
{
	uint64_t nr = 0;

	vec_for_each (&x->all, i) {
		if (ana_intervals_outcome(x, i) == outcome && !nr++)
			*ret_first = i;
	}
	return nr;
}

static void say_times(struct buf *out, uint64_t nr)
{
	if (nr > 1)
		buf_printf(out, " (the first of %llu)", (unsigned long long)nr);
}

static void say_ran_on(struct buf *out, const struct ana_tracing *x)
{
	const struct ana_interval *i = NULL;
	uint64_t nr = nr_with(&x->intervals, ANA_INTERVAL_RAN_ON, &i);

	if (!nr)
		return;
	buf_printf(out, "trace ran %llu us after pause at ",
		   (unsigned long long)(i->after.ns - i->to.ns) / 1000);
	buf_seconds(out, i->to.ns);
	say_times(out, nr);
	buf_str(out, ": the trigger was lost; it is printed as [paused]");
}

static void say_no_trace(struct buf *out, const struct ana_tracing *x)
{
	const struct ana_interval *i = NULL;
	uint64_t nr = nr_with(&x->intervals, ANA_INTERVAL_NO_TRACE, &i);

	if (!nr)
		return;
	buf_str(out, "no trace after resume at ");
	buf_seconds(out, i->from.ns);
	say_times(out, nr);
	buf_str(out, ": the trigger was lost, or what ran was filtered");
}

/* A pause on one CPU does nothing to a state that was resumed on another. */
static void say_migrated(struct buf *out, const struct ana_tracing *x)
{
	uint64_t nr = ana_intervals_totals(&x->intervals).nr_elsewhere;

	if (nr)
		buf_printf(
			out,
			"%llu pauses on another CPU than the resume had no effect: inherited "
			"events have a state per CPU; 'clew record --per-thread' has one per thread",
			(unsigned long long)nr);
}

static void say_throttled(struct buf *out, const struct ana_tracing *x)
{
	if (!x->nr_throttled)
		return;
	buf_str(out, "triggers may be missing between ");
	buf_seconds(out, x->throttled_from.ns);
	buf_str(out, " and ");
	buf_seconds(out, x->throttled_to.ns);
	buf_printf(out,
		   ": the kernel throttled them %llu times (kernel.perf_event_max_sample_rate)",
		   (unsigned long long)x->nr_throttled);
}

bool tracing_sentence(struct buf *out, const struct ana_tracing *x, unsigned int i)
{
	static void (*const say[])(struct buf *, const struct ana_tracing *) = {
		say_ran_on, say_no_trace, say_throttled, say_migrated};

	if (!x || i >= sizeof(say) / sizeof(say[0]))
		return false;
	say[i](out, x);
	return true;
}

/* --- JSON --- */

static void put_known(struct json_put *j, const char *key, uint32_t value)
{
	if (value != ANA_TRACED_NONE)
		json_put_u64(j, key, value);
}

static void json_interval(struct json_put *j, const struct ana_intervals *x,
			  const struct ana_interval *i)
{
	static const char *const ends[] = {[ANA_INTERVAL_RUNS] = "running",
					   [ANA_INTERVAL_PAUSED] = "pause",
					   [ANA_INTERVAL_EXITED] = "exit"};
	static const char *const outcomes[] = {[ANA_INTERVAL_RAN_ON] = "lost_pause",
					       [ANA_INTERVAL_NO_TRACE] = "lost_resume",
					       [ANA_INTERVAL_FULL] = "full"};
	enum ana_interval_outcome outcome = ana_intervals_outcome(x, i);

	json_open(j, '{');
	if (i->from.ns)
		json_put_u64(j, "from", i->from.ns);
	if (clew_perf_ns_is_known(i->to))
		json_put_u64(j, "to", i->to.ns);
	json_put_string(j, "end", ends[i->end]);
	if (outcome != ANA_INTERVAL_GOOD)
		json_put_string(j, "outcome", outcomes[outcome]);
	if (outcome == ANA_INTERVAL_RAN_ON)
		json_put_u64(j, "ran_until", i->after.ns);
	json_close(j, '}');
}

static void json_state(struct json_put *j, const struct ana_intervals *x,
		       const struct ana_traced *t)
{
	json_open(j, '{');
	put_known(j, "tid", t->tid);
	put_known(j, "cpu", t->cpu);
	json_put_u64(j, "traced_ns", t->sum_ns);
	json_key(j, "intervals");
	json_open(j, '[');
	for (uint64_t i = 0; i < t->nr; i++)
		json_interval(j, x, &x->all.data[t->first + i]);
	json_close(j, ']');
	json_close(j, '}');
}

void tracing_json(struct json_put *j, const struct ana_tracing *x)
{
	struct fact facts[NR_FACTS];

	find_facts(x, facts);
	json_key(j, "tracing");
	json_open(j, '{');
	for (size_t i = 0; i < NR_FACTS; i++)
		if (!facts[i].is_unknown)
			json_put_u64(j, facts[i].key, facts[i].value);
	json_key(j, "of");
	json_open(j, '[');
	vec_for_each (&x->intervals.traced, t)
		json_state(j, &x->intervals, t);
	json_close(j, ']');
	json_close(j, '}');
}
