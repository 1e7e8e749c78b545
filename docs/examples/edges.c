// SPDX-License-Identifier: LGPL-2.1-or-later
/* Branch stacks to edges between functions: how often each was taken, and mispredicted.
 * Usage: edges RECORDING (made with perf record -b) */
#include <stdio.h>
#include <stdlib.h>

#include <clew/clew.h>

struct edge {
	struct clew_frame from, to; /* of its first branch; frames live as long as their sample */
	unsigned long taken, mispredicted;
};

struct edges {
	struct edge *all;
	size_t nr, room;
};

static int is_same(const struct clew_frame *a, const struct clew_frame *b)
{
	return a->symbol == b->symbol && a->binary == b->binary && (a->symbol || a->ip == b->ip);
}

static struct edge *edge_of(struct edges *e, const struct clew_branch *b)
{
	for (size_t i = 0; i < e->nr; i++) {
		if (is_same(&e->all[i].from, b->from) && is_same(&e->all[i].to, b->to))
			return &e->all[i];
	}
	if (e->nr == e->room) {
		size_t room = e->room ? 2 * e->room : 64;
		struct edge *all = realloc(e->all, room * sizeof(*all));

		if (!all)
			return NULL;
		e->all = all;
		e->room = room;
	}
	e->all[e->nr] = (struct edge){*b->from, *b->to, 0, 0};
	return &e->all[e->nr++];
}

static enum clew_err take(void *ctx, const struct clew_sample *sample)
{
	for (size_t i = 0; i < sample->nr_branches; i++) {
		const struct clew_branch *b = sample->branches[i];
		struct edge *e = edge_of(ctx, b);

		if (!e)
			return CLEW_NO_MEMORY;
		e->taken++;
		e->mispredicted += b->flags & CLEW_BRANCH_MISPREDICTED ? 1 : 0;
	}
	return CLEW_OK;
}

static const char *name(const struct clew_frame *f)
{
	const char *symbol = clew_symbol_name(f->symbol);

	return symbol ? symbol : f->binary ? clew_binary_name(f->binary) : "(unknown)";
}

int main(int argc, char **argv)
{
	const struct clew_session_opts opts = {.size = sizeof(opts), .wants_branches = true};
	struct edges edges = {NULL, 0, 0};
	struct clew_session *session;
	struct clew_diag diag;
	enum clew_err err;
	char text[512];

	if (argc != 2)
		return 2;
	err = clew_session_open(&session, argv[1], &opts, &diag);
	if (err == CLEW_OK)
		err = clew_session_each(session, take, &edges, &diag);
	if (err != CLEW_OK) {
		clew_diag_text(text, sizeof(text), argv[1], &diag);
		fprintf(stderr, "%s\n", text);
		return 1;
	}
	for (size_t i = 0; i < edges.nr; i++) {
		const struct edge *e = &edges.all[i];

		printf("%8lu %8lu  %s -> %s\n", e->taken, e->mispredicted, name(&e->from),
		       name(&e->to));
	}
	clew_session_free(session);
	free(edges.all);
	return 0;
}
