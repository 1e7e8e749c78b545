/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_FEATURES_WRITE_H
#define PERFDATA_PERF_FEATURES_WRITE_H

#include "base/buf.h"
#include "perfdata/perf_evlist.h"

/*
 * The contents of header features, made from plain values. All append to a buf; its is_failed says
 * that memory ran short.
 *
 * Spec: tools/perf/Documentation/perf.data-file-format.txt, "HEADER_..." sections.
 */

/** perf's string: u32 length, then the text with its NUL, padded to a multiple of 64. */
void perf_put_string(struct buf *b, const char *s);

/** CMDLINE: the program's own path, then its words. */
void perf_put_cmdline(struct buf *b, const char *exe, const char *const *words, size_t nr);

/** How many bytes of an attr go into a file: what perf 6.1 knows (128), more only where a field
 * beyond that is in use. One size serves all attrs of a file. */
uint32_t perf_file_attr_size(const struct perf_evlist *l);

/** One attr in that size, attr.size set to it. */
void perf_put_attr(struct buf *b, const struct perf_attr *attr, uint32_t size);

/** EVENT_DESC: attrs, names and ids. */
void perf_put_event_desc(struct buf *b, const struct perf_evlist *l);

/** GROUP_DESC of the leaders with nr_group > 1. @return how many groups; 0: leave the feature out.
 */
uint32_t perf_put_group_desc(struct buf *b, const struct perf_evlist *l);

/** COMPRESSED. @p ratio: percent of raw size to written size. */
void perf_put_compressed(struct buf *b, int level, uint32_t ratio, uint32_t mmap_bytes);

struct perf_cache_level { /* of CACHE */
	uint32_t level, line_bytes, sets, ways;
	const char *type, *size, *cpus; /* as sysfs spells them: "Data", "32K", "0-1" */
};
void perf_put_cache(struct buf *b, const struct perf_cache_level *levels, uint32_t nr);

/** One entry of BUILD_ID, or the record HEADER_BUILD_ID of a pipe. @p pid -1: the host. */
void perf_put_build_id(struct buf *b, uint32_t type, bool is_kernel, int32_t pid,
		       const uint8_t *build_id, size_t build_id_bytes, const char *filename);

#endif
