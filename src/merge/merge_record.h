/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MERGE_MERGE_RECORD_H
#define MERGE_MERGE_RECORD_H

#include "base/buf.h"
#include "perfdata/perf_record.h"
#include "perfdata/perf_sample.h"

/* Records of one recording, as they stand in another: all events of it carry IDENTIFIER. */

enum { MERGE_RECORD_MAX = 65528 };

/** What replaces a guest's own. */
struct merge_stamp {
	uint64_t id, time;
	uint32_t cpu; /* of the host */
};

/** Append a host's record; @p id: where it carries none in the place of IDENTIFIER.
 * @return false: it would be too large. */
bool merge_put_host(struct buf *out, const struct perf_record *r, const struct perf_attr *attr,
		    uint64_t id);

/** Is it one that is merged? */
bool merge_takes(uint32_t type);

/** Append a guest's record. @return false: it cannot be parsed, or would be too large. */
bool merge_put_guest(struct buf *out, const struct perf_record *r, const struct perf_attr *attr,
		     const struct merge_stamp *stamp);

#endif
