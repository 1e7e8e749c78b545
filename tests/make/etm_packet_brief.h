/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_ETM_PACKET_BRIEF_H
#define TESTS_MAKE_ETM_PACKET_BRIEF_H

#include "base/buf.h"
#include "packet/etm/etm_packet.h"

/** Every field of @p p that is not 0: "NAME/BYTES field ...". Equal texts, equal packets. */
void etm_packet_brief(struct buf *b, const struct etm_packet *p);

#endif
