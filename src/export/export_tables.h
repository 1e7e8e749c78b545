/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef EXPORT_EXPORT_TABLES_H
#define EXPORT_EXPORT_TABLES_H

#include "analyze/analyze.h"
#include "base/budget.h"
#include "base/buf.h"
#include "base/intern.h"
#include "base/map_u64.h"
#include "base/vec.h"

/*
 * What an export names, by dense numbers in the order of first use. Nothing is removed.
 *
 *	text      repaired UTF-8 without control characters; number 0 is ""
 *	binary    a file, or the kernel
 *	function  name, binary, level
 *	place     an address; one frame, or with inlined functions 1 + n frames
 *	frame     a function at a place; those of a place are neighbours, the innermost first
 *
 * Number 0 of functions, places and frames is what is unknown, or found no room.
 */
enum { EXPORT_NONE = UINT32_MAX, EXPORT_UNKNOWN = 0 };

/** Where the first process that mapped a binary had its code. */
struct export_range {
	uint64_t start, end, offset;
};

struct export_binary {
	const struct dso *dso;
	uint32_t path; /* text */
	uint64_t nr;   /* samples with their innermost place in it */
	bool has_range;
	struct export_range range;
};

struct export_function {
	uint32_t name, link_name; /* texts; of a function without a symbol both are made up */
	uint32_t file, line;      /* text, where it is declared; 0: unknown. Without that, file is
				     of its first frame with a source line */
	uint32_t binary;          /* EXPORT_NONE: none */
	uint8_t level;            /* enum ana_level */
	bool has_symbol;
	bool is_cut; /* no function: the stack ends here, and the name says why */
};

struct export_frame {
	uint32_t function, place;
	uint32_t file, line; /* text; 0: unknown */
	uint32_t depth;      /* in its place; 0: innermost */
};

struct export_place {
	uint64_t address; /* in the binary's terms; of callers less 1, where it is in the call */
	uint32_t binary;  /* EXPORT_NONE: none */
	uint32_t first_frame, nr_frames;
	uint8_t level;
	bool is_made_up; /* no place in code */
	bool is_caller;
	const struct dso *dso;     /* with address and level, what it is found by */
	const struct dso_sym *sym; /* NULL: unknown */
};

struct export_tables {
	struct intern texts;
	struct map_u64 text_of; /* pointer of a name that lives as long as the run -> text */
	struct intern function_keys;
	uint64_t *place_slots; /* half of a key's hash, and place + 1; 0: empty */
	size_t cap_places;
	struct map_u64 by_dso; /* -> binary */
	struct map_u64 cut_of; /* text of the reason -> frame */
	struct {
		VEC(struct export_binary);
	} binaries;
	struct {
		VEC(struct export_function);
	} functions;
	struct {
		VEC(struct export_frame);
	} frames;
	struct {
		VEC(struct export_place);
	} places;
	struct map_u64 range_of; /* text of a path -> index of ranges */
	struct {
		VEC(struct export_range);
	} ranges;
	uint32_t main_path; /* text: the program that the recorded command executed; 0: unknown */
	uint32_t exec_pid;  /* its process, until its first mapping */
	uint32_t max_frames;
	uint64_t max_text_bytes;
	bool no_inline;
	struct buf repaired;
};

/** Of limits 0: the defaults, 1 Mi frames and 256 MiB of texts. @return false: no memory. */
bool export_tables_init(struct export_tables *t, uint32_t max_frames, uint64_t max_text_bytes,
			bool no_inline);
void export_tables_done(struct export_tables *t);

static inline const char *export_text(const struct export_tables *t, uint32_t text)
{
	return intern_get(&t->texts, text);
}

/** The number of @p s, repaired. @return EXPORT_NONE: no memory. Where texts have no room, that of
 * "[unknown]". */
uint32_t export_text_add(struct export_tables *t, const char *s);
/** The same of a text that lives as long as the run; NULL: 0. */
uint32_t export_text_of(struct export_tables *t, const char *s);

/** The place of @p loc. CLEW_LIMIT: there is no room, *ret is EXPORT_UNKNOWN. */
enum clew_err export_place_of(struct export_tables *t, const struct ana_loc *loc, uint32_t *ret);

/** A frame that says why a stack is cut: "[cut: WHY]". @p why: static words. */
enum clew_err export_cut_frame(struct export_tables *t, const char *why, uint32_t *ret);

/** Take what a record says of binaries: MMAP, MMAP2, COMM. CLEW_NO_MEMORY. */
enum clew_err export_take_record(struct export_tables *t, const struct perf_record *r);
/** After the run: where the binaries were. */
void export_set_ranges(struct export_tables *t);
/** The binary that readers name the profile by; EXPORT_NONE: there is none. */
uint32_t export_main_binary(const struct export_tables *t);

/** "kernel", "guest-user", ... */
const char *export_level_name(uint8_t level);
/** "_[k]", ...; "" of user frames, and what has none. */
const char *export_level_suffix(uint8_t level);

/* --- who --- */

struct export_thread {
	uint32_t pid, tid;             /* all ones: unknown */
	uint32_t comm;                 /* text: the last one */
	uint32_t inner_pid, inner_tid; /* in its own PID namespace; 0: unknown, or the same */
};

/** What samples differ by besides event and stack. Parts that the format does not distinguish are
 * those of the first sample that had this key. */
struct export_key {
	uint32_t thread;
	uint32_t comm, cgroup; /* texts; 0: none */
	uint32_t cpu;          /* all ones: unknown */
	uint64_t pid_ns;       /* inode of its process's PID namespace; 0: not recorded */
	uint32_t cut;          /* text; why the stack is cut; 0: it is not */
	uint8_t level;         /* of its innermost place */
};

#endif
