/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef EXPORT_EXPORT_JUMPS_H
#define EXPORT_EXPORT_JUMPS_H

#include "base/vec.h"
#include "image/dso.h"

/** A branch that was taken inside of a binary, and is neither a call nor a return. */
struct export_jump {
	const char *path; /* of the binary, as dso_path() has it; borrowed */
	struct dso_build_id build_id;
	uint64_t from, to; /* linked addresses */
	uint64_t nr;       /* how often it went there */
	uint64_t nr_run;   /* how often its instruction ran, at least */
	bool is_conditional;
};

/** In no order. */
struct export_jumps {
	VEC(struct export_jump);
};

#endif
