/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SCRIPT_SCRIPT_AROUND_H
#define FORMAT_SCRIPT_SCRIPT_AROUND_H

#include "analyze/analyze.h"

/*
 * Of the calls that a trace shows, those around each call of a function: the last and the next ones
 * of its thread. A window is handed on when it is complete, and is then in one piece; windows of a
 * thread that overlap are one. Errors of the trace in a window are part of it. Other events, and
 * recorded ones, are dropped. Memory is bounded by the number of threads, and this by a limit.
 */
struct script_around;

enum { SCRIPT_AROUND_DEFAULT = 16, SCRIPT_AROUND_MAX = 1024 };

struct script_around_opts {
	const char *symbols; /* comma list, as script_text_opts.symbols. Borrowed */
	uint32_t nr;         /* calls before, and after; at most SCRIPT_AROUND_MAX */
	struct ana_consumer consumer;
	/** Another window follows the last one. NULL: not wanted. With consumer.ctx. */
	void (*separate)(void *ctx);
};

/** "NAMES" or "NAMES:N", with room for the names in @p names of @p size bytes. @return false: no
 * names, they do not fit, or N is above the limit. */
bool script_around_parse(const char *text, char *names, size_t size, uint32_t *ret_nr);

/** NULL: no memory. */
struct script_around *script_around_new(const struct script_around_opts *opts);
void script_around_free(struct script_around *a);

/** For ana_consumer.batch: with ana_opts.wants_addr. Errors: the consumer's, CLEW_NO_MEMORY. */
enum clew_err script_around_batch(void *around, const struct ana_batch *b);
/** All came: windows that are not complete are handed on, too. */
enum clew_err script_around_finish(struct script_around *a);

#endif
