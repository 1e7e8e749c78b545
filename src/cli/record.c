/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/common/progress.h"
#include "cli/event_args.h"
#include "cli/merge_file.h"
#include "cli/record_args.h"
#include "format/json_put.h"
#include "os/file.h"
#include "os/signals.h"
#include "record/plan/rec_parse.h"
#include "record/session/rec_session.h"

struct record {
	struct record_args args;
	bool is_live; /* the progress line stands on the terminal */
	struct {
		VEC(char *);
	} deferred; /* files with stacks to be merged into their samples */
};

static void clear_live(struct record *r)
{
	if (r->is_live)
		fprintf(stderr, "\r\033[K");
	r->is_live = false;
}

static void say(void *ctx, enum rec_level level, const char *text)
{
	struct record *r = ctx;

	clear_live(r);
	if (level == REC_WARNING)
		cli_warn("%s", text);
	else if (!r->args.is_quiet)
		cli_note("%s", text);
}

static void progress(void *ctx, const struct rec_progress *p)
{
	struct record *r = ctx;
	double seconds = (double)p->elapsed_ns / 1e9;

	cli_progress_pause();
	fprintf(stderr, "\r\033[K%6.1f s  %llu samples  %.1f MB", seconds,
		(unsigned long long)p->samples, (double)p->bytes / 1e6);
	if (p->lost)
		fprintf(stderr, "  %llu lost", (unsigned long long)p->lost);
	if (p->nr_files > 1)
		fprintf(stderr, "  file %u", p->nr_files);
	fflush(stderr);
	cli_progress_resume();
	r->is_live = true;
}

static void note_file(void *ctx, const char *path, bool is_deferred)
{
	struct record *r = ctx;
	char *copy = is_deferred && !r->args.o.keeps_deferred ? mem_strdup(path) : NULL;

	if (copy && !vec_push(&r->deferred, copy))
		mem_free(copy);
}

/* After the recording, at no cost while it runs. */
static void merge_files(struct record *r, struct rec_result *result)
{
	bool goes_on = !result->was_disk_full;
	const char *unmerged = NULL;
	size_t nr_unmerged = 0;

	vec_for_each (&r->deferred, path) {
		struct merge_file m = {0};

		if (goes_on && merge_file_in_place(*path, &m)) {
			result->bytes += m.bytes - m.bytes_before;
			merge_file_report_losses(*path, &m);
		} else if (!goes_on && os_exists(*path)) { /* --switch-max-files */
			unmerged = unmerged ? unmerged : *path;
			nr_unmerged++;
		}
		goes_on &= !m.signal;
	}
	if (nr_unmerged)
		merge_file_report_unmerged(unmerged, nr_unmerged);
	vec_for_each (&r->deferred, path)
		mem_free(*path);
	vec_done(&r->deferred);
}

static void put_summary_json(const struct rec_result *result)
{
	clew_auto(buf_done) struct buf out = {0};
	struct json_put j = {.out = &out};

	json_open(&j, '{');
	json_put_string(&j, "path", result->last_path);
	json_put_u64(&j, "files", result->nr_files);
	json_put_u64(&j, "bytes", result->bytes);
	json_put_u64(&j, "samples", result->samples);
	json_put_u64(&j, "lost_records", result->lost);
	json_put_string(&j, "why_empty", result->why_empty);
	json_put_u64(&j, "exit_status", (uint64_t)result->exit_code);
	json_put_u64(&j, "signal", (uint64_t)result->signal);
	json_put_bool(&j, "was_disk_full", result->was_disk_full);
	json_close(&j, '}');
	cli_put(stderr, "%s\n", buf_cstr(&out));
}

static void print_summary(const struct record *r, const struct rec_result *result)
{
	if (r->args.is_json) {
		put_summary_json(result);
		return;
	}
	if (r->args.is_quiet)
		return;
	cli_put(stderr, "[ clew record: captured and wrote %.3f MB %s (%llu samples",
		(double)result->bytes / 1e6,
		!strcmp(result->last_path, "-") ? "to the pipe" : result->last_path,
		(unsigned long long)result->samples);
	if (result->lost)
		fprintf(stderr, ", %llu lost", (unsigned long long)result->lost);
	if (result->nr_files > 1)
		fprintf(stderr, ", %u files", result->nr_files);
	fprintf(stderr, ") ]\n");
}

/* The command's own status if it ran, as with perf. */
static int status_of(const struct rec_result *result)
{
	if (result->was_disk_full)
		return CLI_FAILED;
	if (result->why_empty) {
		cli_error("nothing was recorded: %s", result->why_empty);
		return result->exit_code ? result->exit_code : CLI_FAILED;
	}
	return result->exit_code;
}

static int run(struct record *r)
{
	struct rec_ui ui = {.say = say,
			    .wrote = note_file,
			    .progress =
				    isatty(STDERR_FILENO) && !r->args.is_quiet ? progress : NULL,
			    .steps = cli_progress(),
			    .ctx = r};
	struct rec_result result;
	struct rec_error error;
	enum clew_err err = CLEW_OK;

	if (!r->args.events.events.nr)
		err = rec_events_default(&r->args.events);
	if (err != CLEW_OK) {
		cli_error("cannot set up the default event: %s", clew_err_name(err));
		return CLI_FAILED;
	}
	if (rec_settle_freq(&r->args.o, &ui, &error) != CLEW_OK) {
		event_args_refuse(&error);
		return CLI_USAGE;
	}
	if (r->args.is_dry_run)
		return CLI_OK;
	if (!r->args.is_quiet)
		cli_progress_begin("setting up", 0);
	err = rec_session_run(&r->args.o, &r->args.events, &ui, &result, &error);
	cli_progress_end();
	clear_live(r);
	merge_files(r, &result);
	if (err != CLEW_OK) {
		event_args_refuse(&error);
		return result.has_command_failed_to_start ? result.exit_code : CLI_FAILED;
	}
	print_summary(r, &result);
	return status_of(&result);
}

int cmd_record(int argc, char **argv)
{
	struct record r = {0};
	int status;

	os_signal_hold_requests();
	status = record_args_parse(&r.args, argc, argv);
	if (status < 0)
		status = run(&r);
	record_args_done(&r.args);
	return status;
}
