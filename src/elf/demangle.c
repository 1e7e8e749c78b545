/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <string.h>

#include "base/mem.h"

enum {
	NAME_MAX_BYTES = 32 * 1024,
	PLT_MAX_BYTES = 1023 /* NAME@plt, as perf cuts it */
};

static int value_of_hex(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10;
}

/** camlModule__function_123 -> Module.function_123; $2b -> + */
static bool demangle_ocaml(const char *s, struct buf *ret)
{
	if (strncmp(s, "caml", 4) != 0 || !isupper((unsigned char)s[4]))
		return false;
	for (s += 4; *s;) {
		if (s[0] == '_' && s[1] == '_') {
			buf_char(ret, '.');
			s += 2;
		} else if (s[0] == '$' && isxdigit((unsigned char)s[1]) &&
			   isxdigit((unsigned char)s[2])) {
			buf_char(ret, (char)(value_of_hex(s[1]) << 4 | value_of_hex(s[2])));
			s += 3;
		} else {
			buf_char(ret, *s++);
		}
	}
	return true;
}

static bool demangle_whole(const char *name, struct buf *ret)
{
	char *text;

	/* Most C names are done here, without a call. */
	if (name[0] != '_')
		return demangle_ocaml(name, ret);
	text = cplus_demangle(name, DMGL_NO_OPTS);
	if (!text)
		return false;
	buf_str(ret, text);
	mem_free(text);
	return true;
}

bool demangle(const char *name, struct buf *ret)
{
	static const char plt[] = "@plt";
	size_t len = strlen(name), plt_bytes = sizeof(plt) - 1, from = ret->nr;
	char *stem;
	bool ok;

	if (len > NAME_MAX_BYTES)
		return false;
	if (len <= plt_bytes || memcmp(name + len - plt_bytes, plt, plt_bytes) != 0)
		return demangle_whole(name, ret);
	stem = mem_strndup(name, len - plt_bytes);
	ok = stem && demangle_whole(stem, ret);
	if (ok)
		buf_add(ret, plt, plt_bytes);
	if (ok && ret->nr - from > PLT_MAX_BYTES)
		ret->nr = from + PLT_MAX_BYTES;
	mem_free(stem);
	return ok;
}
