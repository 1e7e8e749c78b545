/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <string.h>

#include "os/perf/tracefs.h"
#include "record/event/event_spell.h"

/*
 * Filters of tracepoints: FIELD OPERATOR VALUE, joined by && || ! ( ). The kernel has the last
 * word, and says EINVAL without a place; what can be found beforehand is reported here.
 * Spec: Linux Documentation/trace/events.rst, "Event filtering".
 */

struct filter {
	struct event_parse *p;
	const struct rec_event *event;
	const char *format; /* of the event's fields */
};

/* These go with any event. */
static bool is_common(struct event_word w)
{
	static const char *const names[] = {"COMM",       "comm",       "CPU",        "cpu",
					    "stacktrace", "common_pid", "common_type"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (event_word_is(w, names[i]))
			return true;
	}
	return false;
}

/* Step to the next "field:TYPE NAME[N];" of a format file and give NAME. */
static bool next_field(const char **pos, struct event_word *ret)
{
	const char *line = strstr(*pos, "field:"), *end, *s;

	if (!line || !(end = strchr(line, ';')))
		return false;
	*pos = end + 1;
	s = end;
	if (s[-1] == ']') /* an array's dimension follows the name */
		while (s > line && s[-1] != '[')
			s--;
	if (s != end)
		s--;
	end = s;
	while (s > line && (isalnum((unsigned char)s[-1]) || s[-1] == '_'))
		s--;
	*ret = (struct event_word){s, (size_t)(end - s)};
	return true;
}

static enum clew_err check_field(const struct filter *f, struct event_word w)
{
	const char *pos = f->format;
	const char *dot = memchr(w.s, '.', w.n);
	struct event_word field, base = {w.s, dot ? (size_t)(dot - w.s) : w.n};
	struct event_guess g;
	char text[160], name[128];

	if (is_common(base))
		return CLEW_OK;
	event_guess_start(&g, base);
	while (next_field(&pos, &field)) {
		if (field.n == base.n && !memcmp(field.s, base.s, base.n))
			return CLEW_OK;
		if (field.n < sizeof(name)) {
			memcpy(name, field.s, field.n);
			name[field.n] = '\0';
			event_guess_try(&g, name);
		}
	}
	return event_fail(f->p, w.s, CLEW_NOT_FOUND, "'%s' has no field '%.*s'%s", f->event->name,
			  (int)w.n, w.s, event_guess_text(&g, text, sizeof(text)));
}

/* After a field: skip to the end of its comparison; NULL: it has no operator, or no value, or a
 * quote that is not closed. */
static const char *skip_comparison(const char *s)
{
	char quote = 0;
	size_t nr_operator;

	s += strspn(s, " \t");
	nr_operator = strspn(s, "=!<>&~");
	s += nr_operator;
	s += strspn(s, " \t");
	if (!nr_operator || !*s || strchr("()&|", *s))
		return NULL;
	for (; *s; s++) {
		if (quote) {
			quote = *s == quote ? 0 : quote;
			continue;
		}
		if (*s == '"' || *s == '\'')
			quote = *s;
		else if (*s == ')' || !strncmp(s, "&&", 2) || !strncmp(s, "||", 2))
			break;
	}
	return quote ? NULL : s;
}

static enum clew_err check(const struct filter *f, const char *text)
{
	const char *s = text;
	int depth = 0;

	while (*s) {
		if (isspace((unsigned char)*s) || *s == '!' || *s == '&' || *s == '|') {
			s++;
		} else if (*s == '(' || *s == ')') {
			depth += *s++ == '(' ? 1 : -1;
			if (depth < 0)
				break;
		} else {
			struct event_word w = {s, 0};
			enum clew_err err;

			while (isalnum((unsigned char)w.s[w.n]) || w.s[w.n] == '_' ||
			       w.s[w.n] == '.')
				w.n++;
			if (!w.n)
				return event_fail(f->p, s, CLEW_INVALID,
						  "a field's name is missing here");
			err = check_field(f, w);
			if (err)
				return err;
			s = skip_comparison(w.s + w.n);
			if (!s)
				return event_fail(
					f->p, w.s, CLEW_INVALID,
					"'%.*s' needs an operator (== != < <= > >= & ~) and a "
					"value",
					(int)w.n, w.s);
		}
	}
	if (depth)
		return event_fail(f->p, s, CLEW_INVALID, "the parentheses do not match");
	return CLEW_OK;
}

enum clew_err event_check_filter(struct event_parse *p, const struct rec_event *e, const char *text)
{
	const char *root = p->list->tracefs;
	struct filter f = {.p = p, .event = e};
	enum clew_err err = CLEW_OK;
	char *format = NULL;
	size_t n;

	if (!text[strspn(text, " \t")])
		return event_fail(p, text, CLEW_INVALID, "the filter is empty");
	if (!root && os_tracefs_find(&root) != OS_TRACEFS_READABLE)
		return CLEW_OK;
	if (os_tracefs_format(root, e->tp_system, e->tp_name, &format, &n, NULL))
		return CLEW_OK;
	f.format = format;
	err = check(&f, text);
	mem_free(format);
	return err;
}
