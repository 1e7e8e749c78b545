/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SCRIPT_SCRIPT_FIELDS_H
#define FORMAT_SCRIPT_SCRIPT_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include <clew/err.h>

#include "perfdata/perf_evlist.h"

/*
 * Which columns a sample's line has: by kind of event, as `perf script -F` spells them.
 * Spec: perf-script(1), "--fields" (perf 6.1); cgroup and dsoff as in perf 6.12.
 */

#define SCRIPT_COMM           (1ull << 0)
#define SCRIPT_TID            (1ull << 1)
#define SCRIPT_PID            (1ull << 2)
#define SCRIPT_TIME           (1ull << 3)
#define SCRIPT_CPU            (1ull << 4)
#define SCRIPT_EVENT          (1ull << 5)
#define SCRIPT_TRACE          (1ull << 6)
#define SCRIPT_IP             (1ull << 7)
#define SCRIPT_SYM            (1ull << 8)
#define SCRIPT_DSO            (1ull << 9)
#define SCRIPT_ADDR           (1ull << 10)
#define SCRIPT_SYMOFF         (1ull << 11)
#define SCRIPT_SRCLINE        (1ull << 12)
#define SCRIPT_PERIOD         (1ull << 13)
#define SCRIPT_IREGS          (1ull << 14)
#define SCRIPT_UREGS          (1ull << 15)
#define SCRIPT_BRSTACK        (1ull << 16)
#define SCRIPT_BRSTACKSYM     (1ull << 17)
#define SCRIPT_BRSTACKOFF     (1ull << 18)
#define SCRIPT_DATA_SRC       (1ull << 19)
#define SCRIPT_WEIGHT         (1ull << 20)
#define SCRIPT_BPF_OUTPUT     (1ull << 21)
#define SCRIPT_PHYS_ADDR      (1ull << 22)
#define SCRIPT_MISC           (1ull << 23)
#define SCRIPT_TOD            (1ull << 24)
#define SCRIPT_DATA_PAGE_SIZE (1ull << 25)
#define SCRIPT_CODE_PAGE_SIZE (1ull << 26)
#define SCRIPT_INS_LAT        (1ull << 27)
#define SCRIPT_FLAGS          (1ull << 28)
#define SCRIPT_CGROUP         (1ull << 29)
#define SCRIPT_DSOFF          (1ull << 30)
#define SCRIPT_CALLINDENT     (1ull << 31)
#define SCRIPT_NOTE           (1ull << 32) /* "synth": what ana_note has */
#define SCRIPT_IPC            (1ull << 33)
#define SCRIPT_INSN           (1ull << 34)
#define SCRIPT_INSNLEN        (1ull << 35)
#define SCRIPT_DISASM         (1ull << 36)
#define SCRIPT_WHO            (1ull << 37) /* our own */
#define SCRIPT_MACHINE_PID    (1ull << 38)
#define SCRIPT_VCPU           (1ull << 39)

/** Kinds of events with separate columns. */
enum script_type {
	SCRIPT_HW,
	SCRIPT_SW,
	SCRIPT_TP,
	SCRIPT_HW_CACHE,
	SCRIPT_RAW,
	SCRIPT_BREAK,
	SCRIPT_OTHER, /* sysfs PMUs */
	SCRIPT_SYNTH, /* what a trace reports besides execution */
	SCRIPT_NR_TYPES
};

enum script_type script_type_of(const struct perf_attr *attr);

struct script_fields {
	uint64_t by_type[SCRIPT_NR_TYPES];
	uint64_t wanted[SCRIPT_NR_TYPES];   /* asked for by name: missing data is an error */
	uint64_t unwanted[SCRIPT_NR_TYPES]; /* taken away by name */
	bool is_touched[SCRIPT_NR_TYPES];   /* by any list */
};

/** perf's default columns. */
void script_fields_init(struct script_fields *f);

/**
 * Take in one -F argument: "comm,tid,..", "+field,-field", or either after "hw:", "sw:", "trace:",
 * "raw:", "break:". @p word: what the error is about (borrowed from @p spec; up to its next comma).
 * @return CLEW_OK; CLEW_NOT_FOUND: no such field or type; CLEW_UNSUPPORTED: a field of perf's that
 * is not printed here; CLEW_INVALID: + and - mixed with a plain list.
 */
enum clew_err script_fields_parse(struct script_fields *f, const char *spec, const char **word);

/** A field that was asked for by name, and samples of @p evsel do not have. */
struct script_missing {
	const struct perf_evsel *evsel;
	const char *field, *data;
};

/**
 * Drop the columns that the recording has no data for. As perf does, the first event of each kind
 * decides for all of its kind; in a pipe, where events come one by one, every one does.
 * @return false: *ret says what is missing.
 */
bool script_fields_check(struct script_fields *f, const struct perf_evlist *l, bool is_pipe,
			 bool no_chains, struct script_missing *ret);

/** Fields of instructions: of decoded trace alone. */
#define SCRIPT_OF_INSNS (SCRIPT_INSN | SCRIPT_INSNLEN | SCRIPT_DISASM)

/** Does any kind of event print one of @p fields? */
bool script_fields_any(const struct script_fields *f, uint64_t fields);

#endif
