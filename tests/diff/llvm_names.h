/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_LLVM_NAMES_H
#define TESTS_LLVM_NAMES_H

#include <stdbool.h>
#include <string.h>

/** Is @p name, of an instruction as llvm-objdump prints it, one of @p names, which spaces part? */
static inline bool is_one_of(const char *name, const char *names)
{
	size_t n = strlen(name);

	for (const char *p = strstr(names, name); p; p = strstr(p + 1, name)) {
		if ((p == names || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	}
	return false;
}

#endif
