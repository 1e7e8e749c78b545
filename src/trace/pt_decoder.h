/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PT_DECODER_H
#define TRACE_PT_DECODER_H

#include "packet/pt/ipt_config.h"
#include "trace/trace_input.h"

/** trace_unit.config: struct ipt_config. */
extern const struct trace_decoder pt_decoder;

/** NULL: the unit is of another protocol. */
static inline const struct ipt_config *pt_config_of(const struct trace_unit *u)
{
	return u->decoder == &pt_decoder ? u->config : NULL;
}

#endif
