/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/library.h"

#include <dlfcn.h>
#include <string.h>

struct os_library *os_library_load(const char *name)
{
	return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

bool os_library_function(struct os_library *l, const char *name, void *ret)
{
	void *f = dlsym(l, name);

	memcpy(ret, &f, sizeof(f));
	return f;
}
