/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_PLACES_H
#define ANALYZE_ANA_PLACES_H

#include "analyze/ana_programs.h"
#include "base/arena.h"
#include "base/budget.h"
#include "base/intern.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "image/dso.h"
#include "perfdata/perf_file.h"
#include "who/who.h"

/*
 * The binaries of a recording: which one a mapping is of. One for each recording, whoever reads it:
 * samples and hardware trace. One thread at a time.
 */

/* What a map of the who leads to. */
struct ana_place {
	struct dso *dso;
	const struct dso_sym *only_sym; /* KSYMBOL: the one symbol there is */
	bool is_absolute;               /* rel = ip */
	bool is_jit; /* code made at run time: ana_places_find() says where it is, by process and
			time */
};

/* An address in it. */
struct ana_spot {
	struct dso *dso;
	uint64_t rel;
	bool has_no_name; /* of code made at run time, at that time */
};

struct ana_places {
	struct dso_store *dsos;
	struct dso_store *own;          /* NULL: @dsos is borrowed */
	struct arena memory;            /* places, and what their user puts there */
	struct ana_place *kernel_place; /* for kernel addresses no map covers */
	struct intern build_id_paths;   /* path -> index + 1 of build_ids */
	struct {
		VEC(struct dso_build_id);
	} build_ids;
	struct budget_account account;
	struct map_u64 mnt_ns;  /* pid -> inode of its mount namespace, as last recorded */
	struct perf_file *file; /* borrowed: what its header says comes late in a pipe */
	struct {
		bool is_known;
		char *ref_name; /* in memory; NULL: none */
		uint64_t ref_addr, start;
		struct dso_build_id id;
	} kernel; /* by its mapping */
	struct ana_programs programs;
	struct perf_time_conv time_conv; /* of the recording, for files with a counter's times */
	bool wants_lines;                /* source lines and inlined functions for each location */
};

/** @p file: the build ids of its header are taken; borrowed, for as long as @p p. @p opts:
 * borrowed.
 * @p dsos: borrowed; NULL: a store of its own, made with @p opts.
 * CLEW_OK or CLEW_NO_MEMORY, as the others. */
enum clew_err ana_places_init(struct ana_places *p, const struct dso_store_opts *opts,
			      struct dso_store *dsos, struct perf_file *file,
			      struct budget *budget);
void ana_places_done(struct ana_places *p);

enum clew_err ana_places_take_build_id(struct ana_places *p, const struct perf_build_id_record *b);
/** NAMESPACES. */
enum clew_err ana_places_take_namespaces(struct ana_places *p, const struct perf_record *r);

/**
 * COMM, FORK, EXIT, MMAP and MMAP2 of the host, for code made at run time: which program made it,
 * and where. A JIT compiler maps its jitdump file for no other reason than that the recording names
 * it. Nothing is sampled there, so the file has to be known before code of it is. *ret_pid: the
 * process that gets other code by it; 0: none. And the kernel says where it is, which its modules
 * need.
 */
enum clew_err ana_places_take_program(struct ana_places *p, const struct perf_record *r,
				      struct clew_perf_ns time, uint32_t *ret_pid);
/** TIME_CONV. */
void ana_places_take_time_conv(struct ana_places *p, const struct perf_record *r);
/** Events are known, or more is known of the clock. */
void ana_places_set_clock(struct ana_places *p, const struct perf_evlist *events);

/** The part of it that is about the kernel. */
enum clew_err ana_places_take_kernel(struct ana_places *p, const struct perf_record *r);

/** Lives as long as @p p. NULL: no memory. */
struct ana_place *ana_place_of(struct ana_places *p, struct who_map *map);
struct ana_place *ana_kernel_place(struct ana_places *p);

/** Where @p ip is in @p place of @p map, as process @p pid ran it then. CLEW_OK, CLEW_NO_MEMORY. */
enum clew_err ana_places_find(struct ana_places *p, const struct ana_place *place,
			      const struct who_map *map, uint32_t pid, struct jit_when when,
			      uint64_t ip, struct ana_spot *ret);

struct ana_loc; /* analyze.h */

/** With wants_lines: the source lines of @p rel of @p dso, in @p memory, to @p loc.
 * @return false: no memory. */
bool ana_places_add_lines(const struct ana_places *p, struct dso *dso, uint64_t rel,
			  struct arena *memory, struct ana_loc *loc);

#endif
