/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/aux_protocol.h"

static const struct aux_protocol *const protocols[] = {
	&units_etm,
	&units_spe,
	&units_pt,
};

const struct aux_protocol *aux_protocol_of(uint32_t type)
{
	for (size_t i = 0; i < sizeof(protocols) / sizeof(*protocols); i++) {
		if (protocols[i]->type == type)
			return protocols[i];
	}
	return NULL;
}
