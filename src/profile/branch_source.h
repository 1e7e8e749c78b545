/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_BRANCH_SOURCE_H
#define PROFILE_BRANCH_SOURCE_H

#include "analyze/analyze.h"
#include "base/map_u64.h"
#include "image/dso_listing.h"

/*
 * Is there a branch instruction where a branch is said to come from? By the code of user binaries
 * on this machine; a kernel's code is patched while it runs, so its file proves nothing.
 */

/** Mapping symbols of a function of 32-bit Arm code. */
struct arm_window {
	VEC(struct elf_mapping);
};

/** Zeroed struct = nothing known yet. */
struct branch_sources {
	struct map_u64 windows; /* -> number in arm */
	struct {
		VEC(struct arm_window);
	} arm;
};

void branch_sources_done(struct branch_sources *s);

/** ana_opts.source_of: @p ctx is a struct branch_sources. @return enum ana_source. */
enum ana_source branch_source_of(void *ctx, struct dso *d, uint64_t rel);

/** Let an analysis ask it. */
void branch_sources_wish(struct branch_sources *s, struct ana_opts *opts);

#endif
