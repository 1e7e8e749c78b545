// SPDX-License-Identifier: LGPL-2.1-or-later
/* What a hardware trace says ran: a line for each range of instructions, with its function.
 * Usage: ranges RECORDING|SNAPSHOT */
#include <stdio.h>

#include <clew/clew.h>

static enum clew_err take(void *ctx, const struct clew_trace_batch *b)
{
	struct clew_trace *trace = ctx;
	const struct clew_frame *frame;

	for (size_t i = 0; i < b->nr; i++) {
		const struct clew_trace_range *r = clew_trace_range_at(b, i);
		const char *symbol;
		enum clew_err err;

		if (!r)
			continue; /* an event: clew_trace_event_at(b, i) */
		err = clew_trace_resolve(trace, r->space, r->start, &frame);
		if (err != CLEW_OK)
			return err;
		symbol = clew_symbol_name(frame->symbol);
		printf("%s 0x%llx-0x%llx %u %s\n", clew_trace_unit(trace, b->unit)->name,
		       (unsigned long long)r->start, (unsigned long long)r->end, r->nr_insns,
		       symbol ? symbol : "-");
	}
	return CLEW_OK;
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
		err = clew_trace_run(trace, take, trace, NULL, &diag);
		clew_trace_free(trace);
	}
	if (err == CLEW_OK)
		return 0;
	clew_diag_text(text, sizeof(text), argv[1], &diag);
	fprintf(stderr, "%s\n", text);
	return 1;
}
