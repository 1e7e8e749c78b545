/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/common/pager.h"
#include "cli/common/progress.h"
#include "cli/common/terminal_text.h"
#include "cli/event_args.h"
#include "cli/top_args.h"
#include "cli/tui_top.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "os/thread.h"
#include "record/plan/rec_parse.h"
#include "record/session/rec_session.h"

struct top_run {
	struct top_args args;
	struct top *top;
	struct rec_sink sink;
	struct clew_sink out;
	struct clew_diag out_diag;
	enum clew_err draw_err;
	uint64_t nr_shown;
	struct os_lock *lock; /* guards must_close */
	bool must_close;      /* the screen */
	struct buf notes;     /* of the session's thread while the screen may be open, in lines */
	bool has_screen;      /* it may be open */
};

/* With the screen, messages wait until it is closed. */
static void say(void *ctx, enum rec_level level, const char *text)
{
	struct top_run *r = ctx;

	if (r->has_screen) {
		buf_printf(&r->notes, "%s\n", text);
		return;
	}
	if (level == REC_WARNING)
		cli_warn("%s", text);
	else
		cli_note("%s", text);
}

static enum clew_err draw(struct top_run *r, const struct top_view *v)
{
	const struct top_style *style = &r->args.style;
	enum clew_err err = r->args.output == TOP_JSON ? top_json(v, style, &r->out)
						       : top_text(v, style, &r->out);

	if (err == CLEW_OK && fflush(stdout))
		err = CLEW_STOPPED; /* main() says why */
	return err;
}

/* A thread of its own: a slow reader of the output delays nothing but the next refresh. */
static void draw_all(void *ctx)
{
	struct top_run *r = ctx;
	struct top_view *view = NULL, *next;
	bool is_end = false;

	while (r->draw_err == CLEW_OK && (next = top_wait(r->top, view, -1, &is_end)) != NULL) {
		view = next;
		r->draw_err = draw(r, view);
		r->nr_shown++;
		if (r->args.max_refreshes && r->nr_shown >= r->args.max_refreshes)
			break;
	}
	if (view)
		top_release(r->top, view);
	top_stop(r->top);
}

static bool must_close(void *ctx)
{
	struct top_run *r = ctx;
	bool must;

	os_lock(r->lock);
	must = r->must_close;
	os_unlock(r->lock);
	return must;
}

static void close_screen(struct top_run *r)
{
	os_lock(r->lock);
	r->must_close = true;
	os_unlock(r->lock);
}

static void show_screen(void *ctx)
{
	struct top_run *r = ctx;
	const struct tui_top_input in = {
		.top = r->top, .args = &r->args, .must_close = must_close, .ctx = r};

	if (tui_top_show(&in) != CLI_OK)
		r->draw_err = CLEW_INVALID;
	top_stop(r->top);
}

static void put_notes(struct top_run *r)
{
	char *text = r->notes.nr ? (char *)(uintptr_t)buf_cstr(&r->notes) : NULL, *rest = NULL;

	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		cli_note("%s", line);
	buf_done(&r->notes);
}

static int fail_session(const struct rec_error *error, const struct rec_result *result)
{
	event_args_refuse(error);
	return result->has_command_failed_to_start ? result->exit_code : CLI_FAILED;
}

static int status_of(struct top_run *r, const struct rec_result *result,
		     const struct clew_diag *diag)
{
	if (r->draw_err == CLEW_STOPPED)
		return CLI_OK;
	if (r->draw_err == CLEW_INVALID) /* after a message */
		return CLI_FAILED;
	if (r->out_diag.code != CLEW_OK)
		return cli_fail("standard output", &r->out_diag);
	if (r->draw_err != CLEW_OK || diag->code != CLEW_OK) {
		const struct clew_diag drawn = {.code = r->draw_err};

		return cli_fail("top", diag->code != CLEW_OK ? diag : &drawn);
	}
	if (!result->samples && result->why_empty && !result->signal)
		cli_warn("nothing was sampled: %s", result->why_empty);
	return CLI_OK;
}

static int record(struct top_run *r, const struct rec_ui *ui)
{
	struct os_thread *drawer;
	struct rec_result result;
	struct rec_error error;
	struct clew_diag diag;
	enum clew_err err;

	r->has_screen = r->args.output == TOP_SCREEN;
	if (!top_start(r->top) ||
	    !(drawer = os_thread_start(r->has_screen ? show_screen : draw_all, r))) {
		top_stop(r->top);
		top_finish(r->top, &diag);
		cli_error("cannot start a thread");
		return CLI_FAILED;
	}
	cli_progress_begin("setting up", 0);
	err = rec_session_run(&r->args.o, &r->args.events, ui, &result, &error);
	cli_progress_end();
	if (err != CLEW_OK)
		top_stop(r->top);
	if (err != CLEW_OK || result.signal)
		close_screen(r);
	top_finish(r->top, &diag);
	if (diag.code != CLEW_OK)
		close_screen(r);
	os_thread_join(drawer);
	put_notes(r);
	return err == CLEW_OK ? status_of(r, &result, &diag) : fail_session(&error, &result);
}

/* Before anything is drawn. */
static void end_progress(void *ctx)
{
	(void)ctx;
	cli_progress_end();
}

static int run(struct top_run *r)
{
	const struct rec_ui ui = {
		.say = say, .steps = cli_progress(), .ready = end_progress, .ctx = r};
	struct rec_options *o = &r->args.o;
	struct rec_error error;
	int err, status = CLI_FAILED;

	if (!r->args.events.events.nr && rec_events_default(&r->args.events) != CLEW_OK) {
		cli_error("cannot set up the default event: out of memory");
		return CLI_FAILED;
	}
	if (rec_settle_freq(o, &ui, &error) != CLEW_OK)
		return event_args_refuse(&error);
	r->top = top_new(&r->args.top, &err);
	r->lock = os_lock_new();
	if (!r->top || !r->lock) {
		top_free(r->top);
		os_lock_free(r->lock);
		cli_error("cannot start: %s", err ? strerror(err) : "out of memory");
		return CLI_FAILED;
	}
	r->sink = top_sink(r->top);
	o->sink = &r->sink;
	o->control = top_control(r->top);
	o->switch_output = (struct rec_switch){.is_on = true, .on_signal = true};
	status = record(r, &ui);
	top_free(r->top);
	os_lock_free(r->lock);
	return status;
}

static void fit_terminal(struct top_args *a)
{
	a->style.text.is_colored = a->output == TOP_STDIO && cli_is_colored(a->color);
	a->style.text.cut_mark = cli_cut_mark();
	if (isatty(STDOUT_FILENO))
		a->style.text.columns = os_terminal_columns(STDOUT_FILENO);
}

int cmd_top(int argc, char **argv)
{
	struct top_run r = {0};
	int status;

	os_signal_hold_requests();
	status = top_args_parse(&r.args, argc, argv);
	if (status < 0) {
		fit_terminal(&r.args);
		r.out = cli_stdout_sink(&r.out_diag);
		status = run(&r);
	}
	top_args_done(&r.args);
	return status;
}
