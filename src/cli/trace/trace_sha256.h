/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_TRACE_TRACE_SHA256_H
#define CLI_TRACE_TRACE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* SHA-256 by libcrypto, which uses what the processor has for it, and is loaded only here. */

struct trace_sha256; /* the library's functions */

enum { TRACE_SHA256_BYTES = 32 };

/** NULL: not installed, or no memory. */
struct trace_sha256 *trace_sha256_new(void);
void trace_sha256_free(struct trace_sha256 *s);

/** One digest; NULL: no memory. */
void *trace_sha256_begin(const struct trace_sha256 *s);
bool trace_sha256_add(const struct trace_sha256 *s, void *digest, const void *data, size_t size);
bool trace_sha256_end(const struct trace_sha256 *s, void *digest, uint8_t ret[TRACE_SHA256_BYTES]);
/** NULL is fine. */
void trace_sha256_drop(const struct trace_sha256 *s, void *digest);

#endif
