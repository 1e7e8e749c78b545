/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/pager.h"
#include "cli/export_run.h"

enum { GZIP_LEVEL = 1 };

static enum clew_err add_file(void *run, const void *data, size_t size)
{
	struct export_run *r = run;

	r->write_error = os_output_add(&r->file, data, size);
	return r->write_error ? CLEW_OS : CLEW_OK;
}

/* The bytes may still be in the buffer. */
static enum clew_err rewrite_file(void *run, uint64_t offset, const void *data, size_t size)
{
	struct export_run *r = run;

	r->write_error = os_output_flush(&r->file);
	if (!r->write_error)
		r->write_error = os_output_rewrite(&r->file, offset, data, size);
	return r->write_error ? CLEW_OS : CLEW_OK;
}

static bool ends_in(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size >= end_size && !strcmp(text + size - end_size, end);
}

int export_open_output(struct export_run *r)
{
	bool is_packed = (r->opts.format && r->opts.format->is_packed) ||
			 (r->out_path && ends_in(r->out_path, ".gz"));
	int err = r->out_path ? os_output_create_late(&r->file, r->out_path) : 0;

	if (err) {
		cli_error("%s: %s", r->out_path, strerror(-err));
		return CLI_FAILED;
	}
	r->sink = r->out_path ? (struct clew_sink){add_file, r} : cli_stdout_sink(&r->out_diag);
	if (!is_packed && (r->file.created.is_new || r->file.created.is_nameless))
		r->opts.rewrite = rewrite_file;
	if (is_packed)
		r->gzip = gzip_sink_new(&r->sink, GZIP_LEVEL);
	if (!is_packed || r->gzip)
		return CLI_OK;
	cli_error("out of memory");
	return CLI_FAILED;
}

const struct clew_sink *export_run_sink(const struct export_run *r)
{
	return r->gzip ? gzip_sink_of(r->gzip) : &r->sink;
}

int export_close_output(struct export_run *r, bool is_whole)
{
	int err = 0;

	if (!r->out_path || r->file.fd < 0)
		return CLI_OK;
	if (is_whole)
		err = os_output_end(&r->file, r->out_path, 0);
	else
		os_output_discard(&r->file, r->out_path);
	if (!err)
		return CLI_OK;
	cli_error("%s: %s", r->out_path, strerror(-err));
	return CLI_FAILED;
}

static const char *why_not(const struct export_run *r)
{
	const char *why = r->write_error ? strerror(-r->write_error)
			: r->export      ? export_why(r->export)
					 : NULL;

	return why ? why : "the output is incomplete";
}

static int fail(struct export_run *r, enum clew_err err)
{
	if (r->out_diag.code != CLEW_OK)
		return cli_fail("standard output", &r->out_diag);
	if (err == CLEW_OS && !r->diag.os_errno) {
		cli_error("%s: %s", r->out_path ? r->out_path : r->format_name, why_not(r));
		return CLI_FAILED;
	}
	if (!r->diag.code)
		r->diag.code = err;
	if (err == CLEW_UNSUPPORTED && r->opts.format && r->opts.format->is_recording)
		r->diag.what = "its records have no ids, by which readers would distinguish its "
			       "events from those of the trace";
	return cli_input_fail(&r->in, &r->diag);
}

int export_end_output(struct export_run *r, enum clew_err err, bool *ret_is_written)
{
	if (err == CLEW_OK && r->gzip)
		err = gzip_sink_end(r->gzip);
	*ret_is_written = err == CLEW_OK;
	if (export_close_output(r, err == CLEW_OK) != CLI_OK)
		return CLI_FAILED;
	return err == CLEW_OK || err == CLEW_STOPPED ? CLI_OK : fail(r, err);
}
