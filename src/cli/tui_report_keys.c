/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "base/escape.h"
#include "cli/common/message.h"
#include "cli/tui_file.h"
#include "cli/tui_report_impl.h"

enum { MAX_ITEMS = 24 };

/* clang-format off */
const struct tui_key_text tui_report_keys[] = {
	{"Enter m Right", "menu: what can be done with the row"},
	{"a",             "annotate: source and instructions of the function"},
	{"d t k c",       "only this dso, thread, the kernel, cgroup, or all"},
	{"Esc Left",      "undo the filter, or the last of these"},
	{"F",             "percent of all, or of what filters keep"},
	{"L",             "least percent of a row"},
	{"T",             "only a range of time"},
	{"Tab Shift+Tab", "next, previous event"},
	{"0-9",           "sort by event n of a group"},
	{"V",             "files in call graphs: on or off"},
	{"i",             "notes, and how the recording was made"},
	{"s",             "another recording of this folder"},
	{"P",             "write the view to a file"},
	{"x",             "export the samples of what is kept in another tool's format"},
	{"q Ctrl+C",      "leave the browser"},
	{NULL}
};
/* clang-format on */

static void out_of_memory(struct tui_report *t)
{
	tui_browser_say(t->browser, "out of memory");
}

/* Another table, for other options. */
static void make_again(struct tui_report *t)
{
	if (tui_report_make(t) != CLEW_OK)
		out_of_memory(t);
	tui_browser_refresh(t->browser);
}

/* --- options --- */

static void ask_min_share(struct tui_report *t)
{
	double share = t->in.args->table.min_share;

	if (!tui_ask_share(t->browser, &share))
		return;
	t->min_share = share;
	make_again(t);
}

/* @return whether the recording is to be read again. */
static bool ask_time(struct tui_report *t)
{
	clew_auto(buf_done) struct buf text = {0}, prompt = {0};
	const struct ana_summary *s = t->in.summary;
	uint64_t from, to;
	const char *why;

	buf_str(&text, t->in.args->in.time ? t->in.args->in.time : "");
	buf_str(&prompt, "time FROM,TO (");
	buf_seconds(&prompt, s->first_time.ns);
	buf_char(&prompt, ',');
	buf_seconds(&prompt, s->last_time.ns);
	buf_str(&prompt, "): ");
	if (!tui_ask(buf_cstr(&prompt), &text, NULL, NULL))
		return false;
	why = text.nr
		    ? cli_parse_time(buf_cstr(&text), s->first_time.ns, s->last_time.ns, &from, &to)
		    : NULL;
	if (why) {
		tui_browser_say(t->browser, "%s", why);
		return false;
	}
	tui_report_read_again(t, NULL, buf_cstr(&text));
	return true;
}

static void toggle_relative(struct tui_report *t)
{
	t->is_relative = !t->is_relative;
	make_again(t);
	tui_browser_say(t->browser,
			t->is_relative ? "percent of what filters keep" : "percent of all samples");
}

static void show_event(struct tui_report *t, bool is_before)
{
	size_t event = tui_report_next_event(t, t->event, is_before);

	if (event == t->event) {
		tui_browser_say(t->browser, "the recording has samples of no other event");
		return;
	}
	t->event = event;
	t->sorted_by = 0;
	make_again(t);
}

static void sort_by(struct tui_report *t, size_t event)
{
	if (event >= t->table.nr_events) {
		tui_browser_say(t->browser, "there is no event %zu in a group here", event);
		return;
	}
	t->sorted_by = event;
	make_again(t);
	tui_browser_say(t->browser, "sorted by '%s'", t->table.events[event]->evsel->name);
}

static void toggle_direction(struct tui_report *t)
{
	t->direction = t->in.args->table.graph.is_callee ? 'r' : 'e';
	make_again(t);
}

/* --- the row --- */

/* The recording is read once more, for the addresses of samples. */
static bool read_annotate(struct tui_report *t)
{
	clew_auto(buf_done) struct buf messages = {0};
	struct buf *before;
	struct annotate *n;
	int status;

	if (t->annotate)
		return true;
	n = mem_zalloc(sizeof(*n));
	if (!n)
		return false;
	*n = (struct annotate){.in = t->parsed->in, .itrace = t->parsed->itrace, .is_tui = true};
	n->in.takes_snapshot = false;
	tui_report_set_input(t, &n->in);
	tui_pause("reading the recording for addresses");
	before = cli_hold_messages(&messages);
	status = annotate_open(n);
	cli_hold_messages(before);
	tui_resume();
	if (status == CLI_OK)
		t->annotate = n;
	else
		mem_free(n);
	if (status != CLI_OK)
		tui_report_say_messages(t, &messages, "it cannot be read again");
	return status == CLI_OK;
}

static void annotate(struct tui_report *t)
{
	const struct ann_symbol *s;
	struct report_frame_text f;
	uint64_t node;
	uint32_t frame;

	if (!tui_browser_at(t->browser, &node))
		return;
	if (!t->fitted.lines || !tui_report_frame_of(t, node, &frame) ||
	    !(f = report_feed_frame(t->in.feed, frame)).sym) {
		tui_browser_say(t->browser, "this row is no function with a known name");
		return;
	}
	if (!read_annotate(t))
		return;
	s = tui_annotate_find(t->annotate, f.sym, f.dso);
	if (s)
		tui_annotate_show(t->annotate, s);
	else
		tui_browser_say(t->browser, "'%s' has no samples itself, only what it calls",
				f.sym);
}

static void copy_name(struct tui_report *t)
{
	clew_auto(buf_done) struct buf text = {0}, escaped = {0};
	uint64_t node;
	uint32_t frame;

	if (!tui_browser_at(t->browser, &node) || !tui_report_frame_of(t, node, &frame))
		return;
	report_feed_frame_name(t->in.feed, frame, &text);
	escape_add(&escaped, text.data, text.nr);
	tui_copy(escaped.data, escaped.nr);
	tui_browser_say(t->browser, "copied, if the terminal lets programs do that");
}

static void show_whole(struct tui_report *t)
{
	clew_auto(buf_done) struct buf text = {0};
	uint64_t node;

	if (!tui_browser_at(t->browser, &node))
		return;
	tui_report_name(t, node, true, &text);
	escape_since(&text, 0);
	tui_text(" Row", text.data, text.nr);
}

/* --- the menu --- */

struct menu {
	struct tui_item items[MAX_ITEMS];
	int nr;
	struct buf texts[MAX_ITEMS];
};

static void add_item(struct menu *m, int key, const char *format, ...) CLEW_PRINTF(3, 4);
static void add_item(struct menu *m, int key, const char *format, ...)
{
	struct buf *text = &m->texts[m->nr];
	va_list args;

	va_start(args, format);
	buf_vprintf(text, format, args);
	va_end(args);
	escape_since(text, 0);
	m->items[m->nr++] = (struct tui_item){buf_cstr(text), key};
}

static void add_row_items(struct tui_report *t, struct menu *m, uint64_t node)
{
	struct report_frame_text f = {0};
	uint32_t frame;

	if (!tui_report_frame_of(t, node, &frame))
		return;
	f = report_feed_frame(t->in.feed, frame);
	if (f.sym)
		add_item(m, 'a', "Annotate %s", f.sym);
	add_item(m, '+', "%s",
		 tui_browser_is_open(t->browser) ? "Close the call graph" : "Open the call graph");
	add_item(m, 'G', "Call graphs: %s",
		 t->in.args->table.graph.is_callee ? "from the outermost caller on"
						   : "who calls it");
	add_item(m, 'd', "Only %s, or all files again", f.dso);
	add_item(m, 'k', "Only the kernel, or all again");
	add_item(m, 'y', "Copy the name");
	add_item(m, 'w', "Show the whole row");
}

static void add_items(struct tui_report *t, struct menu *m)
{
	enum report_key ignored;
	uint64_t node;

	if (tui_browser_at(t->browser, &node) && t->fitted.lines) {
		add_row_items(t, m, node);
		if (tui_report_zoom_key(t, TUI_ZOOM_THREAD, &ignored))
			add_item(m, 't', "Only this thread, or all again");
		if (tui_report_zoom_key(t, TUI_ZOOM_CGROUP, &ignored))
			add_item(m, 'c', "Only this cgroup, or all again");
	}
	add_item(m, 'T', "Only a range of time");
	add_item(m, 'i', "Notes, and how it was recorded");
	add_item(m, 's', "Another recording of this folder");
	add_item(m, 'P', "Write the view to a file");
	add_item(m, 'x', "Export in another tool's format");
}

/* @return the key of what was chosen; 0: nothing. */
static int choose(struct tui_report *t)
{
	struct menu m = {.nr = 0};
	int at;

	add_items(t, &m);
	at = tui_menu("", m.items, m.nr, 0);
	for (int i = 0; i < m.nr; i++)
		buf_done(&m.texts[i]);
	return at < 0 ? 0 : m.items[at].key;
}

/* --- all keys --- */

static bool row_key(struct tui_report *t, int key)
{
	switch (key) {
	case 'a':
		annotate(t);
		return true;
	case '+':
		tui_browser_toggle(t->browser);
		return true;
	case 'G':
		toggle_direction(t);
		return true;
	case 'd':
		tui_report_zoom(t, TUI_ZOOM_DSO);
		return true;
	case 't':
		tui_report_zoom(t, TUI_ZOOM_THREAD);
		return true;
	case 'k':
		tui_report_zoom(t, TUI_ZOOM_KERNEL);
		return true;
	case 'c':
		tui_report_zoom(t, TUI_ZOOM_CGROUP);
		return true;
	case 'y':
		copy_name(t);
		return true;
	case 'w':
		show_whole(t);
		return true;
	case TUI_ESC:
	case TUI_LEFT:
		tui_report_zoom_out(t);
		return true;
	default:
		return false;
	}
}

static bool view_key(struct tui_report *t, int key)
{
	switch (key) {
	case 'F':
		toggle_relative(t);
		return true;
	case 'L':
		ask_min_share(t);
		return true;
	case TUI_TAB:
	case TUI_BACK_TAB:
		show_event(t, key == TUI_BACK_TAB);
		return true;
	case 'V':
		t->has_dsos = !t->has_dsos;
		return true;
	case 'i':
		tui_report_info(t);
		return true;
	case 'P':
		tui_file_write(t->browser, "clew-report.txt");
		return true;
	case 'x':
		tui_report_export(t);
		return true;
	case 'r':
		tui_browser_say(t->browser, "clew has no scripts: 'clew script' prints events, "
					    "also as JSON, for them");
		return true;
	default:
		break;
	}
	if (key >= '0' && key <= '9')
		sort_by(t, (size_t)(key - '0'));
	return key >= '0' && key <= '9';
}

bool tui_report_key(struct tui_report *t, int key)
{
	if (key == TUI_ENTER || key == TUI_RIGHT || key == 'm')
		key = choose(t);
	if (key == 'q')
		return false;
	if (key == 'T')
		return !ask_time(t);
	if (key == 's')
		return !tui_report_choose_file(t);
	if (key && !row_key(t, key) && !view_key(t, key))
		tui_browser_say(t->browser, "no such key: h shows all");
	return true;
}
