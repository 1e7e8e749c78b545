/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/event_args.h"
#include "cli/stat_args.h"
#include "os/create.h"
#include "os/file.h"

enum { ROWS_PER_HEADING = 25 };

struct stat_run {
	struct stat_args args;
	int fd;
	uint32_t nr_intervals;
	int write_err; /* -errno; 0: all was written */
};

static void say(void *ctx, enum rec_level level, const char *text)
{
	(void)ctx;
	if (level == REC_WARNING)
		cli_warn("%s", text);
	else
		cli_note("%s", text);
}

static void put(struct stat_run *s, const struct buf *text)
{
	if (!s->write_err)
		s->write_err =
			text->is_failed ? -ENOMEM : os_write_all(s->fd, text->data, text->nr);
}

static void on_interval(void *ctx, const struct counts *c)
{
	struct stat_run *s = ctx;
	clew_auto(buf_done) struct buf out = {0};

	if (s->nr_intervals++ % ROWS_PER_HEADING == 0)
		stat_put_columns(&out, &s->args.style, c);
	stat_put_rows(&out, &s->args.style, c);
	put(s, &out);
}

static void put_command(struct buf *out, char *const *argv)
{
	buf_char(out, '\'');
	for (size_t i = 0; argv[i]; i++)
		buf_printf(out, "%s%s", i ? " " : "", argv[i]);
	buf_char(out, '\'');
}

/* What was counted, in perf's words. */
static void put_subject(struct buf *out, const struct rec_options *o)
{
	if (o->pids)
		buf_printf(out, "process id '%s'", o->pids);
	else if (o->tids)
		buf_printf(out, "thread id '%s'", o->tids);
	else if (o->user)
		buf_printf(out, "user '%s'", o->user);
	else if (o->cpus)
		buf_printf(out, "'CPU(s) %s'", o->cpus);
	else if (o->is_system_wide || !o->argv)
		buf_str(out, "'system wide'");
	else
		put_command(out, o->argv);
}

static void put_result(struct stat_run *s, const struct counts *c)
{
	clew_auto(buf_done) struct buf out = {0}, subject = {0};

	if (s->args.style.is_interval)
		return;
	put_subject(&subject, &s->args.o);
	stat_put_head(&out, &s->args.style, c, buf_cstr(&subject));
	stat_put_rows(&out, &s->args.style, c);
	stat_put_times(&out, &s->args.style, c);
	out.is_failed |= subject.is_failed;
	put(s, &out);
}

/* As perf begins a file. */
static void put_started(struct stat_run *s)
{
	clew_auto(buf_done) struct buf out = {0};
	time_t now = time(NULL);
	char text[64];

	if (s->args.style.form == STAT_JSON ||
	    !strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", localtime(&now)))
		return;
	buf_printf(&out, "# started on %s\n\n", text);
	put(s, &out);
}

static int open_output(struct stat_run *s)
{
	const char *path = s->args.output;
	struct os_created created;

	s->fd = STDERR_FILENO;
	if (!path)
		return CLI_OK;
	s->fd = s->args.is_appended ? os_open_append(path) : os_create(path, &created);
	if (s->fd < 0) {
		cli_error("cannot write '%s': %s", path, strerror(-s->fd));
		return CLI_FAILED;
	}
	put_started(s);
	return CLI_OK;
}

static int close_output(struct stat_run *s, int status)
{
	if (s->args.output)
		os_close(s->fd);
	if (!s->write_err)
		return status;
	cli_error("cannot write '%s': %s", s->args.output ? s->args.output : "standard error",
		  strerror(-s->write_err));
	return CLI_FAILED;
}

static int run(struct stat_run *s)
{
	const struct rec_ui ui = {.say = say};
	struct counts counts = {0};
	struct rec_count_result result;
	struct rec_error error;
	enum clew_err err;
	int status = open_output(s);

	if (status != CLI_OK)
		return status;
	if (s->args.style.is_interval) {
		s->args.plan.interval = on_interval;
		s->args.plan.ctx = s;
	}
	err = rec_count_run(&s->args.o, &s->args.plan, &s->args.events, &ui, &counts, &result,
			    &error);
	if (err == CLEW_OK) {
		put_result(s, &counts);
		status = result.exit_code;
	} else {
		event_args_refuse(&error);
		status = result.has_command_failed_to_start ? result.exit_code : CLI_FAILED;
	}
	counts_done(&counts);
	return close_output(s, status);
}

/* What the locale puts between groups of digits; the decimal point remains one. */
static void set_groups(struct stat_run *s, locale_t locale)
{
	s->args.style.thousands = "";
	if (s->args.has_groups && locale)
		s->args.style.thousands = nl_langinfo_l(THOUSEP, locale);
}

int cmd_stat(int argc, char **argv)
{
	struct stat_run s = {0};
	locale_t locale = newlocale(LC_NUMERIC_MASK, "", (locale_t)0);
	int status = stat_args_parse(&s.args, argc, argv);

	set_groups(&s, locale);
	if (status < 0)
		status = run(&s);
	stat_args_done(&s.args);
	if (locale)
		freelocale(locale);
	return status;
}
