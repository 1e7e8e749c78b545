/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prop/ipt_packets_use.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** A byte that chooses the errata, one for the pieces, then trace. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ipt_config c;
	uint64_t nr;

	if (size < 2)
		return 0;
	c = (struct ipt_config){.errata = data[0] & 1 ? UINT16_MAX : 0};
	if (ipt_packets_use(&c, bytes_of(data + 2, size - 2), data[1], &nr))
		__builtin_trap();
	return 0;
}
