/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SCRIPT_SCRIPT_DUMP_H
#define FORMAT_SCRIPT_SCRIPT_DUMP_H

#include "base/buf.h"
#include "perfdata/perf_evlist.h"
#include "perfdata/perf_record.h"

/**
 * A record as it lies in the file:
 *
 *	0x1a8 [0x30]: COMM misc 0x2000
 *	  PERF_RECORD_COMM exec: ls:7/7
 *	  0000  03 00 00 00 00 20 30 00 07 00 00 00 07 00 00 00  ..... 0.........
 *
 * A deferred user stack is printed with the contents of its trailer; @p events give the trailer's
 * size. The second line appears only for records that `clew script` can describe.
 */
void script_dump_record(struct buf *out, const struct perf_record *r,
			const struct perf_evlist *events);

#endif
