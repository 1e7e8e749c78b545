/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/json_put.h"

static void before_value(struct json_put *j)
{
	if (j->needs_comma)
		buf_char(j->out, ',');
	j->needs_comma = true;
}

void json_open(struct json_put *j, char bracket)
{
	before_value(j);
	buf_char(j->out, bracket);
	j->needs_comma = false;
}

void json_close(struct json_put *j, char bracket)
{
	buf_char(j->out, bracket);
	j->needs_comma = true;
}

/* Bytes of the UTF-8 sequence at @p s, 0: not one (or an overlong or surrogate one). */
static size_t utf8_length(const uint8_t *s)
{
	uint32_t v;
	size_t n = s[0] < 0x80 ? 1
		 : s[0] < 0xc2 ? 0
		 : s[0] < 0xe0 ? 2
		 : s[0] < 0xf0 ? 3
		 : s[0] < 0xf5 ? 4
			       : 0;

	if (n < 2)
		return n;
	v = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (s[i] & 0x3f);
	}
	if ((n == 3 && (v < 0x800 || (v >= 0xd800 && v < 0xe000))) ||
	    (n == 4 && (v < 0x10000 || v > 0x10ffff)))
		return 0;
	return n;
}

static void add_ascii(struct buf *out, char c)
{
	if (c == '"' || c == '\\') {
		buf_char(out, '\\');
		buf_char(out, c);
	} else if (c == '\n') {
		buf_str(out, "\\n");
	} else if (c == '\t') {
		buf_str(out, "\\t");
	} else if ((uint8_t)c < 0x20 || c == 0x7f) {
		buf_str(out, "\\u");
		buf_hex(out, (uint8_t)c, 4, '0');
	} else {
		buf_char(out, c);
	}
}

static void add_text(struct buf *out, const char *s)
{
	size_t n;

	buf_char(out, '"');
	for (; *s; s += n ? n : 1) {
		n = utf8_length((const uint8_t *)s);
		if (n == 1)
			add_ascii(out, *s);
		else if (n)
			buf_add(out, s, n);
		else
			buf_str(out, "\\ufffd");
	}
	buf_char(out, '"');
}

void json_key(struct json_put *j, const char *key)
{
	before_value(j);
	add_text(j->out, key);
	buf_char(j->out, ':');
	j->needs_comma = false;
}

void json_string(struct json_put *j, const char *s)
{
	before_value(j);
	if (s)
		add_text(j->out, s);
	else
		buf_str(j->out, "null");
}

void json_u64(struct json_put *j, uint64_t v)
{
	before_value(j);
	buf_dec(j->out, v, 0, ' ');
}

void json_i64(struct json_put *j, int64_t v)
{
	before_value(j);
	buf_printf(j->out, "%lld", (long long)v);
}

void json_bool(struct json_put *j, bool v)
{
	before_value(j);
	buf_str(j->out, v ? "true" : "false");
}

void json_put_u64(struct json_put *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_u64(j, v);
}

void json_put_hex(struct json_put *j, const char *key, uint64_t v)
{
	json_key(j, key);
	before_value(j);
	buf_str(j->out, "\"0x");
	buf_hex(j->out, v, 0, ' ');
	buf_char(j->out, '"');
}

void json_put_string(struct json_put *j, const char *key, const char *s)
{
	json_key(j, key);
	json_string(j, s);
}
