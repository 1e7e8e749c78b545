/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_level.h"
#include "base/err.h"
#include "format/export/export_formats.h"
#include "perfdata/perf_features_write.h"
#include "perfdata/record_copy.h"
#include "perfdata/sample_put.h"
#include "perfdata/sample_rewrite.h"

/*
 * The recording for readers that know of perf 6.1 and no more: records as they are, in the order in
 * which they are played; stacks that were recorded separately, or copied, as call chains of their
 * samples; events of a hardware trace as samples, and no trace.
 */

#define NEWER_FLAGS (PERF_ATTR_DEFER_CALLCHAIN | PERF_ATTR_DEFER_OUTPUT)
#define COPIED      (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
#define ID_FIELDS   (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER)

enum { FIRST_OWN_ID = 1 << 30 };

struct perf_data {
	struct record_copy copy;
	struct perf_evlist evlist; /* of the output */
	size_t nr_recorded;        /* of these, those of the recording: they come first */
	struct buf words;          /* of the chain at hand */
};

/* --- the head --- */

/* Is a sample's chain another one than it was recorded with? */
static bool has_other_chain(const struct perf_attr *a)
{
	return a->sample_type & PERF_SAMPLE_CALLCHAIN &&
	       (a->flags & NEWER_FLAGS || (a->sample_type & COPIED) == COPIED);
}

static struct perf_attr attr_of(const struct perf_attr *recorded)
{
	struct perf_attr a = *recorded;

	a.flags &= ~NEWER_FLAGS;
	if (!has_other_chain(recorded))
		return a;
	a.flags &= ~PERF_ATTR_EXCLUDE_CALLCHAIN_USER;
	a.sample_type &= ~COPIED;
	a.sample_regs_user = a.sample_stack_user = 0;
	return a;
}

static bool add_recorded(struct perf_data *p, const struct perf_evsel *e)
{
	const struct perf_attr a = attr_of(&e->attr);

	return perf_evlist_add(&p->evlist, &a, e->name, (const uint8_t *)e->ids, e->nr_ids, false);
}

static bool add_own(struct perf_data *p, const struct perf_evsel *e)
{
	struct perf_attr a = e->attr;
	uint64_t id = FIRST_OWN_ID + e->index;

	a.sample_type &= PERF_SAMPLE_PUTS;
	while (perf_evlist_by_id(&p->evlist, id))
		id += PERF_EVSELS_MAX;
	return perf_evlist_add(&p->evlist, &a, e->name, (const uint8_t *)&id, 1, false);
}

/* Readers find the event of a record by its id. */
static bool has_ids(const struct perf_evlist *l)
{
	vec_for_each (&l->evsels, e) {
		if (!((*e)->attr.sample_type & ID_FIELDS))
			return l->evsels.nr == 1;
	}
	return true;
}

static enum clew_err list_events(struct perf_data *p, const struct export_opts *o)
{
	const struct perf_evlist *all = o->events ? o->events : perf_file_evlist(o->file);

	p->nr_recorded = perf_file_evlist(o->file)->evsels.nr;
	for (size_t i = 0; i < all->evsels.nr; i++) {
		const struct perf_evsel *e = all->evsels.data[i];

		if (!(i < p->nr_recorded ? add_recorded(p, e) : add_own(p, e)))
			return CLEW_NO_MEMORY;
	}
	return has_ids(&p->evlist) ? CLEW_OK : CLEW_UNSUPPORTED;
}

static bool has_branches_of_trace(const struct perf_data *p)
{
	for (size_t i = p->nr_recorded; i < p->evlist.evsels.nr; i++) {
		if (p->evlist.evsels.data[i]->attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
			return true;
	}
	return false;
}

/* What the copied features do not say of events that the recording did not have. */
static enum clew_err describe_own(struct perf_data *p)
{
	struct buf desc = {0};
	enum clew_err err;

	p->copy.is_unordered = p->evlist.evsels.nr > p->nr_recorded;
	if (!p->copy.is_unordered)
		return CLEW_OK;
	perf_put_event_desc(&desc, &p->evlist);
	err = desc.is_failed
		    ? CLEW_NO_MEMORY
		    : perf_writer_feature(p->copy.writer, PERF_FEAT_EVENT_DESC, desc.data, desc.nr);
	buf_done(&desc);
	if (err == CLEW_OK && has_branches_of_trace(p))
		err = perf_writer_feature(p->copy.writer, PERF_FEAT_BRANCH_STACK, NULL, 0);
	return err;
}

static enum clew_err begin(struct export *x)
{
	struct perf_data *p = export_state(x);
	const struct export_opts *o = export_opts(x);
	const struct perf_writer_out out = {.sink = *export_sink(x), .rewrite = o->rewrite};
	const struct perf_writer_opts plain = {0};
	enum clew_err err = list_events(p, o);

	if (err == CLEW_OK)
		err = perf_writer_open(&p->copy.writer, &out, &p->evlist, &plain);
	if (err == CLEW_OK)
		err = record_copy_features(&p->copy, perf_file_features(o->file), &p->evlist);
	return err ? err : describe_own(p);
}

/* --- chains --- */

/* A mark stands where the level changes, and before an address that no call returns to: a signal
 * interrupted it. Of longer chains the outermost frames give way. @p back: what those of user
 * mode are less that calls return to. */
static enum clew_err make_words(struct perf_data *p, const struct ana_chain *c, uint32_t room,
				uint64_t back, struct perf_words *ret)
{
	uint8_t level = ANA_UNKNOWN;

	buf_clear(&p->words);
	for (uint32_t i = 0; c && i < c->nr; i++) {
		const struct ana_loc *loc = c->locs[i];
		bool is_marked = loc && (loc->level != level || (i && !loc->is_return));
		uint64_t mark = is_marked ? ana_mark_of_level(loc->level) : 0;

		if (!loc || p->words.nr / 8 + (mark ? 2 : 1) > room)
			break;
		if (mark)
			buf_u64(&p->words, mark);
		buf_u64(&p->words, loc->ip - (loc->is_return && loc->level == ANA_USER ? back : 0));
		level = loc->level;
	}
	*ret = (struct perf_words){.data = (const uint8_t *)p->words.data,
				   .nr = (uint32_t)(p->words.nr / 8)};
	return p->words.is_failed ? CLEW_NO_MEMORY : CLEW_OK;
}

/* --- records --- */

static size_t copied_bytes(const struct perf_sample *s)
{
	size_t nr = 0;

	if (s->sample_type & PERF_SAMPLE_REGS_USER)
		nr += 8 + 8 * (size_t)s->regs_user.words.nr;
	if (s->sample_type & PERF_SAMPLE_STACK_USER)
		nr += 8 + (s->stack_user.data.pos ? bytes_left(&s->stack_user.data) + 8 : 0);
	return nr;
}

/* The event's own sample has another chain than its record already. */
static enum clew_err add_rewritten(struct perf_data *p, const struct ana_event *e)
{
	const struct perf_attr *attr = &e->evsel->attr;
	const struct perf_record *r = &e->record;
	bool is_copied = (attr->sample_type & COPIED) == COPIED;
	struct sample_edit edit = {
		.replaces_chain = true, .drops_regs = is_copied, .drops_stack = is_copied};
	struct perf_sample s;
	struct perf_words w;
	enum clew_err err = perf_sample_parse(perf_record_body(r), r->misc, r->swap, attr, &s);
	size_t size = r->size;

	if (err != CLEW_OK)
		return err;
	size -= is_copied ? copied_bytes(&s) : 0;
	/* perf, which unwinds a copy to the places of calls, names all others where they return to.
	 */
	err = make_words(p, e->chain, sample_chain_room(size, &s), is_copied, &w);
	edit.words = (const uint64_t *)(const void *)w.data;
	edit.nr_words = w.nr;
	if (err == CLEW_OK)
		sample_rewrite(&p->copy.out, r->data, r->size, attr, &s, &edit);
	return err ? err : record_copy_flush_much(&p->copy);
}

static enum clew_err add_of_trace(struct perf_data *p, const struct ana_event *e)
{
	enum { ROOM = 4096 }; /* a chain of any depth that --itrace takes */
	const struct perf_evsel *to = p->evlist.evsels.data[e->evsel->index];
	struct perf_sample s = *e->sample;
	enum clew_err err = make_words(p, e->chain, ROOM, 0, &s.callchain);

	if (err != CLEW_OK)
		return err;
	s.id = s.stream_id = to->ids[0];
	perf_sample_put(&p->copy.out, &to->attr, &s);
	return record_copy_flush_much(&p->copy);
}

static enum clew_err add_sample(struct perf_data *p, const struct ana_event *e)
{
	/* A pipe named the event after records of others: the head is written. */
	if (e->evsel->index >= p->evlist.evsels.nr)
		return CLEW_BAD_FILE;
	if (e->evsel->index >= p->nr_recorded)
		return add_of_trace(p, e);
	if (has_other_chain(&e->evsel->attr))
		return add_rewritten(p, e);
	return record_copy_add(&p->copy, &e->record);
}

/* What stands in the header, is of the trace or of deferred stacks, or is unknown to perf 6.1. */
static bool is_dropped(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_AUX:
	case PERF_RECORD_ITRACE_START:
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
	case PERF_RECORD_AUXTRACE_INFO:
	case PERF_RECORD_AUXTRACE:
	case PERF_RECORD_AUXTRACE_ERROR:
	case PERF_RECORD_HEADER_ATTR:
	case PERF_RECORD_HEADER_FEATURE:
	case PERF_RECORD_HEADER_TRACING_DATA:
	case PERF_RECORD_FINISHED_ROUND:
	case PERF_RECORD_SAMPLE: /* of no event */
		return true;
	default:
		return type > PERF_RECORD_FINISHED_INIT ||
		       (type > PERF_RECORD_AUX_OUTPUT_HW_ID && type < PERF_RECORD_HEADER_ATTR);
	}
}

static enum clew_err take(struct export *x, const struct ana_event *e)
{
	struct perf_data *p = export_state(x);
	uint32_t type = e->sample ? PERF_RECORD_SAMPLE : e->record.type;
	enum clew_err err = CLEW_OK;

	if (!e->sample && is_dropped(type))
		return CLEW_OK;
	if (type < PERF_RECORD_HEADER_ATTR)
		err = record_copy_keep_order(&p->copy, type, e->time);
	if (err == CLEW_OK)
		err = e->sample ? add_sample(p, e) : record_copy_add(&p->copy, &e->record);
	return err ? err : record_copy_end_round(&p->copy);
}

static enum clew_err end(struct export *x)
{
	struct perf_data *p = export_state(x);
	enum clew_err err = record_copy_flush(&p->copy);

	return err ? err : perf_writer_finish(p->copy.writer);
}

static void done(struct export *x)
{
	struct perf_data *p = export_state(x);

	record_copy_done(&p->copy);
	perf_evlist_done(&p->evlist);
	buf_done(&p->words);
}

const struct export_format export_perf_data = {
	.name = "perf.data",
	.summary = "a recording with whole call chains and without trace: perf 6.1 and newer, "
		   "hotspot",
	.is_binary = true,
	.is_recording = true,
	.state_bytes = sizeof(struct perf_data),
	.begin = begin,
	.event = take,
	.end = end,
	.done = done,
};
