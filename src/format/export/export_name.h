/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_EXPORT_EXPORT_NAME_H
#define FORMAT_EXPORT_EXPORT_NAME_H

#include "export/export.h"

/* Names as formats write them. Texts of the tables are clean already: what separates fields in a
 * format is all that is left to replace. */

/** Append a function's name, with the ending that shows its level, unless opts say not to. */
void export_put_function(struct buf *out, const struct export *x, uint32_t function);

/** An id, -1 where it is unknown. */
void export_put_id(struct buf *out, uint32_t id);

/** In which unit an event's period is. */
enum export_unit { EXPORT_COUNT, EXPORT_NANOSECONDS };
enum export_unit export_unit_of(const struct perf_evsel *evsel);

/** In nanoseconds, what one sample of it stands for; 0: unknown. */
uint64_t export_interval_of(const struct perf_evsel *evsel);
/** The first that is written, of formats with has_one_event the only one; NULL: none has samples.
 */
const struct export_event *export_first_event(const struct export *x);

/** A binary's path, as it is shown; the kernel's has its name. */
const char *export_path_of(const struct export *x, uint32_t binary);
/** Append its build id in hex; nothing where that is unknown. */
void export_put_build_id(struct buf *out, const struct dso *dso);

/** The recorded command with its arguments, separated by blanks, as a text of the tables; 0:
 * unknown. EXPORT_NONE: no memory. */
uint32_t export_command(struct export *x);

#endif
