/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *clew_err_name(enum clew_err code)
{
	switch (code) {
	case CLEW_OK:
		return "ok";
	case CLEW_END:
		return "end";
	case CLEW_TRUNCATED:
		return "truncated";
	case CLEW_BAD_PACKET:
		return "bad packet";
	case CLEW_BAD_FILE:
		return "bad file";
	case CLEW_NO_MEMORY:
		return "out of memory";
	case CLEW_OS:
		return "system call failed";
	case CLEW_UNSUPPORTED:
		return "not supported";
	case CLEW_LIMIT:
		return "over a limit";
	case CLEW_INVALID:
		return "invalid argument";
	case CLEW_NOT_FOUND:
		return "not found";
	case CLEW_STOPPED:
		return "stopped";
	}
	return "unknown error";
}

size_t clew_diag_text(char *ret, size_t size, const char *file, const struct clew_diag *diag)
{
	static const struct clew_diag none = {0};
	const char *what;
	const char *from = file ? file : "", *colon = file ? ": " : "";
	char buf[128];
	int n;

	diag = diag ? diag : &none;
	what = diag->what ? diag->what : clew_err_name(diag->code);
	if (diag->code == CLEW_OS)
		n = snprintf(ret, size, "%s%s%s: %s", from, colon, what,
			     strerror_r(diag->os_errno, buf, sizeof(buf)));
	else if (diag->offset)
		n = snprintf(ret, size, "%s%s%s, at offset 0x%" PRIx64, from, colon, what,
			     diag->offset);
	else
		n = snprintf(ret, size, "%s%s%s", from, colon, what);
	return n < 0 ? 0 : (size_t)n;
}

enum clew_err clew_fail(struct clew_diag *d, enum clew_err code, uint64_t offset, const char *what)
{
	if (d)
		*d = (struct clew_diag){.code = code, .offset = offset, .what = what};
	return code;
}

enum clew_err clew_fail_os(struct clew_diag *d, int os_errno, const char *what)
{
	if (d)
		*d = (struct clew_diag){.code = CLEW_OS, .os_errno = os_errno, .what = what};
	return CLEW_OS;
}
