/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_GOLDEN_ETM_WORDS_H
#define TESTS_GOLDEN_ETM_WORDS_H

#include "base/buf.h"
#include "packet/etm/etm_config.h"

/**
 * Encode one line of a .trace file, "I_ADDR_L_64IS0 0x10000" or "bytes f7 2d", as
 * tests/golden/etm/README.md describes it. @p line is cut into words.
 * @return false: it is no packet, or lacks or has too much; @p out is unchanged then.
 */
bool etm_words_encode(struct buf *out, const struct etm_config *config, char *line);

#endif
