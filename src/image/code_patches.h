/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef IMAGE_CODE_PATCHES_H
#define IMAGE_CODE_PATCHES_H

#include <clew/err.h>

#include "base/arena.h"
#include "base/vec.h"
#include "image/code_source.h"
#include "os/file.h"

/*
 * Code that is recorded byte by byte, each piece from its time on: what the kernel wrote into
 * itself (TEXT_POKE), and what a compiler made while the program ran (jit_code.h). First collect,
 * then close, then ask.
 */

struct code_patch {
	uint64_t start, end;
	struct clew_perf_ns time; /* from then on */
	const uint8_t *bytes;     /* of start; NULL: removed */
	const uint8_t *old;       /* what was there before; NULL: unknown */
	uint32_t order;
	uint32_t number;  /* the caller's, of what lies there */
	uint32_t removes; /* bytes NULL: 1 + the order of what is removed where it is still there;
			     0: whatever is there */
	bool replaces;    /* other code, after code_patches_close() */
};

struct code_segment {
	uint64_t start, end;
	uint32_t first, nr; /* of refs */
};

struct code_patches {
	struct {
		VEC(struct code_patch); /* after closing by time */
	} all;
	struct {
		VEC(struct code_segment); /* by address, disjoint */
	} segments;
	uint32_t *refs; /* of each segment, its patches by time */
};

struct code_patches *code_patches_new(void);
void code_patches_free(struct code_patches *p);

/** Code that was written over. */
struct code_poke {
	struct clew_perf_ns time;
	uint64_t addr;
	const uint8_t *bytes; /* the old ones, then the new ones; copied */
	size_t old_bytes, new_bytes;
};
enum clew_err code_patches_poke(struct code_patches *p, struct arena *memory,
				const struct code_poke *poke);

/** Any other piece. @p patch is copied, but not its bytes. */
enum clew_err code_patches_add(struct code_patches *p, const struct code_patch *patch);
enum clew_err code_patches_close(struct code_patches *p);

enum code_patched {
	CODE_NOT_PATCHED, /* *ret is the stretch around without patches, no bytes */
	CODE_PATCHED,
	CODE_NEW_LATER, /* by a patch later than @p time; what was there before is unknown */
	CODE_REMOVED
};
enum code_patched code_patches_find(const struct code_patches *p, struct clew_perf_ns time,
				    uint64_t addr, struct code_region *ret);

/** The last patch at @p addr that is no later than @p time, also one that removed what was there;
 * with @p or_later the first one where all are later. NULL: none. */
const struct code_patch *code_patches_at(const struct code_patches *p, struct clew_perf_ns time,
					 uint64_t addr, bool or_later);

/** @p is_hidden[order] is set for each patch that another one covers, or removed, anywhere. */
void code_patches_mark_hidden(const struct code_patches *p, bool *is_hidden);

#endif
