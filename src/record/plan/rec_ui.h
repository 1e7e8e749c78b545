/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_REC_UI_H
#define RECORD_PLAN_REC_UI_H

#include <stdbool.h>
#include <stdint.h>

#include <clew/err.h>

#include "base/attributes.h"
#include "base/progress.h"

struct rec_progress {
	uint64_t elapsed_ns, samples, lost, bytes;
	uint32_t nr_files;
};

enum rec_level { REC_NOTE, REC_WARNING };

/** What the session reports while it runs. Any may be NULL. */
struct rec_ui {
	void (*say)(void *ctx, enum rec_level level, const char *text);
	void (*progress)(void *ctx, const struct rec_progress *p); /* about twice a second */
	struct progress *steps;   /* of the work before and after recording; borrowed */
	void (*ready)(void *ctx); /* once, in the caller's thread: that before it is done */
	/** A plain file is complete; @p is_deferred: some of its user stacks are in separate
	 * records. */
	void (*wrote)(void *ctx, const char *path, bool is_deferred);
	void *ctx;
};

CLEW_PRINTF(3, 4)
void rec_say(const struct rec_ui *ui, enum rec_level level, const char *format, ...);

#endif
