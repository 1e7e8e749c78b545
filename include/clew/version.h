/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLEW_VERSION_H
#define CLEW_VERSION_H

#include <clew/err.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers. Minor versions add only; before 1.0 they may change more, and then
 * the library's soname changes too. */
#define CLEW_VERSION_MAJOR 0
#define CLEW_VERSION_MINOR 2
#define CLEW_VERSION_PATCH 0
#define CLEW_VERSION       "0.2.0"

/** To compare: #if CLEW_VERSION_NUMBER >= CLEW_VERSION_OF(0, 2, 0) */
#define CLEW_VERSION_OF(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define CLEW_VERSION_NUMBER \
 CLEW_VERSION_OF(CLEW_VERSION_MAJOR, CLEW_VERSION_MINOR, CLEW_VERSION_PATCH)

/** @return CLEW_VERSION of the library that runs, which may be newer than the headers. Any thread.
 */
CLEW_API const char *clew_version(void);

/** @return CLEW_VERSION_NUMBER of the library that runs. Any thread. */
CLEW_API unsigned int clew_version_number(void);

#ifdef __cplusplus
}
#endif
#endif
