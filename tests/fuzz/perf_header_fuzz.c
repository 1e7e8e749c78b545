/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stddef.h>

#include "prop/perfdata_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* u8 flags (1: the other byte order), then u8 feature, u16 size, content: as often as there are
 * bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = bytes_of(data, size);
	struct perf_features f = {0};
	uint8_t flags, feature;
	uint16_t bytes;

	if (!bytes_u8(&in, &flags))
		return 0;
	f.swap = flags & 1;
	while (bytes_u8(&in, &feature) && bytes_u16(&in, false, &bytes)) {
		feature %= PERF_FEAT_MAX;
		if (!bytes_take(&in, bytes, &f.section[feature]))
			bytes_take(&in, bytes_left(&in), &f.section[feature]);
		f.bits[feature / 64] |= (uint64_t)1 << feature % 64;
	}
	perf_walk_features(&f);
	return 0;
}
