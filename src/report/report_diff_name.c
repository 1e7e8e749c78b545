/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/report_diff_name.h"

static const struct suffix {
	const char *text;
	bool has_number;
} suffixes[] = {
	{".constprop.", true },
        {".isra.",      true },
        {".part.",      true },
        {".lto_priv.",  true },
	{".llvm.",      true },
        {".cold.",      true },
        {".cold",       false},
};

static bool ends_with(const char *s, size_t size, const char *end)
{
	size_t n = strlen(end);

	return size > n && !memcmp(s + size - n, end, n);
}

/* @return the bytes before one suffix; @p size: there is none. */
static size_t before_suffix(const char *s, size_t size)
{
	size_t plain = size;

	while (plain && s[plain - 1] >= '0' && s[plain - 1] <= '9')
		plain--;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		const char *text = suffixes[i].text;

		if ((plain < size) == suffixes[i].has_number && ends_with(s, plain, text))
			return plain - strlen(text);
	}
	return size;
}

/* "f(int) [clone .isra.0]", as demanglers print it. */
static size_t before_clone(const char *s, size_t size)
{
	static const char mark[] = " [clone ";
	size_t inside;

	if (!size || s[size - 1] != ']')
		return size;
	inside = before_suffix(s, size - 1);
	return inside < size - 1 && ends_with(s, inside, mark) ? inside - strlen(mark) : size;
}

void report_diff_function(struct buf *out, const char *name)
{
	size_t size = strlen(name), last;

	do {
		last = size;
		size = before_suffix(name, before_clone(name, size));
	} while (size < last);
	buf_add(out, name, size);
}

/* Is it @p start, numbers with '-' between them, @p end? */
static bool is_numbered(const char *s, const char *start, const char *end)
{
	size_t n = strlen(start), digits;

	if (strncmp(s, start, n) != 0)
		return false;
	digits = strspn(s + n, "0123456789-");
	return digits && !strcmp(s + n + digits, end);
}

static bool is_generated(const char *base)
{
	return is_numbered(base, "perf-", ".map") || is_numbered(base, "jit-", ".dump") ||
	       is_numbered(base, "jitted-", ".so");
}

const char *report_diff_file(struct report_diff_files *f, const void *id, size_t id_bytes,
			     const char *base)
{
	uint32_t number;

	if (is_generated(base))
		return "[jit]";
	if (!id_bytes)
		return base;
	number = intern_add(&f->ids, id, id_bytes);
	if (number == INTERN_FAILED)
		return NULL;
	if (number > f->names.nr && !vec_push(&f->names, mem_strdup(base)))
		return NULL;
	return f->names.data[number - 1];
}

void report_diff_files_done(struct report_diff_files *f)
{
	vec_for_each (&f->names, name)
		mem_free(*name);
	vec_done(&f->names);
	intern_done(&f->ids);
}
