/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "cli/common/message.h"
#include "cli/export_run.h"
#include "cli/tui_report_impl.h"
#include "format/export/export_formats.h"
#include "format/header/header_text.h"
#include "format/report/stats_text.h"
#include "os/dir.h"
#include "os/file.h"
#include "perfdata/perf_file.h"

enum { MAX_FILES = 512, MAX_FORMATS = 32 };

void tui_report_say_messages(struct tui_report *t, struct buf *messages, const char *otherwise)
{
	const char *text = buf_cstr(messages), *prefix = "clew: ";

	if (!*text)
		text = otherwise;
	text += !strncmp(text, prefix, strlen(prefix)) ? strlen(prefix) : 0;
	tui_browser_say(t->browser, "%.*s", (int)strcspn(text, "\n"), text);
}

/* --- x --- */

static const struct export_format *choose_format(void)
{
	struct tui_item items[MAX_FORMATS];
	const struct export_format *f;
	int nr = 0, at;

	for (; nr < MAX_FORMATS && (f = export_format_at((size_t)nr)); nr++)
		items[nr] = (struct tui_item){f->name, 0};
	at = tui_menu("Export to", items, nr, 0);
	return at < 0 ? NULL : export_format_at((size_t)at);
}

static int run_export(struct tui_report *t, const struct export_format *f, const char *path)
{
	struct export_run r = {.in = t->parsed->in, .itrace = t->parsed->itrace, .file.fd = -1};
	struct report_want wants[TUI_MAX_WANTS];
	size_t nr = tui_report_wants(t, wants);
	struct report_pick *pick = report_pick_new(&t->in.args->feed, wants, nr);
	int status;

	if (!pick) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	tui_report_set_input(t, &r.in);
	r.in.opts.wants_who = t->in.args->in.opts.wants_who;
	r.opts.picks = report_pick_takes;
	r.opts.picks_ctx = pick;
	r.format_name = f->name;
	r.out_path = path;
	if (f->has_one_event && t->table.nr_events)
		r.opts.event = t->table.events[0]->evsel->name;
	status = export_run(&r);
	if (report_pick_has_failed(pick)) {
		cli_error("some samples are missing in %s: out of memory", path);
		status = CLI_FAILED;
	}
	report_pick_free(pick);
	return status;
}

void tui_report_export(struct tui_report *t)
{
	clew_auto(buf_done) struct buf path = {0}, messages = {0};
	const struct export_format *f = choose_format();
	struct buf *before;

	if (!f)
		return;
	buf_printf(&path, "clew.%s", f->name);
	if (!tui_ask("write to: ", &path, NULL, NULL) || !path.nr)
		return;
	before = cli_hold_messages(&messages);
	tui_pause("exporting");
	run_export(t, f, buf_cstr(&path));
	tui_resume();
	cli_hold_messages(before);
	tui_report_say_messages(t, &messages, "written");
}

/* --- i --- */

static void put_header(struct tui_report *t, struct buf *out)
{
	struct header_facts h = {0};
	char time[64];

	if (!t->in.analyze)
		return;
	h.file = analyze_file(t->in.analyze);
	h.captured_on = cli_input_date(&t->in.args->in, time, sizeof(time));
	header_text(out, &h);
}

void tui_report_info(struct tui_report *t)
{
	clew_auto(buf_done) struct buf text = {0}, title = {0};

	buf_add(&text, t->in.notes->data, t->in.notes->nr);
	report_gaps_text(&text, t->in.summary);
	if (t->in.args->in.verbose && t->in.analyze)
		report_symbol_files_text(&text, analyze_dsos(t->in.analyze));
	put_header(t, &text);
	buf_char(&title, ' ');
	escape_str(&title, t->in.args->in.path);
	tui_text(buf_cstr(&title), text.data, text.nr);
}

/* --- s --- */

static bool is_recording(const char *path)
{
	uint8_t magic[8];
	int fd = os_open_regular(path);
	bool is_one;

	if (fd < 0)
		return false;
	is_one = os_read(fd, magic, sizeof(magic)) == sizeof(magic) && perf_file_has_magic(magic);
	os_close(fd);
	return is_one;
}

struct files {
	struct arena arena;
	struct os_names names;
	struct tui_item items[MAX_FILES];
	const char *paths[MAX_FILES];
	int nr, at;
};

static void find_files(struct files *f, const char *now)
{
	os_dir_names(".", &f->arena, &f->names, NULL);
	vec_for_each (&f->names, name) {
		clew_auto(buf_done) struct buf text = {0};

		if (f->nr == MAX_FILES || !is_recording(*name))
			continue;
		escape_str(&text, *name);
		f->at = strcmp(*name, now) ? f->at : f->nr;
		f->paths[f->nr] = *name;
		f->items[f->nr].text = arena_strndup(&f->arena, text.data, text.nr);
		f->nr += f->items[f->nr].text != NULL;
	}
}

bool tui_report_choose_file(struct tui_report *t)
{
	struct files f = {.nr = 0};
	int at = -1;

	find_files(&f, t->in.args->in.path);
	if (f.nr)
		at = tui_menu("Recordings of this folder", f.items, f.nr, f.at);
	else
		tui_browser_say(t->browser, "this folder has no recordings");
	if (at >= 0)
		tui_report_read_again(t, f.paths[at], ""); /* the range was the other one's */
	vec_done(&f.names);
	arena_done(&f.arena);
	return at >= 0;
}
