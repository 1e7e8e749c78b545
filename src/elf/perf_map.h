/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_PERF_MAP_H
#define ELF_PERF_MAP_H

#include <clew/err.h>

#include "base/bytes.h"
#include "elf/sym_table.h"

/**
 * Fill an empty @p t from the text of a /tmp/perf-PID.map: lines "START SIZE name with blanks",
 * hex. Lines of another shape are skipped. The file is appended to: a later line says what is at
 * its addresses now. Call sym_table_finish(SYM_FILL_LATEST) afterwards.
 * @return CLEW_NO_MEMORY.
 * Spec: Linux tools/perf/Documentation/jit-interface.txt.
 */
enum clew_err perf_map_collect(struct sym_table *t, struct bytes text);

#endif
