/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TUI_REPORT_IMPL_H
#define CLI_TUI_REPORT_IMPL_H

#include "cli/tui_annotate.h"
#include "cli/tui_report.h"
#include "cli/tui_table.h"
#include "rows/report_pick.h"

/** What rows are to have in common. */
enum tui_zoom_kind {
	TUI_ZOOM_DSO,
	TUI_ZOOM_THREAD,
	TUI_ZOOM_CGROUP,
	TUI_ZOOM_KERNEL,
	TUI_NR_ZOOMS
};

struct tui_zoom {
	enum tui_zoom_kind kind;
	char *text; /* owned; what the row shows for it */
};

struct tui_report {
	const struct report_args *parsed;
	struct tui_report_input in; /* of this reading */
	struct tui_browser *browser;
	struct annotate *annotate; /* of this reading; NULL: not yet */
	struct report_table table;
	struct tui_fitted fitted;
	uint64_t *periods; /* the table's own, of all that was read */
	uint32_t *order;   /* rows as they are shown */
	size_t event;      /* of the table */
	size_t sorted_by;  /* the event of its group that sorts rows */
	struct {
		VEC(struct tui_zoom);
	} zooms;
	struct buf text; /* scratch */
	/* Of the input, where the user chose them, owned: now, next, and before. */
	char *path, *time, *next_path, *next_time, *last_path, *last_time;
	bool reads_again;
	bool is_unseen, has_failed; /* what was chosen was not browsed; could not be */
	bool is_relative;           /* percent of what filters keep */
	bool has_dsos;              /* in call graphs */
	double min_share;           /* < 0: the command line's */
	int direction; /* of call graphs: 0: the command line's, 'r' callers, 'e' callees */
};

/* --- tui_report.c --- */

/** Make the table of t->event again, and its lines. @return CLEW_NO_MEMORY. */
enum clew_err tui_report_make(struct tui_report *t);
/** Leave, to read @p path and its range @p time ("": all). NULL: the same one. */
void tui_report_read_again(struct tui_report *t, const char *path, const char *time);
/** The next event after @p event with a table, or before it. @return @p event: there is no other.
 */
size_t tui_report_next_event(const struct tui_report *t, size_t event, bool is_before);

/* --- tui_report_rows.c: the browser's source --- */

extern const struct tui_source tui_report_source; /* but for ctx */

/** tui_source's name(). */
void tui_report_name(void *report, uint64_t node, bool is_whole, struct buf *out);
/** The frame at @p node. @return false: rows are not of frames. */
bool tui_report_frame_of(const struct tui_report *t, uint64_t node, uint32_t *ret);

/* --- tui_report_zoom.c --- */

bool tui_report_passes(struct tui_report *t, const struct report_row *row);
/** Keep rows with what the one below the cursor has; or where they are kept already, all of them
 * again. */
void tui_report_zoom(struct tui_report *t, enum tui_zoom_kind kind);
/** Undo the filter, or the last zoom. */
void tui_report_zoom_out(struct tui_report *t);
void tui_report_zoom_clear(struct tui_report *t);
/** Append " thread: bash  dso: libc.so.6", escaped. */
void tui_report_zoom_text(const struct tui_report *t, struct buf *out);
/** The text that rows have for the kind. @return false: rows do not have it. */
bool tui_report_zoom_key(const struct tui_report *t, enum tui_zoom_kind kind, enum report_key *ret);
/** What the filter and the zooms want of samples. @return how many; 0: all samples are shown. */
enum { TUI_MAX_WANTS = TUI_NR_ZOOMS + 1 };
size_t tui_report_wants(const struct tui_report *t, struct report_want ret[TUI_MAX_WANTS]);

/* --- tui_report_keys.c --- */

extern const struct tui_key_text tui_report_keys[];
/** @return false: leave. */
bool tui_report_key(struct tui_report *t, int key);

/* --- tui_report_output.c --- */

/** Say the first of the messages, or @p otherwise. */
void tui_report_say_messages(struct tui_report *t, struct buf *messages, const char *otherwise);
/** 'x', 'i', 's' */
void tui_report_export(struct tui_report *t);
void tui_report_info(struct tui_report *t);
bool tui_report_choose_file(struct tui_report *t);

#endif
