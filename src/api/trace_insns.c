/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/misuse.h"
#include "api/trace_impl.h"
#include "flow/flow_code.h"

static bool isa_of(const struct clew_trace_range *r, enum isa *ret)
{
	for (int isa = 0; isa < NR_ISAS; isa++) {
		if (trace_public_isa((enum isa)isa) != r->isa)
			continue;
		*ret = (enum isa)isa;
		return true;
	}
	return false;
}

enum clew_err clew_trace_insns(struct clew_trace *t, size_t unit,
			       const struct clew_trace_range *range,
			       enum clew_err (*take)(void *ctx, const struct clew_trace_insn *insn),
			       void *ctx)
{
	uint8_t bytes[FLOW_MAX_INSN_BYTES];
	const struct trace_unit *u;
	enum clew_err err = CLEW_OK;
	struct flow_code code;
	enum isa isa;

	if (!t || !range || !take || unit >= t->trace->nr_units)
		return CLEW_INVALID;
	u = &t->trace->units[unit];
	if (!u->code || !u->decoder || !u->decoder->insns || !isa_of(range, &isa))
		return CLEW_INVALID;
	flow_code_init(&code, u->code, u->decoder->insns, false);
	for (uint64_t at = range->start; !err && at < range->end;) {
		uint8_t nr = u->decoder->insns->read(&code, range->space, isa, at, bytes);
		const struct clew_trace_insn insn = {at, bytes, nr};

		if (!nr)
			return CLEW_NOT_FOUND;
		err = api_taken(take(ctx, &insn));
		at += nr;
	}
	return err;
}
