/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/export/export_formats.h"

static const struct export_format *const formats[] = {
	&export_pprof,        &export_collapsed, &export_speedscope,     &export_callgrind,
	&export_firefox,      &export_chrome,    &export_chrome_samples, &export_perfetto,
	&export_perfetto_v57, &export_perf_data, &export_parquet,
};

enum { NR_FORMATS = sizeof(formats) / sizeof(*formats) };

const struct export_format *export_format_at(size_t i)
{
	return i < NR_FORMATS ? formats[i] : NULL;
}

const struct export_format *export_format_find(const char *name)
{
	for (size_t i = 0; i < NR_FORMATS; i++) {
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	}
	return NULL;
}
