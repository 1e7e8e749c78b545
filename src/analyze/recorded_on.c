/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/recorded_on.h"

#include <string.h>

#include "os/file_time.h"
#include "os/proc.h"

static bool differs(const struct perf_features *f, enum perf_feature feature, const char *here)
{
	const char *there = perf_features_string(f, feature);

	return there && strcmp(there, here) != 0;
}

struct recorded_on recorded_on(const struct perf_input *input)
{
	struct recorded_on r = {.first_time = clew_perf_ns_none(),
				.last_time = clew_perf_ns_none()};
	const struct perf_features *features;
	struct os_uname here;
	struct perf_file *f;

	if (!input->data || perf_file_open(&f, input, NULL) != CLEW_OK)
		return r;
	features = perf_file_features(f);
	if (!perf_features_sample_time(features, &r.first_time.ns, &r.last_time.ns))
		r.first_time = r.last_time = clew_perf_ns_none();
	os_uname(&here);
	r.is_other_kernel = differs(features, PERF_FEAT_OSRELEASE, here.release);
	r.is_other_machine = r.is_other_kernel || differs(features, PERF_FEAT_HOSTNAME, here.node);
	perf_file_free(f);
	return r;
}

void recorded_on_set_symbols(const struct recorded_on *r, struct dso_store_opts *symbols)
{
	symbols->no_host_kernel |= r->is_other_kernel && !symbols->kallsyms;
	symbols->no_proc_root |= r->is_other_machine;
}

void recorded_on_set_end(const char *path, struct dso_store_opts *symbols)
{
	struct os_file_identity id;

	symbols->recorded_ns = os_file_identity(path, &id) ? 0 : id.mtime_ns;
}
