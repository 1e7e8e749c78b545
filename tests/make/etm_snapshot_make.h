/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_ETM_SNAPSHOT_MAKE_H
#define TESTS_MAKE_ETM_SNAPSHOT_MAKE_H

#include "base/buf.h"
#include "packet/etm/etm_config.h"

struct etm_snapshot_code {
	uint64_t address;
	const void *bytes;
	size_t size;
};

/** An OpenCSD snapshot of one unit and its unformatted trace, in a new directory @p dir.
 * @return false: it could not be written. */
bool etm_snapshot_make(const char *dir, const struct etm_config *c, const struct buf *trace,
		       const struct etm_snapshot_code *code, size_t nr_code);

#endif
