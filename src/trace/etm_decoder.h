/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_ETM_DECODER_H
#define TRACE_ETM_DECODER_H

#include "packet/etm/etm_config.h"
#include "trace/trace_input.h"

/** ETMv4 and ETE; trace_unit.config is a struct etm_config. */
extern const struct trace_decoder etm_decoder;

/** NULL: the unit is of another protocol. */
static inline const struct etm_config *etm_config_of(const struct trace_unit *u)
{
	return u->decoder == &etm_decoder ? u->config : NULL;
}

#endif
