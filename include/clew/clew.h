/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLEW_CLEW_H
#define CLEW_CLEW_H

#include <clew/err.h>     /* IWYU pragma: export */
#include <clew/session.h> /* IWYU pragma: export */
#include <clew/time.h>    /* IWYU pragma: export */
#include <clew/trace.h>   /* IWYU pragma: export */
#include <clew/version.h> /* IWYU pragma: export */

#endif
