/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_INLINE_ORDER_H
#define PROFILE_INLINE_ORDER_H

#include "profile/inline_profile.h"

/** Put places and targets in order, and nodes in p->order. Nothing is added any more. @return false
 * when memory is short. */
bool inline_order(struct inline_profile *p);

#endif
