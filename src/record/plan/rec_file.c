/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/plan/rec_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/clock.h"
#include "os/file.h"

enum { SPARE_BYTES = 64 * 1024, STDOUT = 1 };

static enum clew_err sink_write(void *ctx, const void *data, size_t size)
{
	struct rec_file *f = ctx;
	int err;

	if (f->sink)
		return f->sink->write(f->sink->ctx, data, size);
	err = os_output_add(&f->out, data, size);
	if (!err)
		return CLEW_OK;
	f->os_errno = -err;
	return CLEW_OS;
}

static enum clew_err sink_rewrite(void *ctx, uint64_t offset, const void *data, size_t size)
{
	struct rec_file *f = ctx;
	int err = os_output_rewrite(&f->out, offset, data, size);

	if (!err)
		return CLEW_OK;
	f->os_errno = -err;
	return CLEW_OS;
}

static int open_output(struct rec_file *f, const char *path)
{
	return strcmp(path, "-") ? os_output_create(&f->out, path)
				 : os_output_adopt(&f->out, STDOUT);
}

static enum clew_err open_writer(struct rec_file *f, const struct perf_evlist *l,
				 const struct perf_writer_opts *opts, struct rec_error *error)
{
	const struct perf_writer_out out = {
		.sink = {sink_write, f},
                  .rewrite = f->is_pipe ? NULL : sink_rewrite
        };
	enum clew_err err = perf_writer_open(&f->writer, &out, l, opts);

	if (err == CLEW_OK)
		err = rec_file_flush(f);
	if (err == CLEW_OS)
		return rec_fail_os(error, f->os_errno, "cannot write '%s'", f->path);
	if (err != CLEW_OK)
		return rec_fail(error, err, "cannot start '%s': %s", f->path, clew_err_name(err));
	return CLEW_OK;
}

enum clew_err rec_file_open(struct rec_file *f, const char *path, const struct perf_evlist *l,
			    const struct perf_writer_opts *opts, struct rec_error *error)
{
	int os_err;

	*f = (struct rec_file){.start_ns = os_clock_ns()};
	snprintf(f->path, sizeof(f->path), "%s", path);
	os_err = open_output(f, path);
	if (os_err)
		return rec_fail_os(error, os_err, "cannot create '%s'", path);
	f->is_pipe = !strcmp(path, "-") || !os_is_regular_fd(f->out.fd);
	f->is_named = f->out.created.is_new;
	return open_writer(f, l, opts, error);
}

enum clew_err rec_file_open_sink(struct rec_file *f, const struct rec_sink *sink,
				 const struct perf_evlist *l, const struct perf_writer_opts *opts,
				 struct rec_error *error)
{
	*f = (struct rec_file){.out = {.fd = -1},
			       .path = "memory",
			       .sink = sink,
			       .is_pipe = true,
			       .start_ns = os_clock_ns()};
	sink->begin(sink->ctx);
	return open_writer(f, l, opts, error);
}

enum clew_err rec_file_flush(struct rec_file *f)
{
	int err = os_output_flush(&f->out);
	uint64_t at = perf_writer_size(f->writer);

	if (err) {
		f->os_errno = -err;
		return CLEW_OS;
	}
	f->whole = at;
	return perf_writer_commit(f->writer);
}

/* The end of the last whole record that reached the file, at most @limit. */
static uint64_t last_whole(const struct rec_file *f, uint64_t limit)
{
	uint64_t at = f->whole;

	for (;;) {
		struct perf_event_header h;
		uint64_t size, payload = 0;

		if (limit - at < sizeof(h) ||
		    os_read_at(f->out.fd, &h, sizeof(h), at) != sizeof(h) || h.size < sizeof(h))
			return at;
		if (h.type == PERF_RECORD_AUXTRACE &&
		    os_read_at(f->out.fd, &payload, sizeof(payload), at + sizeof(h)) < 8)
			return at;
		if (__builtin_add_overflow(h.size, payload, &size) || size > limit - at)
			return at;
		at += size;
	}
}

/* Where to cut so that the features fit after it, if there is so much. */
static uint64_t choose_cut(const struct rec_file *f)
{
	uint64_t end = f->out.written_bytes, spare = SPARE_BYTES;

	if (end < f->whole)
		return f->whole;
	if (spare > (end - f->whole) / 2)
		spare = (end - f->whole) / 2;
	return last_whole(f, end - spare);
}

enum clew_err rec_file_rescue(struct rec_file *f)
{
	enum clew_err err;
	uint64_t at;

	if (f->is_pipe || !f->writer)
		return CLEW_OS;
	at = choose_cut(f);
	if (os_output_truncate(&f->out, at))
		return CLEW_OS;
	err = perf_writer_cut(f->writer, at, true);
	if (err == CLEW_OK && !os_output_flush(&f->out))
		return CLEW_OK;
	/* Not even that fits. The header alone does: its place is taken already. */
	if (os_output_truncate(&f->out, at))
		return CLEW_OS;
	return perf_writer_cut(f->writer, at, false);
}

enum clew_err rec_file_finish(struct rec_file *f)
{
	enum clew_err err = perf_writer_finish(f->writer);
	int os_err = err == CLEW_OK ? os_output_flush(&f->out) : 0;

	if (os_err) {
		f->os_errno = -os_err;
		return CLEW_OS;
	}
	return err;
}

void rec_file_done(struct rec_file *f)
{
	perf_writer_free(f->writer);
	f->writer = NULL;
	if (f->out.buffer)
		os_output_close(&f->out);
}
