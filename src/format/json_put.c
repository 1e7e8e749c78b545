/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/json_put.h"

#include "base/escape.h"

static void new_line(struct json_put *j)
{
	buf_char(j->out, '\n');
	buf_fill(j->out, ' ', 2 * (size_t)j->depth);
}

static bool is_after_key(const struct json_put *j)
{
	return j->out->nr && j->out->data[j->out->nr - 1] == ':';
}

static void before_value(struct json_put *j)
{
	if (j->needs_comma)
		buf_char(j->out, ',');
	if (j->is_indented && j->depth && !is_after_key(j))
		new_line(j);
	j->needs_comma = true;
}

void json_open(struct json_put *j, char bracket)
{
	before_value(j);
	buf_char(j->out, bracket);
	j->needs_comma = false;
	j->depth++;
}

void json_close(struct json_put *j, char bracket)
{
	j->depth--;
	if (j->is_indented)
		new_line(j);
	buf_char(j->out, bracket);
	j->needs_comma = true;
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
	} else {
		buf_str(out, "\\u");
		buf_hex(out, (uint8_t)c, 4, '0');
	}
}

/* An unprintable character of more than one byte: all of them are below 65,536. */
static void add_unprintable(struct buf *out, const uint8_t *s, size_t len)
{
	uint32_t v = len == 2 ? (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu)
			      : (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);

	buf_str(out, "\\u");
	buf_hex(out, v, 4, '0');
}

/* Stands for itself in JSON, as ASCII. */
static bool is_plain(char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* @return the bytes consumed, the first of which is not plain. */
static size_t add_other(struct buf *out, const char *s, size_t size)
{
	size_t len = escape_utf8((const uint8_t *)s, size);

	if (len == 1)
		add_ascii(out, *s);
	else if (!len)
		buf_str(out, "\\ufffd");
	else if (escape_printable((const uint8_t *)s, size))
		buf_add(out, s, len);
	else
		add_unprintable(out, (const uint8_t *)s, len);
	return len ? len : 1;
}

static void add_text(struct buf *out, const char *s)
{
	size_t left = strlen(s), n;

	buf_char(out, '"');
	for (; left; s += n, left -= n) {
		for (n = 0; n < left && is_plain(s[n]);)
			n++;
		if (n)
			buf_add(out, s, n);
		else
			n = add_other(out, s, left);
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

void json_fixed(struct json_put *j, uint64_t v, unsigned int decimals)
{
	uint64_t unit = 1;

	for (unsigned int i = 0; i < decimals; i++)
		unit *= 10;
	json_u64(j, v / unit);
	for (v %= unit; v && v % 10 == 0; v /= 10)
		decimals--;
	if (!v)
		return;
	buf_char(j->out, '.');
	buf_dec(j->out, v, decimals, '0');
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

void json_put_i64(struct json_put *j, const char *key, int64_t v)
{
	json_key(j, key);
	json_i64(j, v);
}

void json_put_double(struct json_put *j, const char *key, double v)
{
	json_key(j, key);
	before_value(j);
	buf_printf(j->out, "%.15g", v);
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

void json_put_bool(struct json_put *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}

void json_id(struct json_put *j, uint32_t id)
{
	json_i64(j, id == UINT32_MAX ? -1 : (int64_t)id);
}

void json_put_id(struct json_put *j, const char *key, uint32_t id)
{
	json_key(j, key);
	json_id(j, id);
}
