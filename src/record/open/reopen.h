/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_OPEN_REOPEN_H
#define RECORD_OPEN_REOPEN_H

#include "record/open/counters.h"

/**
 * @p cpu is back: the kernel ended the events of a whole CPU when it went offline, without a word.
 * Open them and map their rings again; all that the old rings held has been read. They run if the
 * recording does. What they write is mended by ring_again.h. @return an error's code with a
 * sentence: the CPU then has no events, and its rings no memory.
 */
enum clew_err rec_counters_reopen(struct rec_counters *c, int cpu, struct rec_error *error);

#endif
