/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow.h"

void flow_totals_add(struct flow_totals *to, const struct flow_totals *t)
{
	to->nr_insns += t->nr_insns;
	to->nr_ranges += t->nr_ranges;
	to->nr_exceptions += t->nr_exceptions;
	to->nr_nacc += t->nr_nacc;
	to->nr_no_sync += t->nr_no_sync;
	to->nr_dropped += t->nr_dropped;
	to->nr_packets += t->nr_packets;
	to->nr_bytes += t->nr_bytes;
}

void flow_totals_subtract(struct flow_totals *from, const struct flow_totals *t)
{
	from->nr_insns -= t->nr_insns;
	from->nr_ranges -= t->nr_ranges;
	from->nr_exceptions -= t->nr_exceptions;
	from->nr_nacc -= t->nr_nacc;
	from->nr_no_sync -= t->nr_no_sync;
	from->nr_dropped -= t->nr_dropped;
	from->nr_packets -= t->nr_packets;
	from->nr_bytes -= t->nr_bytes;
}
