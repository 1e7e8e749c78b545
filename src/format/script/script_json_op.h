/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SCRIPT_SCRIPT_JSON_OP_H
#define FORMAT_SCRIPT_SCRIPT_JSON_OP_H

#include "analyze/analyze.h"
#include "format/json_put.h"

/** "aux_offset", "aux_cpu" and "op" of a sampled operation: what was reported, and nothing else. */
void script_json_op(struct json_put *p, const struct ana_op *op);

#endif
