/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_COUNTED_CODE_H
#define PROFILE_COUNTED_CODE_H

#include "analyze/analyze.h"
#include "base/map_u64.h"
#include "report/code_counts.h"

/*
 * What ran, and how often, binary by binary. While it is gathered, addresses are the dso's
 * (image/dso.h: rel); after counted_code_finish() those of the linked file.
 */

struct counted_binary {
	const struct dso *dso; /* NULL: addresses that no known mapping covers, as they are */
	const char *path;      /* "[unknown]" of these; else the recording's name for it */
	struct dso_build_id build_id;
	uint64_t base;   /* linked address of the first loaded segment */
	uint64_t weight; /* how often its runs were gone through */
	uint64_t nr_samples;
	uint64_t nr_left;  /* branches that left from it */
	uint64_t nr_lost;  /* runs and branches that are not in the linked file */
	bool is_not_found; /* the file: addresses are still the dso's */
	struct code_counts counts;
};

struct counted_code {
	struct {
		VEC(struct counted_binary);
	} binaries;
	struct map_u64 by_dso;
};

void counted_code_done(struct counted_code *c);

/** @p e.a and @p e.b are run-time addresses; @p at is where e.a lies. @return false: out of memory.
 */
bool counted_code_add_run(struct counted_code *c, const struct ana_loc *at,
			  const struct code_count *e);

/** @p from, @p to: where e.a and e.b lie; NULL: elsewhere. One that crosses from one binary to
 * another is counted in both. */
bool counted_code_add_branch(struct counted_code *c, const struct ana_loc *from,
			     const struct ana_loc *to, const struct code_count *e);

bool counted_code_add_sample(struct counted_code *c, const struct ana_loc *at, uint64_t nr);

/** Linked addresses, tables in order, binaries too: most weight first, then most samples, then
 * most branches, then by path. Nothing is added any more. Opens files: when nothing else uses the
 * dsos. */
void counted_code_finish(struct counted_code *c);

/**
 * Of a finished one: where the code at @p address lies in the file; of a module the address itself,
 * as it has no segments, and without the file, where it is that, or one at run time. Opens files,
 * as the above. @return false: it is not code of the file, or CODE_ELSEWHERE.
 */
bool counted_binary_offset(const struct counted_binary *b, uint64_t address, uint64_t *ret);

#endif
