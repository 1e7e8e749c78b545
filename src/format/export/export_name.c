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
	return perf_attr_is_clock(&evsel->attr) ? EXPORT_NANOSECONDS : EXPORT_COUNT;
}

uint64_t export_interval_of(const struct perf_evsel *evsel)
{
	const struct perf_attr *a = &evsel->attr;

	if (!a->sample_period)
		return 0;
	if (perf_attr_has(a, PERF_ATTR_FREQ))
		return 1000000000 / a->sample_period;
	return export_unit_of(evsel) == EXPORT_NANOSECONDS ? a->sample_period : 0;
}

const struct export_event *export_first_event(const struct export *x)
{
	for (size_t i = 0; i < export_nr_events(x); i++) {
		if (!export_event_at(x, i)->is_omitted)
			return export_event_at(x, i);
	}
	return NULL;
}

const char *export_path_of(const struct export *x, uint32_t binary)
{
	const struct export_tables *t = export_tables(x);
	const struct export_binary *b = &t->binaries.data[binary];

	return dso_kind(b->dso) == DSO_KERNEL ? dso_short_name(b->dso) : export_text(t, b->path);
}

void export_put_build_id(struct buf *out, const struct dso *dso)
{
	const struct dso_build_id *id = dso_build_id(dso);

	if (id)
		buf_hex_bytes(out, id->bytes, id->size);
}

uint32_t export_command(struct export *x)
{
	struct perf_file *file = export_opts(x)->file;
	const struct perf_features *f = file ? perf_file_features(file) : NULL;
	clew_auto(buf_done) struct buf words = {0};
	uint32_t left = UINT32_MAX;
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
	return words.is_failed ? EXPORT_NONE
			       : export_text_add(export_tables_mut(x), buf_cstr(&words));
}
