/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef IMAGE_DSO_JIT_H
#define IMAGE_DSO_JIT_H

#include "base/bytes.h"
#include "image/code_patches.h"
#include "image/dso.h"

/*
 * DSO_JIT: code that one program of a process made while it ran, by the jitdump files that it
 * mapped, and by its perf-PID.map where these know nothing. A "rel" of it is the run-time address,
 * but for code of which other code took the place (jit_code.h).
 */

/** When the program lived, for whether a perf-PID.map is its; in ns since 1970, 0: unknown. */
struct dso_life {
	uint64_t from, to; /* its start (or exec), and its end (or the next exec) */
	uint64_t since;    /* a file that is older than this says nothing of from */
};
void dso_jit_set_life(struct dso *d, const struct dso_life *life);

/** A copy of its perf-PID.map that came with the recording. */
struct dso_kept_map {
	struct bytes packed;
	size_t bytes; /* of the text that @p unpack makes of it; false: it is damaged */
	bool (*unpack)(struct bytes packed, char *text, size_t bytes);
};
/** Copied, and read in place of any file here. @return false when memory is short. */
bool dso_jit_keep_map(struct dso *d, const struct dso_kept_map *m);

/** When a program began that mapped a jitdump file, and when it did; 0: unknown. */
struct dso_mapped {
	struct clew_perf_ns begun, mapped;
};

/** It mapped the jitdump @p file. @return false when memory is short. */
bool dso_jit_add_dump(struct dso *d, struct dso *file, const struct dso_mapped *when);

/** A forked program may continue to use those of its parent: only records that name it are its. */
bool dso_jit_inherit(struct dso *d, const struct dso *parent);
/** Has it any of either? */
bool dso_jit_has_dumps(const struct dso *d);

/** How often a program may map one; others are ignored. */
enum { DSO_MAX_DUMPS = 1024 };

struct jit_when; /* jit_code.h */

/**
 * The place that run-time address @p addr had then (time none: in the end).
 * @return false: nothing names code there; *ret_rel is @p addr.
 */
bool dso_jit_find(struct dso *d, struct jit_when when, uint64_t addr, uint64_t *ret_rel);

/** The same places in [*ret_from, *ret_to), which has @p time. */
void dso_jit_span(struct dso *d, struct clew_perf_ns time, struct clew_perf_ns *ret_from,
		  struct clew_perf_ns *ret_to);

/** The code itself, by time; NULL: none. Lives as long as what was read of @p d. */
const struct code_patches *dso_jit_patches(struct dso *d);

#endif
