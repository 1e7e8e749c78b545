// SPDX-License-Identifier: LGPL-2.1-or-later
/* Executed instructions by function, of a hardware trace: the program asks for one batch after the
 * other. Usage: executed RECORDING|SNAPSHOT */
#include <stdio.h>
#include <stdlib.h>

#include <clew/clew.h>

struct function {
	const struct clew_symbol *symbol; /* equal symbols have equal pointers */
	const struct clew_binary *binary;
	unsigned long long insns;
};

static struct function *functions;
static size_t nr_functions, room;

/* A long list needs a hash table with the pointers as keys. */
static struct function *function_of(const struct clew_frame *f)
{
	for (size_t i = 0; i < nr_functions; i++) {
		if (functions[i].symbol == f->symbol && functions[i].binary == f->binary)
			return &functions[i];
	}
	if (nr_functions == room) {
		room = room ? 2 * room : 64;
		functions = realloc(functions, room * sizeof(*functions));
		if (!functions)
			exit(1);
	}
	functions[nr_functions] = (struct function){f->symbol, f->binary, 0};
	return &functions[nr_functions++];
}

static enum clew_err count(struct clew_trace *trace, const struct clew_trace_batch *b)
{
	for (size_t i = 0; i < b->nr; i++) {
		const struct clew_trace_range *r = clew_trace_range_at(b, i);
		const struct clew_frame *frame;
		enum clew_err err;

		if (!r)
			continue; /* an event: clew_trace_event_at(b, i) */
		err = clew_trace_resolve(trace, r->space, r->start, &frame);
		if (err != CLEW_OK)
			return err;
		function_of(frame)->insns += r->nr_insns;
	}
	return CLEW_OK;
}

int main(int argc, char **argv)
{
	const struct clew_trace_batch *batch;
	struct clew_trace *trace = NULL;
	struct clew_diag diag;
	enum clew_err err;
	char text[512];

	if (argc != 2)
		return 2;
	err = clew_trace_open(&trace, argv[1], NULL, &diag);
	while (err == CLEW_OK && (err = clew_trace_next(trace, &batch, &diag)) == CLEW_OK) {
		if (count(trace, batch) != CLEW_OK)
			return 1; /* out of memory */
	}
	if (err != CLEW_END) {
		clew_diag_text(text, sizeof(text), argv[1], &diag);
		fprintf(stderr, "%s\n", text);
		return 1;
	}
	for (size_t i = 0; i < nr_functions; i++) {
		const char *symbol = clew_symbol_name(functions[i].symbol);
		const char *binary = clew_binary_name(functions[i].binary);

		printf("%10llu  %s  %s\n", functions[i].insns, symbol ? symbol : "(unknown)",
		       binary ? binary : "(no mapping)");
	}
	clew_trace_free(trace);
	free(functions);
	return 0;
}
