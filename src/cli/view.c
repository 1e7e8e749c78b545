/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/page_server.h"
#include "cli/report_page.h"
#include "os/child.h"

struct view {
	struct report_args report;
	bool is_not_opened;
	uint64_t port;
};

static int set_port(void *to, const char *arg, bool is_negated)
{
	uint64_t *port = to;

	(void)is_negated;
	if (cli_parse_uint(arg, port) && *port && *port <= UINT16_MAX)
		return 0;
	cli_error("--port takes a number from 1 to %d, not '%s'", UINT16_MAX, arg);
	return CLI_USAGE;
}

static int set_open(void *to, const char *arg, bool is_negated)
{
	(void)arg;
	*(bool *)to = is_negated;
	return 0;
}

/* @return the exit status where the command is to end now, else -1. */
static int parse(struct view *v, int argc, char **argv)
{
	struct report_args *a = &v->report;
	/* clang-format off */
	const struct cli_option options[] = {
		{0, "View", NULL, NULL, CLI_SECTION},
		{0, "open", NULL, "start a browser (default where there is a display); --no-open: print the address only",
		 CLI_CALL, &v->is_not_opened, set_open, true},
		{0, "port", "N", "listen there (default: a port that is free)", CLI_CALL, &v->port, set_port},
		{0, "max-stack", "N", "take N frames of each chain (default 1024)", CLI_CALL, a, report_args_set_max_stack},
		{0, "inline", NULL, "show inlined functions as separate frames", CLI_FLAG, &a->feed.has_inlines},
		REPORT_MAX_SAMPLES_OPTION(a),
		{'q', "quiet", NULL, "no notes", CLI_FLAG, &a->is_quiet},
		{0, "Hardware trace", NULL, NULL, CLI_SECTION},
		{0, "itrace", "[OPTS]", "events to make of the trace, as in clew report", CLI_CALL, &a->itrace, cli_itrace_set, true},
		CLI_ITRACE_INDEX_OPTION(&a->itrace),
		CLI_INPUT_OPTIONS(&a->in),
		{0}
	};
	/* clang-format on */
	const struct cli_command cmd = {
		.name = "view",
		.usage = "[OPTIONS]",
		.summary = "Look at a recording in a browser of this machine: the page of 'clew "
			   "report --html', without a file.",
		.options = options,
		.examples =
			"  clew view                          perf.data of this folder\n"
			"  clew view -i old.data --time 10%-20%\n"
			"  clew view --no-open --port 8123    on a machine that is reached by ssh\n",
	};
	int at;

	report_args_init(a);
	a->html = "the page";
	at = cli_parse(&cmd, argc, argv);
	if (at < 0)
		return -1 - at;
	if (at < argc) {
		cli_error("view: unexpected argument '%s'", argv[at]);
		cli_hint("a recording is named by -i");
		return CLI_USAGE;
	}
	return report_args_finish(a);
}

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

/* Over ssh the user's browser is elsewhere. */
static bool has_display(void)
{
	return !is_set("SSH_CONNECTION") && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"));
}

static void start_browser(struct os_child *browser, char *address)
{
	char program[] = "xdg-open", *argv[] = {program, address, NULL};

	if (os_child_check(program, getenv("PATH")) || os_child_fork(browser, argv))
		return;
	if (os_child_go(browser))
		cli_note("no browser was started: open the address in one");
}

/* Where ssh came in is the name by which the user's machine reaches this one. */
static void print_tunnel(uint16_t port)
{
	char host[64];

	if (sscanf(getenv("SSH_CONNECTION"), "%*63s %*15s %63s", host) == 1)
		cli_note("on the machine with the browser: ssh -L %u:127.0.0.1:%u %s", port, port,
			 host);
}

static int serve(struct view *v, struct page_server *s)
{
	struct os_child browser = {0};
	char address[80];
	int err;

	snprintf(address, sizeof(address), "http://127.0.0.1:%u/%s/", s->site.port, s->site.token);
	cli_note("the page is served until it is closed in the browser, or Ctrl-C");
	if (is_set("SSH_CONNECTION"))
		print_tunnel(s->site.port);
	printf("%s\n", address);
	fflush(stdout);
	if (!v->is_not_opened && has_display())
		start_browser(&browser, address);
	err = page_server_run(s);
	os_child_reap(&browser, false);
	if (!err)
		return CLI_OK;
	cli_error("the page cannot be served any more: %s", strerror(-err));
	return CLI_FAILED;
}

static int view(struct view *v, struct buf *page)
{
	struct page_server s = {.page = page->data, .page_bytes = page->nr};
	char policy[1024];
	int err = page_server_open(&s, (uint16_t)v->port), status;

	if (err) {
		cli_error("port %u of 127.0.0.1: %s", (unsigned int)v->port, strerror(-err));
		return CLI_FAILED;
	}
	snprintf(policy, sizeof(policy), "%s" PAGE_SERVED_POLICY, report_page_frame.policy);
	s.policy = policy;
	status = serve(v, &s);
	page_server_done(&s);
	return status;
}

int cmd_view(int argc, char **argv)
{
	struct view v = {0};
	struct buf page = {0};
	bool has_samples = false;
	int status = parse(&v, argc, argv), seen;

	if (status >= 0)
		return status;
	status = report_page_make(&v.report, PAGE_WHOLE, NULL, &page, &has_samples);
	if (status == CLI_OK || has_samples) {
		seen = view(&v, &page);
		status = status == CLI_OK ? seen : status;
	}
	buf_done(&page);
	return status;
}
