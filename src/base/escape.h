/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "base/intern.h"

/*
 * Names come from files and programs of strangers, and go to terminals and to tools that read
 * lines. Every text writer passes them through here: printable characters of UTF-8 stay as they
 * are; each byte of anything else becomes \xNN. No control character (C0, DEL, C1), line or
 * paragraph separator, mark that turns the direction of text, or byte that is not UTF-8 is left, so
 * a name can neither steer a terminal nor begin a line.
 * Spec: The Unicode Standard, "Control Codes", "Bidirectional Algorithm" (explicit formatting
 * characters); RFC 3629, "Syntax of UTF-8 Byte Sequences".
 */

/** How many bytes of ' ' to '~' come first. */
size_t escape_plain_bytes(const char *s, size_t size);

/** Bytes of the UTF-8 sequence that @p s begins with; 0: none within @p size bytes. */
size_t escape_utf8(const uint8_t *s, size_t size);

/** The character of the sequence of @p len bytes at @p s. */
uint32_t escape_utf8_value(const uint8_t *s, size_t len);

/** The same, of a printable character. */
size_t escape_printable(const uint8_t *s, size_t size);

/** Nothing to escape? Eight bytes a step where they are ASCII. */
bool escape_is_clean(const char *s, size_t size);

/** Append @p size bytes, escaped. */
void escape_add(struct buf *out, const char *s, size_t size);

static inline void escape_str(struct buf *out, const char *s)
{
	escape_add(out, s, __builtin_strlen(s));
}

/** Escape what @p out holds from byte @p from on. */
void escape_since(struct buf *out, size_t from);

/** A line, or a part of one: buf_printf(), with all escaped but the newline that ends @p format. */
void escape_printf(struct buf *out, const char *format, ...) CLEW_PRINTF(2, 3);
void escape_vprintf(struct buf *out, const char *format, va_list args) CLEW_PRINTF(2, 0);

/** The most bytes, up to @p limit, that end with a whole character. @p s must be clean. */
size_t escape_cut(const char *s, size_t size, size_t limit);

/** A text as it is printed. */
struct escaped {
	const char *raw, *text; /* text == raw where nothing had to be escaped */
	size_t bytes;           /* of text */
};

enum { ESCAPE_SLOTS_BITS = 9 };

/**
 * Texts looked at once and known by their address from then on, for writers that print the same
 * names over and over. All texts must live, unchanged, as long as the memo. Zeroed struct = empty.
 * One thread.
 */
struct escape_memo {
	struct escaped slots[1 << ESCAPE_SLOTS_BITS];
	struct intern copies;
};

const struct escaped *escape_memo_fill(struct escape_memo *m, struct escaped *slot, const char *s);
void escape_memo_done(struct escape_memo *m);

/** @return borrowed up to the next call; its text as long as the memo. */
static inline const struct escaped *escape_memo_get(struct escape_memo *m, const char *s)
{
	uint64_t hash = (uintptr_t)s * 0x9e3779b97f4a7c15u;
	struct escaped *slot = &m->slots[hash >> (64 - ESCAPE_SLOTS_BITS)];

	return slot->raw == s ? slot : escape_memo_fill(m, slot, s);
}

static inline void escape_memo_add(struct escape_memo *m, struct buf *out, const char *s)
{
	const struct escaped *e = escape_memo_get(m, s);

	buf_add(out, e->text, e->bytes);
}

#endif
