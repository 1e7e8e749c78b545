/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_FLOW_KEY_H
#define FLOW_FLOW_KEY_H

#include "flow/flow.h"

/* The code_key of what follows, for consumers of a flow's items. */

/** @return whether @p e changes it. */
bool flow_key_take_event(struct code_key *k, const struct flow_event *e);

#endif
