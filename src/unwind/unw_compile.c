/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/unw_compile.h"

#include "unwind/unw_list.h"

enum clew_err unw_compile(const struct unw_image *image, const struct unw_store_opts *opts,
			  void **ret_block, size_t *ret_size)
{
	struct unw_list *lists[UNW_MAX_SOURCES] = {0};
	size_t nr = 0;
	enum clew_err err;

	(void)opts;
	err = unw_table_build_of(lists, nr, image->arch, ret_block, ret_size);
	for (size_t i = 0; i < nr; i++)
		unw_list_free(lists[i]);
	return err;
}
