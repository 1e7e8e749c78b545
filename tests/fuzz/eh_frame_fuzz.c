/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* .eh_frame, .debug_frame and .eh_frame_hdr of all machines, and whole ELF files through the store.
 */
#include <stdio.h>
#include <stdlib.h>

#include "prop/eh_frame_use.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *wrong = eh_frame_use(data, size);

	if (wrong) {
		fprintf(stderr, "%s\n", wrong);
		abort();
	}
	return 0;
}
