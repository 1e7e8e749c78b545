/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_RUNNING_BUILD_IDS_H
#define RECORD_RUNNING_BUILD_IDS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map_u64.h"
#include "perfdata/perf_record.h"

/** The build ids met while recording, each with the file's name, once. Zeroed = none. */
struct rec_build_ids {
	struct map_u64 seen;
	struct buf section; /* content of the BUILD_ID feature */
	uint32_t nr;
};

/** Cheap when it is known already. */
void rec_build_ids_add(struct rec_build_ids *b, bool is_kernel, const uint8_t *id, size_t id_bytes,
		       const char *filename);

/** Look into the mapped file itself, once a file. */
void rec_build_ids_add_mapped(struct rec_build_ids *b, const struct perf_mmap *m);

/** The running kernel and its modules. */
void rec_build_ids_add_kernel(struct rec_build_ids *b);

/** A record HEADER_BUILD_ID of the running kernel: the features that have it, too, are not written
 * where the recorder is killed. */
void rec_put_kernel_build_id(struct buf *b);

/** The vDSO, which no MMAP2 record gives an id for: ours is everyone's. */
void rec_build_ids_add_vdso(struct rec_build_ids *b);

void rec_build_ids_done(struct rec_build_ids *b);

#endif
