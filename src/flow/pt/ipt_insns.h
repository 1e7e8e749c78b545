/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_PT_IPT_INSNS_H
#define FLOW_PT_IPT_INSNS_H

#include "flow/flow_code.h"

/** x86, as Intel PT reports it. A call to the next instruction has no INSN_LINK: it is not kept for
 * a return. */
extern const struct flow_insns ipt_insns;

#endif
