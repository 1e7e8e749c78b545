/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_A64_STUBS_H
#define UNWIND_A64_STUBS_H

#include "unwind/unw_image.h"
#include "unwind/unw_table.h"

/**
 * aarch64: rows for code that no linker, kernel or libc describes, and that is known by its bytes:
 * entries of a PLT (the return address is in x30) and sigreturn's trampoline (SP points to the
 * signal's frame). Only where none of @p lists, which are sorted, covers it. O(bytes of code);
 * beyond a million stubs the rest has no rows.
 * @return CLEW_NOT_FOUND: another machine.
 */
enum clew_err a64_stub_rows(const struct unw_image *image, struct unw_list *const lists[],
			    size_t nr, struct unw_list *ret);

#endif
