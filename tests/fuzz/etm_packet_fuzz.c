/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/etm_any.h"
#include "prop/etm_packets_use.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** A byte that chooses the unit, one for the pieces, then trace. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct etm_config c;
	uint64_t nr;

	if (size < 2)
		return 0;
	c = etm_any_config(data[0] % NR_ETM_ANY_CONFIGS);
	if (data[0] & 0x80)
		c.is_m_profile = true;
	if (etm_packets_use(&c, bytes_of(data + 2, size - 2), data[1], &nr))
		__builtin_trap();
	return 0;
}
