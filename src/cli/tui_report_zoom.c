/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "cli/tui_report_impl.h"

static const struct {
	const char *name;
	enum report_key keys[3]; /* the first one that rows have; ends with REPORT_NR_KEYS */
} kinds[] = {
	[TUI_ZOOM_DSO] = {"dso",    {REPORT_DSO, REPORT_NR_KEYS}                       },
	[TUI_ZOOM_THREAD] = {"thread", {REPORT_TID, REPORT_PID, REPORT_COMM}              },
	[TUI_ZOOM_CGROUP] = {"cgroup", {REPORT_CGROUP, REPORT_CONTAINER, REPORT_CGROUP_ID}},
	[TUI_ZOOM_KERNEL] = {"kernel", {REPORT_NR_KEYS}                                   },
};

bool tui_report_zoom_key(const struct tui_report *t, enum tui_zoom_kind kind, enum report_key *ret)
{
	for (size_t i = 0; i < 3 && kinds[kind].keys[i] != REPORT_NR_KEYS; i++) {
		*ret = kinds[kind].keys[i];
		if (report_sort_has(report_feed_sort(t->in.feed), *ret))
			return true;
	}
	return false;
}

static bool has_frames(const struct tui_report *t)
{
	return report_sort_has(report_feed_sort(t->in.feed), REPORT_SYM) ||
	       report_sort_has(report_feed_sort(t->in.feed), REPORT_DSO);
}

static bool has_kind(const struct tui_report *t, enum tui_zoom_kind kind)
{
	enum report_key ignored;

	if (kind == TUI_ZOOM_DSO || kind == TUI_ZOOM_KERNEL)
		return has_frames(t);
	return tui_report_zoom_key(t, kind, &ignored);
}

/* What a row has to have; its file and level also where no column shows them. */
static const char *value_of(struct tui_report *t, const struct report_row *row,
			    enum tui_zoom_kind kind)
{
	struct report_frame_text frame;
	enum report_key key;

	if (kind == TUI_ZOOM_DSO || kind == TUI_ZOOM_KERNEL) {
		frame = report_feed_frame(t->in.feed, report_feed_row_frame(t->in.feed, row));
		return kind == TUI_ZOOM_DSO ? frame.dso : frame.level == 'k' ? "k" : "";
	}
	buf_clear(&t->text);
	if (tui_report_zoom_key(t, kind, &key))
		report_feed_row_text(t->in.feed, row, key, &t->text);
	return buf_cstr(&t->text);
}

bool tui_report_passes(struct tui_report *t, const struct report_row *row)
{
	vec_for_each (&t->zooms, z) {
		if (strcmp(value_of(t, row, z->kind), z->text) != 0)
			return false;
	}
	return true;
}

static void drop_zoom(struct tui_report *t, size_t i)
{
	mem_free(t->zooms.data[i].text);
	t->zooms.nr--;
	memmove(&t->zooms.data[i], &t->zooms.data[i + 1],
		(t->zooms.nr - i) * sizeof(t->zooms.data[0]));
}

static void refuse(struct tui_report *t, enum tui_zoom_kind kind)
{
	if (kind == TUI_ZOOM_CGROUP)
		tui_browser_say(t->browser, "rows have no cgroup: -s cgroup,dso,sym (recorded "
					    "with --all-cgroups)");
	else
		tui_browser_say(t->browser, "rows have no %s: choose others with -s",
				kinds[kind].name);
}

/* The file of the line below the cursor, which may be one of a call graph. */
static const char *wanted_value(struct tui_report *t, enum tui_zoom_kind kind)
{
	uint64_t node, top;
	uint32_t frame;

	if (!tui_browser_at(t->browser, &node) || !tui_browser_top_at(t->browser, &top))
		return NULL;
	if (kind == TUI_ZOOM_KERNEL)
		return "k";
	if (kind == TUI_ZOOM_DSO && tui_report_frame_of(t, node, &frame))
		return report_feed_frame(t->in.feed, frame).dso;
	return value_of(t, &t->table.rows.rows.data[top], kind);
}

void tui_report_zoom(struct tui_report *t, enum tui_zoom_kind kind)
{
	struct tui_zoom zoom = {.kind = kind};
	const char *value;

	for (size_t i = 0; i < t->zooms.nr; i++) {
		if (t->zooms.data[i].kind == kind) {
			drop_zoom(t, i);
			tui_browser_refresh(t->browser);
			return;
		}
	}
	if (!t->fitted.lines || !has_kind(t, kind)) {
		refuse(t, kind);
		return;
	}
	value = wanted_value(t, kind);
	zoom.text = value ? mem_strdup(value) : NULL;
	if (zoom.text && !vec_push(&t->zooms, zoom))
		mem_free(zoom.text);
	tui_browser_refresh(t->browser);
}

void tui_report_zoom_out(struct tui_report *t)
{
	if (*tui_browser_filter(t->browser)) {
		tui_browser_set_filter(t->browser, NULL);
		return;
	}
	if (!t->zooms.nr) {
		tui_browser_say(t->browser, "nothing is filtered; q leaves");
		return;
	}
	drop_zoom(t, t->zooms.nr - 1);
	tui_browser_refresh(t->browser);
}

void tui_report_zoom_clear(struct tui_report *t)
{
	while (t->zooms.nr)
		drop_zoom(t, t->zooms.nr - 1);
}

size_t tui_report_wants(const struct tui_report *t, struct report_want ret[TUI_MAX_WANTS])
{
	const char *filter = tui_browser_filter(t->browser);
	size_t nr = 0;

	vec_for_each (&t->zooms, z) {
		struct report_want w = {.kind = REPORT_WANT_KEY, .text = z->text};

		if (z->kind == TUI_ZOOM_DSO)
			w.kind = REPORT_WANT_DSO;
		else if (z->kind == TUI_ZOOM_KERNEL)
			w.kind = REPORT_WANT_LEVEL;
		else if (!tui_report_zoom_key(t, z->kind, &w.key))
			continue;
		ret[nr++] = w;
	}
	if (*filter)
		ret[nr++] = (struct report_want){.kind = REPORT_WANT_PART, .text = filter};
	return nr;
}

void tui_report_zoom_text(const struct tui_report *t, struct buf *out)
{
	vec_for_each (&t->zooms, z) {
		buf_printf(out, "  %s", kinds[z->kind].name);
		if (z->kind == TUI_ZOOM_KERNEL)
			continue;
		buf_str(out, ": ");
		escape_str(out, z->text + strspn(z->text, " "));
	}
}
