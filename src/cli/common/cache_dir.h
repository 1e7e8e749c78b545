/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_COMMON_CACHE_DIR_H
#define CLI_COMMON_CACHE_DIR_H

#include <stdbool.h>

#include "base/buf.h"

/** Where compiled unwind tables are kept: below $XDG_CACHE_HOME, else ~/.cache. Both have to be
 * absolute, as the XDG base directory specification wants it. @return false: nowhere. */
bool cli_unwind_cache_dir(struct buf *ret);

#endif
