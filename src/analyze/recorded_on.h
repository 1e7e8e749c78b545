/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_RECORDED_ON_H
#define ANALYZE_RECORDED_ON_H

#include <clew/time.h>

#include "image/dso.h"
#include "perfdata/perf_file.h"

/** What a file's header says of the machine and the times it is of; of a stream nothing is known
 * yet. */
struct recorded_on {
	struct clew_perf_ns first_time, last_time; /* of samples */
	bool is_other_kernel, is_other_machine;
};

struct recorded_on recorded_on(const struct perf_input *input);

/** Symbols of this machine are wrong for another's addresses: look for none here. */
void recorded_on_set_symbols(const struct recorded_on *r, struct dso_store_opts *symbols);

/** Files that were changed after the recording at @p path was written are not the recorded ones. */
void recorded_on_set_end(const char *path, struct dso_store_opts *symbols);

#endif
