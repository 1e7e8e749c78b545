/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/merge_file.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/common/message.h"
#include "cli/common/progress.h"
#include "os/file.h"
#include "os/output.h"
#include "os/signals.h"

struct pass {
	struct os_output out;
	struct merge_file *result;
	int signal_fd;
};

static enum clew_err write_some(void *ctx, const void *data, size_t size)
{
	struct pass *p = ctx;

	p->result->os_errno = os_output_add(&p->out, data, size);
	return p->result->os_errno ? CLEW_OS : CLEW_OK;
}

/* The header is rewritten; part of it may still be in the buffer. */
static enum clew_err rewrite_some(void *ctx, uint64_t offset, const void *data, size_t size)
{
	struct pass *p = ctx;

	p->result->os_errno = os_output_flush(&p->out);
	if (!p->result->os_errno)
		p->result->os_errno = os_output_rewrite(&p->out, offset, data, size);
	return p->result->os_errno ? CLEW_OS : CLEW_OK;
}

static bool goes_on(void *ctx, uint64_t done, uint64_t total)
{
	struct pass *p = ctx;
	int number;

	(void)done, (void)total;
	while ((number = os_signal_next(p->signal_fd))) {
		if (number != SIGCHLD && number != SIGUSR2)
			p->result->signal = number;
	}
	return !p->result->signal;
}

/* A signal since the last check has ended the merge, and ends nothing else. */
static void stop_watching(struct pass *p)
{
	if (p->signal_fd >= 0)
		goes_on(p, 0, 0);
	os_signal_close(p->signal_fd);
}

/* Into p->out, which is closed in any case. Signals are watched up to the end of what follows. */
static enum clew_err run(struct pass *p, const struct perf_input *in, struct clew_diag *diag)
{
	const struct perf_writer_out to = {
		.sink = {write_some, p},
                  .rewrite = rewrite_some
        };
	const struct stack_merge_opts opts = {.goes_on = goes_on, .ctx = p};
	struct merge_file *m = p->result;
	enum clew_err err;
	int os_err;

	m->bytes_before = in->size;
	err = stack_merge(in, &to, &opts, &m->counts, diag);
	os_err = os_output_flush(&p->out);
	m->bytes = p->out.written_bytes;
	if (!os_err)
		os_err = os_output_close(&p->out);
	else
		os_output_close(&p->out);
	if (err == CLEW_OK && os_err) {
		m->os_errno = os_err;
		err = CLEW_OS;
	}
	if (err == CLEW_OS && m->os_errno)
		*diag = (struct clew_diag){.code = err, .what = "write", .os_errno = -m->os_errno};
	return err;
}

static enum clew_err merge_to(const struct perf_input *in, const char *to, bool is_watched,
			      struct merge_file *ret, struct clew_diag *diag)
{
	struct pass p = {.result = ret, .signal_fd = -1};
	enum clew_err err;
	int os_err = os_output_create(&p.out, to);

	*ret = (struct merge_file){0};
	if (os_err) {
		*diag = (struct clew_diag){.code = CLEW_OS, .what = "open", .os_errno = -os_err};
		return CLEW_OS;
	}
	if (!p.out.created.is_new) {
		os_output_close(&p.out);
		return CLEW_INVALID;
	}
	ret->created = p.out.created;
	if (is_watched)
		p.signal_fd = os_signal_open();
	err = run(&p, in, diag);
	if (err != CLEW_OK)
		merge_file_undo(to, ret);
	stop_watching(&p);
	return err;
}

enum clew_err merge_file_to(const struct perf_input *in, const char *to, struct merge_file *ret,
			    struct clew_diag *diag)
{
	return merge_to(in, to, true, ret, diag);
}

enum clew_err merge_file_to_unwatched(const struct perf_input *in, const char *to,
				      struct merge_file *ret, struct clew_diag *diag)
{
	return merge_to(in, to, false, ret, diag);
}

void merge_file_undo(const char *to, const struct merge_file *m)
{
	os_create_undo(to, &m->created);
}

/* Remove one that a killed recorder left. */
static int create_beside(struct os_output *out, const char *path)
{
	int err = os_output_create_new(out, path);

	if (err != -EEXIST || os_unlink(path))
		return err;
	return os_output_create_new(out, path);
}

static enum clew_err merge_beside(struct pass *p, const char *path, const char *beside,
				  const struct perf_input *in, struct clew_diag *diag)
{
	int os_err = create_beside(&p->out, beside);
	enum clew_err err;

	if (os_err) {
		*diag = (struct clew_diag){
			.code = CLEW_OS, .what = "a file beside it", .os_errno = -os_err};
		return CLEW_OS;
	}
	err = run(p, in, diag);
	if (err == CLEW_OK && p->result->counts.end.code != CLEW_OK) {
		*diag = p->result->counts.end;
		err = diag->code;
	}
	os_err = err == CLEW_OK ? os_rename(beside, path) : 0;
	if (os_err) {
		*diag = (struct clew_diag){.code = CLEW_OS, .what = "rename", .os_errno = -os_err};
		err = CLEW_OS;
	}
	if (err != CLEW_OK)
		os_unlink(beside);
	return err;
}

static enum clew_err replace(const char *path, const struct os_map *map, struct merge_file *ret,
			     struct clew_diag *diag)
{
	const struct perf_input in = {.data = map->data,
				      .size = map->size,
				      .is_mapped = true,
				      .progress = cli_progress()};
	clew_auto(buf_done) struct buf beside = {0};
	struct pass p = {.result = ret};
	enum clew_err err;

	buf_printf(&beside, "%s.merging", path);
	if (beside.is_failed) {
		*diag = (struct clew_diag){.code = CLEW_NO_MEMORY};
		return CLEW_NO_MEMORY;
	}
	p.signal_fd = os_signal_open();
	err = merge_beside(&p, path, buf_cstr(&beside), &in, diag);
	stop_watching(&p);
	return err;
}

static void hint_later(const char *path)
{
	cli_hint("clew reads them, and perf from 6.19 on; for other readers: 'clew inject "
		 "--merge-stacks -i %s -o FILE'",
		 path);
}

void merge_file_report_unmerged(const char *path, size_t nr)
{
	if (nr > 1)
		cli_warn("%s and %zu more files: user stacks remain separate", path, nr - 1);
	else
		cli_warn("%s: user stacks remain separate", path);
	hint_later(path);
}

static void report_failed(const char *path, const struct merge_file *m, const struct clew_diag *d)
{
	const char *why = d->what ? d->what : clew_err_name(d->code);

	if (m->signal)
		cli_warn("%s: interrupted: user stacks remain separate", path);
	else if (d->code == CLEW_OS)
		cli_warn("%s: user stacks remain separate: %s: %s", path, why,
			 strerror(d->os_errno));
	else
		cli_warn("%s: user stacks remain separate: %s", path, why);
	hint_later(path);
}

bool merge_file_in_place(const char *path, struct merge_file *ret)
{
	struct clew_diag diag = {0};
	struct perf_input in;
	struct os_map map = {0};
	enum clew_err err;

	*ret = (struct merge_file){0};
	if (!os_exists(path)) /* --switch-max-files keeps the newest only */
		return false;
	cli_progress_begin(STACK_MERGE_PHASE, 0);
	err = os_map_file(path, &map, &diag);
	in = (struct perf_input){.data = map.data, .size = map.size};
	if (err == CLEW_OK && !stack_merge_is_deferred(&in)) {
		cli_progress_end();
		os_map_done(&map);
		return false;
	}
	if (err == CLEW_OK)
		err = replace(path, &map, ret, &diag);
	cli_progress_end();
	os_map_done(&map);
	if (err != CLEW_OK) {
		diag.code = err;
		report_failed(path, ret, &diag);
	}
	return err == CLEW_OK;
}

void merge_file_report_losses(const char *path, const struct merge_file *m)
{
	const struct stack_merge_counts *c = &m->counts;

	if (c->nr_cut)
		cli_warn("%s: %llu stacks were longer than a record: their outermost frames are "
			 "cut",
			 path, (unsigned long long)c->nr_cut);
	if (c->nr_left_out)
		cli_warn("%s: for %llu samples the reason why the user stack ends was not kept",
			 path, (unsigned long long)c->nr_left_out);
}
