// SPDX-License-Identifier: LGPL-2.1-or-later
/* What each trace unit saw: instructions, branches that were taken, how often trace is missing. The
 * program asks for one batch after the other. Usage: units RECORDING|SNAPSHOT */
#include <stdio.h>
#include <stdlib.h>

#include <clew/clew.h>

struct counts {
	unsigned long long insns, taken, gaps;
};

static void count(const struct clew_trace_batch *b, struct counts *c)
{
	for (size_t i = 0; i < b->nr; i++) {
		const struct clew_trace_range *r = clew_trace_range_at(b, i);
		const struct clew_trace_event *e = clew_trace_event_at(b, i);

		if (r)
			c->insns += r->nr_insns;
		c->taken += clew_trace_is_taken(b, i);
		c->gaps += e && e->kind == CLEW_TRACE_NO_SYNC && e->number != CLEW_NO_SYNC_START;
	}
}

static enum clew_err print_counts(struct clew_trace *trace, struct clew_diag *diag)
{
	const struct clew_trace_batch *batch;
	const struct clew_trace_unit *unit;
	struct counts *counts;
	enum clew_err err;
	size_t nr = 0;

	while (clew_trace_unit(trace, nr))
		nr++;
	counts = calloc(nr + 1, sizeof(*counts));
	if (!counts)
		exit(1);
	while ((err = clew_trace_next(trace, &batch, diag)) == CLEW_OK)
		count(batch, &counts[batch->unit]);
	for (size_t i = 0; (unit = clew_trace_unit(trace, i)); i++)
		printf("%s: %llu instructions, %llu branches taken, %llu gaps%s%s\n", unit->name,
		       counts[i].insns, counts[i].taken, counts[i].gaps, unit->why_not ? ": " : "",
		       unit->why_not ? unit->why_not : "");
	free(counts);
	return err == CLEW_END ? CLEW_OK : err;
}

int main(int argc, char **argv)
{
	struct clew_trace *trace;
	struct clew_diag diag;
	enum clew_err err;
	char text[512];

	if (argc != 2)
		return 2;
	err = clew_trace_open(&trace, argv[1], NULL, &diag);
	if (err == CLEW_OK) {
		err = print_counts(trace, &diag);
		clew_trace_free(trace);
	}
	if (err == CLEW_OK)
		return 0;
	clew_diag_text(text, sizeof(text), argv[1], &diag);
	fprintf(stderr, "%s\n", text);
	return 1;
}
