/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/session/stream.h"

#include <stdio.h>
#include <string.h>

#include "os/clock.h"
#include "os/create.h"
#include "perfdata/perf_features_write.h"
#include "record/running/host_info.h"
#include "record/running/tracing_data.h"

static const char *base_path(const struct rec_stream *s)
{
	return s->options->output ? s->options->output : "perf.data";
}

static enum clew_err write_failed(const struct rec_stream *s, enum clew_err err,
				  struct rec_error *error)
{
	if (err == CLEW_OS)
		return rec_fail_os(error, s->file.os_errno, "cannot write '%s'", s->file.path);
	return rec_fail(error, err, "cannot write '%s': %s", s->file.path, clew_err_name(err));
}

static void add_tasks(struct rec_stream *s, struct rec_sideband *b)
{
	const struct rec_target *t = s->counters->target;

	/* Children born since are in no list of ours: a later file describes all tasks. */
	if (t->is_system_wide || s->nr_files > 1) {
		rec_sideband_all(b);
	} else {
		vec_for_each (&t->pids, pid)
			rec_sideband_process(b, *pid);
		if (s->child_pid)
			rec_sideband_command(b, s->child_pid);
	}
	rec_sideband_ids(b);
}

static void warn_omitted(const struct rec_stream *s, const struct rec_sideband *b)
{
	if (b->view.is_own || s->nr_files > 1)
		return;
	if (!b->view.depth)
		rec_say(s->ui, REC_WARNING,
			"/proc is missing, or of another PID namespace that does not contain this one: names "
			"and mappings of what runs already are not recorded");
	else if (b->facts.nr_omitted)
		rec_say(s->ui, REC_WARNING,
			"/proc is of another PID namespace: its ids are translated by NSpid, and %u of its "
			"%u processes, which this namespace does not contain, are omitted",
			b->facts.nr_omitted, b->facts.nr_omitted + b->facts.nr_translated);
	else
		rec_say(s->ui, REC_NOTE,
			"/proc is of another PID namespace: its ids are translated by NSpid");
}

static enum clew_err write_ahead(struct rec_stream *s)
{
	const struct buf *tasks = &s->ahead->tasks.out, *seen = &s->ahead->seen;
	enum clew_err err = tasks->is_failed || seen->is_failed ? CLEW_NO_MEMORY : CLEW_OK;
	const struct bytes part[2] = {bytes_of(seen->data, seen->nr)};

	if (err == CLEW_OK && tasks->nr)
		err = perf_writer_records(s->file.writer, tasks->data, tasks->nr);
	if (err != CLEW_OK || !seen->nr)
		return err;
	rec_drain_count(&s->drain, NULL, part);
	return perf_writer_records(s->file.writer, seen->data, seen->nr);
}

static enum clew_err write_tasks(struct rec_stream *s)
{
	struct rec_sideband b;
	enum clew_err err;

	if (s->ahead)
		return write_ahead(s);
	rec_sideband_init(&b, s->counters, s->options, &s->build_ids, &s->file);
	b.perf_maps = &s->perf_maps;
	add_tasks(s, &b);
	err = rec_sideband_flush(&b);
	warn_omitted(s, &b);
	rec_sideband_done(&b);
	return err;
}

/* First and not compressed: `clew header` reads it without the rest. */
static enum clew_err write_recorder(struct rec_stream *s, struct rec_sideband *b)
{
	enum clew_err err;

	rec_sideband_recorder(b, s->counters);
	err = b->out.is_failed ? CLEW_NO_MEMORY
			       : perf_writer_plain(s->file.writer, b->out.data, b->out.nr);
	buf_clear(&b->out);
	return err;
}

static enum clew_err write_start(struct rec_stream *s)
{
	static const struct perf_event_header init = {.type = PERF_RECORD_FINISHED_INIT,
						      .size = sizeof(init)};
	struct rec_sideband b;
	enum clew_err err = CLEW_OK;

	rec_sideband_init(&b, s->counters, s->options, &s->build_ids, &s->file);
	err = write_recorder(s, &b);
	rec_sideband_events(&b, s->counters, &s->evlist);
	rec_sources_begin_file(s->sources, &b.out);
	rec_sideband_kernel(&b);
	if (!s->ahead || s->options->is_tail_synthesize)
		rec_sideband_bpf(&b);
	if (s->options->with_cgroups)
		rec_sideband_cgroups(&b);
	if (err == CLEW_OK)
		err = rec_sideband_flush(&b);
	rec_sideband_done(&b);
	if (err == CLEW_OK && !s->options->is_tail_synthesize)
		err = write_tasks(s);
	if (err == CLEW_OK)
		err = perf_writer_plain(s->file.writer, &init, sizeof(init));
	return err;
}

static enum clew_err give(struct rec_stream *s, enum perf_feature feature, struct buf *b)
{
	enum clew_err err = b->is_failed
				  ? CLEW_NO_MEMORY
				  : perf_writer_feature(s->file.writer, feature, b->data, b->nr);

	buf_clear(b);
	return err;
}

static bool is_deferred(const struct rec_stream *s)
{
	vec_for_each (&s->evlist.evsels, e)
		if ((*e)->attr.flags & PERF_ATTR_DEFER_CALLCHAIN)
			return true;
	return false;
}

/* A pipe cannot be rewritten, and a file only if we created it. */
static void note_unmerged(const struct rec_stream *s)
{
	if (!s->file.is_named && is_deferred(s) && !s->options->keeps_deferred)
		rec_say(s->ui, REC_NOTE,
			"user stacks remain separate in %s: clew reads them, and perf from 6.19 on",
			s->file.is_pipe ? "a pipe" : "a file that is open already");
}

/* The features that describe the events, known from the start. */
static enum clew_err write_event_features(struct rec_stream *s)
{
	struct buf b = {0};
	enum clew_err err;

	perf_put_event_desc(&b, &s->evlist);
	err = give(s, PERF_FEAT_EVENT_DESC, &b);
	if (err == CLEW_OK && perf_put_group_desc(&b, &s->evlist))
		err = give(s, PERF_FEAT_GROUP_DESC, &b);
	buf_clear(&b);
	if (err == CLEW_OK && s->options->branch_filter)
		err = give(s, PERF_FEAT_BRANCH_STACK, &b);
	if (err == CLEW_OK && rec_tracing_data(&b, s->events))
		err = give(s, PERF_FEAT_TRACING_DATA, &b);
	buf_done(&b);
	return err;
}

static enum clew_err open_file(struct rec_stream *s, struct rec_error *error)
{
	const struct perf_writer_opts opts = {.zstd_level = s->options->zstd_level,
					      .mmap_bytes = (uint32_t)s->counters->data_bytes};
	const struct rec_sink *sink = s->options->sink;
	enum clew_err err = sink ? rec_file_open_sink(&s->file, sink, &s->evlist, &opts, error)
				 : rec_file_open(&s->file, base_path(s), &s->evlist, &opts, error);

	if (err != CLEW_OK)
		return err;
	s->nr_files++;
	note_unmerged(s);
	/* A file keeps them in memory until its end; a pipe must hear of them first. */
	err = rec_host_info(s->file.writer, s->options);
	if (err == CLEW_OK)
		err = write_event_features(s);
	if (err == CLEW_OK)
		err = write_start(s);
	if (err == CLEW_OK)
		err = rec_file_flush(&s->file);
	return err == CLEW_OK ? CLEW_OK : write_failed(s, err, error);
}

enum clew_err rec_stream_open(struct rec_stream *s, struct rec_error *error)
{
	if (rec_sources_add_events(s->sources, &s->evlist) != CLEW_OK)
		return rec_fail_memory(error);
	rec_drain_init(&s->drain, s->counters, s->sources, &s->build_ids,
		       !s->options->no_build_ids);
	rec_perf_maps_init(&s->perf_maps);
	s->perf_maps.is_off = s->options->sink != NULL;
	s->drain.perf_maps = &s->perf_maps;
	return open_file(s, error);
}

/* What was lost since the file before said how many these were. */
static bool take_lost(struct rec_counters *c, size_t counter, size_t place, struct rec_lost *ret)
{
	uint64_t *said = &c->list.data[counter].before[place].said, all;

	if (!rec_counters_lost(c, counter, place, ret))
		return false;
	all = ret->lost;
	ret->lost = all > *said ? all - *said : 0;
	*said = all;
	return ret->lost;
}

static enum clew_err write_lost(struct rec_stream *s)
{
	struct rec_sideband b;
	enum clew_err err;

	rec_sideband_init(&b, s->counters, s->options, &s->build_ids, &s->file);
	for (size_t i = 0; i < s->counters->list.nr; i++) {
		for (size_t place = 0; place < s->counters->nr_places; place++) {
			struct rec_lost lost;

			if (take_lost(s->counters, i, place, &lost))
				rec_sideband_lost(&b, &lost);
		}
	}
	err = rec_sideband_flush(&b);
	rec_sideband_done(&b);
	return err;
}

static enum clew_err write_end_features(struct rec_stream *s)
{
	struct buf b = {0};
	enum clew_err err = CLEW_OK;

	if (s->drain.first_ns) {
		buf_u64(&b, s->drain.first_ns);
		buf_u64(&b, s->drain.last_ns);
		err = give(s, PERF_FEAT_SAMPLE_TIME, &b);
	}
	if (!s->options->no_build_ids && err == CLEW_OK) {
		rec_build_ids_add_kernel(&s->build_ids);
		rec_build_ids_add_vdso(&s->build_ids);
		if (s->build_ids.nr)
			err = give(s, PERF_FEAT_BUILD_ID, &s->build_ids.section);
	}
	buf_done(&b);
	return err;
}

/* A record of a pipe has no room for them. */
static enum clew_err write_perf_maps(struct rec_stream *s)
{
	struct buf b = {0};
	enum clew_err err = CLEW_OK;

	rec_perf_maps_put(&s->perf_maps, &b);
	if (s->file.is_pipe && b.nr)
		rec_say(s->ui, REC_NOTE,
			"perf-PID.map files are not kept in a pipe: names of generated code are "
			"looked for where it is read");
	else if (s->perf_maps.nr_left_out)
		rec_say(s->ui, REC_NOTE,
			"%u perf-PID.map file%s or processes with generated code not kept: too "
			"large, or too many",
			s->perf_maps.nr_left_out, s->perf_maps.nr_left_out == 1 ? "" : "s");
	if (!s->file.is_pipe && b.nr)
		err = give(s, PERF_FEAT_CLEW_MAPS, &b);
	buf_done(&b);
	rec_perf_maps_next_file(&s->perf_maps);
	return err;
}

static enum clew_err end_file(struct rec_stream *s)
{
	enum clew_err err = rec_drain_pass(&s->drain, &s->file, true);

	/* Who reads along has counted each loss when it was recorded; these are totals. */
	if (err == CLEW_OK && !s->options->sink)
		err = write_lost(s);
	if (err == CLEW_OK && s->options->is_tail_synthesize)
		err = write_tasks(s);
	if (err == CLEW_OK)
		err = rec_file_flush(&s->file);
	if (err == CLEW_OK)
		err = write_end_features(s);
	if (err == CLEW_OK)
		err = write_perf_maps(s);
	return err == CLEW_OK ? rec_file_finish(&s->file) : err;
}

/* --switch-output and --timestamp-filename: the file gets its time as a name when it is whole. */
static void stamp_name(struct rec_stream *s)
{
	const struct rec_options *o = s->options;
	char stamp[32], path[sizeof(s->file.path)];
	char *copy;

	if (!s->file.is_named || (!o->switch_output.is_on && !o->is_stamped))
		return;
	os_clock_stamp(stamp, sizeof(stamp));
	if ((size_t)snprintf(path, sizeof(path), "%s.%s", base_path(s), stamp) >= sizeof(path) ||
	    os_rename(s->file.path, path))
		return;
	memcpy(s->file.path, path, sizeof(path));
	rec_say(s->ui, REC_NOTE, "wrote %s", path);
	copy = mem_strdup(path);
	if (!copy || !vec_push(&s->kept, copy))
		mem_free(copy);
	if (o->switch_output.max_files && s->kept.nr > o->switch_output.max_files) {
		os_unlink(s->kept.data[0]);
		mem_free(s->kept.data[0]);
		memmove(s->kept.data, s->kept.data + 1, --s->kept.nr * sizeof(*s->kept.data));
	}
}

static enum clew_err close_file(struct rec_stream *s, struct rec_error *error)
{
	enum clew_err err = end_file(s);
	bool is_named = s->file.is_named;

	if (err != CLEW_OK)
		return write_failed(s, err, error);
	s->closed_bytes += perf_writer_size(s->file.writer);
	rec_file_done(&s->file);
	stamp_name(s);
	if (is_named && s->ui->wrote)
		s->ui->wrote(s->ui->ctx, s->file.path, is_deferred(s));
	return CLEW_OK;
}

static enum clew_err open_next(struct rec_stream *s, struct rec_error *error)
{
	rec_build_ids_done(&s->build_ids);
	s->build_ids = s->ahead->build_ids;
	s->ahead->build_ids = (struct rec_build_ids){0};
	s->drain.first_ns = s->drain.last_ns = 0;
	return open_file(s, error);
}

/*
 * The last pass of the old file comes after the look at /proc: who ends meanwhile was still seen
 * there, and what is new by then is among the records of that pass, which both files get.
 */
enum clew_err rec_stream_switch(struct rec_stream *s, struct rec_error *error)
{
	struct rec_ahead next = {0};
	enum clew_err err;

	rec_sideband_init(&next.tasks, s->counters, s->options, &next.build_ids, NULL);
	next.tasks.perf_maps = &s->perf_maps;
	if (!s->options->is_tail_synthesize) {
		rec_sideband_bpf(&next.tasks);
		rec_sideband_all(&next.tasks);
		rec_sideband_ids(&next.tasks);
	}
	s->drain.seen = &next.seen;
	err = close_file(s, error);
	s->drain.seen = NULL;
	s->ahead = &next;
	if (err == CLEW_OK)
		err = open_next(s, error);
	s->ahead = NULL;
	rec_sideband_done(&next.tasks);
	rec_build_ids_done(&next.build_ids);
	buf_done(&next.seen);
	return err;
}

enum clew_err rec_stream_finish(struct rec_stream *s, struct rec_error *error)
{
	return close_file(s, error);
}

bool rec_stream_rescue(struct rec_stream *s)
{
	if (!s->file.writer)
		return false;
	write_end_features(s); /* kept in memory; of a full disk nothing is felt here */
	if (rec_file_rescue(&s->file) != CLEW_OK)
		return false;
	s->closed_bytes += perf_writer_size(s->file.writer);
	rec_file_done(&s->file);
	return true;
}

bool rec_stream_awaits_merge(const struct rec_stream *s)
{
	return s->file.is_named && is_deferred(s) && !s->options->keeps_deferred;
}

void rec_stream_discard(struct rec_stream *s)
{
	struct os_created created = s->file.out.created;

	rec_file_done(&s->file);
	os_create_undo(s->file.path, &created);
}

uint64_t rec_stream_bytes(const struct rec_stream *s)
{
	return s->closed_bytes + (s->file.writer ? perf_writer_size(s->file.writer) : 0);
}

void rec_stream_done(struct rec_stream *s)
{
	rec_file_done(&s->file);
	rec_drain_done(&s->drain);
	rec_build_ids_done(&s->build_ids);
	rec_perf_maps_done(&s->perf_maps);
	perf_evlist_done(&s->evlist);
	vec_for_each (&s->kept, path)
		mem_free(*path);
	vec_done(&s->kept);
}
