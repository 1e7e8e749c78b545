/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_TABLES_MAPPED_NAMES_H
#define RECORD_STACKS_TABLES_MAPPED_NAMES_H

#include "perfdata/perf_record.h"

struct mapped_name {
	uint32_t pid;
	uint64_t start;
	char *name;
	uint8_t build_id[20], nr_build_id;
};

/** The newest executable mappings that the kernel reported, so that a file can still be named when
 * its process has ended. Zeroed = empty. */
struct mapped_names {
	struct mapped_name *slots;
	uint32_t next;
};

/** Take in MMAP2 with a build id; others are ignored, as nothing identifies their files later. */
void mapped_names_record(struct mapped_names *m, const struct perf_record *r);

/** NULL: not (or no longer) known. Valid until the next record. */
const struct mapped_name *mapped_names_find(const struct mapped_names *m, uint32_t pid,
					    uint64_t start);

void mapped_names_done(struct mapped_names *m);

#endif
