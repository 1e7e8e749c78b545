/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_JSON_PUT_H
#define FORMAT_JSON_PUT_H

#include "base/buf.h"

/*
 * JSON text into a buf, commas put where they belong:
 *
 *	struct json_put j = {.out = &out};
 *	json_open(&j, '{');
 *	json_key(&j, "name");
 *	json_string(&j, "cycles");
 *	json_close(&j, '}');
 */
struct json_put {
	struct buf *out;
	bool needs_comma;
	bool is_indented; /* a line for each member, two columns a level */
	unsigned int depth;
};

void json_open(struct json_put *j, char bracket);
void json_close(struct json_put *j, char bracket);
void json_key(struct json_put *j, const char *key);

/** Bytes that are not UTF-8 become U+FFFD, characters that are not printable \uNNNN; NULL becomes
 * null. */
void json_string(struct json_put *j, const char *s);
void json_u64(struct json_put *j, uint64_t v);
void json_i64(struct json_put *j, int64_t v);
/** @p v as the decimals of a fraction: 1500 with 3 of them is 1.5. */
void json_fixed(struct json_put *j, uint64_t v, unsigned int decimals);
void json_bool(struct json_put *j, bool v);

/* A key with its value. Numbers that may need 64 bits, such as addresses, are text in hex, as JSON
 * readers often have only 53 bits. */
void json_put_u64(struct json_put *j, const char *key, uint64_t v);
void json_put_i64(struct json_put *j, const char *key, int64_t v);
/** Short where that is exact to 15 digits; @p v is finite. */
void json_put_double(struct json_put *j, const char *key, double v);
void json_put_hex(struct json_put *j, const char *key, uint64_t v);
void json_put_string(struct json_put *j, const char *key, const char *s);
void json_put_bool(struct json_put *j, const char *key, bool v);
/** A pid, tid or CPU: -1 where it is unknown, all ones. */
void json_id(struct json_put *j, uint32_t id);
void json_put_id(struct json_put *j, const char *key, uint32_t id);

#endif
