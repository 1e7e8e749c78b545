/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/mem.h"
#include "trace/events/trace_events_impl.h"

enum { NR_REPEATS = 1024 };

/** The events of one operation, and all they point at. */
struct kept {
	struct ana_event events[NR_OP_EVENTS];
	struct perf_sample samples[NR_OP_EVENTS];
	struct ana_synth synths[NR_OP_EVENTS];
	struct ana_op op;
	struct who_answer answer;
};

struct trace_repeats {
	uint64_t nr_ids;
	/* By hash of the key. What is met once is only noted: most is never met again. */
	struct repeat {
		uint64_t noted;   /* hash of the last key without contents */
		uint64_t used_in; /* the last batch that points at the contents */
		struct trace_repeat_key key;
		uint64_t nr_filtered;
		bool has_answer;
		struct ana_repeat events; /* id 0: none */
		struct kept *kept;
	} all[NR_REPEATS];
};

struct trace_repeats *trace_repeats_new(void)
{
	return mem_zalloc(sizeof(struct trace_repeats));
}

void trace_repeats_free(struct trace_repeats *r)
{
	for (size_t i = 0; r && i < NR_REPEATS; i++)
		mem_free(r->all[i].kept);
	mem_free(r);
}

static inline uint64_t hash_of(const struct trace_repeat_key *k)
{
	return hash_two(k->pc ^ k->target << 7 ^ k->stay << 48 ^ (uint64_t)k->unit << 32,
			k->operation ^ k->events << 24 ^ k->source << 13 ^ (uint64_t)k->has << 40);
}

static inline bool is_equal(const struct trace_repeat_key *a, const struct trace_repeat_key *b)
{
	return !((a->pc ^ b->pc) | (a->target ^ b->target) | (a->events ^ b->events) |
		 (a->source ^ b->source) | (a->stay ^ b->stay) | (a->operation ^ b->operation) |
		 (a->has ^ b->has) | (a->unit ^ b->unit));
}

static struct repeat *slot(struct trace_repeats *r, uint64_t hash)
{
	return &r->all[hash % NR_REPEATS];
}

bool trace_repeats_emit(struct trace_events *e, const struct trace_repeat_key *k,
			struct clew_perf_ns time)
{
	struct repeat *r = slot(e->repeats, hash_of(k));

	if (!r->events.id || !is_equal(&r->key, k))
		return false;
	if (e->nr == TRACE_BATCH_EVENTS && trace_emit_flush(e) != CLEW_OK)
		return false;
	e->summary.nr_samples += r->events.nr;
	e->summary.nr_filtered += r->nr_filtered;
	if (r->has_answer)
		who_counts_add(&e->summary.who, &r->kept->answer);
	r->used_in = e->nr_batches;
	if (r->events.nr) {
		e->events[e->nr].time = time;
		e->events[e->nr++].repeat = &r->events;
	}
	return true;
}

bool trace_repeats_begin(struct trace_events *e)
{
	return e->err == CLEW_OK &&
	       (e->nr + NR_OP_EVENTS <= TRACE_BATCH_EVENTS || trace_emit_flush(e) == CLEW_OK);
}

static void copy_event(struct kept *to, size_t i, const struct ana_event *ev)
{
	to->events[i] = *ev;
	to->samples[i] = *ev->sample;
	to->synths[i] = *ev->synth;
	to->op = *ev->op;
	to->events[i].sample = &to->samples[i];
	to->events[i].synth = &to->synths[i];
	to->events[i].op = &to->op;
	to->events[i].who = ev->who ? &to->answer : NULL;
}

static void fill(struct repeat *r, const struct trace_events *e, size_t from,
		 const struct trace_who *who)
{
	r->kept->answer = who->answer;
	r->has_answer = who->has_answer;
	for (size_t i = from; i < e->nr; i++)
		copy_event(r->kept, i - from, &e->events[i]);
	r->events.events = r->kept->events;
	r->events.nr = e->nr - from;
}

void trace_repeats_keep(struct trace_events *e, const struct trace_repeat_key *k, size_t from,
			const struct trace_who *who, uint64_t nr_filtered)
{
	uint64_t hash = hash_of(k);
	struct repeat *r = slot(e->repeats, hash);

	if (r->noted != hash) {
		r->noted = hash;
		return;
	}
	/* The batch may hold what was kept here. */
	if (r->events.id && r->used_in == e->nr_batches)
		return;
	if (!r->kept)
		r->kept = mem_zalloc(sizeof(*r->kept));
	if (!r->kept)
		return;
	fill(r, e, from, who);
	r->key = *k;
	r->nr_filtered = nr_filtered;
	r->events.id = ++e->repeats->nr_ids;
}
