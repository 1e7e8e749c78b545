/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/stack_merge.h"

#include "analyze/ana_ahead.h"
#include "analyze/ana_read.h"
#include "analyze/ana_stitch.h"
#include "analyze/ana_user_part.h"
#include "base/err.h"
#include "perfdata/perf_deferred.h"
#include "perfdata/perf_stack_info.h"
#include "perfdata/record_copy.h"
#include "perfdata/sample_rewrite.h"

enum {
	ASK_BYTES = 1 << 20,        /* of input, between two calls of goes_on */
	MIN_MMAP_BYTES = 64 * 1024, /* of a compressed recording that names fewer */
	MAX_ZSTD_LEVEL = 22,
};

#define DEFER_FLAGS (PERF_ATTR_DEFER_CALLCHAIN | PERF_ATTR_DEFER_OUTPUT)

struct stack_merge {
	const struct stack_merge_opts *opts;
	struct perf_file *head; /* events and features, all of them also of a pipe's content */
	struct perf_file *file;
	struct ana_reader reader;
	struct ana_ahead ahead;
	struct record_copy copy; /* outcomes are stored by the number of the sample: in order */
	struct perf_stack_infos *infos;
	struct buf words, methods; /* of the chain at hand */
	uint64_t asked_at;
	struct stack_merge_counts *counts;
};

/* --- the head of the output --- */

static bool is_deferred(const struct perf_evlist *l)
{
	vec_for_each (&l->evsels, e) {
		if ((*e)->attr.flags & DEFER_FLAGS)
			return true;
	}
	return false;
}

bool stack_merge_is_deferred(const struct perf_input *in)
{
	struct perf_file *f;
	bool is;

	if (!in->data || perf_file_open(&f, in, NULL) != CLEW_OK)
		return false;
	is = is_deferred(perf_file_evlist(f));
	perf_file_free(f);
	return is;
}

/* A pipe's events and features come as its first records. */
static enum clew_err read_head(struct stack_merge *m, const struct perf_input *in,
			       struct clew_diag *diag)
{
	enum clew_err err = perf_file_open(&m->head, in, diag);
	struct perf_record r;

	if (err != CLEW_OK)
		return err;
	if (perf_file_is_swapped(m->head))
		return clew_fail(diag, CLEW_UNSUPPORTED, 0,
				 "stacks of a recording of the other byte order are not merged");
	if (!perf_file_is_pipe(m->head) && !perf_file_is_unfinished(m->head))
		return CLEW_OK;
	while (perf_file_next(m->head, &r, NULL) == CLEW_OK && r.type >= PERF_RECORD_HEADER_ATTR)
		;
	return CLEW_OK;
}

static struct perf_writer_opts compression_of(const struct perf_features *f)
{
	struct perf_compressed c;

	if (!perf_features_compressed(f, &c))
		return (struct perf_writer_opts){0};
	return (struct perf_writer_opts){
		.zstd_level = c.level < 1              ? 1
			    : c.level > MAX_ZSTD_LEVEL ? MAX_ZSTD_LEVEL
						       : (int)c.level,
		.mmap_bytes = c.mmap_len < MIN_MMAP_BYTES ? MIN_MMAP_BYTES : c.mmap_len,
	};
}

static enum clew_err open_output(struct stack_merge *m, const struct perf_writer_out *out)
{
	struct perf_evlist *l = perf_file_evlist(m->head);
	const struct perf_writer_opts opts = compression_of(perf_file_features(m->head));
	enum clew_err err;

	vec_for_each (&l->evsels, e)
		(*e)->attr.flags &= ~DEFER_FLAGS;
	err = perf_writer_open(&m->copy.writer, out, l, &opts);
	return err == CLEW_OK ? record_copy_features(&m->copy, perf_file_features(m->head), l)
			      : err;
}

/* --- records --- */

static enum clew_err find_user(struct stack_merge *m, const struct perf_record *r,
			       const struct perf_sample *s, struct ana_user *ret)
{
	uint64_t word = perf_no_stack_cookie(PERF_NO_STACK_NONE);

	if (ret->mark_at + 1 < s->callchain.nr)
		word = perf_words_get(&s->callchain, ret->mark_at + 1);
	if (!perf_cookie_is_none(word))
		return ana_ahead_ask(&m->ahead, r, ret);
	ana_user_of_no_cookie(word, ret);
	return CLEW_OK;
}

/* A record is 64 KiB at most: the outermost frames give way. */
static void fit(struct stack_merge *m, struct ana_user *u, const struct perf_sample *s, size_t size)
{
	uint32_t room = sample_chain_room(size, s), nr;

	for (bool is_cut = false; u->nr_frames; is_cut = true) {
		nr = ana_user_words(u, &s->callchain, NULL);
		if (nr <= room)
			return;
		/* A frame is a word, or two with its mark. */
		nr = (nr - room + 1) / 2;
		u->nr_frames -= nr < u->nr_frames ? nr : u->nr_frames;
		u->stop = UNW_STOP_MAX_DEPTH;
		u->why = 0;
		m->counts->nr_cut += !is_cut;
	}
}

static void put_methods(struct stack_merge *m, const struct ana_user *u, struct perf_stack_info *i)
{
	bool is_mixed = false;

	buf_clear(&m->methods);
	if (!u->nr_frames)
		return;
	for (uint32_t f = 0; f < u->nr_frames; f++) {
		buf_char(&m->methods, (char)ana_user_method(u, f));
		is_mixed |= ana_user_method(u, f) != (f ? ana_user_method(u, 1) : 0);
	}
	i->method = u->nr_frames > 1 ? ana_user_method(u, 1) : 0;
	if (!is_mixed)
		return;
	i->method = PERF_DEFERRED_MIXED;
	i->methods = (const uint8_t *)m->methods.data;
}

static enum clew_err note(struct stack_merge *m, const struct ana_user *u,
			  const struct perf_sample *s)
{
	struct perf_stack_info info = {
		.state = (uint8_t)u->state,
		.reason = (uint8_t)u->reason,
		.stop = u->stop,
		.why = u->why,
		.nr = u->nr_frames,
		.after = ana_user_words_after(u, &s->callchain),
	};

	put_methods(m, u, &info);
	m->counts->nr_marked++;
	m->counts->nr_merged += u->nr_frames > 0;
	return m->methods.is_failed ? CLEW_NO_MEMORY : perf_stack_infos_add(m->infos, &info);
}

static enum clew_err write_merged(struct stack_merge *m, const struct perf_record *r,
				  const struct perf_attr *attr, const struct perf_sample *s,
				  const struct ana_user *u)
{
	uint32_t nr = ana_user_words(u, &s->callchain, NULL);
	struct sample_edit edit = {.nr_words = nr, .replaces_chain = true};

	buf_clear(&m->words);
	if (!buf_reserve(&m->words, 8 * ((size_t)nr + 1)))
		return CLEW_NO_MEMORY;
	ana_user_words(u, &s->callchain, (uint8_t *)m->words.data);
	edit.words = (const uint64_t *)(const void *)m->words.data;
	sample_rewrite(&m->copy.out, r->data, r->size, attr, s, &edit);
	return record_copy_flush_much(&m->copy);
}

static enum clew_err take_sample(struct stack_merge *m, const struct perf_record *r)
{
	const struct perf_evsel *evsel = perf_evlist_of_record(perf_file_evlist(m->file), r->type,
							       perf_record_body(r), r->swap);
	struct ana_user user = {.has_mark = true};
	struct perf_sample s;
	enum clew_err err;

	m->counts->nr_samples++;
	if (!evsel ||
	    perf_sample_parse(perf_record_body(r), r->misc, r->swap, &evsel->attr, &s) != CLEW_OK ||
	    !ana_find_mark(&s.callchain, &user.mark_at)) {
		err = perf_stack_infos_add(m->infos, NULL);
		return err == CLEW_OK ? record_copy_add(&m->copy, r) : err;
	}
	err = find_user(m, r, &s, &user);
	if (err != CLEW_OK)
		return err;
	ana_user_limit(&user, &s.callchain, evsel->attr.sample_max_stack);
	fit(m, &user, &s, r->size);
	err = note(m, &user, &s);
	return err == CLEW_OK ? write_merged(m, r, &evsel->attr, &s, &user) : err;
}

static enum clew_err take_record(struct stack_merge *m, const struct perf_record *r,
				 struct clew_perf_ns time)
{
	enum clew_err err = CLEW_OK;

	if (r->type < PERF_RECORD_HEADER_ATTR && r->type != PERF_RECORD_CALLCHAIN_DEFERRED)
		err = record_copy_keep_order(&m->copy, r->type, time);
	if (err != CLEW_OK)
		return err;
	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		return take_sample(m, r);
	case PERF_RECORD_CALLCHAIN_DEFERRED:
	case PERF_RECORD_HEADER_ATTR: /* these stand in the file's header */
	case PERF_RECORD_HEADER_FEATURE:
	case PERF_RECORD_HEADER_TRACING_DATA:
		return CLEW_OK;
	case PERF_RECORD_FINISHED_ROUND:
		return record_copy_end_round(&m->copy);
	case PERF_RECORD_AUXTRACE:
		err = record_copy_flush(&m->copy);
		return err == CLEW_OK ? perf_writer_auxtrace(m->copy.writer, r->data, r->size,
							     &r->payload, 1)
				      : err;
	default:
		return record_copy_add(&m->copy, r);
	}
}

/* --- the pass --- */

static bool goes_on(struct stack_merge *m, uint64_t total)
{
	uint64_t pos = perf_file_pos(m->file);

	if (!m->opts->goes_on || pos - m->asked_at < ASK_BYTES)
		return true;
	m->asked_at = pos;
	return m->opts->goes_on(m->opts->ctx, pos, total);
}

static enum clew_err take_all(struct stack_merge *m, const struct perf_input *in,
			      struct clew_diag *diag)
{
	struct clew_diag why = {0};
	struct perf_record r;
	enum clew_err err, end;
	struct clew_perf_ns time;

	progress_begin(in->progress, STACK_MERGE_PHASE, in->size);
	while ((end = ana_reader_next(&m->reader, &r, &time, &why)) == CLEW_OK) {
		err = take_record(m, &r, time);
		perf_block_release(r.block);
		if (err == CLEW_OK && !goes_on(m, in->size))
			err = CLEW_STOPPED;
		if (err != CLEW_OK)
			return clew_fail(diag, err, r.offset, clew_err_name(err));
	}
	if (end == CLEW_TRUNCATED)
		m->counts->end = why;
	if (end == CLEW_END || end == CLEW_TRUNCATED)
		return CLEW_OK;
	if (diag)
		*diag = why;
	return end;
}

static enum clew_err finish(struct stack_merge *m)
{
	struct perf_stack_totals totals = {0};
	struct stitch_counts c;
	struct buf section = {0};
	enum clew_err err = record_copy_flush(&m->copy);

	stitch_counts(m->ahead.stitch, &c);
	totals.nr_stacks = c.nr_stacks;
	totals.nr_unclaimed = c.nr_unclaimed;
	totals.nr_duplicates = c.nr_duplicates;
	totals.nr_differing = c.nr_differing;
	totals.nr_late = c.nr_late;
	perf_stack_infos_finish(m->infos, &totals, &section);
	m->counts->nr_left_out = perf_stack_infos_left_out(m->infos);
	if (err == CLEW_OK && section.is_failed)
		err = CLEW_NO_MEMORY;
	if (err == CLEW_OK)
		err = perf_writer_feature(m->copy.writer, PERF_FEAT_CLEW_STACKS, section.data,
					  section.nr);
	buf_done(&section);
	return err == CLEW_OK ? perf_writer_finish(m->copy.writer) : err;
}

static enum clew_err open_input(struct stack_merge *m, const struct perf_input *in,
				struct clew_diag *diag)
{
	enum clew_err err;

	if (!in->data)
		return clew_fail(diag, CLEW_UNSUPPORTED, 0,
				 "stacks are merged in files: a stream cannot be read twice");
	err = read_head(m, in, diag);
	if (err == CLEW_OK)
		err = perf_file_reopen(&m->file, m->head, diag);
	if (err != CLEW_OK)
		return err;
	m->infos = perf_stack_infos_new();
	if (!m->infos || ana_reader_init(&m->reader, m->file, in, in->is_mapped) != CLEW_OK)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	err = ana_ahead_init(&m->ahead, m->head, in, in->is_mapped);
	return err == CLEW_OK ? CLEW_OK : clew_fail(diag, err, 0, clew_err_name(err));
}

static void done(struct stack_merge *m)
{
	ana_ahead_done(&m->ahead);
	ana_reader_done(&m->reader);
	perf_file_free(m->file);
	perf_file_free(m->head);
	record_copy_done(&m->copy);
	perf_stack_infos_free(m->infos);
	buf_done(&m->words);
	buf_done(&m->methods);
}

enum clew_err stack_merge(const struct perf_input *in, const struct perf_writer_out *out,
			  const struct stack_merge_opts *opts, struct stack_merge_counts *ret,
			  struct clew_diag *diag)
{
	struct stack_merge m = {.opts = opts, .counts = ret};
	enum clew_err err;

	*ret = (struct stack_merge_counts){0};
	err = open_input(&m, in, diag);
	if (err == CLEW_OK) {
		err = open_output(&m, out);
		if (err == CLEW_OK)
			err = take_all(&m, in, diag);
		else
			clew_fail(diag, err, 0, clew_err_name(err));
		if (err == CLEW_OK) {
			err = finish(&m);
			if (err != CLEW_OK)
				clew_fail(diag, err, 0, clew_err_name(err));
		}
	}
	done(&m);
	return err;
}
