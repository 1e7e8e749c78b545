/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/perf/cgroup_root.h"

#include <stdio.h>
#include <string.h>

#include "os/proc.h"

enum { MOUNTS_LIMIT = 4 * 1024 * 1024, FIELD = 1024 };

/* Is @word one of the comma list @text? */
static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (; *text; text += strcspn(text, ",")) {
		text += *text == ',';
		if (strcspn(text, ",") == len && !strncmp(text, word, len))
			return true;
	}
	return false;
}

bool os_cgroup_root_of(const char *mounts, char *ret, size_t size)
{
	bool is_found = false;

	for (const char *line = mounts; *line; line += strcspn(line, "\n") + 1) {
		char where[FIELD], type[64], options[FIELD];

		if (sscanf(line, "%*s %1023s %63s %1023s", where, type, options) == 3) {
			if (!strcmp(type, "cgroup") && has_word(options, "perf_event")) {
				snprintf(ret, size, "%s", where);
				return true;
			}
			if (!strcmp(type, "cgroup2") && !is_found) {
				snprintf(ret, size, "%s", where);
				is_found = true;
			}
		}
		if (!strchr(line, '\n'))
			break;
	}
	return is_found;
}

bool os_cgroup_root(char *ret, size_t size)
{
	struct buf b = {0};
	bool is_found = os_read_into("/proc/self/mounts", MOUNTS_LIMIT, &b) > 0 &&
			os_cgroup_root_of(buf_cstr(&b), ret, size);

	buf_done(&b);
	return is_found;
}
