/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_SNAPSHOT_CS_SNAPSHOT_H
#define TRACE_SNAPSHOT_CS_SNAPSHOT_H

#include "base/budget.h"
#include "trace/trace_input.h"

/*
 * OpenCSD snapshot directories: snapshot.ini names devices (registers, memory dumps), trace
 * metadata names buffers and which sources went into them. Files are mapped, not read.
 * Spec: "Snapshot file format" of ARM DS-5 / OpenCSD, as in docs/spec/coresight.md.
 */

/** Is @p path a directory with a snapshot.ini, or that file: a CoreSight snapshot, not a recording
 * (which may be a directory, too)? */
bool cs_is_snapshot(const char *path);

/** @p dir: the directory, or the snapshot.ini in it; names of files are relative to it.
 * @return CLEW_OS (diag.what: the file), CLEW_BAD_FILE, CLEW_UNSUPPORTED (no ETMv4 or ETE in it),
 * CLEW_NO_MEMORY. */
enum clew_err cs_snapshot_open(struct trace_input **ret, const char *dir, struct clew_diag *diag);

/** The same; where it fails, @p note gets the notes taken so far: most likely they say why.
 * @p budget (NULL: no limit) limits what is kept of .ini files and of mapped memory dumps; the
 * trace itself is read piece by piece. Borrowed until the trace is freed. */
enum clew_err cs_snapshot_open_with_notes(struct trace_input **ret, const char *dir,
					  struct budget *budget,
					  void (*note)(void *ctx, const char *text), void *ctx,
					  struct clew_diag *diag);

/** Trace without .ini files: what they would say, in their words. Texts are borrowed until the
 * trace is freed. */
struct cs_raw {
	const char *file;
	const char *format; /* NULL: "coresight", 16-byte frames; "source_data": one unit's own */
	const char *type;   /* "ETM4", "ETE" */
	const char *regs;   /* "TRCCONFIGR=0x1,TRCTRACEIDR=0x10,..." */
	const char *memory; /* NULL: none; "FILE@ADDRESS,...": the code that ran */
};

/** @return as cs_snapshot_open(), CLEW_INVALID: something in @p raw cannot be read. */
enum clew_err cs_snapshot_open_raw(struct trace_input **ret, const struct cs_raw *raw,
				   struct budget *budget, void (*note)(void *ctx, const char *text),
				   void *ctx, struct clew_diag *diag);

/** Feed trace in pieces of so many bytes (0: the default, 64 KiB). The output is the same. */
void cs_snapshot_set_piece(struct trace_input *t, size_t bytes);

/** Notes on what opening skipped: missing files, units that are not decoded. One line each, in
 * words; NULL: no more. */
const char *cs_snapshot_note(const struct trace_input *t, size_t i);

#endif
