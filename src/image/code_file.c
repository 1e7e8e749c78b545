/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image/code_file.h"

#include "os/clock.h"
#include "os/self.h"

bool code_file_id(const char *path, struct os_file_identity *ret)
{
	return !os_file_identity(path, ret);
}

enum clew_err code_file_open(struct code_file *f, const char *path)
{
	struct code_file n = {0};
	enum clew_err err;

	if (!code_file_id(path, &n.id))
		return CLEW_NOT_FOUND;
	err = os_map_file(path, &n.map, NULL);
	if (!err)
		*f = n;
	return err;
}

void code_file_done(struct code_file *f)
{
	os_map_done(&f->map);
	*f = (struct code_file){0};
}

bool code_own_vdso(const void **ret, size_t *ret_size)
{
	return os_own_vdso(ret, ret_size);
}

uint64_t code_clock_ns(void)
{
	return os_clock_ns();
}
