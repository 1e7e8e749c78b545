/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/common/terminal_text.h"

#include <stdlib.h>
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/pager.h"

int cli_check_color(const char *when)
{
	if (!when || !strcmp(when, "always") || !strcmp(when, "never") || !strcmp(when, "auto"))
		return -1;
	cli_error("--stdio-color is always, never or auto, not '%s'", when);
	return CLI_USAGE;
}

bool cli_is_colored(const char *when)
{
	if (!when || !strcmp(when, "auto"))
		return cli_is_terminal();
	return !strcmp(when, "always");
}

const char *cli_cut_mark(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *v = getenv(names[i]);

		if (v && *v)
			return strcasestr(v, "utf-8") || strcasestr(v, "utf8") ? "\u2026" : NULL;
	}
	return NULL;
}
