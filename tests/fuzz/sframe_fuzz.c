/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prop/sframe_use.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * A section, of any version and architecture: its header says which. Before it is one byte of
 * what it is linked to.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unw_section section;

	if (!size)
		return 0;
	section = (struct unw_section){data + 1, size - 1, (uint64_t)data[0] << 12};
	if (!sframe_use(&section))
		__builtin_trap();
	return 0;
}
