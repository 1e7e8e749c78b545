/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/common/cache_dir.h"

#include <stdlib.h>

bool cli_unwind_cache_dir(struct buf *ret)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && *cache == '/')
		buf_printf(ret, "%s/clew/unwind", cache);
	else if (home && *home == '/')
		buf_printf(ret, "%s/.cache/clew/unwind", home);
	else
		return false;
	return true;
}
