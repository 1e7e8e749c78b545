/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_AUX_FILTER_H
#define PERFDATA_AUX_FILTER_H

#include <stdbool.h>

#include "base/vec.h"

/*
 * Address filters of a hardware trace, as the kernel takes them and AUXTRACE_INFO has them:
 *
 *	filter START/SIZE[@FILE]   start ADDRESS[@FILE]   stop ADDRESS[/SIZE][@FILE]
 *
 * separated by blanks or commas. With a file, addresses are offsets in it; else they are the
 * kernel's.
 * Spec: Linux 6.12 kernel/events/core.c, perf_event_parse_addr_filter().
 */

/** Code [start, start + size) is traced. */
struct aux_filter {
	uint64_t start, size;
	const char *file; /* NULL: the kernel */
};

struct aux_filters {
	char *text; /* owned: files are in it */
	struct {
		VEC(struct aux_filter);
	} ranges;
	bool is_damaged; /* some of the text was not understood */
};

/** @p ret: zeroed. Only ranges that are traced are kept. @return false: no memory. */
bool aux_filters_parse(struct aux_filters *ret, const char *text, size_t bytes);
void aux_filters_done(struct aux_filters *f);

/** Is the byte at @p offset of @p file (NULL: the address of the kernel) in one of the ranges?
 * Without ranges everything is. */
bool aux_filters_have(const struct aux_filters *f, const char *file, uint64_t offset);

#endif
