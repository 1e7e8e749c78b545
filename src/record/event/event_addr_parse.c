/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>

#include "record/event/event_addr.h"

enum { MAX_FILTERS = 1024 };

static void skip_blanks(struct event_parse *p)
{
	while (isspace((unsigned char)*p->pos))
		p->pos++;
}

static enum clew_err parse_action(struct event_parse *p, struct addr_filter *f)
{
	static const char *const words[] = {"filter", "start", "stop", "tracestop"};
	struct event_guess g;
	char text[160];

	f->word = event_take_until(p, " \t\n,/@");
	event_guess_start(&g, f->word);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		f->action = (enum addr_action)i;
		if (event_word_is(f->word, words[i]))
			return CLEW_OK;
		event_guess_try(&g, words[i]);
	}
	return event_fail(p, f->word.s, CLEW_INVALID,
			  "a filter of a trace begins with filter, start, stop or tracestop, not "
			  "with '%.*s'%s",
			  (int)f->word.n, f->word.s, event_guess_text(&g, text, sizeof(text)));
}

/* "#2", "#g" */
static enum clew_err parse_nth(struct event_parse *p, struct addr_place *ret)
{
	struct event_word w;
	uint64_t n;

	ret->nth = ADDR_ONLY;
	skip_blanks(p);
	if (*p->pos != '#')
		return CLEW_OK;
	p->pos++;
	w = event_take_until(p, " \t\n,/@");
	if (event_word_is(w, "g") || event_word_is(w, "G"))
		ret->nth = ADDR_GLOBAL;
	else if (event_word_number(w, &n) && n <= INT32_MAX)
		ret->nth = (int64_t)n;
	else
		return event_fail(p, w.s, CLEW_INVALID,
				  "after # comes the number of one of several symbols, or g: the "
				  "global one");
	return CLEW_OK;
}

static enum clew_err parse_place(struct event_parse *p, struct addr_place *ret)
{
	struct event_word w;

	skip_blanks(p);
	if (isdigit((unsigned char)*p->pos)) {
		w = event_take_until(p, " \t\n,/@");
		if (!event_word_number(w, &ret->number))
			return event_fail(p, w.s, CLEW_INVALID, "'%.*s' is not a number", (int)w.n,
					  w.s);
		return CLEW_OK;
	}
	ret->symbol = event_take_symbol(p, " \t\n,");
	if (!ret->symbol.n)
		return event_fail(p, p->pos, CLEW_INVALID,
				  "an address or a symbol is missing here");
	return parse_nth(p, ret);
}

static enum clew_err parse_file(struct event_parse *p, struct addr_filter *f)
{
	p->pos++;
	skip_blanks(p);
	f->file = event_take_until(p, " \t\n,");
	if (!f->file.n)
		return event_fail(p, p->pos, CLEW_INVALID, "a file's name is missing after @");
	return CLEW_OK;
}

/* "foo@x", "foo/8", as a symbol: the blank is missing. Symbols of other files may have these
 * characters, so only where nothing else is such a place. */
static enum clew_err check_symbol(struct event_parse *p, const struct addr_filter *f)
{
	const struct event_word w = f->has_end ? f->end.symbol : f->start.symbol;
	size_t n = 0;
	const char *at;

	while (n < w.n && w.s[n] != '@' && (w.s[n] != '/' || f->has_end))
		n++;
	at = w.s + n;
	if (!n || n == w.n || (*at == '@' && f->file.n))
		return CLEW_OK;
	return event_fail(p, at, CLEW_INVALID,
			  "a symbol ends with a blank: '%.*s %c' instead of '%.*s%c'",
			  (int)(at - w.s), w.s, *at, (int)(at - w.s), w.s, *at);
}

static enum clew_err check_form(struct event_parse *p, struct addr_filter *f)
{
	bool is_range = f->action == ADDR_FILTER || f->action == ADDR_TRACESTOP;

	f->is_whole = event_word_is(f->start.symbol, "*");
	if (event_word_is(f->end.symbol, "*") || (f->is_whole && f->has_end))
		return event_fail(p, f->start.symbol.s, CLEW_INVALID,
				  "* is all of it: there is no size or end beside it");
	if (f->is_whole && !is_range)
		return event_fail(p, f->word.s, CLEW_INVALID,
				  "%.*s needs one address, not all of them (*)", (int)f->word.n,
				  f->word.s);
	if (is_range && !f->has_end && !f->start.symbol.n)
		return event_fail(p, p->pos, CLEW_INVALID,
				  "an address needs a size after it: %.*s 0x%llx/0x20",
				  (int)f->word.n, f->word.s, (unsigned long long)f->start.number);
	if (f->has_end && !f->end.symbol.n && !f->end.number)
		return event_fail(p, f->word.s, CLEW_INVALID, "a range of size 0 holds nothing");
	return CLEW_OK;
}

static enum clew_err parse_one(struct event_parse *p, struct addr_filter *f)
{
	enum clew_err err = parse_action(p, f);

	if (err == CLEW_OK)
		err = parse_place(p, &f->start);
	skip_blanks(p);
	if (err == CLEW_OK && *p->pos == '/') {
		p->pos++;
		f->has_end = true;
		err = parse_place(p, &f->end);
		skip_blanks(p);
	}
	if (err == CLEW_OK && *p->pos == '@')
		err = parse_file(p, f);
	if (err == CLEW_OK)
		err = check_symbol(p, f);
	return err == CLEW_OK ? check_form(p, f) : err;
}

enum clew_err event_addr_parse(struct event_parse *p, struct addr_filters *l)
{
	size_t first = l->nr;

	for (;;) {
		struct addr_filter f = {0};
		enum clew_err err;

		while (isspace((unsigned char)*p->pos) || *p->pos == ',')
			p->pos++;
		if (!*p->pos)
			break;
		if (l->nr >= MAX_FILTERS)
			return event_fail(p, p->pos, CLEW_INVALID, "more than %d filters",
					  MAX_FILTERS);
		err = parse_one(p, &f);
		if (err != CLEW_OK)
			return err;
		if (!vec_push(l, f))
			return event_no_memory(p);
	}
	return l->nr > first ? CLEW_OK
			     : event_fail(p, p->text, CLEW_INVALID, "the filter is empty");
}
