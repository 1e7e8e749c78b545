/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_PROGRAMS_H
#define ANALYZE_ANA_PROGRAMS_H

#include "base/budget.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "image/dso_jit.h"
#include "image/jit_code.h"
#include "perfdata/perf_kept_maps.h"
#include "perfdata/perf_record.h"

/*
 * The programs that each process ran, one after the other, from COMM (exec) and FORK records: code
 * that one made at run time is not another's, and a child that was forked continues to use its
 * parent's. May be filled twice with the same records (samples, and hardware trace).
 */
struct ana_program {
	uint32_t pid, serial;     /* serial: which one of the process's */
	uint32_t parent;          /* forked from that program; ANA_NO_PROGRAM */
	struct clew_perf_ns from; /* 0: before all records */
	struct clew_perf_ns to;   /* its exit or next exec; none: unknown */
	struct dso *dso;          /* code it made at run time; NULL: not asked yet */
};

enum { ANA_NO_PROGRAM = UINT32_MAX };

struct ana_programs {
	struct dso_store *dsos;       /* borrowed */
	const struct map_u64 *mnt_ns; /* the same: pid -> inode of its mount namespace */
	struct {
		VEC(struct ana_program);
	} all;
	struct map_u64 by_pid; /* -> of_pid */
	struct {
		VEC(struct ana_program_list {
			VEC(uint32_t); /* by time */
		});
	} of_pid;
	struct budget_account *account; /* borrowed */
	struct perf_kept_maps kept;     /* of the recording */
	struct ana_wall {
		uint64_t offset; /* add to the recording's time: ns since 1970 */
		uint64_t
			boot; /* or at least that, of a recording since this boot; 0: it is exact */
		bool is_known;
	} wall;
};

void ana_programs_done(struct ana_programs *p);

/** COMM, FORK, EXIT, of the host. *ret_pid: the process that runs another program now; else as it
 * was. CLEW_OK or CLEW_NO_MEMORY. */
enum clew_err ana_programs_take(struct ana_programs *p, const struct perf_record *r,
				struct clew_perf_ns time, uint32_t *ret_pid);

/** The program that @p pid ran at @p time (none: the last one), made where there is none.
 * ANA_NO_PROGRAM: no memory, or no room for it. */
uint32_t ana_program_at(struct ana_programs *p, uint32_t pid, struct clew_perf_ns time);

/** Where its code made at run time is; NULL: no memory. */
struct dso *ana_program_dso(struct ana_programs *p, uint32_t program);

/** It mapped a jitdump file. @return false when memory is short. */
bool ana_program_maps(struct ana_programs *p, uint32_t pid, struct clew_perf_ns time,
		      struct dso *file);

/** The @p i-th program of @p pid, by time; ANA_NO_PROGRAM: it has fewer. */
uint32_t ana_program_of(const struct ana_programs *p, uint32_t pid, size_t i);

/** The code that the program's own jitdump files have, or those of what it was forked from: then
 * *ret_known_at is the time of the fork, else none. NULL: none. */
const struct code_patches *ana_program_patches(struct ana_programs *p, uint32_t program,
					       struct clew_perf_ns *ret_known_at);

/** A place of code made at run time. */
struct ana_jit_place {
	struct dso *dso;
	uint64_t rel;
	bool is_known; /* it has a name there */
};
/**
 * @p addr in memory that process @p mapper mapped, as @p pid ran it then: by the program's
 * own files, then by those of what it was forked from, as of then. Where none knows it: the
 * mapper's. @return false when memory is short.
 */
bool ana_programs_find(struct ana_programs *p, uint32_t pid, uint32_t mapper, struct jit_when when,
		       uint64_t addr, struct ana_jit_place *ret);

/** ana_programs_find() finds the same in [*ret_from, *ret_to), which has @p time. */
void ana_programs_span(struct ana_programs *p, uint32_t pid, struct clew_perf_ns time,
		       struct clew_perf_ns *ret_from, struct clew_perf_ns *ret_to);

#endif
