/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/err.h"

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
