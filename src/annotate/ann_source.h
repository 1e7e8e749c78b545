/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANNOTATE_ANN_SOURCE_H
#define ANNOTATE_ANN_SOURCE_H

#include "annotate/annotation.h"

/*
 * Source files by the names that debug information has. Below a directory that was given, first
 * the whole name is looked for, then the name without its first directories, one by one; then the
 * name as it is.
 */
struct ann_file {
	char *name;    /* as in debug information */
	char *path;    /* found there; NULL: not found */
	bool is_newer; /* changed after the binary: lines may not fit */
	char *text;
	uint32_t *lines; /* offset of each line, and of the end */
	uint32_t nr_lines;
};

/** Zeroed struct but for dir and budget. */
struct ann_sources {
	const char *dir; /* --source-dir; NULL: none */
	struct budget *budget;
	struct {
		VEC(struct ann_file);
	} files;
	struct map_u64 by_name; /* hash of a name, or the next free number */
};

/** Set the text of each line of @p a: borrowed until ann_sources_done(). @p built: when the
 * binary was, in seconds since 1970; INT64_MAX: unknown. @return false when memory is short. */
bool ann_sources_add(struct ann_sources *s, struct annotation *a, int64_t built);
void ann_sources_done(struct ann_sources *s);

#endif
