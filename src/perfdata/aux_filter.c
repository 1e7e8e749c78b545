/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/aux_filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char separators[] = " ,\t\n";

/** Skip @p word, if the text at *@p at begins with it. */
static bool take_word(char **at, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*at, word, n) != 0 || !(*at)[n] || !strchr(separators, (*at)[n]))
		return false;
	*at += n;
	*at += strspn(*at, separators);
	return true;
}

/** START[/SIZE][@FILE], which *@p at moves past. */
static bool take_place(char **at, struct aux_filter *ret)
{
	char *end;

	*ret = (struct aux_filter){.start = strtoull(*at, &end, 0)};
	if (end == *at)
		return false;
	if (*end == '/')
		ret->size = strtoull(end + 1, &end, 0);
	if (*end == '@') {
		ret->file = ++end;
		end += strcspn(end, separators);
	}
	if (*end && !strchr(separators, *end))
		return false;
	*at = end + (*end != 0);
	*end = 0;
	*at += strspn(*at, separators);
	return true;
}

static bool add(struct aux_filters *f, char *at)
{
	struct aux_filter range;
	bool is_range;

	at += strspn(at, separators);
	while (*at) {
		is_range = take_word(&at, "filter");
		if (!is_range && !take_word(&at, "start") && !take_word(&at, "stop"))
			break;
		if (!take_place(&at, &range))
			break;
		if (is_range && !vec_push(&f->ranges, range))
			return false;
	}
	f->is_damaged = *at;
	return true;
}

bool aux_filters_parse(struct aux_filters *ret, const char *text, size_t bytes)
{
	ret->text = mem_alloc(bytes + 1);
	if (!ret->text)
		return false;
	memcpy(ret->text, text, bytes);
	ret->text[bytes] = 0;
	return add(ret, ret->text);
}

void aux_filters_done(struct aux_filters *f)
{
	vec_done(&f->ranges);
	mem_free(f->text);
}

bool aux_filters_have(const struct aux_filters *f, const char *file, uint64_t offset)
{
	vec_for_each (&f->ranges, r) {
		bool is_same = file && r->file ? !strcmp(file, r->file) : !file && !r->file;

		if (is_same && offset >= r->start && offset - r->start < r->size)
			return true;
	}
	return !f->ranges.nr;
}
