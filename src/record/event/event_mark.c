/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/path_name.h"
#include "os/file.h"
#include "record/event/event_spell.h"
#include "record/event/event_symbol.h"

/* Events named by options: where a trace starts, stops, or is kept. */

enum { MAX_SPELLING = 8192 };

/* ':' and ',' of a path end it, unless they are escaped. */
static bool put_path(char *ret, size_t size, const char *path)
{
	size_t n = 0;

	for (; *path && n + 3 < size; path++) {
		if (*path == ':' || *path == ',' || *path == '\\')
			ret[n++] = '\\';
		ret[n++] = *path;
	}
	ret[n] = '\0';
	return !*path;
}

/* An event as -e takes it, or a function of the recorded program. */
static enum clew_err add_mark(struct rec_event_list *list, const char *option, const char *program,
			      struct event_word w, struct rec_error *error)
{
	char text[MAX_SPELLING], path[MAX_SPELLING / 2];
	struct rec_error why = {0};
	enum clew_err err;
	int n;

	if (!w.n)
		return rec_fail(error, CLEW_INVALID, "%s: an event or a function is missing",
				option);
	if (sym_name_span(w.s, ":,") < w.n) {
		n = snprintf(text, sizeof(text), "%.*s", (int)w.n, w.s);
	} else if (!program || !put_path(path, sizeof(path), program)) {
		return rec_fail(error, CLEW_INVALID,
				"%s: without a command to record, a function needs its file: "
				"uprobe:FILE:%.*s",
				option, (int)w.n, w.s);
	} else {
		n = snprintf(text, sizeof(text), "uprobe:%s:%.*s", path, (int)w.n, w.s);
	}
	if (n < 0 || (size_t)n >= sizeof(text))
		return rec_fail(error, CLEW_INVALID, "%s: too long", option);
	err = rec_events_parse(list, text, &why);
	if (err != CLEW_OK)
		return rec_fail(error, err, "%s %s: %s", option, text, why.text);
	return CLEW_OK;
}

static struct rec_event *last_trace(struct rec_event_list *list)
{
	struct rec_event *found = NULL;

	vec_for_each (&list->events, e)
		if (e->aux)
			found = e;
	return found;
}

enum clew_err rec_events_trigger(struct rec_event_list *list, const char *program, const char *text,
				 struct rec_error *error)
{
	size_t first = list->events.nr;
	enum clew_err err = add_mark(list, "--trigger", program,
				     (struct event_word){text, strlen(text)}, error);

	for (size_t i = first; err == CLEW_OK && i < list->events.nr; i++) {
		struct rec_event *e = &list->events.data[i];

		e->takes_snapshot = true;
		if (!e->has_period && !e->has_freq) {
			e->has_period = true;
			e->attr.sample_period = 1;
			e->attr.flags &= ~PERF_ATTR_FREQ;
		}
	}
	return err;
}

static enum clew_err add_action(struct rec_event_list *list, const char *program,
				struct event_word w, uint32_t action, struct rec_error *error)
{
	size_t first = list->events.nr;
	enum clew_err err = add_mark(list, "--trace-between", program, w, error);

	for (size_t i = first; err == CLEW_OK && i < list->events.nr; i++)
		list->events.data[i].attr.aux_action = action;
	return err;
}

enum clew_err rec_events_between(struct rec_event_list *list, const char *program, const char *text,
				 struct rec_error *error)
{
	size_t n = sym_name_span(text, ",");
	struct rec_event *trace = last_trace(list);
	enum clew_err err;

	if (!trace)
		return rec_fail(
			error, CLEW_INVALID,
			"--trace-between starts and stops a hardware trace, and no -e names one");
	if (!text[n])
		return rec_fail(
			error, CLEW_INVALID,
			"--trace-between %s: expected START,STOP: functions of the command, or "
			"events",
			text);
	trace->attr.aux_action = PERF_AUX_START_PAUSED;
	err = add_action(list, program, (struct event_word){text, n}, PERF_AUX_RESUME, error);
	if (err == CLEW_OK)
		err = add_action(list, program,
				 (struct event_word){text + n + 1, strlen(text + n + 1)},
				 PERF_AUX_PAUSE, error);
	event_group_with_aux(list);
	return err;
}

/* Of the program that is recorded; that a name is missing there proves nothing: libraries come
 * later. */
static enum clew_err check_function(const char *program, const char *text, struct rec_error *error)
{
	const char *at = strrchr(text, '@');
	clew_auto(mem_free_at) char *name =
		at ? mem_strndup(text, (size_t)(at - text)) : mem_strdup(text);
	struct sym_named found = {0};
	struct elf_file f = {0};
	struct os_map map = {0};
	enum clew_err err = CLEW_OK;
	char list[1024];

	if (!name)
		return rec_fail_memory(error);
	if (at && strcmp(at + 1, program) != 0 && strcmp(at + 1, path_name(program)) != 0)
		return CLEW_OK;
	if (os_map_file(program, &map, NULL))
		return CLEW_OK;
	if (!elf_file_open(&f, map.data, map.size, NULL) && !sym_name_find(&f, name, &found))
		err = rec_fail_memory(error);
	if (err == CLEW_OK && found.nr > 1) {
		sym_named_text(&found, list, sizeof(list));
		err = rec_fail(error, CLEW_INVALID,
			       "--trace-function: '%s' has %zu functions '%s': %s", program,
			       found.nr, name, list);
	}
	sym_named_done(&found);
	elf_file_done(&f);
	os_map_done(&map);
	return err;
}

enum clew_err rec_events_function(struct rec_event_list *list, const char *program,
				  const char *text, struct rec_error *error)
{
	const struct rec_event *trace = last_trace(list);
	enum clew_err err;

	if (!*text || *text == '@')
		return rec_fail(error, CLEW_INVALID,
				"--trace-function: expected SYMBOL, or SYMBOL@LIBRARY");
	if (trace && !trace->aux->is_soft)
		return rec_fail(error, CLEW_INVALID,
				"--trace-function steps the program (soft_pt), and '%s' is another "
				"trace; --trace-between is for that",
				trace->name);
	err = program ? check_function(program, text, error) : CLEW_OK;
	return trace || err ? err : rec_events_parse(list, "soft_pt//u", error);
}

enum clew_err rec_events_sample_aux(struct rec_event_list *list, uint32_t bytes,
				    struct rec_error *error)
{
	bool has_trace = false, has_any = false;

	vec_for_each (&list->events, e) {
		has_trace |= e->aux != NULL;
		if (e->aux || !has_trace)
			continue;
		has_any = true;
		if (!e->attr.aux_sample_size)
			e->attr.aux_sample_size = bytes;
	}
	if (!has_any)
		return rec_fail(error, CLEW_INVALID,
				"--aux-sample puts trace into the samples of the events after a "
				"hardware trace: -e intel_pt// -e EVENT");
	event_group_with_aux(list);
	return CLEW_OK;
}
