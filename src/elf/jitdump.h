/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_JITDUMP_H
#define ELF_JITDUMP_H

#include <stdbool.h>
#include <stdint.h>

#include <clew/err.h>

#include "base/bytes.h"

/*
 * jit-PID.dump: what a JIT compiler emitted, record by record.
 * Spec: Linux tools/perf/Documentation/jitdump-specification.txt, version 1.
 */
enum jitdump_kind {
	JITDUMP_LOAD,
	JITDUMP_MOVE,
	JITDUMP_DEBUG_INFO,
	JITDUMP_CLOSE,
	JITDUMP_UNWINDING_INFO
};

struct jitdump {
	struct bytes left; /* borrowed */
	bool swap;         /* written in the other byte order */
	bool is_arch_time; /* times are not the perf clock's */
	uint64_t time;     /* when the file was begun */
	uint32_t pid, machine;
};

struct jitdump_record {
	uint32_t kind; /* enum jitdump_kind, or one of a later version: its bytes are skipped */
	uint64_t time;
	uint32_t pid, tid;
	uint64_t addr, old_addr, size; /* run-time code address; old_addr: MOVE */
	uint64_t index;                /* of the function, the same in LOAD and MOVE */
	const char *name;              /* LOAD: NUL-terminated */
	struct bytes code;             /* LOAD */
	struct bytes lines;            /* DEBUG_INFO: for jitdump_next_line() */
	uint64_t nr_lines;
};

struct jitdump_line {
	uint64_t addr;
	uint32_t line;
	const char *file; /* NUL-terminated */
};

/** @p text is borrowed. @return CLEW_BAD_FILE: no jitdump header, or of an unknown version. */
enum clew_err jitdump_open(struct jitdump *d, struct bytes text, struct clew_diag *diag);

/**
 * The next record.
 * @return CLEW_END; CLEW_TRUNCATED: the file ends inside a record (it may still be written);
 *         CLEW_BAD_PACKET: sizes that contradict each other. After either, nothing more can be
 * read.
 */
enum clew_err jitdump_next(struct jitdump *d, struct jitdump_record *ret);

/** Step through r->lines; *ret holds the line before (zeroed for the first). @return false: no
 * more.
 */
bool jitdump_next_line(const struct jitdump *d, struct jitdump_record *r, struct jitdump_line *ret);

#endif
