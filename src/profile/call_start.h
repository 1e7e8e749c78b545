/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_CALL_START_H
#define PROFILE_CALL_START_H

#include "image/dso.h"

/**
 * The call that ends right before @p after, by the file's instructions. Where bytes can be read as
 * more than one, the way from @p start decides, if that is at most 4 KiB, else the longest. Opens
 * files: when nothing else uses the dsos. @p start: of its function, or @p after where that is
 * unknown. All addresses: linked.
 * @return 0: there is none.
 */
uint64_t call_start(const struct dso *d, uint64_t start, uint64_t after);

#endif
