/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef IMAGE_JIT_CODE_H
#define IMAGE_JIT_CODE_H

#include "base/budget.h"
#include "image/code_patches.h"
#include "image/dso_jit.h"

/*
 * What a program's compiler made while it ran, by its jitdump files, each piece of code from its
 * time on. Read the files, close, then ask.
 *
 * Each function has a place of its own ("rel"), wherever it was moved to: the run-time address that
 * it has in the end, and where other code is there in the end one that no user code has
 * (JIT_HIDDEN), so that nothing else has to know the time.
 */

#define JIT_HIDDEN ((uint64_t)1 << 63)
enum { JIT_MAX_BYTES = 1 << 30 /* of a file */ };

struct jit_func {
	uint64_t addr, size;  /* at run time; where it was last */
	uint64_t rel;         /* after jit_code_close() */
	const char *name;     /* in the file, as the next */
	const uint8_t *bytes; /* size of them */
	uint64_t loaded_at;   /* its first address, of which its lines are */
	uint32_t first_line, nr_lines;
	uint32_t last_patch; /* its order: of where it was last */
	uint32_t older; /* 1 + number of the one loaded at the same address before it; 0: none */
	uint16_t machine, file; /* file: of maps */
};

struct jit_line {
	uint64_t addr;
	const char *file;
	uint32_t line;
};

struct jit_code {
	struct {
		VEC(struct os_map);
	} maps;
	struct {
		VEC(struct jit_func);
	} funcs;
	struct {
		VEC(struct jit_line);
	} lines;
	struct code_patches *patches; /* their numbers: of funcs */
	uint32_t *by_rel;             /* funcs */
	struct budget *budget;        /* NULL: no limit */
	uint64_t charged;
	bool is_over_budget;
	bool has_untimed;    /* the times of a file cannot be compared with the recording's */
	bool is_shifted;     /* or only after they were counted from when the file was mapped */
	uint64_t nr_reused;  /* functions that others took the place of; after jit_code_close() */
	uint64_t nr_omitted; /* for which there was no room */
};

struct jit_code *jit_code_new(struct budget *budget);
void jit_code_free(struct jit_code *j);

/** Which processes' records of a file are wanted. */
struct jit_wanted {
	uint32_t pid;      /* the process's number */
	bool is_inherited; /* only those that name that number: a parent's file that it continues to
			    * use
			    */
	struct dso_mapped when;
};

/**
 * Add a file's records. @p map: taken, also on failure. @p clock: NULL: no times compare.
 * *ret_has_others: do any name another process than the one that began the file?
 * @return false: no jitdump file, or no memory.
 */
bool jit_code_read(struct jit_code *j, struct os_map *map, const struct dso_clock *clock,
		   const struct jit_wanted *wanted, bool *ret_has_others);
bool jit_code_close(struct jit_code *j);

/** When, and whether the first code that ever was there counts as there before. */
struct jit_when {
	struct clew_perf_ns time;
	bool or_later;
};

/** What was at @p addr, and the place of that in it: NULL: nothing that the files know of, or it is
 * gone: *ret_is_gone. */
const struct jit_func *jit_code_at(const struct jit_code *j, struct jit_when when, uint64_t addr,
				   uint64_t *ret_rel, bool *ret_is_gone);
/** The function at @p *rel, which may also be where the code was at run time, in the end: it
 * becomes the place. NULL: none, or it is gone: *ret_is_gone. */
const struct jit_func *jit_code_find(const struct jit_code *j, uint64_t *rel, bool *ret_is_gone);
/** The line of @p rel of @p f; NULL: unknown. */
const struct jit_line *jit_code_line(const struct jit_code *j, const struct jit_func *f,
				     uint64_t rel);

/** Nothing changes in [*ret_from, *ret_to), which has @p time. */
void jit_code_span(const struct jit_code *j, struct clew_perf_ns time,
		   struct clew_perf_ns *ret_from, struct clew_perf_ns *ret_to);

#endif
