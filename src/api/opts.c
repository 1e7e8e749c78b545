/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/opts.h"

#include <string.h>

#include "base/err.h"

enum clew_err opts_take(void *to, size_t to_bytes, const void *from, struct clew_diag *diag)
{
	const unsigned char *bytes = from;
	size_t size;

	if (!from)
		return CLEW_OK;
	memcpy(&size, from, sizeof(size));
	if (size < sizeof(size))
		return clew_fail(diag, CLEW_INVALID, 0, "the options' size is not set");
	for (size_t i = to_bytes; i < size; i++) {
		if (bytes[i])
			return clew_fail(
				diag, CLEW_UNSUPPORTED, 0,
				"the options have a field that this version does not know");
	}
	memcpy(to, from, size < to_bytes ? size : to_bytes);
	return CLEW_OK;
}
