/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/export/export_name.h"

#include "base/cleanup.h"

void export_put_function(struct buf *out, const struct export *x, uint32_t function)
{
	const struct export_tables *t = export_tables(x);
	const struct export_function *f = &t->functions.data[function];

	buf_str(out, export_text(t, f->name));
	if (!export_opts(x)->no_level_suffix)
		buf_str(out, export_level_suffix(f->level));
}

void export_put_id(struct buf *out, uint32_t id)
{
	if (id == UINT32_MAX)
		buf_str(out, "-1");
	else
		buf_dec(out, id, 0, ' ');
}

enum export_unit export_unit_of(const struct perf_evsel *evsel)
{
	const struct perf_attr *a = &evsel->attr;
	bool is_clock =
		a->config == PERF_COUNT_SW_CPU_CLOCK || a->config == PERF_COUNT_SW_TASK_CLOCK;

	return a->type == PERF_TYPE_SOFTWARE && is_clock ? EXPORT_NANOSECONDS : EXPORT_COUNT;
}

uint32_t export_command(struct export *x)
{
	struct perf_file *file = export_opts(x)->file;
	const struct perf_features *f = file ? perf_file_features(file) : NULL;
	clew_auto(buf_done) struct buf words = {0};
	uint32_t left = UINT32_MAX, text;
	struct bytes at;
	const char *word;

	if (!f || !perf_features_has(f, PERF_FEAT_CMDLINE))
		return 0;
	at = f->section[PERF_FEAT_CMDLINE];
	while (perf_features_next_arg(f, &at, &left, &word)) {
		if (words.nr)
			buf_char(&words, ' ');
		buf_str(&words, word);
	}
	text = words.is_failed ? EXPORT_NONE
			       : export_text_add(export_tables_mut(x), buf_cstr(&words));
	return text;
}
