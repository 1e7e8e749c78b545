/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/snapshot/cs_snapshot_ini.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\0';
}

static struct bytes trim(struct bytes b)
{
	while (bytes_left(&b) && is_space(*b.pos))
		b.pos++;
	while (bytes_left(&b) && is_space(b.end[-1]))
		b.end--;
	return b;
}

static const uint8_t *find(struct bytes b, uint8_t c)
{
	return bytes_left(&b) ? memchr(b.pos, c, bytes_left(&b)) : NULL;
}

/** What is in quotes may hold the characters that begin a comment. */
static struct bytes without_comment(struct bytes line)
{
	for (const uint8_t *p = line.pos; p < line.end; p++) {
		const uint8_t *closing =
			*p == '"' ? find((struct bytes){p + 1, line.end}, '"') : NULL;

		if (closing)
			p = closing;
		else if (*p == '\r' || *p == ';' || *p == '#')
			return (struct bytes){line.pos, p};
	}
	return line;
}

static struct bytes unquoted(struct bytes b)
{
	size_t n = bytes_left(&b);

	if (n >= 2 && (*b.pos == '"' || *b.pos == '\'') && b.end[-1] == *b.pos)
		return trim((struct bytes){b.pos + 1, b.end - 1});
	return b;
}

static char *text_of(struct arena *arena, struct bytes b)
{
	return arena_strndup(arena, (const char *)b.pos, bytes_left(&b));
}

static bool add(struct cs_ini *ini, struct bytes line, const uint8_t *equals,
		struct cs_ini_line *at, struct arena *arena)
{
	at->key = text_of(arena, trim((struct bytes){line.pos, equals}));
	at->value = text_of(arena, unquoted(trim((struct bytes){equals + 1, line.end})));
	return at->key && at->value && vec_push(ini, *at);
}

static bool take_line(struct cs_ini *ini, struct bytes raw, struct cs_ini_line *at,
		      struct arena *arena)
{
	struct bytes line = trim(without_comment(raw));
	const uint8_t *open = find(line, '['), *equals = find(line, '='), *close = NULL;

	if (!bytes_left(&line))
		return true;
	if (open && (!equals || open < equals))
		close = find((struct bytes){open, line.end}, ']');
	if (close) {
		at->section = text_of(arena, trim((struct bytes){open + 1, close}));
		at->section_nr++;
		return at->section;
	}
	if (!equals) {
		ini->nr_bad++;
		return true;
	}
	return add(ini, line, equals, at, arena);
}

static void skip_mark(struct bytes *text)
{
	static const uint8_t utf8[] = {0xef, 0xbb, 0xbf};

	if (bytes_left(text) >= sizeof(utf8) && !memcmp(text->pos, utf8, sizeof(utf8)))
		text->pos += sizeof(utf8);
}

bool cs_ini_parse(struct cs_ini *ret, struct bytes text, struct arena *arena)
{
	struct cs_ini_line at = {.section = ""};

	*ret = (struct cs_ini){0};
	skip_mark(&text);
	for (uint32_t nr = 0; bytes_left(&text); nr++) {
		const uint8_t *end = find(text, '\n');
		struct bytes line = {text.pos, end ? end : text.end};

		if (nr == CS_INI_MAX_LINES) {
			ret->is_cut = true;
			break;
		}
		if (!take_line(ret, line, &at, arena)) {
			vec_done(ret);
			return false;
		}
		text.pos = end ? end + 1 : text.end;
	}
	return true;
}

bool cs_ini_is(const char *a, const char *b)
{
	return !strcasecmp(a, b);
}

const char *cs_ini_get(const struct cs_ini *ini, const char *section, const char *key)
{
	const char *found = NULL;

	vec_for_each (ini, l) {
		if (cs_ini_is(l->section, section) && cs_ini_is(l->key, key))
			found = l->value;
	}
	return found;
}

bool cs_ini_number(const char *text, uint64_t *ret)
{
	uint64_t v;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoull(text, &end, 0);
	if (errno)
		return false;
	*ret = v;
	return true;
}

char *cs_ini_word(const char **at, struct arena *arena)
{
	while (**at) {
		size_t n = strcspn(*at, ",");
		struct bytes word = trim(bytes_of(*at, n));

		*at += n + ((*at)[n] == ',');
		if (bytes_left(&word))
			return text_of(arena, word);
	}
	return NULL;
}
