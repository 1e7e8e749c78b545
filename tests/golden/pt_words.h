/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_GOLDEN_PT_WORDS_H
#define TESTS_GOLDEN_PT_WORDS_H

#include "base/buf.h"

/** What packets leave for those after them. */
struct pt_words {
	uint64_t last_ip;
	uint8_t item_bytes; /* of the last BBP */
};

/**
 * Encode one line of a .trace file, "TIP 0x1000 IP=16" or "bytes 02 83", as
 * tests/golden/pt/README.md describes it. @p line is cut into words.
 * @return false: it is no packet, or lacks or has too much; @p out is unchanged then.
 */
bool pt_words_encode(struct buf *out, struct pt_words *state, char *line);

#endif
