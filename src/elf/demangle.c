/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#include "base/mem.h"

enum {
	NAME_MAX_BYTES = 32 * 1024,
	SHOWN_MAX_BYTES = 256 * 1024,
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

/* What libiberty writes to, until it is too much. */
struct limited {
	struct buf *to;
	size_t left;
	jmp_buf too_long;
};

static void take_part(const char *text, size_t size, void *ctx)
{
	struct limited *l = ctx;

	if (size > l->left)
		longjmp(l->too_long, 1);
	l->left -= size;
	buf_add(l->to, text, size);
}

/*
 * C++ and Rust. Each part of a name may be used twice in a later part, so that 300 bytes can stand
 * for more text than any memory holds, and a callback cannot stop libiberty: only a jump leaves it.
 * The jump leaks nothing but, for Rust, the memory of one identifier.
 */
static bool demangle_limited(const char *name, int options, struct buf *ret)
{
	struct limited l = {.to = ret, .left = SHOWN_MAX_BYTES};
	const size_t from = ret->nr;

	if (!setjmp(l.too_long)) {
		if (rust_demangle_callback(name, DMGL_AUTO, take_part, &l))
			return true;
		ret->nr = from; /* it may have begun */
		if (cplus_demangle_v3_callback(name, options, take_part, &l))
			return true;
	}
	ret->nr = from;
	return false;
}

static bool demangle_whole(const char *name, struct buf *ret)
{
	/* Most C names are done here, without a call. */
	return name[0] == '_' ? demangle_limited(name, DMGL_AUTO, ret) : demangle_ocaml(name, ret);
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

bool demangle_with_parameters(const char *name, struct buf *ret)
{
	return strlen(name) <= NAME_MAX_BYTES && name[0] == '_' &&
	       demangle_limited(name, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI, ret);
}
