/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_PT_IPT_FLOW_H
#define FLOW_PT_IPT_FLOW_H

#include "flow/flow.h"
#include "packet/pt/ipt_packet.h"

/*
 * Intel PT packets + code -> what was executed. A TNT bit is that of the next conditional branch or
 * compressed return, a TIP that of the next indirect one; bits may come before the address of an
 * indirect branch that is due first. A FUP is where something happened: an event that continues at
 * the TIP after it, or what the packets before it say (ipt_notes.c).
 * Spec: Intel SDM volume 3, "Intel Processor Trace".
 */

struct ipt_flow_opts {
	struct flow_opts flow;
	const struct ipt_config *config; /* borrowed */
	bool goes_plain;                 /* tests: no path is taken */
};

/** @return NULL: out of memory. */
struct flow *ipt_flow_new(const struct ipt_flow_opts *opts);

#endif
