/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLEW_ERR_H
#define CLEW_ERR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
# define CLEW_API      __attribute__((visibility("default")))
# define CLEW_MUST_USE __attribute__((warn_unused_result))
#else
# define CLEW_API
# define CLEW_MUST_USE
#endif

/** What every fallible call returns: 0 is success, negative is not. END is an answer, not a
 * failure. */
enum clew_err {
	CLEW_OK = 0,
	CLEW_END = -1,        /* nothing more to deliver */
	CLEW_TRUNCATED = -2,  /* the input ends inside an item */
	CLEW_BAD_PACKET = -3, /* bytes that no specification allows */
	CLEW_BAD_FILE = -4,  /* not a file of the expected kind, or its header contradicts itself */
	CLEW_NO_MEMORY = -5, /* an allocation failed */
	CLEW_OS = -6,        /* the kernel refused; clew_diag.os_errno says why */
	CLEW_UNSUPPORTED = -7, /* understood, and not decoded by this version */
	CLEW_LIMIT = -8,       /* a size from the input is above the documented limit */
	CLEW_INVALID = -9,     /* an argument or option makes no sense */
	CLEW_NOT_FOUND = -10,  /* what was asked for does not exist */
	CLEW_STOPPED = -11,    /* a callback asked to stop */
};

/** Why a call failed. Optional everywhere: pass NULL where it is not wanted. Written with each
 * result but CLEW_OK. */
struct clew_diag {
	enum clew_err code;
	int os_errno;         /* errno of the failing system call, 0 otherwise */
	uint64_t offset;      /* bytes from the start of the input */
	const char *what;     /* static text, lower case, no final stop */
	uint64_t reserved[4]; /* for later versions; zero */
};

/** @return a static word for @p code, such as "truncated"; never NULL. Any thread. */
CLEW_API const char *clew_err_name(enum clew_err code);

/**
 * Write @p diag as one line without a newline, as snprintf() does:
 *
 *	FILE: what: the text of errno
 *	FILE: what, at offset 0x1234
 *
 * @p file names the input (NULL: none); @p diag NULL: "ok". It is copied as it is,
 * control characters included.
 * @return bytes of the whole text without the NUL, more than @p size - 1 where it was cut. Any
 * thread.
 */
CLEW_API size_t clew_diag_text(char *ret, size_t size, const char *file,
			       const struct clew_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
