/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_tracing_check.h"

enum { MAX_DEPTH = 32, MAX_NUMBER_DIGITS = 9 };

static bool is_word(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool take(struct bytes *b, const char *s)
{
	size_t len = strlen(s);

	if (bytes_left(b) < len || memcmp(b->pos, s, len) != 0)
		return false;
	b->pos += len;
	return true;
}

static bool take_line(struct bytes *b, struct bytes *ret)
{
	const uint8_t *end = bytes_left(b) ? memchr(b->pos, '\n', bytes_left(b)) : NULL;

	if (!end)
		return false;
	*ret = (struct bytes){b->pos, end};
	b->pos = end + 1;
	return true;
}

static bool take_word(struct bytes *b)
{
	const uint8_t *start = b->pos;

	while (b->pos < b->end && is_word(*b->pos))
		b->pos++;
	return b->pos > start;
}

static bool take_number(struct bytes *b)
{
	const uint8_t *start = b->pos;

	while (b->pos < b->end && *b->pos >= '0' && *b->pos <= '9')
		b->pos++;
	return b->pos > start && b->pos - start <= MAX_NUMBER_DIGITS;
}

/* Closes what the last open bracket in @p stack wants; anything that is no bracket is fine. */
static bool match_bracket(uint8_t c, char stack[MAX_DEPTH], unsigned int *depth)
{
	if (c == '(' || c == '[' || c == '{') {
		if (*depth == MAX_DEPTH)
			return false;
		stack[(*depth)++] = c == '(' ? ')' : c == '[' ? ']' : '}';
	} else if (c == ')' || c == ']' || c == '}') {
		return *depth && stack[--*depth] == (char)c;
	}
	return true;
}

/* "unsigned long args[6]": words, stars and brackets, a word or a bracket last. */
static bool is_declaration(const uint8_t *p, const uint8_t *end)
{
	char stack[MAX_DEPTH];
	unsigned int depth = 0, nr_words = 0;
	uint8_t last = 0;

	for (; p < end; last = *p++) {
		if (!is_word(*p) && !memchr(" *[]()+-,", *p, 9))
			return false;
		if (!match_bracket(*p, stack, &depth))
			return false;
		nr_words += is_word(*p) && !is_word(last);
	}
	return !depth && nr_words >= 2 && (is_word(last) || last == ']');
}

/* field:DECL;	offset:N;	size:N;	signed:N;   (no signed before 2.6.32) */
static bool is_field(struct bytes line)
{
	const uint8_t *end;
	struct bytes decl;

	if (!take(&line, "\tfield:"))
		return false;
	end = bytes_left(&line) ? memchr(line.pos, ';', bytes_left(&line)) : NULL;
	if (!end)
		return false;
	decl = (struct bytes){line.pos, end};
	line.pos = end;
	if (!is_declaration(decl.pos, decl.end) || !take(&line, ";\toffset:") ||
	    !take_number(&line) || !take(&line, ";\tsize:") || !take_number(&line) ||
	    !take(&line, ";"))
		return false;
	return !bytes_left(&line) || (take(&line, "\tsigned:") && take_number(&line) &&
				      take(&line, ";") && !bytes_left(&line));
}

/* Two words in a row are a type, so only words and stars stand before the ")" of its cast. */
static bool is_end_of_type(const uint8_t *p, const uint8_t *end)
{
	while (p < end && (is_word(*p) || *p == ' ' || *p == '*'))
		p++;
	return p < end && *p == ')';
}

/* What stands outside of texts: no operator missing before a word, no division by what may be 0. */
static bool is_fine_at(const uint8_t *start, const uint8_t *p, const uint8_t *end)
{
	const uint8_t *before = p, *after = p + 1;

	if (p > start && end - p > 1 && p[-1] == '\'' && p[1] == '\'') /* a character constant */
		return true;
	if (*p > '~' || memchr(".;#@$`\\", *p, 7)) /* no operators of these expressions */
		return false;
	if (*p == '/' || *p == '%') {
		while (after < end && *after == ' ')
			after++;
		return after < end && ((*after >= '1' && *after <= '9') ||
				       (end - after > 7 && !memcmp(after, "sizeof(", 7)));
	}
	if (!is_word(*p) || p == start || is_word(p[-1]))
		return true;
	while (before > start && before[-1] == ' ')
		before--;
	return before == p || before == start || !is_word(before[-1]) || is_end_of_type(p, end);
}

/* "TEXT", ARGUMENTS: an expression list in C. The kernel does not escape line ends and tabs in the
 * texts. */
static bool is_print_format(struct bytes b)
{
	char stack[MAX_DEPTH];
	unsigned int depth = 0;
	const uint8_t *start = b.pos;
	bool is_quoted = false;

	if (!bytes_left(&b) || *b.pos != '"')
		return false;
	for (; b.pos < b.end; b.pos++) {
		if ((*b.pos < ' ' && !(is_quoted && (*b.pos == '\n' || *b.pos == '\t'))) ||
		    *b.pos > '~')
			return false;
		if (is_quoted && *b.pos == '\\' && b.end - b.pos > 1)
			b.pos++;
		else if (*b.pos == '"')
			is_quoted = !is_quoted;
		else if (!is_quoted && b.end - b.pos > 1 && !memcmp(b.pos, "({", 2))
			return true; /* statements: no parser continues from here */
		else if (!is_quoted && (!match_bracket(*b.pos, stack, &depth) ||
					!is_fine_at(start, b.pos, b.end)))
			return false;
	}
	return !is_quoted && !depth;
}

/* Is there a field of this name? It follows the type, before ";" or "[". */
static bool has_field(struct bytes fields, const uint8_t *name, size_t len)
{
	for (const uint8_t *p = fields.pos; (size_t)(fields.end - p) > len; p++) {
		if (p > fields.pos && !is_word(p[-1]) && (p[len] == ';' || p[len] == '[') &&
		    !memcmp(p, name, len))
			return true;
	}
	return false;
}

/* Every REC->NAME of the print format is a field. */
static bool names_fields(struct bytes print, struct bytes fields)
{
	struct bytes at = print, name;

	for (; bytes_left(&at); at.pos++) {
		if (!take(&at, "REC->"))
			continue;
		name = at;
		if (!take_word(&name) || !has_field(fields, at.pos, (size_t)(name.pos - at.pos)))
			return false;
	}
	return true;
}

static bool is_head(struct bytes *text)
{
	struct bytes line;

	if (!take_line(text, &line) || !take(&line, "name: ") || !take_word(&line) ||
	    bytes_left(&line))
		return false;
	if (!take_line(text, &line) || !take(&line, "ID: ") || !take_number(&line) ||
	    bytes_left(&line))
		return false;
	return take_line(text, &line) && take(&line, "format:") && !bytes_left(&line);
}

/* Fields in two groups, an empty line after each; the second may be empty. */
static bool are_fields(struct bytes *text)
{
	unsigned int nr_groups = 0;
	struct bytes line;

	while (nr_groups < 2) {
		if (!take_line(text, &line))
			return false;
		if (!bytes_left(&line))
			nr_groups++;
		else if (!is_field(line))
			return false;
	}
	return true;
}

bool perf_tracing_format_is_sane(struct bytes text)
{
	struct bytes fields;

	if (!is_head(&text))
		return false;
	fields = text;
	if (!are_fields(&text) || !take(&text, "print fmt: ") || !bytes_left(&text) ||
	    text.end[-1] != '\n')
		return false;
	fields.end = text.pos;
	text.end--;
	return is_print_format(text) && names_fields(text, fields);
}
