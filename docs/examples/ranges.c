// SPDX-License-Identifier: LGPL-2.1-or-later
/* What a hardware trace says ran: a line for each range of instructions of one function.
 * Usage: ranges RECORDING|SNAPSHOT [SYMFS] */
#include <stdio.h>

#include <clew/clew.h>

/** Instructions of one function, one after the other. */
struct part {
	struct clew_trace *trace;
	const char *unit;
	uint32_t space;
	uint64_t start, end;
	unsigned int nr_insns;
	const struct clew_symbol *symbol;
};

static void print(const struct part *p)
{
	const char *symbol = clew_symbol_name(p->symbol);

	printf("%s 0x%llx-0x%llx %u %s\n", p->unit, (unsigned long long)p->start,
	       (unsigned long long)p->end, p->nr_insns, symbol ? symbol : "-");
}

/** A function may end where no branch is: a new part begins there. */
static enum clew_err take_insn(void *ctx, const struct clew_trace_insn *i)
{
	const struct clew_frame *frame;
	struct part *p = ctx;
	enum clew_err err = clew_trace_resolve(p->trace, p->space, i->address, &frame);

	if (err != CLEW_OK)
		return err;
	if (frame->symbol != p->symbol) {
		if (p->nr_insns)
			print(p);
		p->symbol = frame->symbol;
		p->start = i->address;
		p->nr_insns = 0;
	}
	p->nr_insns++;
	p->end = i->address + i->nr_bytes;
	return CLEW_OK;
}

static enum clew_err take_range(struct clew_trace *trace, size_t unit,
				const struct clew_trace_range *r)
{
	struct part p = {trace,    clew_trace_unit(trace, unit)->name,
			 r->space, r->start,
			 r->end,   r->nr_insns,
			 NULL};
	const struct clew_frame *frame;
	enum clew_err err = clew_trace_resolve(trace, r->space, r->start, &frame);

	if (err != CLEW_OK)
		return err;
	p.symbol = frame->symbol;
	/* Most ranges are of one function as a whole. */
	if (!p.symbol || frame->address + (r->end - r->start) > clew_symbol_end(p.symbol)) {
		p.nr_insns = 0;
		err = clew_trace_insns(trace, unit, r, take_insn, &p);
	}
	if (err == CLEW_OK)
		print(&p);
	return err;
}

static enum clew_err take(void *ctx, const struct clew_trace_batch *b)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < b->nr && err == CLEW_OK; i++) {
		const struct clew_trace_range *r = clew_trace_range_at(b, i);

		if (r) /* else an event: clew_trace_event_at(b, i) */
			err = take_range(ctx, b->unit, r);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct clew_trace_opts opts = {.size = sizeof(opts)};
	struct clew_trace *trace;
	struct clew_diag diag;
	enum clew_err err;
	char text[512];

	if (argc != 2 && argc != 3)
		return 2;
	opts.symfs = argc == 3 ? argv[2] : NULL;
	err = clew_trace_open(&trace, argv[1], &opts, &diag);
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
