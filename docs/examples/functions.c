// SPDX-License-Identifier: LGPL-2.1-or-later
/* Samples by function, most first, one sample after the other as the program asks for them.
 * Usage: functions RECORDING */
#include <stdio.h>
#include <stdlib.h>

#include <clew/clew.h>

struct function {
	const struct clew_symbol *symbol; /* equal symbols have equal pointers */
	const struct clew_binary *binary;
	unsigned long samples;
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

static int by_samples(const void *a, const void *b)
{
	unsigned long x = ((const struct function *)a)->samples;
	unsigned long y = ((const struct function *)b)->samples;

	return x < y ? 1 : x > y ? -1 : 0;
}

int main(int argc, char **argv)
{
	const struct clew_sample *sample;
	struct clew_session *session;
	struct clew_diag diag;
	enum clew_err err;
	char text[512];

	if (argc != 2)
		return 2;
	err = clew_session_open(&session, argv[1], NULL, &diag);
	if (err == CLEW_OK) {
		while ((err = clew_session_next(session, &sample, &diag)) == CLEW_OK) {
			if (sample->leaf)
				function_of(sample->leaf)->samples++;
		}
	}
	if (err != CLEW_END) { /* of a file that was cut, what came before is there */
		clew_diag_text(text, sizeof(text), argv[1], &diag);
		fprintf(stderr, "%s\n", text);
		if (err != CLEW_TRUNCATED)
			return 1;
	}
	if (nr_functions)
		qsort(functions, nr_functions, sizeof(*functions), by_samples);
	for (size_t i = 0; i < nr_functions; i++) {
		const char *symbol = clew_symbol_name(functions[i].symbol);
		const char *binary = clew_binary_name(functions[i].binary);

		printf("%8lu  %s  %s\n", functions[i].samples, symbol ? symbol : "(unknown)",
		       binary ? binary : "(no mapping)");
	}
	clew_session_free(session);
	free(functions);
	return 0;
}
