/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_ETM_ETM_CUT_H
#define FLOW_ETM_ETM_CUT_H

#include "packet/etm/etm_packet.h"

/* Where a trace can be cut, to decode what follows without what came before. */

/** The first synchronisation that begins in [@p from, @p to) and is followed, before anything else,
 * by the address and context where execution continues. One that is not wholly in @p in does not
 * count. Offsets in @p in. @return @p to: none. */
size_t etm_find_cut(const struct etm_config *config, struct bytes in, size_t from, size_t to);

#endif
