/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/merge_file.h"
#include "cli/tui_file.h"
#include "cli/tui_top_impl.h"
#include "os/proc.h"
#include "os/temp_dir.h"

/* clang-format off */
const struct tui_key_text tui_top_keys[] = {
	{"Enter",         "open or close the row"},
	{"a",             "annotate: source and instructions of the function, of the last seconds"},
	{"p",             "write the last seconds to a file, and browse them"},
	{"e Tab",         "the next event"},
	{"Z",             "stop sampling, or continue"},
	{"z",             "show what is new alone, or let earlier counts fade"},
	{"d",             "seconds between refreshes"},
	{"K U",           "hide the kernel, user space, or show them"},
	{"f",             "hide rows with fewer samples"},
	{"L",             "least percent of a row"},
	{"Esc Left",      "undo the filter"},
	{"P",             "write the view to a file"},
	{"q Ctrl+C",      "leave"},
	{NULL}
};
/* clang-format on */
const char tui_top_taken[] = "e"; /* all levels of a row: E */

static void ask_seconds(struct tui_top *t)
{
	clew_auto(buf_done) struct buf text = {0};

	buf_printf(&text, "%g", (double)t->refresh_ns / 1e9);
	if (!tui_ask("seconds between refreshes: ", &text, NULL, NULL))
		return;
	if (top_parse_seconds(buf_cstr(&text), &t->refresh_ns))
		top_set_refresh(t->in.top, t->refresh_ns);
	else
		tui_browser_say(t->browser, "a number from 0.1 to %d, not '%s'", TOP_MAX_SECONDS,
				buf_cstr(&text));
}

static void ask_least(struct tui_top *t)
{
	clew_auto(buf_done) struct buf text = {0};
	uint64_t v;

	buf_printf(&text, "%llu", (unsigned long long)t->style.select.min_samples);
	if (!tui_ask("least samples of a row: ", &text, NULL, NULL))
		return;
	if (!cli_parse_uint(buf_cstr(&text), &v)) {
		tui_browser_say(t->browser, "a whole number, not '%s'", buf_cstr(&text));
		return;
	}
	t->style.select.min_samples = v;
	tui_top_make_again(t);
}

static void ask_percent(struct tui_top *t)
{
	if (tui_ask_share(t->browser, &t->style.table.min_share))
		tui_top_make_again(t);
}

/* --- other commands, on what was recorded last --- */

/* @return false, after a message in the last line. */
static bool save(struct tui_top *t, const char *path)
{
	clew_auto(buf_done) struct buf records = {0};
	struct perf_input in = {0};
	struct merge_file merged;
	struct clew_diag diag = {0};
	enum clew_err err;

	if (!top_save(t->in.top, &records)) {
		tui_browser_say(t->browser,
				"nothing of the last seconds is kept: see --max-memory");
		return false;
	}
	in.data = (const uint8_t *)records.data;
	in.size = records.nr;
	err = merge_file_to_unwatched(&in, path, &merged, &diag);
	if (err == CLEW_OK)
		return true;
	if (diag.os_errno)
		tui_browser_say(t->browser, "%s: %s", path, strerror(diag.os_errno));
	else
		tui_browser_say(t->browser, "%s: %s", path,
				diag.what ? diag.what : clew_err_name(err));
	return false;
}

/* The screen is the command's until it ends. */
static void run_command(struct tui_top *t, int (*run)(int argc, char **argv), int argc, char **argv)
{
	tui_close();
	if (run(argc, argv) != CLI_OK)
		cli_error("no more of it can be shown");
	t->must_leave = !tui_top_open(t);
}

static void browse_saved(struct tui_top *t)
{
	char command[] = "report", tui[] = "--tui", input[] = "-i", color[] = "--no-color";
	clew_auto(buf_done) struct buf path = {0};
	char *argv[] = {command, tui, input, NULL, t->has_colors ? NULL : color, NULL};

	buf_str(&path, "perf.data");
	if (!tui_ask("write the last seconds to: ", &path, NULL, NULL) || !path.nr)
		return;
	argv[3] = (char *)(uintptr_t)buf_cstr(&path);
	if (!save(t, argv[3]))
		return;
	run_command(t, cmd_report, t->has_colors ? 4 : 5, argv);
	tui_browser_say(t->browser, "%s is written", argv[3]);
}

static void annotate_at(struct tui_top *t, const struct report_frame_text *f, const char *dir)
{
	char command[] = "annotate", tui[] = "--tui", input[] = "-i", dso[] = "--dso";
	clew_auto(buf_done) struct buf path = {0}, symbol = {0}, file = {0};
	char *argv[] = {command, tui, input, NULL, dso, NULL, NULL, NULL};

	buf_str(&symbol, f->sym);
	buf_str(&file, f->dso);
	buf_printf(&path, "%s/clew-top-%d.data", dir, os_pid());
	if (!save(t, buf_cstr(&path)))
		return;
	argv[3] = (char *)(uintptr_t)buf_cstr(&path);
	argv[5] = (char *)(uintptr_t)buf_cstr(&file);
	argv[6] = (char *)(uintptr_t)buf_cstr(&symbol);
	run_command(t, cmd_annotate, 7, argv);
}

static void annotate(struct tui_top *t)
{
	char dir[OS_TEMP_DIR_BYTES];
	struct report_frame_text f;
	uint64_t node;
	int err;

	if (!tui_browser_at(t->browser, &node))
		return;
	f = report_feed_frame(t->view->feed, tui_top_frame_of(t, node));
	if (!f.sym || !report_sort_has(report_feed_sort(t->view->feed), REPORT_SYM)) {
		tui_browser_say(t->browser, "this row is no function");
		return;
	}
	if (!tui_top_self_of(t, node)) {
		tui_browser_say(t->browser, "only what it called was sampled");
		return;
	}
	err = os_temp_dir_make(dir);
	if (err) {
		tui_browser_say(t->browser, "no folder for what was recorded: %s", strerror(-err));
		return;
	}
	annotate_at(t, &f, dir);
	os_temp_dir_remove(dir);
}

static void next_event(struct tui_top *t)
{
	size_t nr = report_feed_nr_events(t->view->feed);

	t->event = tui_beside(t->event, nr, false);
	tui_top_make_again(t);
}

static void pause(struct tui_top *t)
{
	t->is_paused = !t->is_paused;
	top_pause(t->in.top, t->is_paused);
}

bool tui_top_key(struct tui_top *t, int key)
{
	struct top_select *select = &t->style.select;

	switch (key) {
	case 'q':
		return false;
	case TUI_ENTER:
		tui_browser_toggle(t->browser);
		break;
	case 'a':
		annotate(t);
		break;
	case 'p':
		browse_saved(t);
		break;
	case 'e':
	case TUI_TAB:
		next_event(t);
		break;
	case 'Z':
		pause(t);
		break;
	case 'z':
		t->is_zeroed = !t->is_zeroed;
		top_set_zeroed(t->in.top, t->is_zeroed);
		tui_browser_say(t->browser, t->is_zeroed ? "each refresh shows what is new alone"
							 : "earlier counts fade");
		break;
	case 'd':
		ask_seconds(t);
		break;
	case 'K':
		select->hides_kernel = !select->hides_kernel;
		tui_top_make_again(t);
		break;
	case 'U':
		select->hides_user = !select->hides_user;
		tui_top_make_again(t);
		break;
	case 'f':
		ask_least(t);
		break;
	case 'L':
		ask_percent(t);
		break;
	case 'P':
		tui_file_write(t->browser, "clew-top.txt");
		break;
	case TUI_ESC:
	case TUI_LEFT:
		tui_browser_set_filter(t->browser, NULL);
		break;
	default:
		break;
	}
	return !t->must_leave;
}
