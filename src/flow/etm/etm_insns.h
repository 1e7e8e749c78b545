/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_ETM_ETM_INSNS_H
#define FLOW_ETM_ETM_INSNS_H

#include "flow/flow_code.h"

/** A64, A32 and T32. */
extern const struct flow_insns etm_insns;

#endif
