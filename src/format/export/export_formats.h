/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_EXPORT_EXPORT_FORMATS_H
#define FORMAT_EXPORT_EXPORT_FORMATS_H

#include "export/export.h"

/* What clew export writes; the specification of each is named in its file. */

/** In the order of the help; NULL: no more. */
const struct export_format *export_format_at(size_t i);
/** NULL: there is none of this name. */
const struct export_format *export_format_find(const char *name);

extern const struct export_format export_callgrind, export_chrome, export_chrome_samples,
	export_collapsed, export_firefox, export_parquet, export_perf_data, export_perfetto,
	export_perfetto_v57, export_pprof, export_speedscope;

#endif
