/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/opts.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"

enum { MAX_BYTES = 64 << 10 }; /* no version will have more */

static bool is_zero(const unsigned char *bytes, size_t from, size_t end)
{
	for (size_t i = from; i < end; i++) {
		if (bytes[i])
			return false;
	}
	return true;
}

enum clew_err opts_take(void *to, const struct opts_type *type, const void *from,
			struct clew_diag *diag)
{
	size_t size, reserved_end = type->reserved_at + type->reserved_bytes;

	if (!from)
		return CLEW_OK;
	memcpy(&size, from, sizeof(size));
	if (size < sizeof(size))
		return clew_fail(diag, CLEW_INVALID, 0, "the options' size is not set");
	if (size > MAX_BYTES)
		return clew_fail(diag, CLEW_INVALID, 0, "the options' size is impossible");
	if (!is_zero(from, type->bytes, size) ||
	    !is_zero(from, type->reserved_at, size < reserved_end ? size : reserved_end))
		return clew_fail(diag, CLEW_UNSUPPORTED, 0,
				 "the options have a field that this version does not know");
	memcpy(to, from, size < type->bytes ? size : type->bytes);
	return CLEW_OK;
}
