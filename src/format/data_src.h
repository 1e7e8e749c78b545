/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_DATA_SRC_H
#define FORMAT_DATA_SRC_H

#include "base/buf.h"

/** Append what is printed after data_src's number: "|OP LOAD|LVL L1 hit|...". @p is_newer: as perf
 * 7 spells it: the level by its number alone. */
void data_src_text(struct buf *b, uint64_t data_src, bool is_newer);

/** Append the level alone, as perf 7 spells it: "L1 hit". */
void data_src_level_text(struct buf *b, uint64_t data_src);

#endif
